#include "compiler/lowered.h"

#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <unordered_map>

#include "compiler/compile.h"
#include "compiler/pipeline.h"

namespace sheaf::compiler {
namespace {

using graph::Attrs;

// What a kernel is lowered from.
struct Key {
  std::string bytes;
  std::vector<Attrs> attrs;
  friend bool operator==(const Key&, const Key&) = default;

  template <class... T>
  void add(const T&... x) {
    char packed[(sizeof x + ...)];
    char* at = packed;
    ((std::memcpy(at, &x, sizeof x), at += sizeof x), ...);
    bytes.append(packed, sizeof packed);
  }
};

struct KeyHash {
  size_t operator()(const Key& k) const {
    uint64_t h = XXH3_64bits(k.bytes.data(), k.bytes.size());
    for (const Attrs& a : k.attrs)
      h = h * 0x9E3779B97F4A7C15ull + a.hash();
    return h;
  }
};

Key key_of(const lower::GroupSpec& s) {
  // A field that is added must be added below.
  static_assert(sizeof(void*) != 8 || (sizeof(lower::GroupInput) == 32 && sizeof(lower::GroupMember) == 72 &&
                                       sizeof(lower::GroupSpec) == 112));
  Key k;
  k.bytes.reserve(512);
  k.attrs.reserve(s.members.size());
  k.add('g', s.shape, s.rank, s.reduce_axis, s.inputs.size(), s.outputs.size(), s.externals.size(), s.members.size());
  for (DType d : s.inputs)
    k.add(d);
  for (DType d : s.outputs)
    k.add(d);
  for (const auto& e : s.externals) {
    k.add(e.array, e.row);
    if (e.array >= 0) continue;
    const Tensor& constant = e.constant.value();
    k.add(constant.dtype);
    k.bytes.append(reinterpret_cast<const char*>(constant.bytes()), static_cast<size_t>(size_bytes(constant.dtype)));
  }
  for (const auto& m : s.members) {
    k.add(m.op, m.dtype, m.args.size(), m.store, m.row, m.combine.has_value(), m.combine.value_or(loop::Combine::Sum),
          m.kept_in);
    for (int a : m.args)
      k.add(a);
    k.attrs.push_back(*m.attrs);
  }
  return k;
}

bool has_check(const loop::Block& b) {
  return std::any_of(b.begin(), b.end(),
                     [](const loop::Stmt& s) { return s.kind == loop::Stmt::Check || has_check(s.body); });
}

// Padding amounts and their like are attributes, so a program may ask for many: emptied when full.
constexpr size_t kMaxKernels = 4096;

class Kernels {
 public:
  template <class F>
  LoweredKernel get(Key key, F lower) {
    std::lock_guard lock(mu_);
    auto it = by_source_.find(key);
    if (it != by_source_.end()) return it->second;
    loop::Kernel source = lower(), k = run_kernel_passes(source);
    if (by_source_.size() >= kMaxKernels) by_source_.clear(), by_text_.clear();
    LoweredKernel out{nullptr, has_check(k.body)};
    std::string text = loop::print(k);
    if (auto known = by_text_.find(text); known != by_text_.end()) {
      out.kernel = known->second;
    } else {
      if (g_kernel_listener) g_kernel_listener(source);
      auto made = std::make_shared<TieredKernel>(std::move(k), TieredKernel::Use::InGraph, std::move(text));
      by_text_.emplace(made->text(), made);
      out.kernel = std::move(made);
    }
    return by_source_.emplace(std::move(key), std::move(out)).first->second;
  }

 private:
  std::mutex mu_;
  std::unordered_map<Key, LoweredKernel, KeyHash> by_source_;  // GUARDED_BY(mu_)
  // Attributes that a kernel does not depend on leave the same text.
  std::unordered_map<std::string_view, std::shared_ptr<const TieredKernel>> by_text_;  // GUARDED_BY(mu_)
};

Kernels& kernels() {
  static auto* k = new Kernels;
  return *k;
}

}  // namespace

LoweredKernel lowered_group(const lower::GroupSpec& spec) {
  return kernels().get(key_of(spec), [&] { return lower::lower_group(spec); });
}

LoweredKernel lowered_sum_of_totals(DType dtype) {
  Key k;
  k.add('t', dtype);
  return kernels().get(std::move(k), [&] { return lower::lower_sum_of_totals(dtype); });
}

LoweredKernel lowered_single(const graph::OpDef& op, const Attrs& attrs, const std::vector<lower::ArrayKey>& inputs,
                             const std::vector<lower::ArrayKey>& outputs, bool in_place) {
  Key k;
  k.add('s', &op, in_place, inputs.size());
  for (const auto& a : inputs)
    k.add(a.dtype, a.rank);
  for (const auto& a : outputs)
    k.add(a.dtype, a.rank);
  k.attrs = {attrs};
  return kernels().get(std::move(k), [&] { return lower::lower_single(op, attrs, inputs, outputs, in_place); });
}

}  // namespace sheaf::compiler
