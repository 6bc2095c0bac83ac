#include "compiler/lowered.h"

#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <tuple>
#include <unordered_map>

#include "compiler/compile.h"
#include "support/mutex.h"

namespace sheaf::compiler {
namespace {

using graph::Attrs;

struct KeyHash {
  size_t operator()(const KernelKey& k) const {
    uint64_t h = reinterpret_cast<uint64_t>(k.op) ^ k.attrs.hash() ^ static_cast<uint64_t>(k.in_place) << 8 ^
                 static_cast<uint64_t>(k.use) << 9 ^ static_cast<uint64_t>(k.target) << 10;
    for (uint16_t a : k.arrays)
      h = (h ^ a) * 0x9E3779B97F4A7C15ull;
    if (k.op) return h;
    h ^= XXH3_64bits(k.group.data(), k.group.size());
    for (const Attrs& a : k.members)
      h = h * 0x9E3779B97F4A7C15ull + a.hash();
    return h;
  }
};

// The description of a group, as bytes.
template <class... T>
void add(std::string& bytes, const T&... x) {
  char packed[(sizeof x + ...)];
  char* at = packed;
  ((std::memcpy(at, static_cast<const void*>(&x), sizeof x), at += sizeof x), ...);
  bytes.append(packed, sizeof packed);
}

KernelKey key_of(const lower::GroupSpec& s) {
  // A field added to these structs must be added below.
  static_assert(sizeof(void*) != 8 || (sizeof(lower::GroupInput) == 32 && sizeof(lower::GroupMember) == 72 &&
                                       sizeof(lower::GroupSpec) == 120));
  KernelKey k;
  std::string& bytes = k.group;
  bytes.reserve(512);
  k.members.reserve(s.members.size());
  add(bytes, 'g', s.shape, s.rank, s.reduce_axis, s.num_reduced, s.inputs.size(), s.outputs.size(), s.externals.size(),
      s.members.size());
  for (DType d : s.inputs)
    add(bytes, d);
  for (DType d : s.outputs)
    add(bytes, d);
  for (const auto& e : s.externals) {
    add(bytes, e.array, e.row);
    if (e.array >= 0) continue;
    const Tensor& constant = e.constant.value();
    add(bytes, constant.dtype);
    bytes.append(reinterpret_cast<const char*>(constant.bytes()), static_cast<size_t>(size_bytes(constant.dtype)));
  }
  for (const auto& m : s.members) {
    add(bytes, m.op, m.dtype, m.args.size(), m.store, m.row, m.combine.has_value(),
        m.combine.value_or(loop::Combine::Sum), m.kept_in);
    for (int a : m.args)
      add(bytes, a);
    k.members.push_back(*m.attrs);
  }
  return k;
}

bool has_check(const loop::Block& b) {
  return std::any_of(b.begin(), b.end(),
                     [](const loop::Stmt& s) { return s.kind == loop::Stmt::Check || has_check(s.body); });
}

size_t num_inputs(const loop::Kernel& k) {
  auto is_written = [](const loop::BufferParam& b) { return b.written; };
  const auto first = std::find_if(k.buffers.begin(), k.buffers.end(), is_written);
  INVARIANT(std::all_of(first, k.buffers.end(), is_written), k.name << " has inputs after outputs");
  return static_cast<size_t>(first - k.buffers.begin());
}

// Attributes such as padding amounts are part of the key, so a program may request many kernels: the cache is emptied
// when full. A kernel with everything derived from it takes some twenty times its text.
constexpr size_t kMaxKeys = 8192, kMaxTextBytes = 8 << 20;

class Kernels {
 public:
  template <class F>
  LoweredKernel get(const Backend& backend, KernelKey key, F lower) {
    key.target = backend.target().id;
    {
      ReaderLock lock(mu_);
      if (auto it = by_source_.find(key); it != by_source_.end()) return it->second;
    }
    loop::Kernel source = lower(key), k = backend.prepared(source);
    LoweredKernel out{nullptr, num_inputs(k), has_check(k.body)};
    std::string text = loop::print(k);
    const XXH128_hash_t hash = XXH3_128bits(text.data(), text.size());
    const Text by_text{key.target, key.use, hash.high64, hash.low64};
    WriterLock lock(mu_);
    // Another thread may have added the same key.
    if (auto it = by_source_.find(key); it != by_source_.end()) return it->second;
    if (by_source_.size() >= kMaxKeys || text_bytes_ + text.size() > kMaxTextBytes) clear();
    if (auto known = by_text_.find(by_text); known != by_text_.end()) {
      out.code = known->second;
    } else {
      if (key.use == KernelUse::InGraph && g_kernel_listener) g_kernel_listener(source);
      text_bytes_ += text.size();
      out.code = backend.code(std::move(k), key.use, std::move(text));
      by_text_.emplace(by_text, out.code);
    }
    return by_source_.emplace(std::move(key), std::move(out)).first->second;
  }

 private:
  void clear() REQUIRES(mu_) {
    by_source_.clear();
    by_text_.clear();
    text_bytes_ = 0;
  }

  using Text = std::tuple<runtime::TargetId, KernelUse, uint64_t, uint64_t>;  // its hash
  SharedMutex mu_;
  std::unordered_map<KernelKey, LoweredKernel, KeyHash> by_source_ GUARDED_BY(mu_);
  // Kernels of ops that differ only in attributes without effect, such as how many numbers are drawn, have the same
  // text.
  std::map<Text, std::shared_ptr<const runtime::Code>> by_text_ GUARDED_BY(mu_);
  size_t text_bytes_ GUARDED_BY(mu_) = 0;
};

Kernels& kernels() {
  static auto* k = new Kernels;
  return *k;
}

}  // namespace

LoweredKernel lowered_op(const Backend& backend, KernelKey key) {
  return kernels().get(backend, std::move(key), [](const KernelKey& k) {
    std::vector<lower::ArrayKey> in, out;
    for (uint16_t a : k.arrays)
      (a & KernelKey::kOutput ? out : in).push_back({static_cast<DType>((a >> 8) & 0x7f), a & 0xff});
    return lower::lower_single(*k.op, k.attrs, in, out, k.in_place);
  });
}

LoweredKernel lowered_single(const Backend& backend, const graph::OpDef& op, const Attrs& attrs,
                             const std::vector<lower::ArrayKey>& inputs, const std::vector<lower::ArrayKey>& outputs,
                             bool in_place) {
  KernelKey k{.op = &op, .attrs = attrs, .in_place = in_place};
  for (const auto& a : inputs)
    k.add_input(a.dtype, a.rank);
  for (const auto& a : outputs)
    k.add_output(a.dtype, a.rank);
  return lowered_op(backend, std::move(k));
}

LoweredKernel lowered_group(const Backend& backend, const lower::GroupSpec& spec) {
  return kernels().get(backend, key_of(spec), [&](const KernelKey&) { return lower::lower_group(spec); });
}

LoweredKernel lowered_sum_of_totals(const Backend& backend, DType dtype) {
  KernelKey k;
  k.group = "sum of totals";
  k.add_output(dtype, 0);
  return kernels().get(backend, std::move(k), [&](const KernelKey&) { return lower::lower_sum_of_totals(dtype); });
}

}  // namespace sheaf::compiler
