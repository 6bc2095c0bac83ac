#include <fmt/format.h>

#include <cctype>
#include <map>
#include <tuple>
#include <unordered_map>

#include "loop/text.h"
#include "routines/routine.h"
#include "support/error.h"
#include "tensor/element_text.h"

namespace sheaf::loop {
namespace {

class Parser {
 public:
  explicit Parser(Scanner& s) : s_(s) {}

  Kernel run() {
    s_.expect("kernel");
    s_.expect("@");
    k_.name = s_.word();
    s_.expect("(");
    for (bool first = true; !s_.accept(")"); first = false) {
      if (!first) s_.expect(",");
      parameter();
    }
    k_.body = block();
    return std::move(k_);
  }

 private:
  void parameter() {
    s_.skip_blanks();
    if (s_.accept_adjacent('s')) {
      if (s_.integer() != k_.num_sizes++) s_.fail("sizes are numbered from 0");
      return;
    }
    if (buffer_number() != static_cast<int>(k_.buffers.size())) s_.fail("buffers are numbered from 0");
    s_.expect(":");
    bool written = s_.accept("mut");
    k_.buffers.push_back({scan_dtype(s_), written});
  }

  int numbered(char letter) {
    s_.skip_blanks();
    if (!s_.accept_adjacent(letter)) s_.fail(fmt::format("expected {} and a number", letter));
    return static_cast<int>(s_.integer());
  }
  int buffer_number() { return numbered('b'); }
  int known_buffer() {
    int b = buffer_number();
    if (b < 0 || b >= static_cast<int>(k_.buffers.size())) s_.fail(fmt::format("there is no buffer b{}", b));
    return b;
  }

  Block block() {
    s_.expect("{");
    Block b;
    while (!s_.accept("}"))
      b.push_back(stmt());
    return b;
  }

  Stmt stmt() {
    for (size_t m = 0; m < std::size(kMarkNames); ++m)
      if (s_.accept(kMarkNames[m])) return loop(static_cast<Mark>(m));
    if (s_.accept("check")) {
      Stmt s{.kind = Stmt::Check, .value = value()};
      s_.expect(",");
      s_.expect("site");
      s.id = static_cast<int32_t>(s_.integer());
      s_.expect(",");
      s.offset = value();
      return s;
    }
    if (s_.accept("call")) return call();
    s_.skip_blanks();
    if (s_.accept_adjacent('v')) return let();
    if (s_.accept_adjacent('r')) return reduce();
    Stmt s{.kind = Stmt::Store};
    s.id = known_buffer();
    s_.expect("[");
    s.offset = value();
    s_.expect("]");
    s_.expect("=");
    s.value = value();
    return s;
  }

  void open_axis(Stmt& s) {
    s.axis = numbered('i');
    k_.num_axes = std::max(k_.num_axes, s.axis + 1);
    s_.expect("<");
    s.extent = value();
  }

  Stmt loop(Mark mark) {
    Stmt s{.kind = Stmt::Loop};
    s.mark = mark;
    open_axis(s);
    s.body = block();
    return s;
  }

  // r0: f32 = sum i1 < s0 { … yield v3 }
  Stmt reduce() {
    Stmt s{.kind = Stmt::Reduce};
    s.id = static_cast<int32_t>(s_.integer());
    if (s.id < 0 || s.id > 4096) s_.fail("no such reduction");
    s_.expect(":");
    DType type = scan_dtype(s_);
    s_.expect("=");
    bool found = false;
    for (int c = 0; c < 6 && !found; ++c)
      if ((found = s_.accept(kCombineNames[c]))) s.combine = static_cast<Combine>(c);
    if (!found) s_.fail("expected sum, prod, max, min, argmax or argmin");
    open_axis(s);
    s_.expect("{");
    while (!s_.accept("yield"))
      s.body.push_back(stmt());
    s.value = value();
    s_.expect("}");
    k_.num_reductions = std::max(k_.num_reductions, s.id + 1);
    k_.reduction_types.resize(k_.num_reductions, DType::F32);
    k_.reduction_types[s.id] = type;
    bool position = s.combine == Combine::ArgMax || s.combine == Combine::ArgMin;
    results_[s.id] = position ? DType::I64 : type;
    return s;
  }

  Stmt call() {
    Stmt s{.kind = Stmt::Call};
    s.routine = s_.word();
    if (!routines::find_routine(s.routine)) s_.fail("unknown routine " + s.routine);
    s_.expect("(");
    for (bool first = true; !s_.accept(")"); first = false) {
      if (!first) s_.expect(",");
      if (at_buffer())
        s.buffers.push_back(known_buffer());
      else
        s.arguments.push_back(value());
    }
    return s;
  }

  // v3: f32 = add(v1, v2), after the letter v
  Stmt let() {
    int64_t number = s_.integer();
    s_.expect(":");
    Inst i{Op::Load, scan_dtype(s_)};
    s_.expect("=");
    if (!at_buffer()) {
      operation(i);
    } else {
      i.imm = static_cast<int64_t>(known_buffer());
      i.from = DType::I64;
      s_.expect("[");
      i.args[0] = value();
      s_.expect("]");
    }
    ValueId id = add(i);
    if (!lets_.emplace(number, id).second) s_.fail(fmt::format("v{} is defined twice", number));
    return Stmt{.kind = Stmt::Let, .value = id};
  }

  // b3 rather than bitcast.f32(…) or bf16(…)
  bool at_buffer() {
    s_.skip_blanks();
    return s_.peek() == 'b' && std::isdigit(static_cast<unsigned char>(s_.peek(1)));
  }

  void operation(Inst& i) {
    std::string_view word = s_.word();
    size_t dot = word.find('.');
    bool found = false;
    for (int o = static_cast<int>(Op::Add); o <= static_cast<int>(kLastOp) && !found; ++o)
      if ((found = name_of(static_cast<Op>(o)) == word.substr(0, dot))) i.op = static_cast<Op>(o);
    if (!found) s_.fail(fmt::format("unknown operation {}", word));
    i.from = i.type;
    if (dot != std::string_view::npos) {
      auto from = dtype_from_name(word.substr(dot + 1));
      if (!from) s_.fail(fmt::format("unknown dtype {}", word.substr(dot + 1)));
      i.from = *from;
    }
    s_.expect("(");
    for (int a = 0; !s_.accept(")"); ++a) {
      if (a == 3) s_.fail("an operation has at most 3 operands");
      if (a) s_.expect(",");
      i.args[a] = value();
    }
  }

  ValueId add(Inst i) {
    k_.values.push_back(i);
    return static_cast<ValueId>(k_.values.size()) - 1;
  }

  // Leaves are shared, as the builder shares them.
  ValueId leaf(Op op, DType type, int64_t imm) {
    auto [it, fresh] = leaves_.try_emplace({op, type, imm}, 0);
    if (fresh) it->second = add({op, type, type, {kNoValue, kNoValue, kNoValue}, imm});
    return it->second;
  }

  ValueId value() {
    s_.skip_blanks();
    for (DType d : {DType::F32, DType::F64, DType::BF16, DType::F16, DType::I32, DType::U32, DType::Bool, DType::I8,
                    DType::U8, DType::I16, DType::U16}) {
      if (!s_.accept(std::string(sheaf::name_of(d)) + "(")) continue;
      std::string_view text = s_.number();
      int64_t bits = 0;
      if (!parse_exact(d, text, reinterpret_cast<std::byte*>(&bits)))
        s_.fail(fmt::format("{} is no {}", text, sheaf::name_of(d)));
      if (d == DType::I32) bits = static_cast<int32_t>(bits);
      s_.expect(")");
      return leaf(Op::Const, d, bits);
    }
    if (s_.accept_adjacent('s')) return leaf(Op::Size, DType::I64, bounded(s_.integer(), k_.num_sizes, "size"));
    if (s_.accept_adjacent('i'))
      return leaf(Op::Index, DType::I64, bounded(s_.integer(), k_.num_axes, "loop variable"));
    if (s_.accept_adjacent('r')) {
      int64_t r = s_.integer();
      auto it = results_.find(r);
      if (it == results_.end()) s_.fail(fmt::format("r{} is not defined before its use", r));
      return leaf(Op::Result, it->second, r);
    }
    if (s_.accept_adjacent('v')) {
      int64_t v = s_.integer();
      auto it = lets_.find(v);
      if (it == lets_.end()) s_.fail(fmt::format("v{} is not defined before its use", v));
      return it->second;
    }
    return leaf(Op::Const, DType::I64, s_.integer());
  }

  int64_t bounded(int64_t i, int64_t n, const char* what) {
    if (i < 0 || i >= n) s_.fail(fmt::format("there is no {} {}", what, i));
    return i;
  }

  Scanner& s_;
  Kernel k_;
  std::unordered_map<int64_t, ValueId> lets_;
  std::unordered_map<int64_t, DType> results_;
  std::map<std::tuple<Op, DType, int64_t>, ValueId> leaves_;
};

}  // namespace

Kernel parse(Scanner& s) { return Parser(s).run(); }

}  // namespace sheaf::loop
