#include "loop/ir.h"

#include <fmt/format.h>

#include <bit>

#include "support/error.h"

namespace sheaf::loop {

std::string_view name_of(Op op) {
  constexpr std::string_view names[] = {
      "const", "size", "index", "load", "result", "add", "sub", "mul", "div", "fma", "neg", "abs", "min", "max",
      "floordiv", "floormod", "rem", "sqrt", "floor", "ceil", "trunc", "rint", "round", "and", "or", "xor", "not", "shl", "shr",
      "sar", "lt", "le", "gt", "ge", "eq", "ne", "select", "convert", "bitcast", "exp", "log", "sin", "cos", "tan", "tanh", "pow",
      "erf", "expm1", "log1p", "atan2", "erfinv"};
  return names[static_cast<int>(op)];
}

namespace {

constexpr std::string_view kCombineNames[] = {"sum", "prod", "max", "min", "argmax", "argmin"};
constexpr std::string_view kMarkNames[] = {"for", "parallel", "vector"};

struct Printer {
  const Kernel& k;
  std::string out;

  std::string ref(ValueId v) {
    const Inst& i = k.values[v];
    switch (i.op) {
      case Op::Const:
        if (i.type == DType::F32) return fmt::format("{}f", std::bit_cast<float>(static_cast<uint32_t>(i.imm)));
        if (i.type == DType::F64) return fmt::format("{}d", std::bit_cast<double>(i.imm));
        return fmt::format("{}", i.imm);
      case Op::Size: return fmt::format("s{}", i.imm);
      case Op::Index: return fmt::format("i{}", i.imm);
      case Op::Result: return fmt::format("r{}", i.imm);
      default: return fmt::format("v{}", v);
    }
  }

  void line(int depth, const std::string& text) { out += std::string(2 * depth, ' ') + text + "\n"; }

  void block(const Block& b, int depth) {
    for (const Stmt& s : b) stmt(s, depth);
  }

  void let(ValueId v, int depth) {
    const Inst& i = k.values[v];
    std::string text = fmt::format("v{}: {} = ", v, sheaf::name_of(i.type));
    if (i.op == Op::Load) {
      text += fmt::format("b{}[{}]", i.imm, ref(i.args[0]));
    } else {
      text += std::string(name_of(i.op)) + "(";
      for (int a = 0; a < 3 && i.args[a] != kNoValue; ++a) text += (a ? ", " : "") + ref(i.args[a]);
      text += ")";
    }
    line(depth, text);
  }

  void stmt(const Stmt& s, int depth) {
    switch (s.kind) {
      case Stmt::Let: let(s.value, depth); break;
      case Stmt::Store: line(depth, fmt::format("b{}[{}] = {}", s.id, ref(s.offset), ref(s.value))); break;
      case Stmt::Check: line(depth, fmt::format("check {}, site {}, {}", ref(s.value), s.id, ref(s.offset))); break;
      case Stmt::Call: {
        std::string text = "call " + s.routine + "(";
        for (size_t i = 0; i < s.buffers.size(); ++i) text += (i ? ", b" : "b") + std::to_string(s.buffers[i]);
        for (ValueId a : s.arguments) text += ", " + ref(a);
        line(depth, text + ")");
        break;
      }
      case Stmt::Loop:
        line(depth, fmt::format("{} i{} < {} {{", kMarkNames[static_cast<int>(s.mark)], s.axis, ref(s.extent)));
        block(s.body, depth + 1);
        line(depth, "}");
        break;
      case Stmt::Reduce:
        line(depth, fmt::format("r{} = {} i{} < {} {{", s.id, kCombineNames[static_cast<int>(s.combine)], s.axis, ref(s.extent)));
        block(s.body, depth + 1);
        line(depth + 1, "yield " + ref(s.value));
        line(depth, "}");
        break;
    }
  }
};

// Walks statements in order and checks that every value is defined before it is used.
struct Verifier {
  const Kernel& k;
  std::vector<bool> defined;

  void use(ValueId v) {
    INVARIANT(v < k.values.size(), "value " << v << " in kernel " << k.name);
    Op op = k.values[v].op;
    INVARIANT(op == Op::Const || op == Op::Size || defined[v], "v" << v << " used before its definition in\n" << print(k));
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
      for (ValueId a : s.arguments) use(a);
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

std::string print(const Kernel& k) {
  std::string head = "kernel @" + k.name + "(";
  for (size_t i = 0; i < k.buffers.size(); ++i)
    head += fmt::format("{}b{}: {}{}", i ? ", " : "", i, k.buffers[i].written ? "mut " : "", sheaf::name_of(k.buffers[i].dtype));
  for (int i = 0; i < k.num_sizes; ++i) head += fmt::format("{}s{}", i || !k.buffers.empty() ? ", " : "", i);
  Printer p{k, head + ") {\n"};
  p.block(k.body, 1);
  return p.out + "}\n";
}

void verify(const Kernel& k) {
  Verifier v{k, std::vector<bool>(k.values.size(), false)};
  v.block(k.body);
}

}  // namespace sheaf::loop
