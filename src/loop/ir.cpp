#include "loop/ir.h"

#include "support/error.h"

namespace sheaf::loop {

namespace {

// Walks statements in order and checks that every value is defined before it is used.
struct Verifier {
  const Kernel& k;
  std::vector<bool> defined;

  void use(ValueId v) {
    INVARIANT(v < k.values.size(), "value " << v << " in kernel " << k.name);
    Op op = k.values[v].op;
    INVARIANT(op == Op::Const || op == Op::Size || defined[v], "v" << v << " used before its definition in\n"
                                                                   << print(k));
  }

  void let(ValueId v) {
    for (ValueId a : k.values[v].args)
      if (a != kNoValue) use(a);
    if (k.values[v].op == Op::Load) INVARIANT(k.values[v].imm < static_cast<int64_t>(k.buffers.size()), "buffer");
    defined[v] = true;
  }

  void leaves(Op op, int64_t imm, bool value) {
    for (size_t v = 0; v < k.values.size(); ++v)
      if (k.values[v].op == op && k.values[v].imm == imm) defined[v] = value;
  }

  void block(const Block& b) {
    for (const Stmt& s : b) {
      if (s.extent != kNoValue) use(s.extent);
      if (s.kind == Stmt::Let) let(s.value);
      if (s.kind == Stmt::Store || s.kind == Stmt::Check) {
        use(s.value);
        use(s.offset);
      }
      if (s.kind == Stmt::Store) INVARIANT(k.buffers[s.id].written, "store to a read-only buffer");
      for (ValueId a : s.arguments)
        use(a);
      if (s.kind == Stmt::Loop || s.kind == Stmt::Reduce) {
        leaves(Op::Index, s.axis, true);
        block(s.body);
        if (s.kind == Stmt::Reduce) {
          use(s.value);
          leaves(Op::Result, s.id, true);
        }
        leaves(Op::Index, s.axis, false);
      }
    }
  }
};

}  // namespace

void verify(const Kernel& k) {
  Verifier v{k, std::vector<bool>(k.values.size(), false)};
  v.block(k.body);
}

}  // namespace sheaf::loop
