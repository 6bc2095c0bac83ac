// The special forms, one function each. A form that can be expressed by simpler ones is rewritten into them.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <unordered_map>

#include "builtins/table.h"
#include "eval/analyzer.h"
#include "eval/code.h"
#include "eval/last_use.h"
#include "syntax/printer.h"

namespace sheaf::eval {

using syntax::make_symbol;

namespace {

constexpr char kSpy[] = "%spy", kTap[] = "%tap", kIs[] = "%is", kTimeIt[] = "%time-it", kThrows[] = "%throws",
               kFuture[] = "%future";

}  // namespace

struct SpecialForms {
  using A = Analyzer;

  [[noreturn]] static void fail(std::string m, Span s) { A::fail(std::move(m), s); }

  static FormPtr call_form(std::string_view head, std::vector<FormPtr> args, Span span) {
    args.insert(args.begin(), make_symbol(head, span));
    return make_seq(FormKind::List, std::move(args), span);
  }
  // A call of a built-in, even if the program redefines its name.
  static FormPtr library_call(A& a, std::string_view head, std::vector<FormPtr> args, Span span) {
    auto symbol = std::make_shared<Form>(*make_symbol(head, span));
    symbol->written_in = a.globals_.prelude_functions().begin()->second.source;
    args.insert(args.begin(), std::move(symbol));
    return make_seq(FormKind::List, std::move(args), span);
  }
  static std::vector<FormPtr> tail(const Form& f, size_t from) {
    return {f.items.begin() + std::min(from, f.items.size()), f.items.end()};
  }

  // Names that a form makes visible are removed when it ends.
  struct Visible {
    FnScope* fn;
    size_t n;
    explicit Visible(A& a) : fn(a.fn_), n(a.fn_->visible.size()) {}
    ~Visible() { fn->visible.resize(n); }
  };

  static ExprPtr def_form(A& a, const FormPtr& f) {
    if (f->items.size() < 3 || !f->items[1]->is_symbol()) {
      UserError e(ErrorKind::Compile, "def requires a name and a value: (def name value)", f->span);
      if (f->items.size() >= 3 && (f->items[1]->kind == FormKind::Vector || f->items[1]->kind == FormKind::Dict))
        e.hints.push_back("def takes one name; (let [[a b] pair] body) takes a pair apart");
      throw e;
    }
    Name name = f->items[1]->name;
    if (is_special_form(name.str()))
      fail(fmt::format("'{}' is a special form and cannot be redefined.", name.str()), f->span);
    Name global = a.host_.defined_name(name, f->span.source);
    Cell* cell = a.globals_.user_cell(global);
    bool taken = (cell->user_defined || cell->broken) && !a.host_.may_redefine();
    if (taken || a.is_local(name))
      fail(fmt::format("'{}' is already defined. Redefinition is not allowed.", name.str()), f->span);
    FormPtr init = a.expand(f->items[2]);
    ExprPtr e = make_expr(ExprKind::Def, f->span);
    e->items.push_back(a.expr(init));
    a.globals_.hide_macro(global, a.host_.may_redefine());
    cell->user_defined = true;
    cell->is_function = false;
    cell->broken = nullptr;
    cell->literal_vector = init->is_vector();
    cell->source = f;
    cell->defined_at = f->span;
    e->cell = cell;
    return e;
  }

  static ExprPtr defmacro_form(A& a, const FormPtr& f) {
    Macro m = parse_macro(*f);
    if (!a.prelude_) m.name = a.host_.defined_name(m.name, f->span.source);
    a.globals_.define_macro(std::move(m), a.prelude_);
    return a.constant(Value::nil(), f->span);
  }

  // A binding of a let, with the symbols of its pattern and those of its value.
  struct Binding {
    FormPtr pattern, value;
    std::vector<Name> names, mentioned;
    bool is_fn() const { return pattern->is_symbol() && value->is_call("fn"); }
    bool binds(Name n) const { return std::find(names.begin(), names.end(), n) != names.end(); }
    bool mentions(Name n) const { return std::find(mentioned.begin(), mentioned.end(), n) != mentioned.end(); }
    bool mentions_any(const std::vector<Name>& ns) const {
      return std::any_of(ns.begin(), ns.end(), [&](Name n) { return mentions(n); });
    }
  };

  static void collect_symbols(const Form& f, std::vector<Name>& out) {
    if (f.is_symbol()) out.push_back(f.name);
    for (const FormPtr& item : f.items)
      collect_symbols(*item, out);
  }

  // True if the name has a meaning at the position of binding i.
  static bool is_known_at(A& a, const std::vector<Binding>& b, size_t i, Name n) {
    if (a.is_local(n) || a.is_overridden(n) || builtins::find_builtin(n.str()) ||
        a.globals_.is_prelude_name(n, a.prelude_))
      return true;
    return std::any_of(b.begin(), b.begin() + static_cast<std::ptrdiff_t>(i),
                       [&](const Binding& x) { return x.binds(n); });
  }

  // The last binding after which `b[i]`, a fn, must be made: the lowest fn it calls, also indirectly, that needs a
  // value bound between the two. i itself if there is none.
  static size_t made_after(A& a, const std::vector<Binding>& b, size_t i) {
    std::vector<size_t> called{i};
    size_t last = i;
    for (size_t c = 0; c < called.size(); ++c) {
      for (size_t j = i + 1; j < b.size(); ++j) {
        bool known = std::find(called.begin(), called.end(), j) != called.end();
        if (!known && b[j].is_fn() && b[called[c]].mentions(b[j].pattern->name) &&
            !is_known_at(a, b, i, b[j].pattern->name))
          called.push_back(j);
      }
      for (size_t k = i + 1; k < called[c]; ++k)
        if (!b[k].is_fn() && b[called[c]].mentions_any(b[k].names)) last = std::max(last, called[c]);
    }
    return last;
  }

  // True if the fn of binding j has the same meaning at position i. It does not if a name it mentions is rebound
  // between the two.
  static bool means_the_same_at(A& a, const std::vector<Binding>& b, size_t j, size_t i) {
    for (size_t k = i + 1; k < j; ++k)
      for (Name n : b[k].names)
        if (!b[k].is_fn() && b[j].mentions(n) && is_known_at(a, b, i, n)) return false;
    return true;
  }

  // The bindings of a let in the order in which they are made. A fn may call one further down that needs a value bound
  // between the two. It is then made after that one, provided that no value in between needs it and that every name it
  // mentions has the same meaning there.
  static std::vector<Binding> bindings_in_order(A& a, const std::vector<FormPtr>& forms) {
    std::vector<Binding> b;
    for (size_t i = 0; i < forms.size(); i += 2) {
      b.push_back({forms[i], forms[i + 1], {}, {}});
      collect_symbols(*forms[i], b.back().names);
    }
    if (std::none_of(b.begin(), b.end(), [](const Binding& x) { return x.is_fn(); })) return b;  // most lets
    for (Binding& x : b)
      collect_symbols(*x.value, x.mentioned);
    for (size_t i = b.size(); i-- > 0;) {
      if (!b[i].is_fn()) continue;
      size_t last = made_after(a, b, i);
      auto first = b.begin() + static_cast<std::ptrdiff_t>(i), end = b.begin() + static_cast<std::ptrdiff_t>(last) + 1;
      bool free = std::all_of(first + 1, end, [&](const Binding& between) {
        bool same = std::none_of(between.names.begin(), between.names.end(), [&](Name n) {
          return n == first->pattern->name || (first->mentions(n) && is_known_at(a, b, i, n));
        });
        return same && (between.is_fn() || !between.mentions(first->pattern->name));
      });
      if (free && last > i) std::rotate(first, first + 1, end);
    }
    return b;
  }

  static ExprPtr let_form(A& a, const FormPtr& f) {
    if (f->items.size() < 2 || !f->items[1]->is_vector())
      fail("let requires a binding vector: (let [name value ...] body...)", f->span);
    if (f->items[1]->items.size() % 2)
      fail("let bindings must have even number of elements (name value pairs)", f->span);
    const std::vector<Binding> b = bindings_in_order(a, f->items[1]->items);
    Visible scope(a);
    std::function<ExprPtr(size_t)> from = [&](size_t i) -> ExprPtr {
      if (i >= b.size()) return a.body(*f, 2);
      const Form& pattern = *b[i].pattern;
      FormPtr init = a.expand(b[i].value);
      if (!pattern.is_symbol()) return a.bind_pattern(pattern, a.expr(init), [&, i] { return from(i + 1); });
      ExprPtr value;
      if (init->is_call("fn") && !a.local(Name("fn"), init->span)) {
        LetNames names{pattern.name, {}};
        for (size_t j = i + 1; j < b.size(); ++j)
          if (b[j].is_fn() && means_the_same_at(a, b, j, i)) names.below.emplace_back(b[j].pattern->name, b[j].value);
        value = a.let_fn(*init, std::move(names));
      } else {
        value = a.expr(init);
      }
      int slot = a.declare(pattern.name, init->is_vector());
      ExprPtr rest = from(i + 1);
      return a.bind(slot, std::move(value), std::move(rest), pattern.span);
    };
    return from(0);
  }

  static ExprPtr if_form(A& a, const FormPtr& f) {
    if (f->items.size() < 3 || f->items.size() > 4)
      fail("if requires 2 or 3 arguments: (if condition then [else])", f->span);
    ExprPtr e = make_expr(ExprKind::If, f->span);
    for (size_t i = 1; i < f->items.size(); ++i)
      e->items.push_back(a.expr(f->items[i]));
    if (e->items.size() == 2) e->items.push_back(a.constant(Value::nil(), f->span));
    return e;
  }

  static ExprPtr do_form(A& a, const FormPtr& f) {
    if (f->items.size() < 2) fail("do requires at least one form", f->span);
    return a.body(*f, 1);
  }

  static ExprPtr case_form(A& a, const FormPtr& f) {
    if (f->items.size() < 2) fail("case requires a target: (case target key result ... [default])", f->span);
    Visible scope(a);
    ExprPtr target = a.expr(f->items[1]);
    int slot = a.new_slot();
    std::function<ExprPtr(size_t)> from = [&](size_t i) -> ExprPtr {
      if (i >= f->items.size()) return a.constant(Value::nil(), f->span);
      if (i + 1 == f->items.size()) return a.expr(f->items[i]);
      ExprPtr e = make_expr(ExprKind::If, f->span);
      std::vector<ExprPtr> args;
      args.push_back(a.local_ref(slot, f->items[1]->span));
      args.push_back(a.expr(f->items[i]));
      e->items.push_back(a.builtin_call("=", f->span, std::move(args)));
      e->items.back()->flag = true;
      e->items.push_back(a.expr(f->items[i + 1]));
      e->items.push_back(from(i + 2));
      return e;
    };
    return a.bind(slot, std::move(target), from(2), f->span);
  }

  static bool is_pair(const Form& v) { return v.is_vector() && v.items.size() == 2; }
  static bool is_accumulator(const Form& v) {
    return is_pair(v) && (v.items[0]->is_symbol() || v.items[0]->is_vector() || v.items[0]->kind == FormKind::Dict);
  }

  // The slot of an accumulator; for a pattern, `seeing` destructures the value for an expression that uses its names.
  static int accumulator_slot(A& a, const Form& name) { return name.is_symbol() ? a.declare(name.name) : a.new_slot(); }
  static ExprPtr seeing(A& a, const Form& name, int slot, const FormPtr& f) {
    if (name.is_symbol()) return a.expr(f);
    Visible scope(a);
    return a.bind_pattern(name, a.local_ref(slot, name.span), [&] { return a.expr(f); });
  }

  static ExprPtr while_form(A& a, const FormPtr& f) {
    if (f->items.size() != 4 || !is_accumulator(*f->items[2]))
      fail("while requires a condition, an accumulator and a body: (while cond [acc init] body)", f->span);
    Visible scope(a);
    ExprPtr e = make_expr(ExprKind::While, f->span);
    const Form& acc = *f->items[2]->items[0];
    ExprPtr init = a.expr(f->items[2]->items[1]);
    e->slot = accumulator_slot(a, acc);
    e->items.push_back(seeing(a, acc, e->slot, f->items[1]));
    e->items.push_back(std::move(init));
    e->items.push_back(seeing(a, acc, e->slot, f->items[3]));
    return e;
  }

  static ExprPtr repeat_form(A& a, const FormPtr& f) {
    if (f->items.size() != 4 || !is_pair(*f->items[1]) || !f->items[1]->items[0]->is_symbol() ||
        !is_accumulator(*f->items[2]))
      fail("repeat requires an index, an accumulator and a body: (repeat [i n] [acc init] body)", f->span);
    Visible scope(a);
    ExprPtr e = make_expr(ExprKind::Repeat, f->span);
    e->items.push_back(a.expr(f->items[1]->items[1]));
    e->items.push_back(a.expr(f->items[2]->items[1]));
    e->slot = a.declare(f->items[1]->items[0]->name);
    const Form& acc = *f->items[2]->items[0];
    e->slot2 = accumulator_slot(a, acc);
    e->items.push_back(seeing(a, acc, e->slot2, f->items[3]));
    return e;
  }

  static constexpr std::string_view kBoundBefore = "%loop";  // names of values whose patterns are bound before the loop

  // (loop [[a b] v c (+ a b)] …): later initialisers see a pattern's names, so all are bound once before the first
  // iteration.
  static FormPtr with_patterns_bound(const Form& f) {
    std::vector<FormPtr> before, turns;
    const auto& b = f.items[1]->items;
    for (size_t i = 0; i < b.size(); i += 2) {
      FormPtr name = b[i]->is_symbol() ? b[i] : syntax::make_symbol(fmt::format("{}{}", kBoundBefore, i), b[i]->span);
      before.insert(before.end(), {name, b[i + 1]});
      if (name != b[i]) before.insert(before.end(), {b[i], name});
      turns.insert(turns.end(), {b[i], name});
    }
    std::vector<FormPtr> loop(f.items);
    loop[1] = make_seq(FormKind::Vector, std::move(turns), f.items[1]->span);
    FormPtr inner = make_seq(FormKind::List, std::move(loop), f.span);
    return make_seq(
        FormKind::List,
        {syntax::make_symbol("let", f.span), make_seq(FormKind::Vector, std::move(before), f.items[1]->span), inner},
        f.span);
  }

  static ExprPtr loop_form(A& a, const FormPtr& f) {
    if (f->items.size() < 2 || !f->items[1]->is_vector() || f->items[1]->items.size() % 2)
      fail("loop requires a binding vector: (loop [name value ...] body...)", f->span);
    const auto& b = f->items[1]->items;
    bool after_pattern = false;
    for (size_t i = 0; i < b.size(); i += 2) {
      const Form& init = *b[i + 1];
      if (after_pattern && (init.is_symbol() || !init.items.empty())) return let_form(a, with_patterns_bound(*f));
      after_pattern =
          after_pattern || !(b[i]->is_symbol() || (init.is_symbol() && init.name.str().starts_with(kBoundBefore)));
    }
    Visible scope(a);
    ExprPtr e = make_expr(ExprKind::Loop, f->span);
    std::vector<std::pair<const Form*, int>> patterns;
    for (size_t i = 0; i < b.size(); i += 2) {
      e->items.push_back(a.expr(b[i + 1]));
      if (b[i]->is_symbol()) {
        e->slots.push_back(a.declare(b[i]->name));
      } else {
        e->slots.push_back(a.new_slot());
        patterns.push_back({b[i].get(), e->slots.back()});
      }
    }
    a.fn_->loop_arity.push_back(b.size() / 2);
    std::function<ExprPtr(size_t)> from = [&](size_t i) -> ExprPtr {
      if (i == patterns.size()) return a.body(*f, 2);
      return a.bind_pattern(*patterns[i].first, a.local_ref(patterns[i].second, f->span),
                            [&, i] { return from(i + 1); });
    };
    e->items.push_back(from(0));
    a.fn_->loop_arity.pop_back();
    return e;
  }

  static ExprPtr recur_form(A& a, const FormPtr& f) {
    bool in_loop = !a.fn_->loop_arity.empty();
    size_t want = in_loop ? a.fn_->loop_arity.back() : a.fn_->proto->params.size();
    size_t got = f->items.size() - 1;
    bool nowhere = !in_loop && a.fn_->proto->top_level;  // check_recur reports it
    if (got != want && !nowhere)
      fail(fmt::format("recur expects {} argument{}, got {}", want, want == 1 ? "" : "s", got), f->span);
    ExprPtr e = make_expr(ExprKind::Recur, f->span);
    for (size_t i = 1; i < f->items.size(); ++i)
      e->items.push_back(a.expr(f->items[i]));
    return e;
  }

  static ExprPtr guard_form(A& a, const FormPtr& f) {
    const std::string usage = "guard: expected (guard :no-nan e), (guard :range [lo hi] e) or (guard :shape [d ...] e)";
    if (f->items.size() < 3 || !f->items[1]->is_keyword()) fail(usage, f->span);
    const std::string& check = f->items[1]->name.str();
    std::vector<ExprPtr> args;
    args.push_back(a.constant(Value::keyword(f->items[1]->name), f->span));
    if (check == "no-nan" && f->items.size() == 3) {
      args.push_back(a.constant(Value::nil(), f->span));
    } else if ((check == "range" || check == "shape") && f->items.size() == 4 && f->items[2]->is_vector()) {
      for (const auto& x : f->items[2]->items)
        if (x->kind != FormKind::Int && x->kind != FormKind::Float)
          fail("guard: bounds and dimensions must be literal numbers", x->span);
      if (check == "range" && f->items[2]->items.size() != 2) fail(usage, f->span);
      args.push_back(a.constant(quoted(*f->items[2]), f->span));
    } else {
      fail(usage, f->span);
    }
    args.push_back(a.expr(f->items.back()));
    return a.builtin_call("%guard", f->span, std::move(args));
  }

  static ExprPtr quote_form(A& a, const FormPtr& f) {
    if (f->items.size() != 2) fail("quote requires one argument", f->span);
    return a.constant(quoted(*f->items[1]), f->span);
  }

  template <bool kLast>
  static ExprPtr thread_form(A& a, const FormPtr& f) {
    if (f->items.size() < 2) fail(kLast ? "->> requires a value" : "-> requires a value", f->span);
    FormPtr acc = f->items[1];
    for (size_t i = 2; i < f->items.size(); ++i) {
      const FormPtr& step = f->items[i];
      if (step->is_symbol() || step->is_keyword()) {
        acc = make_seq(FormKind::List, {step, acc}, step->span);
      } else if (step->is_list() && !step->items.empty()) {
        std::vector<FormPtr> items = step->items;
        items.insert(kLast ? items.end() : items.begin() + 1, acc);
        acc = make_seq(FormKind::List, std::move(items), step->span);
      } else {
        fail(std::string(kLast ? "->>" : "->") + ": each step must be a symbol, a keyword or a call, got " +
                 to_text(*step),
             step->span);
      }
    }
    return a.expr(acc);
  }

  static ExprPtr as_form(A& a, const FormPtr& f) {
    if (f->items.size() < 4 || !f->items[2]->is_symbol())
      fail("as-> requires a value, a name and at least one step: (as-> init name step...)", f->span);
    std::vector<FormPtr> bindings;
    for (size_t i = 1; i + 1 < f->items.size(); ++i) {
      if (i == 2) continue;
      bindings.push_back(f->items[2]);
      bindings.push_back(f->items[i]);
    }
    return a.expr(
        call_form("let", {make_seq(FormKind::Vector, std::move(bindings), f->span), f->items.back()}, f->span));
  }

  static ExprPtr with_params_form(A& a, const FormPtr& f) {
    const std::string usage = "with-params: expected a vector naming the dict, [param] or [param :key]";
    if (f->items.size() < 2 || !f->items[1]->is_vector()) {
      UserError e(ErrorKind::Compile, usage + (f->items.size() > 1 ? ", got " + to_text(*f->items[1]) : ""), f->span);
      e.hints.push_back("write (with-params [p] body...) or (with-params [p :key] body...)");
      throw e;
    }
    const auto& b = f->items[1]->items;
    if (b.empty() || b.size() > 2 || !b[0]->is_symbol() || (b.size() == 2 && !b[1]->is_keyword())) {
      UserError e(ErrorKind::Compile, usage + ", got " + to_text(*f->items[1]), f->span);
      e.hints.push_back("write (with-params [p] body...) or (with-params [p :key] body...)");
      throw e;
    }
    ExprPtr dict = a.expr(b[0]);
    if (b.size() == 2) {
      std::vector<ExprPtr> args;
      args.push_back(std::move(dict));
      args.push_back(a.constant(Value::keyword(b[1]->name), f->span));
      dict = a.builtin_call("get", f->span, std::move(args));
    }
    Visible scope(a);
    int slot = a.declare(Name(" with-params"));
    a.fn_->params.push_back(slot);
    ExprPtr inner = a.body(*f, 2);
    a.fn_->params.pop_back();
    return a.bind(slot, std::move(dict), std::move(inner), f->span);
  }

  static ExprPtr use_form(A& a, const FormPtr& f) {
    ExprPtr e = a.host_.use_module(*f, f->span.source);
    return e ? std::move(e) : a.constant(Value::nil(), f->span);
  }

  template <bool kAnd>
  static ExprPtr and_or_form(A& a, const FormPtr& f) {
    if (f->items.size() == 1) return a.constant(Value::boolean(kAnd), f->span);
    ExprPtr e = make_expr(kAnd ? ExprKind::And : ExprKind::Or, f->span);
    for (size_t i = 1; i < f->items.size(); ++i)
      e->items.push_back(a.expr(f->items[i]));
    return e;
  }

  // A path written as a vector becomes nested gets, so that a missing intermediate value is reported.
  static ExprPtr get_in_form(A& a, const FormPtr& f) {
    if (f->items.size() != 3 || !f->items[2]->is_vector()) return a.call(*f);
    ExprPtr e = a.expr(f->items[1]);
    for (const auto& k : f->items[2]->items) {
      std::vector<ExprPtr> args;
      args.push_back(std::move(e));
      args.push_back(a.expr(k));
      e = a.builtin_call("get", f->span, std::move(args));
    }
    return e;
  }

  static ExprPtr try_form(A& a, const FormPtr& f) {
    if (f->items.size() < 2) fail("try requires a body: (try e... (catch err e...))", f->span);
    const Form& last = *f->items.back();
    if (!last.is_call("catch")) return a.body(*f, 1);
    if (last.items.size() < 2 || !last.items[1]->is_symbol())
      fail("catch requires a name: (catch err e...)", last.span);
    ExprPtr e = make_expr(ExprKind::Try, f->span);
    FormPtr inner = call_form("do", {f->items.begin() + 1, f->items.end() - 1}, f->span);
    e->items.push_back(inner->items.size() > 1 ? a.expr(inner) : a.constant(Value::nil(), f->span));
    Visible scope(a);
    e->slot = a.declare(last.items[1]->name);
    e->items.push_back(a.body(last, 2));
    return e;
  }

  // (for [x xs :when c :let [..] y ys] body): folds over each collection, appending to one list.
  static ExprPtr for_form(A& a, const FormPtr& f) { return a.expr(comprehension(a, *f, true)); }
  static ExprPtr doseq_form(A& a, const FormPtr& f) { return a.expr(comprehension(a, *f, false)); }

  static FormPtr comprehension(A& a, const Form& f, bool collect) {
    Span s = f.span;
    if (f.items.size() < 2 || !f.items[1]->is_vector() || f.items[1]->items.size() % 2)
      fail(std::string(collect ? "for" : "doseq") + " requires a binding vector: (for [x xs ...] body)", s);
    const auto& b = f.items[1]->items;
    FormPtr acc = make_symbol(" acc", s);
    std::function<FormPtr(size_t)> from = [&](size_t i) -> FormPtr {
      if (i >= b.size()) {
        std::vector<FormPtr> body = tail(f, 2);
        if (body.empty()) body.push_back(syntax::make_nil(s));
        FormPtr value = body.size() == 1 ? body[0] : call_form("do", body, s);
        return collect ? library_call(a, "append", {acc, value}, s) : call_form("do", {value, syntax::make_nil(s)}, s);
      }
      if (b[i]->is_keyword()) {
        const std::string& k = b[i]->name.str();
        if (k == "when") return call_form("if", {b[i + 1], from(i + 2), acc}, s);
        if (k == "let") return call_form("let", {b[i + 1], from(i + 2)}, s);
        fail("unknown clause :" + k + "; use :when or :let", b[i]->span);
      }
      FormPtr fn = call_form("fn", {make_seq(FormKind::Vector, {acc, b[i]}, s), from(i + 2)}, s);
      return library_call(a, "reduce", {fn, acc, call_form("%items", {b[i + 1]}, s)}, s);
    };
    FormPtr init = collect ? make_seq(FormKind::Vector, {}, s) : syntax::make_nil(s);
    return call_form("let", {make_seq(FormKind::Vector, {acc, init}, s), from(0)}, s);
  }

  // Forms that need the source text of their argument.
  template <const char* kBuiltin>
  static ExprPtr with_source(A& a, const FormPtr& f) {
    if (f->items.size() < 2) fail(f->items[0]->name.str() + " requires an expression", f->span);
    std::vector<ExprPtr> args;
    args.push_back(a.constant(Value::string(to_text(*f->items[1])), f->span));
    for (size_t i = 1; i < f->items.size(); ++i)
      args.push_back(a.expr(f->items[i]));
    return a.builtin_call(kBuiltin, f->span, std::move(args));
  }

  // Forms whose body a built-in runs: it receives the body as a function.
  template <const char* kBuiltin>
  static ExprPtr with_thunk(A& a, const FormPtr& f) {
    FormPtr thunk = call_form("fn", {make_seq(FormKind::Vector, {}, f->span)}, f->span);
    std::vector<FormPtr> items = thunk->items;
    for (const auto& x : tail(*f, 1))
      items.push_back(x);
    if (items.size() == 2) items.push_back(syntax::make_nil(f->span));
    std::vector<ExprPtr> args;
    args.push_back(a.constant(Value::string(f->items.size() > 1 ? to_text(*f->items[1]) : ""), f->span));
    bool throws = std::string_view(kBuiltin) == "%throws";
    bool expected = std::exchange(a.expects_errors_, a.expects_errors_ || throws);
    size_t errors_before = a.errors_.size();
    args.push_back(a.fn_form(*make_seq(FormKind::List, std::move(items), f->span)));
    a.expects_errors_ = expected;
    if (throws && a.finds_all_errors()) a.errors_.resize(errors_before, UserError(ErrorKind::Compile, ""));
    return a.builtin_call(kBuiltin, f->span, std::move(args));
  }

  // (is (= a b)) keeps both operands, to show them if they differ.
  static ExprPtr is_form(A& a, const FormPtr& f) {
    static const std::set<std::string> comparisons{"=", "==", "!=", "<", "<=", ">", ">=", "equal?", "allclose"};
    const Form* test = f->items.size() == 2 ? f->items[1].get() : nullptr;
    bool compares = test && test->is_list() && test->items.size() >= 3 && test->items[0]->is_symbol() &&
                    comparisons.count(test->items[0]->name.str()) && !test->items[1]->is_keyword() &&
                    !test->items[2]->is_keyword() && (test->items.size() == 3 || test->items[3]->is_keyword());
    if (!compares) return with_thunk<kIs>(a, f);
    Span s = test->span;
    FormPtr left = make_symbol("%left", s), right = make_symbol("%right", s);
    std::vector<FormPtr> comparison = test->items;
    comparison[1] = left, comparison[2] = right;
    auto text = [](const FormPtr& x) { return syntax::make_string(to_text(*x), x->span); };
    FormPtr check = call_form("%is-comparison",
                              {text(f->items[1]), text(test->items[1]), text(test->items[2]),
                               make_seq(FormKind::List, std::move(comparison), s), left, right},
                              f->span);
    return let_form(
        a, call_form("let", {make_seq(FormKind::Vector, {left, test->items[1], right, test->items[2]}, s), check},
                     f->span));
  }

  static ExprPtr deftest_form(A& a, const FormPtr& f) {
    if (f->items.size() < 2 || (!f->items[1]->is_symbol() && f->items[1]->kind != FormKind::String))
      fail("deftest requires a name: (deftest name body...)", f->span);
    std::string name = f->items[1]->is_symbol() ? f->items[1]->name.str() : f->items[1]->text;
    std::vector<ExprPtr> captures;
    FormPtr params = make_seq(FormKind::Vector, {}, f->span);
    FnScope* outer = std::exchange(a.fn_, nullptr);
    std::shared_ptr<Proto> proto;
    try {
      proto = a.function(name, *params, *f, 2, true, {}, captures);
    } catch (...) {
      a.fn_ = outer;
      throw;
    }
    a.fn_ = outer;
    a.host_.add_test(name, proto, f->span);
    return a.constant(Value::nil(), f->span);
  }

  // (progress …) and similar are library macros; this rejects value-and-grad's old four-argument form.
  static ExprPtr value_and_grad_form(A& a, const FormPtr& f) {
    if (f->items.size() >= 5 && f->items[1]->is_symbol() && !f->items[2]->is_keyword()) {
      std::vector<ExprPtr> args;
      args.push_back(
          a.constant(Value::string(fmt::format("value-and-grad '{}': interpreter support not yet implemented",
                                               f->items[1]->name.str())),
                     f->span));
      return a.builtin_call("error", f->span, std::move(args));
    }
    return a.call(*f);
  }
};

namespace {

using S = SpecialForms;

}  // namespace

const std::unordered_map<std::string, Analyzer::Handler>& Analyzer::special_forms() {
  static const auto* table = new std::unordered_map<std::string, Handler>{
      {"def", S::def_form},
      {"defmacro", S::defmacro_form},
      {"let", S::let_form},
      {"if", S::if_form},
      {"do", S::do_form},
      {"case", S::case_form},
      {"while", S::while_form},
      {"repeat", S::repeat_form},
      {"loop", S::loop_form},
      {"recur", S::recur_form},
      {"guard", S::guard_form},
      {"quote", S::quote_form},
      {"->", S::thread_form<false>},
      {"->>", S::thread_form<true>},
      {"as->", S::as_form},
      {"with-params", S::with_params_form},
      {"use", S::use_form},
      {"and", S::and_or_form<true>},
      {"or", S::and_or_form<false>},
      {"get-in", S::get_in_form},
      {"try", S::try_form},
      {"for", S::for_form},
      {"doseq", S::doseq_form},
      {"spy", S::with_source<kSpy>},
      {"tap", S::with_source<kTap>},
      {"is", S::is_form},
      {"time-it", S::with_thunk<kTimeIt>},
      {"throws", S::with_thunk<kThrows>},
      {"future", S::with_thunk<kFuture>},
      {"deftest", S::deftest_form},
      {"value-and-grad", S::value_and_grad_form},
      {"fn", [](Analyzer& a, const FormPtr& f) { return a.fn_form(*f); }},
      {"defn", [](Analyzer& a, const FormPtr& f) { return a.defn_form(*f, false); }},
      {"defn-", [](Analyzer& a, const FormPtr& f) { return a.defn_form(*f, true); }},
  };
  return *table;
}

Analyzer::Handler Analyzer::special(const std::string& name) {
  auto it = special_forms().find(name);
  return it == special_forms().end() ? nullptr : it->second;
}

std::vector<std::string> special_form_names() {
  std::vector<std::string> names;
  for (const auto& [name, handler] : Analyzer::special_forms())
    names.push_back(name);
  std::sort(names.begin(), names.end());
  return names;
}

bool is_special_form(const std::string& name) {
  // The forms of the original language; a program may redefine names that we added.
  static const auto* names = new std::set<std::string>{
      "def",    "defn",  "defmacro", "fn",  "let",  "if",  "do",          "case",           "while",
      "repeat", "guard", "quote",    "->",  "as->", "use", "with-params", "value-and-grad", "get",
      "get-in", "dict",  "assoc",    "last"};
  return names->count(name) > 0;
}

}  // namespace sheaf::eval
