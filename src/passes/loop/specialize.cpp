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
      if (s.index == i) return builder().i64(s.value);
    return size;
  }
  const std::vector<KnownSize>& known_;
};

// Marks the values that depend on the index of a region, and collects the sizes that they are multiplied by.
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

}  // namespace

StrideSizes::StrideSizes(const loop::Kernel& k) {
  Finder{k, std::vector<bool>(k.values.size(), false), indices_}.outside(k.body);
  std::sort(indices_.begin(), indices_.end());
  indices_.erase(std::unique(indices_.begin(), indices_.end()), indices_.end());
  if (indices_.size() > kMaxStrides) indices_.resize(kMaxStrides);
}

std::vector<KnownSize> StrideSizes::known(std::span<const int64_t> sizes) const {
  std::vector<KnownSize> out;
  for (int i : indices_)
    if (sizes[i] == 0 || sizes[i] == 1) out.push_back({i, sizes[i]});
  return out;
}

loop::Kernel specialize(const loop::Kernel& k, const std::vector<KnownSize>& known) {
  return Specializer(k, known).run();
}

}  // namespace sheaf::passes
