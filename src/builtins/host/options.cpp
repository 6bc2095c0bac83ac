#include "builtins/host/options.h"

#include <fmt/format.h>

#include "builtins/core/elements.h"
#include "builtins/core/text.h"
#include "builtins/host/output.h"
#include "builtins/host/process.h"
#include "value/print.h"

namespace sheaf::builtins {
namespace {

std::string known(const DictObj& spec) {
  std::string out;
  for (const DictEntry& e : spec.entries())
    out += (out.empty() ? "--" : " --") + e.key.str();
  return out;
}

[[noreturn]] void bad_value(std::string_view name, std::string_view text, std::string_view wanted) {
  throw runtime_error(fmt::format("option --{}: expected {}, got '{}'", name, wanted, text));
}

Value read_as(const Value& model, std::string_view name, std::string_view text);

// Parses "64,128" by the type of the default's first item; a tensor stays a tensor.
Value read_items(const Value& model, std::string_view name, std::string_view text) {
  bool tensor = model.is_tensor();
  Value item = tensor ? Value::floating(0) : model.items().empty() ? Value::string("") : model.items()[0];
  std::vector<Value> items;
  while (!text.empty()) {
    size_t end = std::min(text.find(','), text.size());
    items.push_back(read_as(item, name, text.substr(0, end)));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  if (!tensor) return Value::list(std::move(items));
  Tensor t = empty_tensor(model.as_tensor().dtype, {static_cast<int64_t>(items.size())});
  for (size_t i = 0; i < items.size(); ++i)
    store_double(t.dtype, t.bytes_mut() + i * static_cast<size_t>(size_bytes(t.dtype)), items[i].as_float());
  return Value::tensor(std::move(t));
}

Value read_as(const Value& model, std::string_view name, std::string_view text) {
  switch (model.tag()) {
    case Tag::Bool:
      if (text != "true" && text != "false") bad_value(name, text, "true or false");
      return Value::boolean(text == "true");
    case Tag::Int: {
      auto n = parse_int(text);
      if (!n) bad_value(name, text, "an int");
      return Value::integer(*n);
    }
    case Tag::Float: {
      auto x = parse_float(text);
      if (!x) bad_value(name, text, "a number");
      return Value::floating_from(*x);
    }
    case Tag::Keyword: return Value::keyword(Name(text.starts_with(':') ? text.substr(1) : text));
    case Tag::List:
    case Tag::Tuple:
    case Tag::Tensor: return read_items(model, name, text);
    default: return Value::string(std::string(text));
  }
}

// "a, b or c": the allowed values of an option; empty if unrestricted.
std::string allowed(const Value& choices, std::string_view name) {
  const Value* of_it = choices.is_dict() ? choices.as_dict().find(Name(name)) : nullptr;
  if (!of_it) return "";
  std::string out;
  for (size_t i = 0, n = of_it->items().size(); i < n; ++i)
    out += (i == 0 ? "" : i + 1 < n ? ", " : " or ") + render(of_it->items()[i]);
  return out;
}

Value read_option(const Value& model, const Value& choices, std::string_view name, std::string_view text) {
  Value v = read_as(model, name, text);
  std::string wanted = allowed(choices, name);
  if (wanted.empty()) return v;
  for (const Value& choice : choices.as_dict().find(Name(name))->items())
    if (render(choice) == render(v)) return v;
  bad_value(name, text, wanted);
}

// "-steps" is a typing error; "-5" and "-" are words.
bool has_one_dash(std::string_view word) {
  return word.size() > 1 && word[0] == '-' && word[1] != '-' && !parse_float(word);
}

}  // namespace

Value parse_program_options(Value defaults, const Value& choices, const std::vector<std::string>& words) {
  Value result = defaults;
  DictObj& out = result.mutable_dict();
  const DictObj& spec = defaults.as_dict();
  for (size_t i = 0; i < words.size(); ++i) {
    std::string_view word = words[i];
    if (word == "--") break;
    if (has_one_dash(word))
      throw runtime_error(fmt::format("unknown option {}. Known options: {}", word, known(spec)))
          .hint("options begin with two dashes: -" + std::string(word));
    if (!word.starts_with("--")) continue;
    word.remove_prefix(2);
    size_t equals = word.find('=');
    std::string name(word.substr(0, equals));
    const Value* model = spec.find(Name(name));
    if (!model && name == "help") {
      for (const DictEntry& e : spec.entries()) {
        std::string wanted = allowed(choices, e.key.str());
        write_out(
            fmt::format("  --{:<20} {}{}\n", e.key.str(), render(e.value), wanted.empty() ? "" : " (" + wanted + ")"));
      }
      throw ExitRequest{0};
    }
    const Value* negated = name.starts_with("no-") ? spec.find(Name(name.substr(3))) : nullptr;
    if (!model && negated && negated->is_bool() && equals == std::string_view::npos) {
      out.set(Name(name.substr(3)), Value::boolean(false));
      continue;
    }
    if (!model) throw runtime_error(fmt::format("unknown option --{}. Known options: {}", name, known(spec)));
    bool next_is_bool = i + 1 < words.size() && (words[i + 1] == "true" || words[i + 1] == "false");
    if (equals != std::string_view::npos) {
      out.set(Name(name), read_option(*model, choices, name, word.substr(equals + 1)));
    } else if (model->is_bool() && !next_is_bool) {
      out.set(Name(name), Value::boolean(true));
    } else {
      if (i + 1 == words.size()) throw runtime_error(fmt::format("option --{} needs a value", name));
      out.set(Name(name), read_option(*model, choices, name, words[++i]));
    }
  }
  return result;
}

}  // namespace sheaf::builtins
