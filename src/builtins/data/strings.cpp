// Strings: construction, the methods of str-call, parsing of numbers and JSON.
#include <fmt/format.h>
#include <utf8proc.h>

#include <atomic>

#include "builtins/core/elements.h"
#include "builtins/core/text.h"
#include "builtins/core/warnings.h"
#include "builtins/data/families.h"
#include "formats/json.h"
#include "value/print.h"

namespace sheaf::builtins {
namespace {

std::string with_case(std::string_view s, utf8proc_int32_t (*convert)(utf8proc_int32_t)) {
  std::string out;
  while (!s.empty()) {
    auto [cp, n] = next_char(s);
    if (cp == 0xDF && convert == utf8proc_toupper) {
      out += "SS";
    } else if (cp < 0) {
      out += s[0];
    } else {
      utf8proc_uint8_t bytes[4];
      out.append(reinterpret_cast<char*>(bytes), static_cast<size_t>(utf8proc_encode_char(convert(cp), bytes)));
    }
    s.remove_prefix(n);
  }
  return out;
}

// The parts between occurrences of `separator`. An empty separator matches at every character boundary, including the
// ends.
std::vector<std::string> pieces(std::string_view s, std::string_view separator) {
  std::vector<std::string> out;
  if (separator.empty()) {
    out.emplace_back();
    for (; !s.empty(); s.remove_prefix(next_char(s).second))
      out.emplace_back(s.substr(0, next_char(s).second));
    out.emplace_back();
    return out;
  }
  for (size_t at; (at = s.find(separator)) != std::string_view::npos; s.remove_prefix(at + separator.size()))
    out.emplace_back(s.substr(0, at));
  out.emplace_back(s);
  return out;
}

std::string joined(const std::vector<std::string>& parts, std::string_view separator) {
  std::string out;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) out += separator;
    out += parts[i];
  }
  return out;
}

Value string_list(const std::vector<std::string>& parts) {
  std::vector<Value> out;
  for (const std::string& s : parts)
    out.push_back(Value::string(s));
  return Value::list(std::move(out));
}

std::vector<std::string> lines(std::string_view s) {
  std::vector<std::string> out;
  while (!s.empty()) {
    size_t end = std::min(s.find_first_of("\r\n"), s.size());
    out.emplace_back(s.substr(0, end));
    size_t skip = s.substr(end).starts_with("\r\n") ? 2 : 1;
    s.remove_prefix(std::min(end + skip, s.size()));
  }
  return out;
}

struct Method {
  std::string_view name;
  size_t extra, most;  // required and maximal number of arguments after the text
  Value (*run)(const std::string& s, const std::vector<Value>& args);
};

const Method kMethods[] = {
    {"format", 0, SIZE_MAX,
     [](const std::string& s, const std::vector<Value>& a) { return Value::string(format_text(s, a)); }},
    {"upper", 0, 0,
     [](const std::string& s, const std::vector<Value>&) { return Value::string(with_case(s, utf8proc_toupper)); }},
    {"lower", 0, 0,
     [](const std::string& s, const std::vector<Value>&) { return Value::string(with_case(s, utf8proc_tolower)); }},
    {"trim", 0, 0,
     [](const std::string& s, const std::vector<Value>&) { return Value::string(std::string(trimmed(s))); }},
    {"replace", 2, 2,
     [](const std::string& s, const std::vector<Value>& a) {
       return Value::string(joined(pieces(s, text_of(a[0])), text_of(a[1])));
     }},
    {"startswith", 1, 1,
     [](const std::string& s, const std::vector<Value>& a) { return Value::boolean(s.starts_with(text_of(a[0]))); }},
    {"endswith", 1, 1,
     [](const std::string& s, const std::vector<Value>& a) { return Value::boolean(s.ends_with(text_of(a[0]))); }},
    {"contains", 1, 1,
     [](const std::string& s, const std::vector<Value>& a) {
       return Value::boolean(s.find(text_of(a[0])) != std::string::npos);
     }},
    {"split", 0, 1,
     [](const std::string& s, const std::vector<Value>& a) {
       return string_list(pieces(s, a.empty() ? " " : text_of(a[0])));
     }},
    {"join", 1, 1,
     [](const std::string& s, const std::vector<Value>& a) {
       std::vector<std::string> parts;
       for (const Value& v : Elements(a[0], "str-call: join").all())
         parts.push_back(text_of(v));
       return Value::string(joined(parts, s));
     }},
    {"splitlines", 0, 0, [](const std::string& s, const std::vector<Value>&) { return string_list(lines(s)); }},
};

Value str_call(Call& c) {
  if (!is_key(c[0]))
    throw runtime_error(fmt::format("str-call: first argument must be the name of a method, got {}", type_name(c[0])));
  const std::string& name = key_name(c[0]).str();
  for (const Method& m : kMethods) {
    if (m.name != name) continue;
    std::vector<Value> args;
    for (size_t i = 2; i < c.size(); ++i)
      args.push_back(trace::concrete_tree(c[i]));
    if (args.size() < m.extra)
      throw runtime_error(fmt::format("str-call: {} needs {} argument{} after the text, got {}", name, m.extra,
                                      m.extra == 1 ? "" : "s", args.size()));
    if (args.size() > m.most)
      warn(fmt::format("str-call: {} ignores {}; it takes {} argument{} after the text, without names", name,
                       short_text(args[m.most]), m.most, m.most == 1 ? "" : "s"));
    return m.run(text_of(c[1]), args);
  }
  std::string known;
  for (const Method& m : kMethods)
    known += (known.empty() ? "" : " ") + std::string(m.name);
  throw runtime_error(fmt::format("str-call: unknown method '{}'", name)).hint("the methods are " + known);
}

Value str(Call& c) { return joined_text(c.args); }

Value gensym(Call& c) {
  static std::atomic<uint32_t> counter{0};
  return Value::string(fmt::format("{}{:08x}", c.size() ? text_of(c[0]) : "g", counter++));
}

// Parses a number; without one returns the default, or raises an error.
template <class T>
Value parsed(Call& c, std::string_view who, std::string_view what, std::optional<T> (*parse)(std::string_view),
             Value (*wrap)(T)) {
  if (!c[0].is_string()) throw runtime_error(fmt::format("{}: expected string, got {}", who, type_name(c[0])));
  if (auto x = parse(c[0].as_string())) return wrap(*x);
  if (c.size() > 1) return std::move(c[1]);
  throw runtime_error(fmt::format("{}: expected {}, got {}", who, what, short_text(c[0])));
}

const BuiltinDef kBuiltins[] = {
    {"str",
     "Text and output",
     "(str x …)",
     "The texts of the values, one after another.",
     {{"(str \"n=\" 4 \" \" [1 2] nil)", "n=4 [1. 2.]nil"}},
     0,
     -1,
     str},
    {"str-call",
     "Text and output",
     "(str-call method s x …)",
     "A string method: format upper lower trim replace startswith endswith contains split (at x, default one space) "
     "splitlines; join puts s between "
     "the items of a list.",
     {{"(str-call \"upper\" \"abc\")", "ABC"},
      {"(str-call \"split\" \"a,b,,c\" \",\")", "['a', 'b', '', 'c']"},
      {"(str-call \"join\" \"-\" '[1 2])", "1-2"}},
     2,
     -1,
     str_call},
    {"gensym",
     "Text and output",
     "(gensym [prefix])",
     "A new name: the prefix (default g) and eight hex digits, never the same twice.",
     {{"(len (gensym))", "9"}},
     0,
     1,
     gensym,
     {},
     Effect::Input},
    {"symbol?",
     "Text and output",
     "(symbol? x)",
     "Is it a string? Quoted symbols are strings.",
     {{"(symbol? 'a)", "true"}, {"(symbol? :a)", "false"}},
     1,
     1,
     [](Call& c) { return Value::boolean(c[0].is_string()); }},
    {"json-str",
     "Text and output",
     "(json-str x)",
     "The value as JSON text; keywords become strings, tuples and tensors arrays.",
     {{"(json-str {:a '[1 2.5 nil true]})", "{\"a\":[1,2.5,null,true]}"}},
     1,
     1,
     [](Call& c) { return Value::string(formats::write_json(trace::concrete_tree(c[0]), {.tagged = false})); }},
    {"json-read",
     "Text and output",
     "(json-read s)",
     "The value of a JSON text: arrays become lists, objects dicts.",
     {{"(json-read \"{\\\"a\\\": [1, 2.5, null]}\")", "{:a [1, 2.5, nil]}"}},
     1,
     1,
     [](Call& c) {
       if (!c[0].is_string()) throw runtime_error(fmt::format("json-read: expected string, got {}", type_name(c[0])));
       try {
         return formats::parse_json(c[0].as_string(), {.tagged = false});
       } catch (UserError& e) {
         e.message = "json-read: " + e.message;
         throw;
       }
     }},
    {"parse-int",
     "Text and output",
     "(parse-int s [default])",
     "The int written in s. Other text gives default, or an error without one.",
     {{"(parse-int \" -42 \")", "-42"}, {"(parse-int \"x\" 0)", "0"}},
     1,
     2,
     [](Call& c) { return parsed<int64_t>(c, "parse-int", "an int", parse_int, Value::integer); }},
    {"parse-float",
     "Text and output",
     "(parse-float s [default])",
     "The float written in s. Other text gives default, or an error without one.",
     {{"(parse-float \"2.5e1\")", "25.0"}},
     1,
     2,
     [](Call& c) { return parsed<double>(c, "parse-float", "a number", parse_float, Value::floating_from); }},
};

}  // namespace

std::span<const BuiltinDef> string_builtins() { return kBuiltins; }

}  // namespace sheaf::builtins
