// fn, defn, parameters and patterns.
#include <fmt/format.h>

#include "eval/analyzer.h"
#include "eval/code.h"
#include "eval/last_use.h"
#include "syntax/printer.h"
#include "trace/jit.h"

namespace sheaf::eval {
namespace {

Value names_list(const std::vector<Name>& names) {
  std::vector<Value> items;
  for (Name n : names)
    items.push_back(Value::string(n.str()));
  return Value::list(std::move(items));
}

// `(x [B T C])`, `(x :as Type)`: the annotated name.
bool is_annotated(const Form& f) { return f.kind == FormKind::List && f.items.size() >= 2 && f.items[0]->is_symbol(); }

bool has_symbolic_shape(const Form& f) {
  if (!is_annotated(f) || !f.items[1]->is_vector()) return false;
  for (const auto& d : f.items[1]->items)
    if (d->is_symbol()) return true;
  return false;
}

}  // namespace

ExprPtr Analyzer::bind_vector_pattern(const Form& pattern, ExprPtr value, const Body& rest) {
  size_t n = pattern.items.size();
  if (n >= 2 && pattern.items[n - 2]->is_keyword() && pattern.items[n - 2]->name.str() == "as" &&
      pattern.items[n - 1]->is_symbol()) {
    int whole = declare(pattern.items[n - 1]->name);
    FormPtr parts = make_seq(FormKind::Vector, {pattern.items.begin(), pattern.items.end() - 2}, pattern.span);
    ExprPtr again = local_ref(whole, value->span ? value->span : pattern.span);
    return bind(whole, std::move(value), bind_vector_pattern(*parts, std::move(again), rest), pattern.span);
  }
  ExprPtr e = make_expr(ExprKind::Destructure, pattern.span);
  e->span = value->span ? value->span : pattern.span;
  e->items.push_back(std::move(value));
  std::vector<std::pair<const Form*, int>> nested;
  std::vector<std::pair<Name, int>> names;
  for (size_t i = 0; i < n; ++i) {
    const Form& p = *pattern.items[i];
    if (p.is_symbol("&")) {
      const Form* others = i + 1 < n ? pattern.items[i + 1].get() : nullptr;
      if (!others || !(others->is_symbol() || others->is_vector() || others->kind == FormKind::Dict))
        fail("a name must follow & in a pattern", p.span);
      e->rest_slot = new_slot();
      if (others->is_symbol())
        names.push_back({others->name, e->rest_slot});
      else
        nested.push_back({others, e->rest_slot});
      break;
    }
    int slot = new_slot();
    e->slots.push_back(slot);
    if (p.is_symbol())
      names.push_back({p.name, slot});
    else if (p.is_vector() || p.kind == FormKind::Dict)
      nested.push_back({&p, slot});
    else
      fail("let destructuring: expected a name, got " + to_text(p), p.span);
  }
  for (auto& [name, slot] : names)
    fn_->visible.push_back({name, slot, false});
  Body inner = rest;
  for (size_t i = nested.size(); i-- > 0;) {
    Body next = inner;
    auto [form, slot] = nested[i];
    bool of_rest = slot == e->rest_slot;
    inner = [this, form = form, slot = slot, of_rest, next] {
      ExprPtr part = local_ref(slot, form->span);
      return of_rest ? bind_rest_pattern(*form, std::move(part), next) : bind_pattern(*form, std::move(part), next);
    };
  }
  e->items.push_back(inner());
  return e;
}

// After & there may be fewer values than names: the others are nil, so that in [x & [y]] the y is optional.
ExprPtr Analyzer::bind_rest_pattern(const Form& pattern, ExprPtr list, const Body& rest) {
  if (pattern.kind == FormKind::Dict) {
    std::vector<Name> known, of_keywords;
    return bind_pattern(pattern, options_of(pattern, std::move(list), "let", known, of_keywords), rest);
  }
  if (!pattern.is_vector()) return bind_pattern(pattern, std::move(list), rest);
  std::vector<ExprPtr> args;
  args.push_back(std::move(list));
  auto end = std::find_if(pattern.items.begin(), pattern.items.end(),
                          [](const FormPtr& p) { return p->is_symbol("&") || p->is_keyword(); });
  args.push_back(constant(Value::integer(end - pattern.items.begin()), pattern.span));
  return bind_pattern(pattern, builtin_call("%padded", pattern.span, std::move(args)), rest);
}

// Collects :key value … after & into a dict for a dict pattern. It may hold only the names of the pattern, unless that
// has :as. Options whose default is a keyword may have a keyword as their value.
ExprPtr Analyzer::options_of(const Form& pattern, ExprPtr list, const std::string& who, std::vector<Name>& known,
                             std::vector<Name>& of_keywords) {
  known.clear();
  of_keywords.clear();
  bool open = false;
  for (size_t i = 0; i + 1 < pattern.items.size(); i += 2) {
    const Form &k = *pattern.items[i], &v = *pattern.items[i + 1];
    if (k.is_keyword() && k.name.str() == "keys")
      for (const auto& n : v.items)
        if (n->is_symbol()) known.push_back(n->name);  // bind_pattern reports the others
    if (k.is_keyword() && k.name.str() == "as") open = true;
    if (v.is_keyword() && !k.is_keyword()) known.push_back(v.name);
    if (k.is_keyword() && k.name.str() == "or" && v.kind == FormKind::Dict)
      for (size_t d = 0; d + 1 < v.items.size(); d += 2)
        if (v.items[d]->is_symbol() && v.items[d + 1]->is_keyword()) of_keywords.push_back(v.items[d]->name);
  }
  std::vector<ExprPtr> args;
  args.push_back(std::move(list));
  args.push_back(constant(open ? Value::nil() : names_list(known), pattern.span));
  args.push_back(constant(Value::string(who), pattern.span));
  args.push_back(constant(names_list(of_keywords), pattern.span));
  return builtin_call("%options", pattern.span, std::move(args));
}

// {:keys [a b] :or {a 1} :as m}, {a :key}: reads every name from the dict.
ExprPtr Analyzer::bind_dict_pattern(const Form& pattern, ExprPtr value, const Body& rest) {
  struct Entry {
    const Form* target;
    Name name, key;
  };
  std::vector<Entry> entries;
  const Form* defaults = nullptr;
  Name whole;
  for (size_t i = 0; i + 1 < pattern.items.size(); i += 2) {
    const Form &k = *pattern.items[i], &v = *pattern.items[i + 1];
    if (k.is_keyword() && (k.name.str() == "keys" || k.name.str() == "strs") && v.is_vector()) {
      for (const auto& n : v.items) {
        if (!n->is_symbol()) fail(":keys takes a vector of names", n->span);
        entries.push_back({nullptr, n->name, n->name});
      }
    } else if (k.is_keyword() && k.name.str() == "or" && v.kind == FormKind::Dict) {
      defaults = &v;
    } else if (k.is_keyword() && k.name.str() == "as" && v.is_symbol()) {
      whole = v.name;
    } else if (v.is_keyword() || v.kind == FormKind::String) {
      entries.push_back(
          {k.is_symbol() ? nullptr : &k, k.is_symbol() ? k.name : Name("_"), v.is_keyword() ? v.name : Name(v.text)});
    } else {
      fail("a dict pattern is {name :key …} or {:keys [name …] :or {…} :as name}", k.span);
    }
  }
  bool of_options = value->kind == ExprKind::CallBuiltin && value->builtin->name == "%options";
  int dict = new_slot();
  if (whole) fn_->visible.push_back({whole, dict, false});
  auto default_of = [&](Name n) -> FormPtr {
    if (defaults)
      for (size_t i = 0; i + 1 < defaults->items.size(); i += 2)
        if (defaults->items[i]->is_symbol() && defaults->items[i]->name == n) return defaults->items[i + 1];
    return nullptr;
  };
  std::function<ExprPtr(size_t)> from = [&](size_t i) -> ExprPtr {
    if (i == entries.size()) return rest();
    const Entry& en = entries[i];
    std::vector<ExprPtr> args;
    args.push_back(local_ref(dict, pattern.span));
    args.push_back(constant(Value::keyword(en.key), pattern.span));
    ExprPtr read = builtin_call(of_options ? "%option" : "%field", pattern.span, std::move(args));
    if (FormPtr d = default_of(en.name)) {
      std::vector<ExprPtr> has;
      has.push_back(local_ref(dict, pattern.span));
      has.push_back(constant(Value::keyword(en.key), pattern.span));
      ExprPtr choose = make_expr(ExprKind::If, pattern.span);
      choose->items.push_back(builtin_call("%has-field", pattern.span, std::move(has)));
      choose->items.push_back(std::move(read));
      choose->items.push_back(expr(d));
      read = std::move(choose);
    }
    if (en.target) return bind_pattern(*en.target, std::move(read), [&, i] { return from(i + 1); });
    int slot = declare(en.name);
    return bind(slot, std::move(read), from(i + 1), pattern.span);
  };
  return bind(dict, std::move(value), from(0), pattern.span);
}

ExprPtr Analyzer::bind_pattern(const Form& pattern, ExprPtr value, const Body& rest) {
  if (pattern.is_symbol()) {
    int slot = declare(pattern.name);
    return bind(slot, std::move(value), rest(), pattern.span);
  }
  if (pattern.is_vector()) return bind_vector_pattern(pattern, std::move(value), rest);
  if (pattern.kind == FormKind::Dict) return bind_dict_pattern(pattern, std::move(value), rest);
  fail("expected a name or a pattern, got " + to_text(pattern), pattern.span);
}

std::shared_ptr<Proto> Analyzer::function(std::string name, const Form& params, const Form& whole, size_t first_body,
                                          bool named, LetNames names, std::vector<ExprPtr>& captures) {
  auto proto = std::make_shared<Proto>();
  proto->name = name;
  proto->named = named;
  proto->span = whole.span;
  FnScope scope;
  scope.parent = fn_;
  scope.proto = proto.get();
  scope.names = std::move(names);
  fn_ = &scope;
  struct Restore {
    FnScope*& fn;
    FnScope* old;
    ~Restore() { fn = old; }
  } restore{fn_, scope.parent};

  std::vector<std::pair<const Form*, int>> patterns;  // parameters that the body destructures
  std::vector<std::pair<const Form*, int>> contracts;
  const Form* rest_pattern = nullptr;
  for (size_t i = 0; i < params.items.size(); ++i) {
    const Form& p = *params.items[i];
    if (p.is_symbol("&")) {
      if (i + 2 != params.items.size()) fail("exactly one name or pattern must follow & in a parameter list", p.span);
      rest_pattern = params.items[i + 1].get();
      break;
    }
    if (p.is_symbol()) {
      int slot = declare(p.name);
      proto->params.push_back({p.name, slot});
    } else if (is_annotated(p)) {
      int slot = declare(p.items[0]->name);
      proto->params.push_back({p.items[0]->name, slot});
      if (has_symbolic_shape(p)) contracts.push_back({p.items[1].get(), slot});
    } else if (p.is_vector() || p.kind == FormKind::Dict) {
      int slot = new_slot();
      proto->params.push_back({Name(to_text(p)), slot});
      patterns.push_back({&p, slot});
    } else {
      fail("parameters must be names, got " + to_text(p), p.span);
    }
  }
  if (rest_pattern) proto->rest_slot = new_slot();

  Body inner = [&] { return body(whole, first_body); };
  if (!contracts.empty()) {
    // (%contract "f" '[[B T] [C]] x w) checks the shapes and returns the named sizes in order of appearance.
    Body next = inner;
    inner = [&, next] {
      std::vector<Value> shapes;
      std::vector<Name> names;
      std::vector<ExprPtr> args;
      for (auto& [shape, slot] : contracts) {
        shapes.push_back(quoted(*shape));
        for (const auto& d : shape->items)
          if (d->is_symbol() && std::find(names.begin(), names.end(), d->name) == names.end()) names.push_back(d->name);
      }
      args.push_back(constant(Value::string(name), whole.span));
      args.push_back(constant(Value::list(std::move(shapes)), whole.span));
      for (auto& [shape, slot] : contracts)
        args.push_back(local_ref(slot, shape->span));
      std::vector<FormPtr> pattern;
      for (Name n : names)
        pattern.push_back(syntax::make_symbol(n.str(), whole.span));
      FormPtr p = make_seq(FormKind::Vector, std::move(pattern), whole.span);
      return bind_vector_pattern(*p, builtin_call("%contract", whole.span, std::move(args)), next);
    };
  }
  if (rest_pattern) {
    Body next = inner;
    inner = [&, next] {
      ExprPtr value = local_ref(proto->rest_slot, rest_pattern->span);
      if (rest_pattern->kind == FormKind::Dict) {
        for (const FormPtr& key : rest_pattern->items)
          proto->takes_any_option |= key->is_keyword() && key->name.str() == "as";
        return bind_pattern(*rest_pattern,
                            options_of(*rest_pattern, std::move(value), name, proto->options, proto->keyword_options),
                            next);
      }
      return bind_rest_pattern(*rest_pattern, std::move(value), next);
    };
  }
  for (size_t i = patterns.size(); i-- > 0;) {
    Body next = inner;
    auto [form, slot] = patterns[i];
    inner = [this, form = form, slot = slot, next] { return bind_pattern(*form, local_ref(slot, form->span), next); };
  }
  proto->body = inner();
  for (size_t i = scope.helpers.size(); i-- > 0;) {
    auto& h = scope.helpers[i];
    proto->body = bind(h.slot, std::move(h.value), std::move(proto->body), whole.span);
  }
  proto->num_captures = static_cast<int>(scope.captures.size());
  check_recur(*proto->body, true);
  mark_last_uses(*proto->body, proto->num_slots);
  emit_code(*proto);
  for (const auto& c : scope.captures) {
    ExprPtr e = make_expr(c.from_capture ? ExprKind::Capture : ExprKind::Local, whole.span);
    e->slot = c.outer_index;
    captures.push_back(std::move(e));
  }
  return proto;
}

void check_recur(const Expr& e, bool tail) {
  if (e.kind == ExprKind::Recur && !tail)
    throw UserError(ErrorKind::Compile, "recur must be the last expression of a loop or function", e.span)
        .hint("a call by name may stand anywhere");
  for (size_t i = 0; i < e.items.size(); ++i) {
    bool last = i + 1 == e.items.size(), here = false;
    switch (e.kind) {
      case ExprKind::If: here = tail && i > 0; break;
      case ExprKind::Do:
      case ExprKind::Bind:
      case ExprKind::Destructure:
      case ExprKind::And:
      case ExprKind::Or:
      case ExprKind::Try: here = tail && last; break;
      case ExprKind::Loop: here = last; break;
      default: break;
    }
    if (e.items[i]) check_recur(*e.items[i], here);
  }
}

// `at` is the expected position of the parameters.
static UserError no_parameters(const Form& f, size_t at, const char* message) {
  UserError e(ErrorKind::Compile, message, f.span);
  bool several = f.items.size() > at && f.items[at]->kind == FormKind::List && !f.items[at]->items.empty() &&
                 f.items[at]->items[0]->is_vector();
  if (several)
    e.hints.push_back(
        "a function has one list of parameters; optional ones are [x & [y]], or by name [x & {:keys [y] :or {y 1}}]");
  else if (at > 1 && f.items.size() > at && !f.items[1]->is_symbol())
    e.hints.push_back("its name is a symbol");
  else if (f.items.size() > at + 1)
    e.hints.push_back("its parameters are a vector: [x y]");
  return e;
}

ExprPtr Analyzer::fn_form(const Form& f) { return let_fn(f, {}); }

ExprPtr Analyzer::let_fn(const Form& f, LetNames names) {
  size_t at = 1;
  if (f.items.size() > 2 && f.items[1]->is_symbol())
    names.self = f.items[at++]->name;  // (fn name [x] …), as in Clojure
  if (f.items.size() <= at || !f.items[at]->is_vector())
    throw no_parameters(f, at, "fn requires parameters and a body: (fn [params] body...)");
  ExprPtr e = make_expr(ExprKind::Fn, f.span);
  e->proto = function("", *f.items[at], f, at + 1, false, std::move(names), e->captures);
  return e;
}

// The closure that an enclosing fn knows by this name from its let, or null. A fn further down in the same let does not
// exist yet when the upper one is made, so the upper one makes its own copy. (Boxes filled later would create cycles: a
// closure holding a box that holds the closure.)
ExprPtr Analyzer::let_name(Name name, Span span) {
  for (FnScope* f = fn_; f; f = f->parent) {
    for (const auto& h : f->helpers)
      if (h.name == name) return slot_in(*fn_, *f, h.slot, name, false, span);
    if (f->names.self == name) {
      if (f == fn_) return make_expr(ExprKind::Self, span);
      f->helpers.push_back({name, f->proto->num_slots++, make_expr(ExprKind::Self, span)});
      return slot_in(*fn_, *f, f->helpers.back().slot, name, false, span);
    }
    for (size_t i = 0; i < f->names.below.size(); ++i) {
      if (f->names.below[i].first != name) continue;
      LetNames names{name, {f->names.below.begin() + static_cast<std::ptrdiff_t>(i) + 1, f->names.below.end()}};
      FormPtr form = f->names.below[i].second;
      // It sees the scope of the let, not the scope inside f.
      FnScope* inner = std::exchange(fn_, f);
      auto visible = std::exchange(f->visible, {});
      auto params = std::exchange(f->params, {});
      ExprPtr value;
      ++probing_;
      try {
        value = let_fn(*form, std::move(names));
      } catch (const UserError&) {
        // It needs a name bound between the two.
      }
      --probing_;
      fn_ = inner;
      f->visible = std::move(visible);
      f->params = std::move(params);
      if (!value) return nullptr;
      f->helpers.push_back({name, f->proto->num_slots++, std::move(value)});
      return slot_in(*fn_, *f, f->helpers.back().slot, name, false, span);
    }
  }
  return nullptr;
}

// Compiles a function body into a cell. A body that does not compile leaves the cell broken: the error is reported when
// the function is used at run time; macros may still call it.
void Analyzer::define_function(Cell& cell, const Form& f, size_t params_at) {
  size_t first_body = params_at + 1;
  if (first_body + 1 < f.items.size() && f.items[first_body]->is_keyword() &&
      f.items[first_body]->name.str() == "jit") {
    std::fputs("warning: :jit annotation is not required and deprecated in Sheaf v2\n", stderr);
    ++first_body;
  }
  cell.is_function = true;
  cell.user_defined = true;
  cell.broken = nullptr;
  size_t errors_before = errors_.size();
  try {
    auto closure = make_ref<Closure>();
    std::vector<ExprPtr> captures;
    FnScope* outer = std::exchange(fn_, nullptr);
    bool was_in_defn = std::exchange(in_defn_, !prelude_);
    try {
      closure->proto = function(f.items[1]->name.str(), *f.items[params_at], f, first_body, true, {}, captures);
    } catch (const UserError& e) {
      errors_.push_back(e);
    }
    fn_ = outer;
    in_defn_ = was_in_defn;
    if (errors_.size() > errors_before) throw UserError(errors_[errors_before]);
    closure->proto->source = cell.source;
    if (!cell.value.is_nil() && cell.value.tag() != Tag::Unbound) trace::forget_compiled();
    cell.value = Value::object(Tag::Function, closure.get());
  } catch (const UserError& e) {
    cell.value = Value::unbound();
    cell.user_defined = false;
    cell.broken = std::make_shared<UserError>(e);
  }
  if (prelude_)
    errors_.resize(errors_before, UserError(ErrorKind::Compile, ""));
  else
    hand_over_errors(errors_before);
}

ExprPtr Analyzer::defn_form(const Form& f, bool is_private) {
  size_t params_at = f.items.size() > 3 && f.items[2]->kind == FormKind::String ? 3 : 2;
  if (f.items.size() < 4 || !f.items[1]->is_symbol() || !f.items[params_at]->is_vector())
    throw no_parameters(f, 2, "defn requires at least 3 arguments: (defn name [params] body...)");
  Name name = f.items[1]->name;
  if (is_special_form(name.str()))
    fail(fmt::format("'{}' is a special form and cannot be redefined.", name.str()), f.span);
  if (is_private) host_.make_private(name, f.span.source);
  Name global = host_.defined_name(name, f.span.source);
  Cell* cell = globals_.user_cell(global);
  if ((cell->user_defined || cell->broken) && !host_.may_redefine())
    fail(fmt::format("Function '{}' is already defined. Redefinition is not allowed to prevent shadowing bugs.",
                     name.str()),
         f.span);
  globals_.hide_macro(global, host_.may_redefine());
  cell->source = std::make_shared<Form>(f);
  cell->defined_at = f.span;
  // A defn that is not at top level captures surrounding locals like a fn.
  bool nested = fn_ && (fn_->parent || !fn_->visible.empty());
  if (nested) {
    cell->is_function = true;
    cell->user_defined = true;
    ExprPtr e = make_expr(ExprKind::Fn, f.span);
    e->proto = function(name.str(), *f.items[params_at], f, params_at + 1, true, {}, e->captures);
    ExprPtr d = make_expr(ExprKind::Def, f.span);
    d->cell = cell;
    d->items.push_back(std::move(e));
    return d;
  }
  // Visible while its own body is analysed, so that it can call itself.
  cell->user_defined = true;
  define_function(*cell, f, params_at);
  ExprPtr e = make_expr(ExprKind::Global, f.span);
  e->cell = cell;
  if (cell->broken) return constant(Value::nil(), f.span);
  return e;
}

}  // namespace sheaf::eval
