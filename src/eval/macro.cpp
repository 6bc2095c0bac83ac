#include "eval/macro.h"

#include <fmt/format.h>

#include <cmath>

#include "support/error.h"
#include "syntax/printer.h"

namespace sheaf::eval {
namespace {

using syntax::Form;
using syntax::FormKind;
using syntax::FormPtr;

UserError compile_error(std::string message, Span span) {
  return UserError(ErrorKind::Compile, std::move(message), span);
}

bool is_sequence(const Form& f) { return f.kind == FormKind::List || f.kind == FormKind::Vector; }
bool is_number(const Form& f) { return f.kind == FormKind::Int || f.kind == FormKind::Float; }
double number(const Form& f) {
  return f.kind == FormKind::Int ? static_cast<double>(f.int_value) : f.kind == FormKind::Float ? f.float_value : 0.0;
}
bool is_false(const Form& f) { return f.kind == FormKind::Nil || (f.kind == FormKind::Bool && !f.int_value); }

constexpr size_t kMostMade = 1 << 25;

// The number of forms and characters of a form, counting shared parts each time; stops counting at `most`.
size_t size_of(const Form& f, size_t most) {
  size_t n = 1 + f.text.size();
  for (const auto& x : f.items) {
    if (n > most) break;
    n += size_of(*x, most - n);
  }
  return n;
}

class CompileTime {
 public:
  CompileTime(const HelperLookup& helpers, Span span) : helpers_(helpers), span_(span) {}
  using Env = std::map<Name, FormPtr>;

  FormPtr eval(const FormPtr& f, const Env& env) {
    switch (f->kind) {
      case FormKind::Symbol: {
        auto it = env.find(f->name);
        return it == env.end() ? f : it->second;
      }
      case FormKind::Quote: return f->items[0];
      case FormKind::Quasiquote: return fill(f->items[0], env, 1);
      case FormKind::Vector:
      case FormKind::Dict: {
        std::vector<FormPtr> items;
        for (const auto& x : f->items)
          items.push_back(eval(x, env));
        return sequence(f->kind, std::move(items), f->span);
      }
      case FormKind::List: return f->items.empty() ? f : call(*f, env);
      default: return f;
    }
  }

  // Copies a template, replacing unquotes at depth 1 and bare parameter names.
  FormPtr fill(const FormPtr& f, const Env& env, int depth) {
    switch (f->kind) {
      case FormKind::Symbol: {
        auto it = env.find(f->name);
        return it != env.end() && depth == 1 ? it->second : respan(f);
      }
      case FormKind::Unquote:
      case FormKind::UnquoteSplicing:
        if (depth == 1) return eval(f->items[0], env);
        return sequence(f->kind, {fill(f->items[0], env, depth - 1)}, span_);
      case FormKind::Quasiquote: return sequence(f->kind, {fill(f->items[0], env, depth + 1)}, span_);
      case FormKind::List:
      case FormKind::Vector:
      case FormKind::Dict:
      case FormKind::Quote: {
        std::vector<FormPtr> items;
        for (const auto& x : f->items) {
          if (x->kind != FormKind::UnquoteSplicing || depth != 1) {
            items.push_back(fill(x, env, depth));
            continue;
          }
          FormPtr spliced = eval(x->items[0], env);
          if (spliced->kind == FormKind::Nil) continue;
          if (!is_sequence(*spliced))
            throw compile_error("~@ splice requires a list, got: " + to_text(*spliced), span_);
          items.insert(items.end(), spliced->items.begin(), spliced->items.end());
        }
        return sequence(f->kind, std::move(items), span_);
      }
      default: return respan(f);
    }
  }

  // A pattern is a symbol, a symbol with a type or shape, or a vector of patterns; missing arguments are nil.
  void bind(const Form& pattern, const FormPtr& value, Env& env) {
    if (pattern.is_symbol()) env[pattern.name] = value;
    if (pattern.kind == FormKind::List && !pattern.items.empty()) bind(*pattern.items[0], value, env);
    if (pattern.is_vector()) bind_all(pattern.items, is_sequence(*value) ? value->items : std::vector<FormPtr>{}, env);
  }

  void bind_all(const std::vector<FormPtr>& patterns, const std::vector<FormPtr>& values, Env& env) {
    for (size_t i = 0; i < patterns.size(); ++i) {
      if (patterns[i]->is_symbol("&") && i + 1 < patterns.size()) {
        bind(*patterns[i + 1],
             list_like({values.begin() + static_cast<std::ptrdiff_t>(std::min(i, values.size())), values.end()}), env);
        return;
      }
      bind(*patterns[i], i < values.size() ? values[i] : nil(), env);
    }
  }

 private:
  // Gives template text the span of the macro call, so that errors point at the user's form.
  FormPtr respan(const FormPtr& f) {
    auto copy = std::make_shared<Form>(*f);
    copy->written_in = f->home();
    copy->span = span_;
    return copy;
  }

  // Charges the forms and characters that an expansion creates: an endless recursion may double them at each call.
  void spend(size_t made) {
    spent_ += made;
    if (spent_ > kMostMade)
      throw compile_error(fmt::format("Macro expansion makes more than {} forms and characters", kMostMade), span_)
          .hint("does a function that it calls call itself without end?");
  }
  FormPtr sequence(FormKind kind, std::vector<FormPtr> items, Span span) {
    spend(items.size());
    return make_seq(kind, std::move(items), span);
  }

  FormPtr nil() { return syntax::make_nil(span_); }
  FormPtr boolean(bool b) { return syntax::make_bool(b, span_); }

  FormPtr nth(const Form& seq, size_t i) { return is_sequence(seq) && i < seq.items.size() ? seq.items[i] : nil(); }

  FormPtr list_like(std::vector<FormPtr> items) { return sequence(FormKind::List, std::move(items), span_); }

  FormPtr call(const Form& f, const Env& env) {
    const Form& head = *f.items[0];
    if (head.is_keyword()) return call_keyword(f, env);
    if (!head.is_symbol()) return rebuild(f, env);
    const std::string& name = head.name.str();
    if (name == "quote" && f.items.size() == 2) return f.items[1];
    if (name == "if" && f.items.size() >= 3) {
      bool no = is_false(*eval(f.items[1], env));
      if (!no) return eval(f.items[2], env);
      return f.items.size() > 3 ? eval(f.items[3], env) : nil();
    }
    if (name == "do") {
      FormPtr last = nil();
      for (size_t i = 1; i < f.items.size(); ++i)
        last = eval(f.items[i], env);
      return last;
    }
    if (name == "let" && f.items.size() >= 2 && f.items[1]->is_vector()) {
      Env inner = env;
      const auto& b = f.items[1]->items;
      for (size_t i = 0; i + 1 < b.size(); i += 2)
        bind(*b[i], eval(b[i + 1], inner), inner);
      FormPtr last = nil();
      for (size_t i = 2; i < f.items.size(); ++i)
        last = eval(f.items[i], inner);
      return last;
    }
    bool lambda = f.items.size() > 1 && f.items[1]->is_call("fn") && f.items[1]->items.size() > 2 &&
                  f.items[1]->items[1]->is_vector();
    if (name == "map" && f.items.size() == 3 && (lambda || f.items[1]->is_symbol() || f.items[1]->is_keyword())) {
      FormPtr function = lambda ? f.items[1] : eval(f.items[1], env), seq = eval(f.items[2], env);
      std::vector<FormPtr> out;
      if (is_sequence(*seq))
        for (const auto& x : seq->items) {
          FormPtr r = lambda                   ? apply_body(*function, 1, {x}, env)
                      : function->is_symbol()  ? apply(function->name, {x})
                      : function->is_keyword() ? read_key(*function, {x})
                                               : nullptr;
          out.push_back(r ? r : list_like({function, x}));
        }
      return list_like(std::move(out));
    }
    std::vector<FormPtr> args;
    for (size_t i = 1; i < f.items.size(); ++i)
      args.push_back(eval(f.items[i], env));
    if (FormPtr r = apply(head.name, args)) return r;
    args.insert(args.begin(), f.items[0]);
    return sequence(FormKind::List, std::move(args), f.span);
  }

  FormPtr call_keyword(const Form& f, const Env& env) {
    FormPtr call = rebuild(f, env);
    FormPtr entry = read_key(*f.items[0], {call->items.begin() + 1, call->items.end()});
    return entry ? entry : call;
  }

  // Evaluates (:key dict default) on a dict literal; nullptr for any other argument, whose value is only known at run
  // time.
  FormPtr read_key(const Form& key, const std::vector<FormPtr>& args) {
    if (args.empty() || args.size() > 2 || args[0]->kind != FormKind::Dict) return nullptr;
    const std::vector<FormPtr>& entries = args[0]->items;
    for (size_t i = entries.size(); i >= 2; i -= 2) {  // the last of equal keys counts
      const Form& k = *entries[i - 2];
      bool same = k.is_keyword() ? k.name == key.name : k.kind == FormKind::String && k.text == key.name.str();
      if (same) return entries[i - 1];
    }
    return args.size() > 1 ? args[1] : nil();
  }

  FormPtr rebuild(const Form& f, const Env& env) {
    std::vector<FormPtr> items;
    for (const auto& x : f.items)
      items.push_back(eval(x, env));
    return sequence(FormKind::List, std::move(items), f.span);
  }

  // Returns nullptr if the name is neither a helper nor one of the functions here.
  FormPtr apply(Name name, const std::vector<FormPtr>& args) {
    if (FormPtr helper = helpers_(name)) return apply_helper(*helper, args);
    const std::string& n = name.str();
    auto arg = [&](size_t i) { return i < args.size() ? args[i] : nil(); };
    if (n == "first") return nth(*arg(0), 0);
    if (n == "second") return nth(*arg(0), 1);
    if (n == "nth") {
      double i = number(*arg(1));
      return i >= 0 && i < static_cast<double>(arg(0)->items.size()) ? nth(*arg(0), static_cast<size_t>(i)) : nil();
    }
    if (n == "rest") {
      FormPtr s = arg(0);
      if (!is_sequence(*s) || s->items.empty()) return list_like({});
      return sequence(s->kind, {s->items.begin() + 1, s->items.end()}, span_);
    }
    if (n == "count" || n == "len")
      return syntax::make_int(is_sequence(*arg(0)) ? static_cast<int64_t>(arg(0)->items.size()) : 0, span_);
    if (n == "empty?") return boolean(arg(0)->kind == FormKind::Nil || (is_sequence(*arg(0)) && arg(0)->items.empty()));
    if (n == "cons") {
      std::vector<FormPtr> items = {arg(0)};
      if (is_sequence(*arg(1))) items.insert(items.end(), arg(1)->items.begin(), arg(1)->items.end());
      return list_like(std::move(items));
    }
    if (n == "append" || n == "concat") {
      std::vector<FormPtr> items;
      for (size_t i = 0; i < args.size(); ++i) {
        bool spread = is_sequence(*args[i]) && (n == "concat" || i == 0);
        if (spread)
          items.insert(items.end(), args[i]->items.begin(), args[i]->items.end());
        else
          items.push_back(args[i]);
      }
      return list_like(std::move(items));
    }
    if (n == "not") return boolean(is_false(*arg(0)));
    if (n == "str") {
      std::string text;
      for (const auto& a : args) {
        spend(size_of(*a, kMostMade));
        text += a->kind == FormKind::String ? a->text : to_text(*a);
      }
      return syntax::make_string(std::move(text), span_);
    }
    if (args.size() == 2) return arithmetic(n, *args[0], *args[1]);
    return nullptr;
  }

  FormPtr arithmetic(const std::string& n, const Form& a, const Form& b) {
    double x = number(a), y = number(b);
    if (n == "<") return boolean(x < y);
    if (n == ">") return boolean(x > y);
    if (n == "<=") return boolean(x <= y);
    if (n == ">=") return boolean(x >= y);
    if (n == "=" || n == "==") return boolean(is_number(a) && is_number(b) ? std::fabs(x - y) < 1e-10 : equal(a, b));
    double r;
    if (n == "+")
      r = x + y;
    else if (n == "-")
      r = x - y;
    else if (n == "*")
      r = x * y;
    else if (n == "/") {
      if (y == 0) throw compile_error("Division by zero", span_);
      r = x / y;
    } else {
      return nullptr;
    }
    bool ints = a.kind == FormKind::Int && b.kind == FormKind::Int;
    if (ints && r == std::floor(r) && std::fabs(r) < 9e15) return syntax::make_int(static_cast<int64_t>(r), span_);
    return syntax::make_float(r, span_);
  }

  FormPtr apply_helper(const Form& defn, const std::vector<FormPtr>& args) {
    if (++depth_ > 1000) throw compile_error("Compile-time recursion deeper than 1000", span_);
    bool has_doc = defn.items.size() > 2 && defn.items[2]->kind == FormKind::String;
    FormPtr last = apply_body(defn, has_doc ? 3 : 2, args, {});
    --depth_;
    return last;
  }

  // Evaluates the forms after the parameters, which are at `params_at`.
  FormPtr apply_body(const Form& function, size_t params_at, const std::vector<FormPtr>& args, Env env) {
    bind_all(function.items[params_at]->items, args, env);
    FormPtr last = nil();
    for (size_t i = params_at + 1; i < function.items.size(); ++i)
      last = eval(function.items[i], env);
    return last;
  }

  const HelperLookup& helpers_;
  Span span_;
  int depth_ = 0;
  size_t spent_ = 0;
};

void check_params(const Form& params) {
  for (size_t i = 0; i < params.items.size(); ++i) {
    const Form& p = *params.items[i];
    if (p.is_vector())
      check_params(p);
    else if (!p.is_symbol())
      throw compile_error("defmacro parameters must be symbols", p.span)
          .hint("or vectors of symbols, for arguments written as lists or vectors");
    if (p.is_symbol("&") && (i + 2 != params.items.size() || !params.items[i + 1]->is_symbol()))
      throw compile_error("defmacro: exactly one name must follow &", p.span);
  }
}

}  // namespace

Macro parse_macro(const Form& form) {
  size_t at = 2;
  Macro m;
  if (form.items.size() > 2 && form.items[2]->kind == FormKind::String) m.doc = form.items[at++]->text;
  if (form.items.size() < at + 2 || !form.items[1]->is_symbol() || !form.items[at]->is_vector())
    throw compile_error("defmacro requires a name, parameters and a template: (defmacro name [params] template)",
                        form.span);
  m.name = form.items[1]->name;
  check_params(*form.items[at]);
  m.params = form.items[at];
  m.body = form.items[at + 1];
  return m;
}

FormPtr expand_macro(const Macro& m, const Form& call, const HelperLookup& helpers) {
  CompileTime evaluator(helpers, call.span);
  CompileTime::Env env;
  evaluator.bind_all(m.params->items, {call.items.begin() + 1, call.items.end()}, env);
  return evaluator.eval(m.body, env);
}

FormPtr expand_quasiquote(const FormPtr& f) {
  switch (f->kind) {
    case FormKind::Unquote:
    case FormKind::UnquoteSplicing: return f->items[0];
    case FormKind::List:
    case FormKind::Vector:
    case FormKind::Dict:
    case FormKind::Quote: {
      std::vector<FormPtr> items;
      for (const auto& x : f->items)
        items.push_back(expand_quasiquote(x));
      return make_seq(f->kind, std::move(items), f->span);
    }
    default: return f;
  }
}

}  // namespace sheaf::eval
