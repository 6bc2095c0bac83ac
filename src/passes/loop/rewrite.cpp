#include "passes/loop/rewrite.h"

namespace sheaf::passes {

using loop::Inst;
using loop::kNoValue;
using loop::Op;
using loop::Stmt;

Rewriter::V Rewriter::mapped(V v) {
  if (v == kNoValue) return kNoValue;
  const Inst& i = k_.values[v];
  switch (i.op) {
    case Op::Const: return b_.constant(i.type, i.imm);
    case Op::Size: return sizes_[i.imm];
    case Op::Index: return index_[i.imm];
    case Op::Result: return result_[i.imm];
    default: return map_[v];
  }
}

Rewriter::V Rewriter::replace(const Inst& inst, V a, V b, V c) {
  if (inst.op == Op::Load) return b_.load(static_cast<int>(inst.imm), a);
  return b_.same(inst, a, b, c);
}

void Rewriter::block(const loop::Block& block_in) {
  for (const Stmt& s : block_in)
    switch (s.kind) {
      case Stmt::Let: {
        const Inst& i = k_.values[s.value];
        map_[s.value] = replace(i, mapped(i.args[0]), mapped(i.args[1]), mapped(i.args[2]));
        break;
      }
      case Stmt::Loop:
        if (rewrite_loop(s)) break;
        index_[s.axis] = b_.begin_loop(mapped(s.extent), s.mark);
        block(s.body);
        b_.end();
        break;
      case Stmt::Reduce:
        index_[s.axis] = b_.begin_reduce(mapped(s.extent), s.combine);
        block(s.body);
        result_[s.id] = b_.end_reduce(mapped(s.value));
        break;
      case Stmt::Store: b_.store(s.id, mapped(s.offset), mapped(s.value)); break;
      case Stmt::Check: b_.check(mapped(s.value), s.id, mapped(s.offset)); break;
      case Stmt::Call: {
        std::vector<V> arguments;
        for (V a : s.arguments)
          arguments.push_back(mapped(a));
        b_.call(s.routine, s.buffers, std::move(arguments));
        break;
      }
    }
}

loop::Kernel Rewriter::run() {
  for (const loop::BufferParam& p : k_.buffers)
    b_.buffer(p.dtype, p.written);
  for (int i = 0; i < k_.num_sizes; ++i) {
    V size = b_.size();
    sizes_.push_back(replace_size(i, size));
  }
  index_.assign(k_.num_axes, kNoValue);
  result_.assign(k_.num_reductions, kNoValue);
  block(k_.body);
  return b_.finish();
}

}  // namespace sheaf::passes
