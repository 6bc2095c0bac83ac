#include <fmt/format.h>

#include <utility>

#include "loop/text.h"
#include "support/error.h"
#include "tensor/element_text.h"

namespace sheaf::loop {
namespace {

bool is_leaf(Op op) { return op == Op::Const || op == Op::Size || op == Op::Index || op == Op::Result; }
// Operations whose operand type may differ from the result type.
bool has_from(Op op) { return (op >= Op::Lt && op <= Op::Ne) || op == Op::Convert || op == Op::Bitcast; }

// Appends everything to one string, for speed: every kernel is printed, since its text is its key.
struct Printer {
  const Kernel& k;
  std::string out;
  std::vector<uint32_t> numbers = std::vector<uint32_t>(k.values.size(), kNoValue);
  uint32_t next = 0;

  void number(int64_t n) {
    fmt::format_int text(n);
    out.append(text.data(), text.size());
  }
  void named(char letter, int64_t n) {
    out += letter;
    number(n);
  }

  void ref(ValueId v) {
    const Inst& i = k.values[v];
    switch (i.op) {
      case Op::Const:
        if (i.type == DType::I64) return number(i.imm);
        out += sheaf::name_of(i.type);
        out += '(';
        out += exact_text(i.type, reinterpret_cast<const std::byte*>(&i.imm));
        out += ')';
        return;
      case Op::Size: return named('s', i.imm);
      case Op::Index: return named('i', i.imm);
      case Op::Result: return named('r', i.imm);
      default:
        if (numbers[v] == kNoValue)
          out += "v?";
        else
          named('v', numbers[v]);
    }
  }

  void indent(int depth) { out.append(static_cast<size_t>(2 * depth), ' '); }

  void block(const Block& b, int depth) {
    for (const Stmt& s : b) {
      indent(depth);
      stmt(s, depth);
      out += '\n';
    }
  }

  void element(int64_t buffer, ValueId offset) {
    named('b', buffer);
    out += '[';
    ref(offset);
    out += ']';
  }

  void let(ValueId v) {
    const Inst& i = k.values[v];
    uint32_t own = next++;
    named('v', own);
    out += ": ";
    out += sheaf::name_of(i.type);
    out += " = ";
    if (i.op == Op::Load) {
      element(i.imm, i.args[0]);
    } else {
      out += name_of(i.op);
      if (has_from(i.op)) {
        out += '.';
        out += sheaf::name_of(i.from);
      }
      out += '(';
      for (int a = 0; a < 3 && i.args[a] != kNoValue; ++a) {
        if (a) out += ", ";
        ref(i.args[a]);
      }
      out += ')';
    }
    numbers[v] = own;
  }

  // Prints `axis` < `extent` and the body.
  void loop(const Stmt& s, int depth) {
    named('i', s.axis);
    out += " < ";
    ref(s.extent);
    out += " {\n";
    block(s.body, depth + 1);
    if (s.kind == Stmt::Reduce) {
      indent(depth + 1);
      out += "yield ";
      ref(s.value);
      out += '\n';
    }
    indent(depth);
    out += '}';
  }

  void stmt(const Stmt& s, int depth) {
    switch (s.kind) {
      case Stmt::Let: return let(s.value);
      case Stmt::Store:
        element(s.id, s.offset);
        out += " = ";
        return ref(s.value);
      case Stmt::Check:
        out += "check ";
        ref(s.value);
        out += ", site ";
        number(s.id);
        out += ", ";
        return ref(s.offset);
      case Stmt::Call: {
        out += "call " + s.routine + "(";
        const char* between = "";
        for (int32_t b : s.buffers) {
          out += std::exchange(between, ", ");
          named('b', b);
        }
        for (ValueId a : s.arguments) {
          out += std::exchange(between, ", ");
          ref(a);
        }
        out += ')';
        return;
      }
      case Stmt::Loop:
        out += kMarkNames[static_cast<int>(s.mark)];
        out += ' ';
        return loop(s, depth);
      case Stmt::Reduce:
        named('r', s.id);
        out += ": ";
        out += sheaf::name_of(k.reduction_types[s.id]);
        out += " = ";
        out += kCombineNames[static_cast<int>(s.combine)];
        out += ' ';
        return loop(s, depth);
    }
  }
};

// Walks both kernels in lockstep and maps each value of one to a value of the other at its Let.
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
    for (int k = 0; k < 3; ++k)
      equal = equal && same(i.args[k], j.args[k]);
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
    if (x.kind != y.kind || x.axis != y.axis || x.id != y.id || x.mark != y.mark || x.combine != y.combine ||
        x.routine != y.routine)
      return false;
    if (x.kind == Stmt::Let) return let(x.value, y.value);
    if (!same(x.extent, y.extent) || !same(x.offset, y.offset) || x.buffers != y.buffers ||
        x.arguments.size() != y.arguments.size())
      return false;
    for (size_t i = 0; i < x.arguments.size(); ++i)
      if (!same(x.arguments[i], y.arguments[i])) return false;
    return block(x.body, y.body) && same(x.value, y.value);
  }
};

}  // namespace

std::string print(const Kernel& k) {
  Printer p{k, "kernel @" + k.name + "("};
  const char* between = "";
  for (size_t i = 0; i < k.buffers.size(); ++i) {
    p.out += std::exchange(between, ", ");
    p.named('b', static_cast<int64_t>(i));
    p.out += k.buffers[i].written ? ": mut " : ": ";
    p.out += sheaf::name_of(k.buffers[i].dtype);
  }
  for (int i = 0; i < k.num_sizes; ++i) {
    p.out += std::exchange(between, ", ");
    p.named('s', i);
  }
  p.out += ") {\n";
  p.block(k.body, 1);
  return std::move(p.out) + "}\n";
}

bool equal(const Kernel& a, const Kernel& b) {
  auto same_buffers = [&] {
    for (size_t i = 0; i < a.buffers.size(); ++i)
      if (a.buffers[i].dtype != b.buffers[i].dtype || a.buffers[i].written != b.buffers[i].written) return false;
    return true;
  };
  return a.name == b.name && a.num_sizes == b.num_sizes && a.num_axes == b.num_axes &&
         a.num_reductions == b.num_reductions && a.reduction_types == b.reduction_types &&
         a.buffers.size() == b.buffers.size() && same_buffers() && Comparison{a, b}.block(a.body, b.body);
}

}  // namespace sheaf::loop
