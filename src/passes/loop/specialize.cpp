#include "passes/loop/specialize.h"

#include <algorithm>

#include "loop/regions.h"
#include "passes/loop/rewrite.h"

namespace sheaf::passes {
namespace {

using loop::Inst;
using loop::kNoValue;
using loop::Op;
using loop::Stmt;

class Specializer final : public Rewriter {
 public:
  Specializer(const loop::Kernel& k, const std::vector<KnownSize>& known) : Rewriter(k), known_(known) {}

 private:
  V replace_size(int64_t i, V size) override {
    for (const KnownSize& s : known_)
      if (s.index == i) return s.at_most ? builder().min(size, builder().i64(s.value)) : builder().i64(s.value);
    return size;
  }
  const std::vector<KnownSize>& known_;
};

// Marks the values that depend on the index of a region, and collects the sizes that multiply them.
struct Finder {
  const loop::Kernel& k;
  std::vector<bool> varies;
  std::vector<int>& out;

  void region(const Stmt& s) {
    for (size_t v = 0; v < k.values.size(); ++v)
      if (k.values[v].op == Op::Index && k.values[v].imm == s.axis) varies[v] = true;
    inside(s.body);
  }
  void inside(const loop::Block& b) {
    for (const Stmt& s : b) {
      if (s.kind == Stmt::Let) let(s.value);
      inside(s.body);
    }
  }
  void let(loop::ValueId v) {
    const Inst& i = k.values[v];
    for (loop::ValueId a : i.args)
      if (a != kNoValue && varies[a]) varies[v] = true;
    if (i.op != Op::Mul || i.type != DType::I64 || !varies[v]) return;
    for (loop::ValueId a : {i.args[0], i.args[1]})
      if (k.values[a].op == Op::Size) out.push_back(static_cast<int>(k.values[a].imm));
  }
  // The first loop over rows.
  const Stmt* rows(const loop::Block& b) const {
    for (const Stmt& s : b) {
      if (s.kind != Stmt::Loop) continue;
      if (loop::row_extent(k, s) != kNoValue) return &s;
      if (const Stmt* inner = rows(s.body)) return inner;
    }
    return nullptr;
  }
  void outside(const loop::Block& b) {
    for (const Stmt& s : b) {
      if (s.kind != Stmt::Loop && s.kind != Stmt::Reduce) continue;
      if (loop::is_region(k, s))
        region(s);
      else
        outside(s.body);
    }
  }
};

// Sorts, removes duplicates, keeps at most `most`.
void tidy(std::vector<int>& indices, size_t most) {
  std::sort(indices.begin(), indices.end());
  indices.erase(std::unique(indices.begin(), indices.end()), indices.end());
  if (indices.size() > most) indices.resize(most);
}

}  // namespace

StrideSizes::StrideSizes(const loop::Kernel& k) {
  Finder{k, std::vector<bool>(k.values.size(), false), indices_}.outside(k.body);
  tidy(indices_, kMaxStrides);
}

std::vector<KnownSize> StrideSizes::known(std::span<const int64_t> sizes) const {
  std::vector<KnownSize> out;
  for (int i : indices_)
    if (sizes[i] == 0 || sizes[i] == 1) out.push_back({i, sizes[i]});
  return out;
}

ShortRows::ShortRows(const loop::Kernel& k) {
  Finder finder{k, std::vector<bool>(k.values.size(), false), strides_};
  const Stmt* s = finder.rows(k.body);
  if (!s) return;
  const Inst &length = k.values[loop::row_extent(k, *s)], &rows = k.values[s->extent];
  if (length.op != Op::Size || rows.op != Op::Size) return;
  length_ = static_cast<int>(length.imm), rows_ = static_cast<int>(rows.imm);
  finder.region(*s);
  tidy(strides_, kMaxStrides);
  // Sizes for which an unrolled row compiles as fast as a loop: a layer norm of 31 elements takes four times as long.
  constexpr int64_t kLongest = 24, kMostValues = 600, kValuesOfMath = 20;
  int64_t values = 1;
  for (const Stmt& t : s->body)
    for (const Stmt& u : t.body)
      if (u.kind == Stmt::Let) values += k.values[u.value].op >= Op::Exp ? kValuesOfMath : 1;
  longest_exact_ = std::min(kLongest, kMostValues / values);
}

bool ShortRows::are_short(std::span<const int64_t> sizes) const {
  return length_ >= 0 && sizes[length_] > 1 && sizes[length_] <= loop::kShortRow && sizes[rows_] >= kMinRows;
}

void ShortRows::add_known(std::span<const int64_t> sizes, std::vector<KnownSize>& known) const {
  if (!are_short(sizes)) return;
  int64_t length = sizes[length_];
  bool exact = length <= longest_exact_;
  known.push_back({length_, exact ? length : loop::kShortRow, !exact});
  for (int i : strides_)
    if (sizes[i] == 0 || sizes[i] == 1 || (exact && sizes[i] == length)) known.push_back({i, sizes[i]});
}

uint64_t ShortRows::pattern(std::span<const int64_t> sizes) const {
  if (!are_short(sizes)) return 0;
  int64_t length = sizes[length_];
  bool exact = length <= longest_exact_;
  uint64_t p = exact ? static_cast<uint64_t>(length) : 1;
  for (int i : strides_)
    p = p * 4 + (sizes[i] == 0 ? 0 : sizes[i] == 1 ? 1 : exact && sizes[i] == length ? 2 : 3);
  return p;
}

std::vector<KnownSize> known_sizes(const loop::Kernel& k, std::span<const int64_t> sizes) {
  std::vector<KnownSize> known = StrideSizes(k).known(sizes);
  ShortRows(k).add_known(sizes, known);
  return known;
}

loop::Kernel specialize(const loop::Kernel& k, const std::vector<KnownSize>& known) {
  return Specializer(k, known).run();
}

}  // namespace sheaf::passes
