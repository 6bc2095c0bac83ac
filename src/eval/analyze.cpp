#include "eval/analyze.h"

#include <fmt/format.h>

#include <numbers>

#include "advice/hints.h"
#include "builtins/table.h"
#include "eval/analyzer.h"
#include "eval/code.h"
#include "eval/format_calls.h"
#include "eval/last_use.h"
#include "eval/original_names.h"
#include "eval/vm.h"
#include "syntax/printer.h"
#include "value/dict.h"

namespace sheaf::eval {
namespace {

std::optional<InlineOp> inline_op(const std::string& name, size_t argc) {
  if (g_observer && g_observer->watches_all) return std::nullopt;  // a profile counts them like any other call
  if (argc == 1) {
    if (name == "not") return InlineOp::Not;
    if (name == "-") return InlineOp::Neg;
    return std::nullopt;
  }
  if (name == "+" && argc >= 2) return InlineOp::Add;
  if (name == "-" && argc >= 2) return InlineOp::Sub;
  if (name == "*" && argc >= 2) return InlineOp::Mul;
  if (name == "/" && argc >= 2) return InlineOp::Div;
  if (name == "//" && argc >= 2) return InlineOp::FloorDiv;
  if ((name == "mod" || name == "%") && argc >= 2) return InlineOp::Mod;
  if (argc != 2) return std::nullopt;
  if (name == "<") return InlineOp::Lt;
  if (name == "<=") return InlineOp::Le;
  if (name == ">") return InlineOp::Gt;
  if (name == ">=") return InlineOp::Ge;
  return std::nullopt;
}

// Calls without a position of their own (toolchain specification §3).
bool defers_position(const std::string& name) {
  return name == "get" || name == "dict" || name == "assoc" || name == "last";
}

}  // namespace

Value quoted(const Form& f) {
  switch (f.kind) {
    case FormKind::Symbol: return Value::string(f.name.str());
    case FormKind::Keyword: return Value::keyword(f.name);
    case FormKind::Int: return Value::integer(f.int_value);
    case FormKind::Float: return Value::floating_from(f.float_value);
    case FormKind::String: return Value::string(f.text);
    case FormKind::Bool: return Value::boolean(f.int_value);
    case FormKind::Nil: return Value::nil();
    case FormKind::List:
    case FormKind::Vector: {
      std::vector<Value> items;
      for (const auto& x : f.items)
        items.push_back(quoted(*x));
      return Value::list(std::move(items));
    }
    case FormKind::Dict: {
      std::vector<DictEntry> entries;
      for (size_t i = 0; i + 1 < f.items.size(); i += 2) {
        const Form& k = *f.items[i];
        if (k.kind == FormKind::Keyword || k.kind == FormKind::Symbol)
          entries.push_back({k.name, quoted(*f.items[i + 1])});
        else if (k.kind == FormKind::String)
          entries.push_back({Name(k.text), quoted(*f.items[i + 1])});
        else
          throw UserError(ErrorKind::Compile, "Dict key must be a keyword or a string", k.span);
      }
      return make_dict(std::move(entries));
    }
    case FormKind::Quote: return quoted(*f.items[0]);
    default: throw UserError(ErrorKind::Compile, "Cannot convert quoted value: " + to_text(f), f.span);
  }
}

ExprPtr Analyzer::constant(Value v, Span span) {
  ExprPtr e = make_expr(ExprKind::Const, span);
  e->value = std::move(v);
  return e;
}

ExprPtr Analyzer::local_ref(int slot, Span span) {
  ExprPtr e = make_expr(ExprKind::Local, span);
  e->slot = slot;
  return e;
}

ExprPtr Analyzer::builtin_call(std::string_view name, Span span, std::vector<ExprPtr> args) {
  ExprPtr e = make_expr(ExprKind::CallBuiltin, span);
  e->builtin = builtins::find_builtin(name);
  INVARIANT(e->builtin, "no built-in " << name);
  e->items = std::move(args);
  return e;
}

ExprPtr Analyzer::bind(int slot, ExprPtr value, ExprPtr body, Span span) {
  ExprPtr e = make_expr(ExprKind::Bind, span);
  e->slot = slot;
  e->items.push_back(std::move(value));
  e->items.push_back(std::move(body));
  return e;
}

int Analyzer::new_slot() { return fn_->proto->num_slots++; }

int Analyzer::declare(Name name, bool literal_vector) {
  int slot = new_slot();
  fn_->visible.push_back({name, slot, literal_vector});
  return slot;
}

// The value of a slot of `owner` as seen from `fn` (an inner function or the same one): captured level by level.
ExprPtr Analyzer::slot_in(FnScope& fn, FnScope& owner, int slot, Name name, bool literal, Span span) {
  if (&fn == &owner) return local_ref(slot, span);
  int index = -1;
  for (size_t i = 0; i < fn.captures.size(); ++i)
    if (fn.captures[i].outer_slot == slot && fn.captures[i].name == name) index = static_cast<int>(i);
  if (index < 0) {
    ExprPtr outer = slot_in(*fn.parent, owner, slot, name, literal, span);
    index = static_cast<int>(fn.captures.size());
    fn.captures.push_back({name, slot, outer->kind == ExprKind::Capture, outer->slot, literal});
  }
  ExprPtr e = make_expr(ExprKind::Capture, span);
  e->slot = index;
  return e;
}

std::optional<Analyzer::Resolved> Analyzer::local(Name name, Span span) {
  for (FnScope* f = fn_; f; f = f->parent)
    for (size_t i = f->visible.size(); i-- > 0;)
      if (f->visible[i].name == name) {
        bool literal = f->visible[i].literal_vector;
        return Resolved{slot_in(*fn_, *f, f->visible[i].slot, name, literal, span), literal};
      }
  return std::nullopt;
}

bool Analyzer::is_local(Name name) const {
  for (FnScope* f = fn_; f; f = f->parent)
    for (const LocalVar& v : f->visible)
      if (v.name == name) return true;
  return false;
}

bool Analyzer::in_with_params() const {
  for (FnScope* f = fn_; f; f = f->parent)
    if (!f->params.empty()) return true;
  return false;
}

// The field `f` of the open with-params dicts, innermost first.
ExprPtr Analyzer::param_field(const Form& f, Cell* fallback) {
  ExprPtr e = make_expr(ExprKind::ParamField, f.span);
  e->value = Value::keyword(f.name);
  e->cell = fallback;
  for (FnScope* s = fn_; s; s = s->parent) {
    // Captured variables are identified by slot and name, and slots are counted per function: use a distinct name for
    // each.
    int depth = 0;
    for (FnScope* up = s->parent; up; up = up->parent)
      ++depth;
    Name owner(fmt::format("with-params {}", depth));
    for (size_t i = s->params.size(); i-- > 0;)
      e->items.push_back(slot_in(*fn_, *s, s->params[i], owner, false, f.span));
  }
  return e;
}

// True for the head of a call that the library wrote, in a macro or as part of a special form: definitions of that name
// in the program do not affect it.
bool Analyzer::is_library_head(const Form& head) const {
  uint32_t home = head.home();
  return !prelude_ && home && source_kind(home) == SourceKind::Prelude &&
         (builtins::find_builtin(head.name.str()) || globals_.is_prelude_name(head.name, true));
}

// A user definition (made already, or further down in the text) hides those of the prelude and the built-ins.
bool Analyzer::is_overridden(Name name) {
  if (prelude_) return false;
  Cell* c = globals_.find_user(name);
  return (c && c->user_defined) || host_.will_define(name);
}

ExprPtr Analyzer::symbol(const Form& f) {
  if (auto l = local(f.name, f.span)) return std::move(l->expr);
  if (f.name.str() == "...") return constant(Value::marker(), f.span);
  auto global = [&](Cell* c) {
    ExprPtr e = make_expr(ExprKind::Global, f.span);
    e->cell = c;
    return e;
  };
  Name name = prelude_ ? f.name : host_.resolve_alias(f.name, f.home());
  Cell* existing = prelude_ ? nullptr : globals_.find_user(name);
  if (existing && existing->user_defined) return global(existing);
  if (existing && existing->broken) return global(existing);
  Name plain = plain_name(name);
  bool known = builtins::find_builtin(plain.str()) || globals_.is_prelude_name(plain, prelude_);
  if (!known && (prelude_ || !host_.will_define(name)))
    if (ExprPtr e = let_name(f.name, f.span)) return e;
  if (in_with_params())
    return param_field(f,
                       known && (prelude_ || is_original_name(plain.str())) ? globals_.cell(name, prelude_) : nullptr);
  // A top-level form runs before later ones: it cannot refer to a value defined there.
  bool too_early = !fn_->parent && fn_->proto->top_level && host_.will_define_value(name);
  if (known || (!prelude_ && host_.will_define(name) && !too_early)) return global(globals_.cell(name, prelude_));
  if (plain.str() == "pi") return constant(Value::floating_from(std::numbers::pi), f.span);
  if (plain.str() == "e") return constant(Value::floating_from(std::numbers::e), f.span);
  UserError e(ErrorKind::Compile, "Undefined symbol: " + f.name.str(), f.span);
  std::vector<std::string_view> names;
  for (const FnScope* scope = fn_; scope; scope = scope->parent)
    for (const auto& v : scope->visible)
      names.push_back(v.name.str());
  if (auto likely = advice::likely_name(f.name.str(), names); !likely.empty())
    e.hints.push_back(advice::did_you_mean(likely));
  return undefined(std::move(e));
}

// In the body of a defn analysis continues, so that all unknown names are found.
ExprPtr Analyzer::undefined(UserError e) {
  if (probing_ > 0 || !(in_defn_ || finds_all_errors())) throw e;
  Span span = e.span;
  errors_.push_back(std::move(e));
  return constant(Value::nil(), span);
}

void Analyzer::hand_over_errors(size_t first) {
  for (size_t i = first; i < errors_.size(); ++i)
    host_.note_error(std::move(errors_[i]));
  errors_.resize(first, UserError(ErrorKind::Compile, ""));
}

// (lambda [x] …): the unknown x is only a consequence of the unknown head. The first error in the arguments says so,
// the others are dropped.
void Analyzer::drop_consequences(const Form& head, size_t first) {
  const std::string& text = head.name.str();
  if (errors_.size() == first || !errors_[first].message.starts_with("Undefined symbol: ")) return;
  if (local(head.name, head.span) || is_overridden(head.name)) return;
  std::string known = advice::habit_hint(text);
  if (known.empty()) return;
  if (errors_[first].hints.empty()) errors_[first].hints.push_back(text + " is not known here. " + known);
  errors_.resize(first + 1, errors_[first]);
}

namespace {

// The keywords among the arguments, as written.
std::vector<std::optional<Name>> written_keywords(const Form& call) {
  std::vector<std::optional<Name>> out;
  for (size_t i = 1; i < call.items.size(); ++i)
    out.push_back(call.items[i]->is_keyword() ? std::optional(call.items[i]->name) : std::nullopt);
  return out;
}

}  // namespace

void Analyzer::check_builtin_call(const builtins::BuiltinDef& def, const Form& f) {
  if (probing_ > 0 || expects_errors_) return;
  if (auto fault = fault_of_format(f)) host_.note_error({ErrorKind::Compile, *fault, f.span});
  if (!finds_all_errors()) return;
  if (auto fault = builtins::fault_of_call(def, written_keywords(f))) {
    fault->kind = ErrorKind::Compile;
    fault->span = f.span;
    errors_.push_back(std::move(*fault));
  }
}

void Analyzer::note_call(const Cell& cell, const Form& f) {
  if (prelude_ || probing_ > 0 || expects_errors_) return;
  const FnScope* outermost = fn_;
  while (outermost->parent)
    outermost = outermost->parent;
  auto args = finds_all_errors() ? written_keywords(f) : std::vector<std::optional<Name>>();
  host_.note_call({&cell, f.span, f.items[0]->span, std::move(args), !outermost->proto->top_level});
}

bool Analyzer::is_literal_vector(const Form& f) {
  if (f.is_vector()) return true;
  if (!f.is_symbol()) return false;
  if (auto l = local(f.name, f.span)) return l->literal_vector;
  Cell* c = globals_.find_user(prelude_ ? f.name : host_.resolve_alias(f.name, f.home()));
  return c && c->user_defined && c->literal_vector;
}

namespace {

// The number of literals in a form that consists only of literals, vectors and dicts; nothing for any other form.
std::optional<size_t> count_literals(const Form& f) {
  switch (f.kind) {
    case FormKind::Symbol:
    case FormKind::List:
    case FormKind::Quote:
    case FormKind::Quasiquote:
    case FormKind::Unquote:
    case FormKind::UnquoteSplicing: return std::nullopt;
    case FormKind::Vector:
    case FormKind::Dict: break;
    default: return 1;
  }
  size_t n = 0;
  for (size_t i = 0; i < f.items.size(); ++i) {
    const Form& x = *f.items[i];
    bool wrong_key = f.kind == FormKind::Dict && i % 2 == 0 && x.kind != FormKind::Keyword &&
                     x.kind != FormKind::String;  // an error when the dict is built
    std::optional<size_t> here = wrong_key ? std::nullopt : count_literals(x);
    if (!here) return std::nullopt;
    n += *here;
  }
  return n;
}

// The value of such a form.
Value literal_value(const Form& f) {
  if (!f.is_vector() && f.kind != FormKind::Dict) return quoted(f);
  std::vector<Value> items;
  bool rows = true;
  for (const auto& x : f.items) {
    items.push_back(literal_value(*x));
    rows &= x->is_vector();
  }
  return f.is_vector() ? vector_value(items, rows) : dict_value(items);
}

// Data written into a program is built once: code for each literal would be large and slow.
bool is_table(const Form& f) {
  constexpr size_t kTable = 256;
  std::optional<size_t> n = count_literals(f);
  return n && *n > kTable;
}

bool is_f64_vector(const Form& f) {
  return f.is_call("cast") && f.items.size() == 3 && f.items[1]->is_vector() && !f.items[1]->items.empty() &&
         f.items[2]->is_keyword() && f.items[2]->name.str() == "f64";
}

}  // namespace

ExprPtr Analyzer::vector(const Form& f) {
  if (is_table(f)) return constant(literal_value(f), f.span);
  ExprPtr e = make_expr(ExprKind::Vector, f.span);
  e->flag = !f.items.empty();
  for (const auto& x : f.items) {
    FormPtr element = expand(x);
    e->flag = e->flag && is_literal_vector(*element);
    e->items.push_back(expr(element));
  }
  return e;
}

// `[0.1 x] :f64`, which the reader returns as (cast [0.1 x] :f64): keeps all digits of the elements, because they do
// not pass through a vector of f32.
ExprPtr Analyzer::f64_vector(const Form& f) {
  std::vector<ExprPtr> args;
  if (is_table(f)) {
    args.push_back(constant(quoted(f), f.span));
  } else {
    std::vector<ExprPtr> items;
    for (const auto& x : f.items) {
      FormPtr element = expand(x);
      items.push_back(element->is_vector() && !element->items.empty() ? f64_vector(*element) : expr(element));
    }
    args.push_back(builtin_call("list", f.span, std::move(items)));
  }
  args.push_back(constant(Value::keyword(Name("f64")), f.span));
  return builtin_call("cast", f.span, std::move(args));
}

const Macro* Analyzer::macro_for(const Form& f) {
  if (f.kind != FormKind::List || f.items.empty() || !f.items[0]->is_symbol()) return nullptr;
  Name name = f.items[0]->name;
  const Macro* m = globals_.find_macro(prelude_ ? name : host_.resolve_alias(name, f.items[0]->home()), prelude_);
  if (!m || local(name, f.span)) return nullptr;
  // A definition further down in the program already hides the prelude's macro here, as it does functions.
  if (!prelude_ && m == globals_.find_macro(name, true) && host_.will_define(name)) return nullptr;
  return m;
}

FormPtr Analyzer::expand(const FormPtr& form) {
  FormPtr f = form;
  for (int depth = 0; const Macro* m = macro_for(*f); ++depth) {
    if (depth + expansion_depth_ >= 100)
      fail(fmt::format("Macro expansion depth exceeded 100 (possible infinite recursion in '{}')",
                       plain_name(m->name).str()),
           f->span);
    uint32_t home = m->body->home();
    f = expand_macro(*m, *f, [this, home](Name n) -> FormPtr {
      if (!prelude_ && source_kind(home) != SourceKind::Prelude)
        if (Cell* c = globals_.find_user(host_.resolve_alias(n, home));
            c && c->source && (c->user_defined || c->broken) && !c->source->is_call("def"))
          return c->source;
      auto it = globals_.prelude_functions().find(n);
      return it == globals_.prelude_functions().end() ? nullptr : it->second.form();
    });
  }
  return f;
}

ExprPtr Analyzer::expr(const FormPtr& form) {
  if (!finds_all_errors()) return expanded_expr(form);
  try {
    return expanded_expr(form);
  } catch (UserError& e) {
    errors_.push_back(std::move(e));
    return constant(Value::nil(), form->span);
  }
}

ExprPtr Analyzer::expanded_expr(const FormPtr& form) {
  FormPtr expanded;
  const Form* f = form.get();
  bool was_macro = false;
  if (f->kind == FormKind::List && macro_for(*f)) {
    expanded = expand(form);
    f = expanded.get();
    was_macro = true;
  }
  struct Depth {
    int& d;
    bool on;
    Depth(int& d, bool on) : d(d), on(on) { d += on; }
    ~Depth() { d -= on; }
  } depth(expansion_depth_, was_macro);
  switch (f->kind) {
    case FormKind::Symbol: return symbol(*f);
    case FormKind::Vector: return vector(*f);
    case FormKind::Dict: {
      if (is_table(*f)) return constant(literal_value(*f), f->span);
      ExprPtr e = make_expr(ExprKind::Dict, f->span);
      for (const auto& x : f->items)
        e->items.push_back(expr(x));
      return e;
    }
    case FormKind::Quote: return constant(quoted(*f->items[0]), f->span);
    case FormKind::Quasiquote: return expr(expand_quasiquote(f->items[0]));
    case FormKind::Unquote: fail("Unquote (~) outside of quasiquote", f->span);
    case FormKind::UnquoteSplicing: fail("Unquote-splicing (~@) outside of quasiquote", f->span);
    case FormKind::List: return list(was_macro ? expanded : form);
    default: return constant(quoted(*f), f->span);
  }
}

ExprPtr Analyzer::list(const FormPtr& form) {
  const Form& f = *form;
  if (f.items.empty()) fail("Cannot compile empty list", f.span);
  const Form& head = *f.items[0];
  if (!head.is_symbol()) {
    ExprPtr e = make_expr(ExprKind::Call, f.span);
    for (const auto& x : f.items)
      e->items.push_back(expr(x));
    return e;
  }
  if (!local(head.name, head.span) && !is_overridden(head.name)) {
    if (Handler h = special(head.name.str())) return h(*this, form);
    if (is_f64_vector(f)) return f64_vector(*f.items[1]);
  }
  return call(f);
}

ExprPtr Analyzer::call(const Form& f) {
  const Form& head = *f.items[0];
  const std::string& text = head.name.str();
  std::vector<ExprPtr> args;
  size_t errors_before = errors_.size();
  try {
    for (size_t i = 1; i < f.items.size(); ++i)
      args.push_back(expr(f.items[i]));
  } catch (const UserError& e) {
    errors_.push_back(e);
    drop_consequences(head, errors_before);
    UserError last = std::move(errors_.back());
    errors_.pop_back();
    throw last;
  }
  drop_consequences(head, errors_before);
  bool library = is_library_head(head);
  auto l = library ? std::nullopt : local(head.name, head.span);
  Name name = prelude_ || library ? head.name : host_.resolve_alias(head.name, head.home());
  Name plain = plain_name(name);
  bool overridden = !library && is_overridden(name);
  ExprPtr callee = l ? std::move(l->expr) : nullptr;
  // The names of a let are looked up last: (let [sum (fn [x] (sum x))] …) means the built-in.
  if (!callee && !overridden && !builtins::find_builtin(text) && !globals_.is_prelude_name(plain, prelude_))
    callee = let_name(head.name, head.span);
  if (callee) {
    ExprPtr e = make_expr(ExprKind::Call, f.span);
    e->items.push_back(std::move(callee));
    for (auto& a : args)
      e->items.push_back(std::move(a));
    return e;
  }
  bool native = !overridden && !globals_.is_prelude_name(plain, prelude_) && builtins::find_builtin(plain.str());
  if (native) {
    if (!prelude_) check_builtin_call(*builtins::find_builtin(plain.str()), f);
    if (auto op = inline_op(text, args.size())) {
      ExprPtr acc = std::move(args[0]);
      if (args.size() == 1) {
        ExprPtr e = make_expr(ExprKind::Op, f.span);
        e->op = *op;
        e->items.push_back(std::move(acc));
        return e;
      }
      for (size_t i = 1; i < args.size(); ++i) {
        ExprPtr e = make_expr(ExprKind::Op, f.span);
        e->op = *op;
        e->items.push_back(std::move(acc));
        e->items.push_back(std::move(args[i]));
        acc = std::move(e);
      }
      return acc;
    }
    ExprPtr e = builtin_call(plain.str(), f.span, std::move(args));
    e->flag = defers_position(text);
    return e;
  }
  ExprPtr e = make_expr(ExprKind::CallGlobal, f.span);
  e->cell = globals_.cell(name, prelude_ || library);
  if (!library) note_call(*e->cell, f);
  e->items = std::move(args);
  return e;
}

ExprPtr Analyzer::body(const Form& f, size_t first) {
  if (first >= f.items.size()) return constant(Value::nil(), f.span);
  if (first + 1 == f.items.size()) return expr(f.items[first]);
  ExprPtr e = make_expr(ExprKind::Do, f.span);
  for (size_t i = first; i < f.items.size(); ++i)
    e->items.push_back(expr(f.items[i]));
  return e;
}

std::shared_ptr<Proto> Analyzer::top_level(const FormPtr& form) {
  auto proto = std::make_shared<Proto>();
  proto->span = form->span;
  proto->top_level = true;
  FnScope scope;
  scope.proto = proto.get();
  fn_ = &scope;
  proto->body = expr(form);
  fn_ = nullptr;
  hand_over_errors(0);
  // A form that is only nil (defmacro, comment, use of a built-in module) does not run: the previous value stays the
  // result.
  if (proto->body->kind == ExprKind::Const && proto->body->value.is_nil()) return nullptr;
  check_recur(*proto->body, false);
  mark_last_uses(*proto->body, proto->num_slots);
  emit_code(*proto);
  return proto;
}

void Analyzer::prelude_function(Cell& cell, const FormPtr& defn) {
  FnScope scope;
  Proto top;
  scope.proto = &top;
  fn_ = &scope;
  cell.source = defn;
  size_t params_at = defn->items.size() > 2 && defn->items[2]->kind == FormKind::String ? 3 : 2;
  define_function(cell, *defn, params_at);
  fn_ = nullptr;
}

std::shared_ptr<Proto> analyze_top_level(const FormPtr& form, Host& host, bool prelude) {
  return Analyzer(host, prelude).top_level(form);
}
FormPtr expand_top_level(const FormPtr& form, Host& host) { return Analyzer(host, false).expand_call(form); }
void analyze_prelude_function(Cell& cell, const FormPtr& defn, Host& host) {
  Analyzer(host, true).prelude_function(cell, defn);
}

void collect_definitions(const Form& f, Definitions& out) {
  if (f.kind != FormKind::List || f.items.size() < 2 || !f.items[0]->is_symbol()) return;
  const std::string& head = f.items[0]->name.str();
  if (f.items[1]->is_symbol()) {
    Name name = f.items[1]->name;
    if (head == "def") out.values.insert(name);
    if (head == "defn" || head == "defn-" || head == "defmodel" || head == "defbatch") out.functions.insert(name);
    if (head == "defn-") out.own.insert(name);
    if (head == "defmacro") out.macros.insert(name);
  }
  if (head == "do")
    for (const auto& x : f.items)
      collect_definitions(*x, out);
}

}  // namespace sheaf::eval
