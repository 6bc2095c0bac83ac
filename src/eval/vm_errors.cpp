// Adds information to an error as it leaves the machine: its position, the operands, the stack.
#include <fmt/format.h>

#include "builtins/core/missing.h"
#include "eval/argument_notes.h"
#include "eval/tombstone.h"
#include "eval/vm.h"
#include "support/form_text.h"
#include "support/interrupt.h"
#include "trace/jit.h"
#include "value/dict.h"
#include "value/print.h"

namespace sheaf::eval {
namespace {

std::string argument_text(const Value& v) {
  if (v.tag() == Tag::Unbound) return tombstone_text(v);
  if (v.is_float()) return brief_number(v.as_float());
  return v.is_string() ? brief_string(v.as_string()) : short_text(v);
}

bool is_library(const Span& s) { return s && source_kind(s.source) == SourceKind::Prelude; }

// Moves an error of library code to the program's call. The library's own line goes to the stack, with the notes about
// names in it.
void move_to_call(UserError& e, Span call) {
  StackEntry inside{short_form(text_of(e.span)), "", e.span};
  if (!e.notes.empty() &&
      (e.notes.front().starts_with("where ") || e.notes.front().find(" is given ") != std::string::npos)) {
    inside.arguments = std::move(e.notes.front());
    e.notes.erase(e.notes.begin());
  }
  // A library's own (error …) call adds no information.
  if (!text_of(e.span).starts_with("(error ")) e.stack.insert(e.stack.begin(), std::move(inside));
  e.span = call;
}

}  // namespace

// A call through a value may omit arguments; they are then names without a value.
static void explain_missing_argument(UserError& e, const Proto& p) {
  for (const Param& q : p.params)
    if (e.message == "Undefined symbol: " + q.name.str())
      e.hints.push_back(fmt::format("{} takes {} argument{} and was called without {}.", p.name.empty() ? "fn" : p.name,
                                    p.params.size(), p.params.size() == 1 ? "" : "s", q.name.str()));
}

// Operators are separate instructions, and a called keyword has no frame; their operands are still in the registers.
// (Built-ins describe their operands where they are called.)
void Vm::describe_operator(UserError& e) const {
  const Frame& f = frames_.back();
  size_t at = f.pc - f.proto->code.data();
  if (at == 0) return;
  const Insn& in = f.proto->code[at - 1];
  Code op = static_cast<Code>(in.op);
  if (op == Code::Call && f.base[in.a].is_keyword())
    return note_arguments(e, ":" + f.base[in.a].as_keyword().str(), e.span, {&f.base[in.a + 1], in.b});
  uint16_t left = in.b, right = in.c;
  if (op >= Code::UnlessLt && op <= Code::UnlessGe)
    left = in.a, right = in.b;
  else if (op < Code::Add || op > Code::Ge)
    return;
  auto operand = [&](uint16_t x) -> const Value& {
    return x & kConstantBit ? f.proto->constants[x & ~kConstantBit] : f.base[x];
  };
  Value both[] = {operand(left), operand(right)};
  // (+ a b c) is two instructions with one form: the text does not tell which operands failed.
  std::vector<std::string_view> parts = form_parts(text_of(e.span));
  if (parts.size() == 3) note_arguments(e, parts[0], e.span, both);
}

void Vm::add_context(UserError& e, size_t bottom) {
  while (frames_.size() > bottom) {
    Frame& f = frames_.back();
    bool blame_caller = e.blames_caller;
    if (blame_caller) {
      e.blames_caller = false;
    } else if (!e.span) {
      e.span = span_at(f);
      describe_operator(e);
      explain_missing_argument(e, *f.proto);
      if (auto why = builtins::explain_nil(e.message)) e.notes.push_back(*why);
    }
    // The function of this frame was called from the frame below.
    Span called = frames_.size() >= 2 ? span_at(frames_[frames_.size() - 2]) : Span{};
    if (is_library(e.span) && called && !is_library(called)) move_to_call(e, called);
    // Calls between library functions are not shown to the user.
    bool is_inner = is_library(called) && is_library(span_at(f));
    if (f.proto->named && !blame_caller && !is_inner) {
      std::string args;
      for (const Param& q : f.proto->params) {
        args += (args.empty() ? "" : ", ") + q.name.str();
        if (std::string type = argument_text(f.base[q.slot]); !type.empty()) args += ": " + type;
      }
      e.stack.push_back({f.proto->name, args, called});
    }
    unwind_frame();
  }
}

bool Vm::handle(UserError& e, size_t bottom, size_t handlers_before) {
  if (handlers_.empty() || handlers_.back().frame <= bottom || dynamic_cast<const StopError*>(&e)) {
    add_context(e, bottom);
    return false;
  }
  // A trace has not run any kernel yet: at run time an earlier check may fail first, and that is the error to catch.
  if (trace::is_tracing()) {
    while (frames_.size() > bottom)
      unwind_frame();
    handlers_.resize(handlers_before);
    trace::abandon_trace("it catches an error");
  }
  Handler h = handlers_.back();
  handlers_.pop_back();
  add_context(e, h.frame);
  Frame& f = frames_.back();
  if (!e.span) e.span = span_at(f);
  f.base[h.reg] = error_value(e);
  f.pc = h.target;
  return true;
}

Value error_value(const UserError& e) {
  std::vector<Value> stack;
  for (const StackEntry& s : e.stack)
    stack.push_back(Value::string(s.function + (s.call ? " at " + place(s.call) : "")));
  std::vector<DictEntry> entries;
  entries.push_back({Name("message"), Value::string(e.message)});
  entries.push_back({Name("kind"), Value::keyword(Name(name_of(e.kind)))});
  entries.push_back({Name("at"), Value::string(place(e.span))});
  entries.push_back({Name("stack"), Value::list(std::move(stack))});
  if (e.data) entries.push_back({Name("data"), *std::static_pointer_cast<const Value>(e.data)});
  return make_dict(std::move(entries));
}

}  // namespace sheaf::eval
