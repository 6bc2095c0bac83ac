#include <fmt/format.h>

#include "loop/text.h"
#include "support/error.h"
#include "tensor/element_text.h"

namespace sheaf::loop {
namespace {

bool is_leaf(Op op) { return op == Op::Const || op == Op::Size || op == Op::Index || op == Op::Result; }
// Operations whose operands have another type than the result.
bool has_from(Op op) { return (op >= Op::Lt && op <= Op::Ne) || op == Op::Convert || op == Op::Bitcast; }

std::string constant_text(const Inst& i) {
  if (i.type == DType::I64) return std::to_string(i.imm);
  return fmt::format("{}({})", sheaf::name_of(i.type), exact_text(i.type, reinterpret_cast<const std::byte*>(&i.imm)));
}

struct Printer {
  const Kernel& k;
  std::string out;
  std::vector<uint32_t> numbers = std::vector<uint32_t>(k.values.size(), kNoValue);
  uint32_t next = 0;

  std::string ref(ValueId v) const {
    const Inst& i = k.values[v];
    switch (i.op) {
      case Op::Const: return constant_text(i);
      case Op::Size: return fmt::format("s{}", i.imm);
      case Op::Index: return fmt::format("i{}", i.imm);
      case Op::Result: return fmt::format("r{}", i.imm);
      default: return numbers[v] == kNoValue ? "v?" : fmt::format("v{}", numbers[v]);
    }
  }

  void line(int depth, const std::string& text) { out += std::string(2 * depth, ' ') + text + "\n"; }

  void block(const Block& b, int depth) {
    for (const Stmt& s : b) stmt(s, depth);
  }

  void let(ValueId v, int depth) {
    const Inst& i = k.values[v];
    std::string text;
    if (i.op == Op::Load) {
      text = fmt::format("b{}[{}]", i.imm, ref(i.args[0]));
    } else {
      text = std::string(name_of(i.op)) + (has_from(i.op) ? "." + std::string(sheaf::name_of(i.from)) : "") + "(";
      for (int a = 0; a < 3 && i.args[a] != kNoValue; ++a) text += (a ? ", " : "") + ref(i.args[a]);
      text += ")";
    }
    numbers[v] = next++;
    line(depth, fmt::format("v{}: {} = {}", numbers[v], sheaf::name_of(i.type), text));
  }

  void stmt(const Stmt& s, int depth) {
    switch (s.kind) {
      case Stmt::Let: let(s.value, depth); break;
      case Stmt::Store: line(depth, fmt::format("b{}[{}] = {}", s.id, ref(s.offset), ref(s.value))); break;
      case Stmt::Check: line(depth, fmt::format("check {}, site {}, {}", ref(s.value), s.id, ref(s.offset))); break;
      case Stmt::Call: {
        std::string args;
        for (int32_t b : s.buffers) args += fmt::format("{}b{}", args.empty() ? "" : ", ", b);
        for (ValueId a : s.arguments) args += (args.empty() ? "" : ", ") + ref(a);
        line(depth, "call " + s.routine + "(" + args + ")");
        break;
      }
      case Stmt::Loop:
        line(depth, fmt::format("{} i{} < {} {{", kMarkNames[static_cast<int>(s.mark)], s.axis, ref(s.extent)));
        block(s.body, depth + 1);
        line(depth, "}");
        break;
      case Stmt::Reduce:
        line(depth, fmt::format("r{}: {} = {} i{} < {} {{", s.id, sheaf::name_of(k.reduction_types[s.id]), kCombineNames[static_cast<int>(s.combine)],
                                s.axis, ref(s.extent)));
        block(s.body, depth + 1);
        line(depth + 1, "yield " + ref(s.value));
        line(depth, "}");
        break;
    }
  }
};

// Walks both kernels in step; a value of one corresponds to one of the other once its Let was met.
struct Comparison {
  const Kernel &a, &b;
  std::vector<ValueId> other = std::vector<ValueId>(a.values.size(), kNoValue);

  bool same(ValueId x, ValueId y) const {
    if (x == kNoValue || y == kNoValue) return x == y;
    const Inst &i = a.values[x], &j = b.values[y];
    if (is_leaf(i.op)) return i.op == j.op && i.type == j.type && i.imm == j.imm;
    return other[x] == y;
  }

  bool let(ValueId x, ValueId y) {
    const Inst &i = a.values[x], &j = b.values[y];
    bool equal = i.op == j.op && i.type == j.type && i.from == j.from && i.imm == j.imm;
    for (int k = 0; k < 3; ++k) equal = equal && same(i.args[k], j.args[k]);
    other[x] = y;
    return equal;
  }

  bool block(const Block& x, const Block& y) {
    if (x.size() != y.size()) return false;
    for (size_t i = 0; i < x.size(); ++i)
      if (!stmt(x[i], y[i])) return false;
    return true;
  }

  bool stmt(const Stmt& x, const Stmt& y) {
    if (x.kind != y.kind || x.axis != y.axis || x.id != y.id || x.mark != y.mark || x.combine != y.combine || x.routine != y.routine) return false;
    if (x.kind == Stmt::Let) return let(x.value, y.value);
    if (!same(x.extent, y.extent) || !same(x.offset, y.offset) || x.buffers != y.buffers || x.arguments.size() != y.arguments.size()) return false;
    for (size_t i = 0; i < x.arguments.size(); ++i)
      if (!same(x.arguments[i], y.arguments[i])) return false;
    return block(x.body, y.body) && same(x.value, y.value);
  }
};

}  // namespace

std::string print(const Kernel& k) {
  std::string params;
  for (size_t i = 0; i < k.buffers.size(); ++i)
    params += fmt::format("{}b{}: {}{}", i ? ", " : "", i, k.buffers[i].written ? "mut " : "", sheaf::name_of(k.buffers[i].dtype));
  for (int i = 0; i < k.num_sizes; ++i) params += fmt::format("{}s{}", params.empty() ? "" : ", ", i);
  Printer p{k, "kernel @" + k.name + "(" + params + ") {\n"};
  p.block(k.body, 1);
  return p.out + "}\n";
}

bool equal(const Kernel& a, const Kernel& b) {
  auto same_buffers = [&] {
    for (size_t i = 0; i < a.buffers.size(); ++i)
      if (a.buffers[i].dtype != b.buffers[i].dtype || a.buffers[i].written != b.buffers[i].written) return false;
    return true;
  };
  return a.name == b.name && a.num_sizes == b.num_sizes && a.num_axes == b.num_axes && a.num_reductions == b.num_reductions &&
         a.reduction_types == b.reduction_types && a.buffers.size() == b.buffers.size() && same_buffers() && Comparison{a, b}.block(a.body, b.body);
}

}  // namespace sheaf::loop
