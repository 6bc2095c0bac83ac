#include "passes/loop/hoist.h"

#include <algorithm>
#include <iterator>
#include <vector>

namespace sheaf::passes {
namespace {

using loop::Inst;
using loop::kNoValue;
using loop::Op;
using loop::Stmt;

class Hoisting {
 public:
  Hoisting(loop::Kernel& k, std::span<const int64_t> sizes) : k_(k), sizes_(sizes), varies_(k.values.size(), false) {}

  void run() { block(k_.body); }

 private:
  void block(loop::Block& b) {
    loop::Block out;
    for (Stmt& s : b) {
      block(s.body);
      if (has_turns(s)) move_invariants(s, out);
      out.push_back(std::move(s));
    }
    b = std::move(out);
  }

  // Whether it is a loop of values and stores that runs at all.
  bool has_turns(const Stmt& s) const {
    if (s.kind != Stmt::Loop || s.mark == loop::Mark::Serial) return false;
    const Inst& extent = k_.values[s.extent];
    const int64_t turns = extent.op == Op::Const  ? extent.imm
                          : extent.op == Op::Size ? sizes_[static_cast<size_t>(extent.imm)]
                                                  : 0;
    return turns > 0 && std::all_of(s.body.begin(), s.body.end(),
                                    [](const Stmt& t) { return t.kind == Stmt::Let || t.kind == Stmt::Store; });
  }

  void move_invariants(Stmt& loop, loop::Block& out) {
    for (size_t v = 0; v < k_.values.size(); ++v)
      if (const Inst& i = k_.values[v]; i.op == Op::Index && i.imm == loop.axis) varies_[v] = true;
    loop::Block rest;
    for (Stmt& s : loop.body)
      (s.kind == Stmt::Let && !(varies_[s.value] = varies(s.value)) ? out : rest).push_back(std::move(s));
    loop.body = std::move(rest);
  }

  bool varies(loop::ValueId v) const {
    const Inst& i = k_.values[v];
    if (i.op == Op::Load && k_.buffers[static_cast<size_t>(i.imm)].written) return true;
    return std::any_of(std::begin(i.args), std::end(i.args),
                       [&](loop::ValueId a) { return a != kNoValue && varies_[a]; });
  }

  loop::Kernel& k_;
  std::span<const int64_t> sizes_;
  std::vector<bool> varies_;  // by value: in the loop that defines it
};

}  // namespace

loop::Kernel hoist_invariants(loop::Kernel k, std::span<const int64_t> sizes) {
  Hoisting(k, sizes).run();
  return k;
}

}  // namespace sheaf::passes
