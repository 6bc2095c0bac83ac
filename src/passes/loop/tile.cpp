#include "passes/loop/tile.h"

#include <algorithm>

#include "passes/loop/rewrite.h"

namespace sheaf::passes {
namespace {

using loop::Inst;
using loop::kNoValue;
using loop::Op;
using loop::Stmt;
using loop::ValueId;

constexpr int64_t kSide =
    16;  // elements: one cache line of f32, and no more lines than fit a cache set when rows are 4 KiB apart

bool is_leaf(const loop::Kernel& k, ValueId v) {
  Op op = k.values[v].op;
  return op == Op::Const || op == Op::Size;
}

class Tiler final : public Rewriter {
 public:
  explicit Tiler(const loop::Kernel& k) : Rewriter(k), k_(k) {}

 private:
  bool rewrite_loop(const Stmt& s) override {
    if (!is_across(s)) return false;
    const Stmt& row = s.body.front();
    loop::Builder& b = builder();
    V side = b.i64(kSide), up = b.i64(kSide - 1), rows = mapped(s.extent), columns = mapped(row.extent);
    V blocks = b.binary(Op::FloorDiv, b.add(columns, up), side);
    V i = b.mul(b.begin_loop(b.binary(Op::FloorDiv, b.add(rows, up), side), s.mark), side);
    V j = b.mul(b.begin_loop(blocks, loop::Mark::Serial), side);
    set_index(s.axis, b.add(i, b.begin_loop(b.min(side, b.sub(rows, i)), loop::Mark::Serial)));
    set_index(row.axis, b.add(j, b.begin_loop(b.min(side, b.sub(columns, j)), loop::Mark::Vector)));
    block(row.body);
    for (int loops = 0; loops < 4; ++loops)
      b.end();
    return true;
  }

  // True for a Parallel loop around a Vector loop of arithmetic that loads across its axis and stores along it.
  bool is_across(const Stmt& s) const {
    if (s.kind != Stmt::Loop || s.mark != loop::Mark::Parallel || s.body.size() != 1) return false;
    const Stmt& row = s.body.front();
    if (row.kind != Stmt::Loop || row.mark != loop::Mark::Vector || !is_leaf(k_, row.extent)) return false;
    std::vector<bool> varies(k_.values.size(), false), across(k_.values.size(), false);
    for (size_t v = 0; v < k_.values.size(); ++v)
      varies[v] = k_.values[v].op == Op::Index && k_.values[v].imm == row.axis;
    bool loads_across = false;
    for (const Stmt& t : row.body) {
      if (t.kind == Stmt::Store && !across[t.offset]) continue;
      if (t.kind != Stmt::Let) return false;
      const Inst& v = k_.values[t.value];
      bool by_size = false;
      for (ValueId a : v.args) {
        if (a == kNoValue) continue;
        if (varies[a]) varies[t.value] = true;
        if (across[a]) across[t.value] = true;
        by_size |= k_.values[a].op == Op::Size;
      }
      if (v.op == Op::Mul && by_size && varies[t.value]) across[t.value] = true;
      if (v.op == Op::Load) {
        loads_across |= across[v.args[0]];
        varies[t.value] = across[t.value] = false;  // a loaded value is data, not an index
      }
    }
    return loads_across;
  }

  const loop::Kernel& k_;
};

}  // namespace

loop::Kernel tile_transposed(const loop::Kernel& k) { return Tiler(k).run(); }

}  // namespace sheaf::passes
