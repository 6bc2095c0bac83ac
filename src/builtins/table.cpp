#include "builtins/table.h"

#include <fmt/format.h>

#include <unordered_map>

#include "builtins/arrays/families.h"
#include "builtins/core/numeric.h"
#include "builtins/core/warnings.h"
#include "builtins/data/families.h"
#include "builtins/host/families.h"
#include "builtins/host/guard.h"
#include "builtins/host/output.h"
#include "trace/host_call.h"
#include "trace/jit.h"
#include "value/print.h"

namespace sheaf::builtins {
namespace {

struct Entry {
  const BuiltinDef* def;
  Value value;
};

struct Table {
  std::vector<const BuiltinDef*> list;
  std::unordered_map<std::string_view, Entry> by_name;
  Table() {
    for (auto family :
         {op_builtins(),       arithmetic_builtins(),  math_builtins(),         bits_builtins(),     compare_builtins(),
          shape_builtins(),    create_builtins(),      movement_builtins(),     padding_builtins(),  order_builtins(),
          index_builtins(),    at_builtins(),          reduce_builtins(),       linalg_builtins(),   window_builtins(),
          random_builtins(),   sequence_builtins(),    higher_order_builtins(), vmap_builtins(),     tree_builtins(),
          dict_builtins(),     string_builtins(),      tokenize_builtins(),     output_builtins(),   process_builtins(),
          io_builtins(),       token_batch_builtins(), token_row_builtins(),    progress_builtins(), plot_builtins(),
          quantize_builtins(), gradient_builtins(),    test_builtins(),         device_builtins(),   form_builtins(),
          loss_builtins(),     fourier_builtins(),     complex_builtins()})
      for (const BuiltinDef& d : family) {
        list.push_back(&d);
        Entry e{&d, Value::object(Tag::Builtin, new BuiltinObj(&d))};
        INVARIANT(by_name.emplace(d.name, std::move(e)).second, "built-in " << d.name << " is defined twice");
      }
  }
};

const Table& table() {
  static const auto* t = new Table;
  return *t;
}

enum class Accepts : uint8_t { No, Flag, FlagOrValue, Value };

Accepts accepts(const BuiltinDef& d, std::string_view option) {
  std::string_view names = d.options;
  if (names.starts_with('*')) {
    if (dtype_from_name(option)) return Accepts::Flag;
    names.remove_prefix(1);
  }
  while (!names.empty()) {
    size_t end = std::min(names.find(' '), names.size());
    std::string_view name = names.substr(0, end);
    bool value = name.ends_with('=');
    if (value) name.remove_suffix(1);
    if (name == option) return value ? Accepts::Value : Accepts::FlagOrValue;
    names.remove_prefix(std::min(end + 1, names.size()));
  }
  return Accepts::No;
}

std::string known_options(const BuiltinDef& d) {
  std::string s;
  std::string_view names = d.options;
  bool dtypes = names.starts_with('*');
  if (dtypes) names.remove_prefix(1);
  for (char ch : names) {
    if (s.empty()) s = ":";
    if (ch == ' ')
      s += " :";
    else if (ch != '=')
      s += ch;
  }
  return s + (dtypes ? " and dtypes such as :bf16" : "");
}

UserError unknown_option(const BuiltinDef& d, Name name) {
  return runtime_error(fmt::format("{}: unknown option :{}. Known options: {}", d.name, name.str(), known_options(d)));
}

// Takes `:key value` and `:flag` out of the arguments.
std::vector<Option> split_options(const BuiltinDef& d, std::vector<Value>& args) {
  std::vector<Option> options;
  std::vector<Value> positional;
  for (size_t i = 0; i < args.size(); ++i) {
    if (!args[i].is_keyword()) {
      positional.push_back(std::move(args[i]));
      continue;
    }
    Name name = args[i].as_keyword();
    Accepts how = accepts(d, name.str());
    if (how == Accepts::No) throw unknown_option(d, name);
    bool flag =
        i + 1 == args.size() || how == Accepts::Flag || (how == Accepts::FlagOrValue && args[i + 1].is_keyword());
    options.push_back({name, flag ? Value::boolean(true) : std::move(args[++i])});
  }
  args = std::move(positional);
  return options;
}

bool has_keyword(const std::vector<Value>& args) {
  for (const Value& v : args)
    if (v.is_keyword()) return true;
  return false;
}

UserError wrong_count(const BuiltinDef& d, size_t n) {
  auto error = [&](std::string message) {
    UserError e = runtime_error(std::move(message));
    if (!d.signature.empty()) e.hints.push_back(fmt::format("the form is {}", d.signature));
    return e;
  };
  if (!d.arity_text.empty()) return error(fmt::format(fmt::runtime(d.arity_text), n));
  std::string want = d.max_args == d.min_args ? std::to_string(d.min_args)
                     : d.max_args < 0         ? "at least " + std::to_string(d.min_args)
                                              : fmt::format("{} to {}", d.min_args, d.max_args);
  return error(fmt::format("{}: expected {} argument{}, got {}", d.name, want,
                           want == "1" || want == "at least 1" ? "" : "s", n));
}

Value run_checked(const BuiltinDef& d, Caller& caller, std::vector<Value>& args) {
  Call c{caller, args, {}, d};
  if (!d.options.empty() && has_keyword(args)) c.options = split_options(d, args);
  if (static_cast<int>(args.size()) < d.min_args) throw wrong_count(d, args.size());
  if (d.max_args >= 0 && static_cast<int>(args.size()) > d.max_args) {
    // Fixed-arity operators reject surplus arguments; the others ignore them, as specified, with a warning.
    if (!d.arity_text.empty()) throw wrong_count(d, args.size());
    warn_ignored_argument(d, d.max_args, args[d.max_args]);
    args.resize(d.max_args);
  }
  return d.run(c);
}

// What host calls need: they never call back.
struct NoCaller final : Caller {
  Value call(const Value&, std::vector<Value>) override {
    throw runtime_error("a host call cannot call functions of the program");
  }
};

// While tracing: the effect becomes a node.
Value record_effect(const BuiltinDef& d, std::vector<Value>& args) {
  if (d.effect == Effect::Input)
    throw trace::Untraceable(fmt::format("it calls {}, which has an effect", d.name), trace::current_span(), true);
  trace::record_host_call(args, [&d](std::vector<Value> values) {
    static NoCaller nobody;
    try {
      call_builtin(d, nobody, values);
    } catch (const GuardBreach& b) {
      throw runtime_error(b.message);  // compiled code failed: the interpreted run breaches the guard at its place
    }
  });
  return d.effect == Effect::Watch && !args.empty() ? args.back() : Value::nil();
}

}  // namespace

std::optional<UserError> fault_of_call(const BuiltinDef& d, std::span<const std::optional<Name>> keywords) {
  size_t positional = 0;
  for (size_t i = 0; i < keywords.size(); ++i) {
    if (!keywords[i] || d.options.empty()) {
      ++positional;
      continue;
    }
    Accepts how = accepts(d, keywords[i]->str());
    if (how == Accepts::No) return unknown_option(d, *keywords[i]);
    bool has_value = i + 1 < keywords.size() && how != Accepts::Flag && (how == Accepts::Value || !keywords[i + 1]);
    i += has_value;
  }
  if (static_cast<int>(positional) < d.min_args) return wrong_count(d, positional);
  if (d.max_args < 0 || static_cast<int>(positional) <= d.max_args) return std::nullopt;
  return d.arity_text.empty() ? runtime_error(ignored_argument(d, d.max_args)) : wrong_count(d, positional);
}

const BuiltinDef* find_builtin(std::string_view name) {
  auto it = table().by_name.find(name);
  return it == table().by_name.end() ? nullptr : it->second.def;
}

const std::vector<const BuiltinDef*>& all_builtins() { return table().list; }
Value builtin_value(const BuiltinDef& def) { return table().by_name.at(def.name).value; }

Value call_builtin(const BuiltinDef& d, Caller& caller, std::vector<Value>& args) {
  if (d.effect != Effect::None) [[unlikely]] {
    if (trace::is_tracing()) return record_effect(d, args);
    if (d.effect != Effect::Input && trace::is_repeated_output()) {
      MutedOutput muted;
      return run_checked(d, caller, args);
    }
  }
  return run_checked(d, caller, args);
}

Value BuiltinObj::invoke(Caller& caller, std::vector<Value>& args) { return call_builtin(*def, caller, args); }

}  // namespace sheaf::builtins
