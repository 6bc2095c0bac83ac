#include <fmt/format.h>

#include <algorithm>

#include "eval/code.h"
#include "support/error.h"

namespace sheaf::eval {
namespace {

class CodeEmitter {
 public:
  CodeEmitter(Proto& p, bool checked) : p_(p), checked_(checked) {}

  void run() {
    p_.code.clear();
    p_.spans.clear();
    p_.forks.clear();
    recur_ = {nullptr, 0};
    int top = p_.num_slots;
    value(*p_.body, top, top);
    emit(Code::Return, top);
    std::sort(p_.forks.begin(), p_.forks.end(), [](const Fork& a, const Fork& b) { return a.at < b.at; });
    p_.num_registers = max_register_ + 1;
  }

 private:
  int here() const { return static_cast<int>(p_.code.size()); }

  int emit(Code op, int a, int b = 0, int c = 0) {
    touch(a);
    Insn i{};
    i.op = static_cast<uint16_t>(op);
    i.a = static_cast<uint16_t>(a);
    i.b = static_cast<uint16_t>(b);
    i.c = static_cast<uint16_t>(c);
    return push(i);
  }
  int emit_wide(Code op, int a, int32_t imm) {
    touch(a);
    Insn i{};
    i.op = static_cast<uint16_t>(op);
    i.a = static_cast<uint16_t>(a);
    i.i = imm;
    return push(i);
  }
  int push(Insn i) {
    p_.code.push_back(i);
    p_.spans.push_back(span_);
    return here() - 1;
  }
  void touch(int reg) {
    if (reg > max_register_) max_register_ = reg;
    if (reg >= kConstantBit)
      throw UserError(ErrorKind::Compile, "function too large: more than 32767 values alive at once", p_.span);
  }
  // Sets the target of the jump at `at` (or of the word that holds its target) to the next instruction.
  void patch(int at, int from) { p_.code[at].i = here() - from; }

  int constant(const Value& v) {
    p_.constants.push_back(v);
    if (p_.constants.size() >= kConstantBit)
      throw UserError(ErrorKind::Compile, "function too large: more than 32767 constants", p_.span);
    return static_cast<int>(p_.constants.size()) - 1;
  }
  int cell(Cell* c) {
    for (size_t i = 0; i < p_.cells.size(); ++i)
      if (p_.cells[i] == c) return static_cast<int>(i);
    p_.cells.push_back(c);
    return static_cast<int>(p_.cells.size()) - 1;
  }

  bool is_param(int slot) const {
    for (const Param& q : p_.params)
      if (q.slot == slot) return true;
    return false;
  }
  void check_param(const Expr& e) {
    if (!checked_ || e.kind != ExprKind::Local || !is_param(e.slot)) return;
    for (const Param& q : p_.params)
      if (q.slot == e.slot) emit_wide(Code::CheckBound, e.slot, constant(Value::keyword(q.name)));
  }

  // A register or constant operand. Registers from `top` on are free.
  int operand(const Expr& e, int& top, bool later_operands_are_simple) {
    if (e.kind == ExprKind::Const && (e.value.is_number() || e.value.is_bool()))
      return constant(e.value) | kConstantBit;
    // A local may be read without a copy unless a later operand could move it out first.
    if (e.kind == ExprKind::Local && later_operands_are_simple) {
      check_param(e);
      return e.slot;
    }
    int r = top++;
    value(e, r, r);
    return r;
  }

  static bool is_simple(const Expr& e) { return e.kind == ExprKind::Const || e.kind == ExprKind::Local; }

  void binary(Code op, const Expr& x, const Expr& y, int dst, int top) {
    int b = operand(x, top, is_simple(y));
    int c = operand(y, top, true);
    emit(op, dst, b, c);
  }

  static Code code_of(InlineOp op) {
    switch (op) {
      case InlineOp::Add: return Code::Add;
      case InlineOp::Sub: return Code::Sub;
      case InlineOp::Mul: return Code::Mul;
      case InlineOp::Div: return Code::Div;
      case InlineOp::FloorDiv: return Code::FloorDiv;
      case InlineOp::Mod: return Code::Mod;
      case InlineOp::Lt: return Code::Lt;
      case InlineOp::Le: return Code::Le;
      case InlineOp::Gt: return Code::Gt;
      case InlineOp::Ge: return Code::Ge;
      case InlineOp::Not: return Code::Not;
      case InlineOp::Neg: return Code::Neg;
    }
    return Code::Add;
  }

  // A jump on the truth of a register; its errors point at `form`.
  int truth_jump(Code code, int reg, Span form) {
    Span saved = std::exchange(span_, form);
    int at = emit_wide(code, reg, 0);
    span_ = saved;
    return at;
  }

  // Jumps if the condition of `form` is false; returns the word to patch and the base of the jump.
  std::pair<int, int> jump_unless(const Expr& cond, int top, Span form) {
    if (cond.kind == ExprKind::Op && cond.op >= InlineOp::Lt && cond.op <= InlineOp::Ge) {
      int t = top;
      int a = operand(*cond.items[0], t, is_simple(*cond.items[1]));
      int b = operand(*cond.items[1], t, true);
      Span saved = std::exchange(span_, cond.span);
      Code op = static_cast<Code>(static_cast<int>(Code::UnlessLt) + static_cast<int>(cond.op) -
                                  static_cast<int>(InlineOp::Lt));
      Insn i{};
      i.op = static_cast<uint16_t>(op);
      i.a = static_cast<uint16_t>(a);
      i.b = static_cast<uint16_t>(b);
      push(i);
      int at = emit_wide(Code::Jump, 0, 0);
      span_ = saved;
      return {at, at};
    }
    int r = top;
    value(cond, r, r);
    int at = truth_jump(Code::JumpIfNot, r, form);
    return {at, at};
  }

  // Adds a fork for the jump word `at`, the last one emitted; the caller fills in the rest later. Fused comparisons are
  // two words.
  size_t add_fork(Fork::Kind kind, int at, int dst, Span span) {
    bool fused = static_cast<Code>(p_.code[at].op) == Code::Jump;
    p_.forks.push_back({kind, fused ? at - 1 : at, at + 1, 0, 0, dst, 0, span});
    return p_.forks.size() - 1;
  }

  // True if it contains a recur of an enclosing loop.
  static bool recurs(const Expr& e) {
    if (e.kind == ExprKind::Recur) return true;
    if (e.kind == ExprKind::Fn || e.kind == ExprKind::Loop) return false;
    for (const auto& x : e.items)
      if (recurs(*x)) return true;
    return false;
  }

  void call_arguments(const Expr& e, size_t first, int window) {
    for (size_t i = first; i < e.items.size(); ++i) {
      int r = window + 1 + static_cast<int>(i - first);
      value(*e.items[i], r, r);
    }
    touch(window + 1 + static_cast<int>(e.items.size() - first));
  }

  // Computes the value of e into R[dst]; registers from `top` on are free (dst < top or dst == top).
  void value(const Expr& e, int dst, int top) {
    switch (e.kind) {
      case ExprKind::Const: {
        if (e.value.is_nil())
          emit(Code::Nil, dst);
        else if (e.value.is_int() && e.value.as_int() == static_cast<int32_t>(e.value.as_int()))
          emit_wide(Code::Int, dst, static_cast<int32_t>(e.value.as_int()));
        else
          emit_wide(Code::Const, dst, constant(e.value));
        return;
      }
      case ExprKind::Local:
        check_param(e);
        emit(!e.last || checked_            ? Code::Move
             : p_.named && is_param(e.slot) ? Code::TakeParam
                                            : Code::Take,
             dst, e.slot);
        return;
      case ExprKind::Capture: emit(Code::Capture, dst, e.slot); return;
      case ExprKind::Self: emit(Code::Self, dst); return;
      case ExprKind::Global: {
        Span saved = std::exchange(span_, e.span);
        emit_wide(Code::Global, dst, cell(e.cell));
        span_ = saved;
        return;
      }
      case ExprKind::If: {
        auto [at, base] = jump_unless(*e.items[0], top, e.span);
        size_t fork =
            add_fork(recurs(*e.items[1]) || recurs(*e.items[2]) ? Fork::Recur : Fork::Choice, at, dst, e.span);
        value(*e.items[1], dst, top);
        int out = emit_wide(Code::Jump, 0, 0);
        patch(at, base);
        p_.forks[fork].no = here();
        value(*e.items[2], dst, top);
        patch(out, out);
        p_.forks[fork].join = here();
        return;
      }
      case ExprKind::Do:
        for (size_t i = 0; i + 1 < e.items.size(); ++i)
          value(*e.items[i], top, top);
        value(*e.items.back(), dst, top);
        return;
      case ExprKind::Bind:
        value(*e.items[0], e.slot, top);
        value(*e.items[1], dst, top);
        return;
      case ExprKind::Destructure: {
        value(*e.items[0], top, top);
        int n = static_cast<int>(e.slots.size());
        bool rest = e.rest_slot >= 0;
        touch(top + n);
        Span saved = std::exchange(span_, e.span);
        emit(Code::Destructure, top, n, rest);
        span_ = saved;
        for (int i = 0; i < n; ++i)
          emit(Code::Take, e.slots[i], top + i);
        if (rest) emit(Code::Take, e.rest_slot, top + n);
        value(*e.items[1], dst, top);
        return;
      }
      case ExprKind::Fn: {
        p_.protos.push_back(e.proto);
        int index = static_cast<int>(p_.protos.size()) - 1;
        for (const auto& c : e.captures)
          check_param(*c);
        emit_wide(Code::Closure, dst, index);
        for (const auto& c : e.captures) {
          if (c->kind == ExprKind::Capture)
            emit(Code::Capture, 0, c->slot);
          else
            emit(c->last && !checked_ ? Code::Take : Code::Move, 0, c->slot);
        }
        return;
      }
      case ExprKind::Call: {
        int w = dst == top ? dst : top;
        value(*e.items[0], w, w);
        call_arguments(e, 1, w);
        Span saved = std::exchange(span_, e.span);
        emit(Code::Call, w, static_cast<int>(e.items.size()) - 1);
        span_ = saved;
        if (w != dst) emit(Code::Take, dst, w);
        return;
      }
      case ExprKind::CallGlobal:
      case ExprKind::CallBuiltin: {
        int w = dst == top ? dst : top;
        call_arguments(e, 0, w);
        // get, dict, assoc and last have no position of their own: their errors point at the enclosing call.
        bool transparent = e.flag && span_;
        Span saved = transparent ? span_ : std::exchange(span_, e.span);
        if (e.kind == ExprKind::CallGlobal) {
          emit(Code::CallGlobal, w, static_cast<int>(e.items.size()));
          emit_wide(Code::Jump, 0, cell(e.cell));
        } else {
          p_.builtin_refs.push_back(e.builtin);
          emit(Code::CallBuiltin, w, static_cast<int>(e.items.size()));
          emit_wide(Code::Jump, 0, static_cast<int>(p_.builtin_refs.size()) - 1);
        }
        span_ = saved;
        if (w != dst) emit(Code::Take, dst, w);
        return;
      }
      case ExprKind::Op: {
        Span saved = std::exchange(span_, e.span);
        if (e.op == InlineOp::Not || e.op == InlineOp::Neg) {
          int t = top;
          int b = operand(*e.items[0], t, true);
          if (b & kConstantBit) {
            value(*e.items[0], dst, top);
            b = dst;
          }
          emit(code_of(e.op), dst, b);
        } else {
          binary(code_of(e.op), *e.items[0], *e.items[1], dst, top);
        }
        span_ = saved;
        return;
      }
      case ExprKind::Vector:
      case ExprKind::Dict: {
        int w = dst == top ? dst : top;
        for (size_t i = 0; i < e.items.size(); ++i)
          value(*e.items[i], w + static_cast<int>(i), w + static_cast<int>(i));
        touch(w + static_cast<int>(e.items.size()));
        Span saved = std::exchange(span_, e.kind == ExprKind::Dict && span_ ? span_ : e.span);
        emit(e.kind == ExprKind::Vector ? Code::Vector : Code::Dict, w, static_cast<int>(e.items.size()), e.flag);
        span_ = saved;
        if (w != dst) emit(Code::Take, dst, w);
        return;
      }
      case ExprKind::And:
      case ExprKind::Or: {
        // Not directly into dst: a later operand may still read the local in dst.
        int w = dst == top ? dst : top;
        std::vector<int> outs;
        std::vector<size_t> forks;
        for (size_t i = 0; i < e.items.size(); ++i) {
          value(*e.items[i], w, w);
          if (i + 1 == e.items.size()) break;
          outs.push_back(truth_jump(e.kind == ExprKind::And ? Code::JumpIfNot : Code::JumpIf, w, e.span));
          forks.push_back(add_fork(Fork::Choice, outs.back(), w, e.span));
        }
        for (int at : outs)
          patch(at, at);
        for (size_t f : forks) {
          Fork& fork = p_.forks[f];
          fork.no = fork.join = here();
          if (e.kind == ExprKind::Or) std::swap(fork.yes, fork.no);
        }
        if (w != dst) emit(Code::Take, dst, w);
        return;
      }
      case ExprKind::While: {
        value(*e.items[1], e.slot, top);
        int start = here();
        auto [at, base] = jump_unless(*e.items[0], top, e.span);
        size_t fork = add_fork(Fork::While, at, e.slot, e.span);
        value(*e.items[2], e.slot, top);
        int back = emit_wide(Code::Jump, 0, 0);
        p_.code[back].i = start - back;
        patch(at, base);
        p_.forks[fork].start = start;
        p_.forks[fork].join = back;
        p_.forks[fork].no = here();
        emit(Code::Take, dst, e.slot);
        return;
      }
      case ExprKind::Repeat: {
        // Two hidden registers: the index and the count.
        int index = top, count = top + 1;
        value(*e.items[0], count, count);
        Span saved = std::exchange(span_, e.span);
        emit(Code::RepeatCount, count);
        span_ = saved;
        value(*e.items[1], e.slot2, top + 2);
        emit_wide(Code::Int, index, 0);
        int test = emit(Code::RepeatTest, index);
        int at = emit_wide(Code::Jump, 0, 0);
        size_t fork = add_fork(Fork::Repeat, at, e.slot2, e.span);
        emit(Code::Move, e.slot, index);
        value(*e.items[2], e.slot2, top + 2);
        p_.forks[fork].join = here();
        p_.forks[fork].start = index;
        p_.constants.push_back(Value::integer(1));
        emit(Code::Add, index, index, static_cast<int>(p_.constants.size() - 1) | kConstantBit);
        int back = emit_wide(Code::Jump, 0, 0);
        p_.code[back].i = test - back;
        patch(at, at);
        p_.forks[fork].no = here();
        emit(Code::Take, dst, e.slot2);
        return;
      }
      case ExprKind::Loop: {
        size_t n = e.slots.size();
        for (size_t i = 0; i < n; ++i)
          value(*e.items[i], e.slots[i], top);
        auto saved = std::exchange(recur_, {&e.slots, here()});
        value(*e.items[n], dst, top);
        recur_ = saved;
        return;
      }
      case ExprKind::Recur: {
        std::vector<int> params;
        const std::vector<int>* targets = recur_.first;
        if (!targets) {
          for (const Param& q : p_.params)
            params.push_back(q.slot);
          targets = &params;
        }
        for (size_t i = 0; i < e.items.size(); ++i)
          value(*e.items[i], top + static_cast<int>(i), top + static_cast<int>(i));
        for (size_t i = 0; i < e.items.size(); ++i)
          emit(Code::Take, (*targets)[i], top + static_cast<int>(i));
        int back = emit_wide(Code::Jump, 0, 0);
        p_.code[back].i = recur_.second - back;
        return;
      }
      case ExprKind::Def:
        value(*e.items[0], dst, top);
        emit_wide(Code::Define, dst, cell(e.cell));
        return;
      case ExprKind::Try: {
        int at = emit_wide(Code::PushTry, e.slot, 0);
        value(*e.items[0], dst, top);
        emit(Code::PopTry, 0);
        int out = emit_wide(Code::Jump, 0, 0);
        patch(at, at);
        value(*e.items[1], dst, top);
        patch(out, out);
        return;
      }
      case ExprKind::ParamField: {
        int w = dst == top ? dst : top;
        int count = static_cast<int>(e.items.size());
        for (int i = 0; i < count; ++i)
          value(*e.items[i], w + i, w + i);
        Span saved = std::exchange(span_, e.span);
        emit_wide(Code::ParamField, w, constant(e.value));
        emit_wide(Code::Jump, count, e.cell ? cell(e.cell) : -1);
        span_ = saved;
        if (w != dst) emit(Code::Take, dst, w);
        return;
      }
    }
  }

  Proto& p_;
  bool checked_;
  Span span_;
  int max_register_ = 0;
  std::pair<const std::vector<int>*, int> recur_;
};

}  // namespace

void emit_code(Proto& proto, bool checked) { CodeEmitter(proto, checked).run(); }

std::string print_code(const Proto& p) {
  constexpr std::string_view names[] = {
      "move",        "take",        "take-param",  "const",        "int",       "nil",       "global",
      "capture",     "self",        "check-bound", "add",          "sub",       "mul",       "div",
      "floor-div",   "mod",         "lt",          "le",           "gt",        "ge",        "not",
      "neg",         "jump",        "jump-if",     "jump-if-not",  "unless-lt", "unless-le", "unless-gt",
      "unless-ge",   "call",        "call-global", "call-builtin", "closure",   "vector",    "dict",
      "destructure", "param-field", "repeat-test", "repeat-count", "define",    "push-try",  "pop-try",
      "return"};
  std::string out = fmt::format("fn {} ({} parameters, {} registers)\n", p.name.empty() ? "<fn>" : p.name,
                                p.params.size(), p.num_registers);
  for (size_t i = 0; i < p.code.size(); ++i)
    out += fmt::format("  {:4} {} {} {} {}\n", i, names[p.code[i].op], p.code[i].a, p.code[i].b, p.code[i].c);
  for (const auto& q : p.protos)
    out += print_code(*q);
  return out;
}

}  // namespace sheaf::eval
