#include "fuzz/wild_programs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "builtins/table.h"

namespace fuzz {
namespace {

using sheaf::builtins::BuiltinDef;

constexpr const char* kOutside[] = {"io",  "exit", "read-line", "time",    "now-ns",  "time-it", "gensym",
                                    "env", "args", "options",   "future",  "await",   "use",     "interrupted?",
                                    "spy", "tap",  "deftest",   "entropy", "progress"};

bool is_word_char(char c) { return !std::isspace(static_cast<unsigned char>(c)) && !std::strchr("()[]{}\"'`~;,", c); }

const std::vector<const BuiltinDef*>& usable_builtins() {
  static const std::vector<const BuiltinDef*> list = [] {
    std::vector<const BuiltinDef*> out;
    for (const BuiltinDef* d : sheaf::builtins::all_builtins())
      if (!d->name.starts_with('%') && !touches_world(std::string(d->name))) out.push_back(d);
    return out;
  }();
  return list;
}

class Wild {
 public:
  explicit Wild(Rng& rng) : rng_(rng) {}

  std::string expr(int depth) {
    if (depth <= 0) return rng_.chance(0.4) && !scope_.empty() ? rng_.pick(scope_) : atom();
    switch (rng_.below(24)) {
      case 0: {
        Bound b = bind("v", depth);
        return fmt::format("(let [{} {}] {})", b.name, expr(depth - 1), b.body);
      }
      case 1: return fmt::format("(if {} {} {})", expr(depth - 1), expr(depth - 1), expr(depth - 1));
      case 2: {
        Bound b = bind("v", depth);
        return fmt::format("((fn [{}] {}) {})", b.name, b.body, expr(depth - 1));
      }
      case 3: {
        Bound b = bind("a", depth);
        int turns = rng_.below(4);
        return fmt::format("(repeat [i {}] [{} {}] {})", turns, b.name, expr(depth - 1), b.body);
      }
      case 4: return fmt::format("(try {} (catch e (get e :message)))", expr(depth - 1));
      case 5: return fmt::format("((vmap {}) {})", function(depth - 1), expr(depth - 1));
      case 6:
        return fmt::format("(({} {}) {})", rng_.pick({"value-and-grad", "grad", "jacobian", "hessian", "checkpoint"}),
                           loss(depth - 1), expr(depth - 1));
      case 7: return fmt::format("[{} {}]", expr(depth - 1), expr(depth - 1));
      case 8: return fmt::format("{{:a {} :b {}}}", expr(depth - 1), expr(depth - 1));
      case 9:
        return fmt::format("({} {} {})", rng_.pick({"vjp", "map", "tree-map", "filter", "reduce"}), function(depth - 1),
                           expr(depth - 1));
      case 10:
        return fmt::format("(jvp {} (list {}) (list {}))", function(depth - 1), expr(depth - 1), expr(depth - 1));
      case 11: return fmt::format("(({} {}) {})", rng_.pick({"grad", "value-and-grad"}), loss(depth - 1), tensor());
      default: return call(depth - 1);
    }
  }

  // A defn that gets tensors, so that it may be compiled.
  std::string function_call(int depth) {
    scope_ = {"x", "y"};
    std::string body = expr(depth);
    scope_.clear();
    return fmt::format("(defn f [x y]\n  {})\n(f {} {})", body, tensor(), rng_.chance(0.7) ? tensor() : atom());
  }

 private:
  // A new name, and an expression in which it may occur.
  struct Bound {
    std::string name, body;
  };
  Bound bind(const char* stem, int depth) {
    Bound b{fmt::format("{}{}", stem, counter_++), {}};
    scope_.push_back(b.name);
    b.body = expr(depth - 1);
    scope_.pop_back();
    return b;
  }

  std::string function(int depth) {
    if (rng_.chance(0.2)) return std::string(rng_.pick(usable_builtins())->name);
    Bound b = bind("f", depth);
    return rng_.chance(0.7) ? fmt::format("(fn [{}] {})", b.name, b.body)
                            : fmt::format("(fn [{} other] {})", b.name, b.body);
  }
  std::string loss(int depth) {
    Bound b = bind("x", depth);
    return fmt::format("(fn [{}] (sum {}))", b.name, b.body);
  }

  std::string call(int depth) {
    const BuiltinDef& d = *rng_.pick(usable_builtins());
    int most = d.max_args < 0 ? d.min_args + 2 : d.max_args;
    int count = d.min_args + rng_.below(most - d.min_args + 1);
    if (rng_.chance(0.05)) count = rng_.below(4);
    std::string out = fmt::format("({}", d.name);
    for (int i = 0; i < count; ++i)
      out += " " + argument(depth);
    if (!d.options.empty() && rng_.chance(0.4)) {
      std::vector<std::string> names;
      for (size_t at = 0; at < d.options.size();) {
        size_t end = std::min(d.options.find(' ', at), d.options.size());
        std::string name(d.options.substr(at, end - at));
        std::erase_if(name, [](char c) { return c == '*' || c == '=' || c == '?'; });
        if (!name.empty()) names.push_back(name);
        at = end + 1;
      }
      if (!names.empty()) out += fmt::format(" :{} {}", rng_.pick(names), atom());
    }
    return out + ")";
  }

  // Tensors most of the time, or hardly any call would get past its checks.
  std::string argument(int depth) {
    if (rng_.chance(0.35)) return tensor();
    if (rng_.chance(0.15)) return function(std::min(depth, 1));
    return expr(depth - 1);
  }

  std::string tensor() {
    static const std::vector<std::string> some = {"[1 2 3]",
                                                  "[0.5 -1.5 2.5]",
                                                  "[[1 2 3] [4 5 6]]",
                                                  "[[1 0] [0 1]]",
                                                  "(arange 4)",
                                                  "(zeros [0])",
                                                  "(zeros [2 0])",
                                                  "(zeros [0 3])",
                                                  "(ones [1 1])",
                                                  "(ones [2 3 4])",
                                                  "(reshape (arange 24) [2 3 2 2])",
                                                  "[1 0 1] :bool",
                                                  "[1 2 3] :i64",
                                                  "[1 2 3] :u32",
                                                  "[1.5 2 3] :f64",
                                                  "[1.5 2] :bf16",
                                                  "[1 2] :f16",
                                                  "[1 2 250] :u8",
                                                  "[-1 2] :i8",
                                                  "[[1 2] [3 4]] :i16",
                                                  "(cast 3 :i32)",
                                                  "(cast 2.5 :f32)",
                                                  "(cast 2.5 :f64)",
                                                  "(sum [1 2] :axis 0)",
                                                  "[inf -inf nan]",
                                                  "[1e38 -1e-40 0]",
                                                  "(tr [[1 2 3] [4 5 6]])",
                                                  "(flip [1 2 3])",
                                                  "(broadcast-to [1 2] [3 2])",
                                                  "(slice (arange 10) 3 7)",
                                                  "(random-key 3)",
                                                  "(ones [1 2 4 4])",
                                                  "(ones [2 2 3])",
                                                  "(full [300] 0.5)",
                                                  "[-9223372036854775808] :i64",
                                                  "[4294967295] :u32",
                                                  "[2147483647 -2147483648] :i32",
                                                  "(ones [5 5])",
                                                  "[[2 1] [1 3]]"};
    return rng_.pick(some);
  }

  std::string atom() {
    static const std::vector<std::string> some = {"0",
                                                  "1",
                                                  "2",
                                                  "-1",
                                                  "3",
                                                  "7",
                                                  "-2",
                                                  "0.5",
                                                  "-0.0",
                                                  "1e30",
                                                  "-2.5",
                                                  "nan",
                                                  "inf",
                                                  "9223372036854775807",
                                                  "-9223372036854775808",
                                                  "4611686018427387904",
                                                  "100000",
                                                  "true",
                                                  "false",
                                                  "nil",
                                                  "\"\"",
                                                  "\"ab\"",
                                                  "\"ij,jk->ik\"",
                                                  "\"i->\"",
                                                  "\"...i,i\"",
                                                  "\"{:>10.3f}\"",
                                                  ":a",
                                                  ":f32",
                                                  ":i32",
                                                  ":same",
                                                  "[]",
                                                  "'()",
                                                  "{}",
                                                  "'[2 3]",
                                                  "'[1 -1]",
                                                  "'[0 1]",
                                                  "'[a (b c)]",
                                                  "(list)",
                                                  "(tuple 1 2)",
                                                  "(list [1 2] [3 4])",
                                                  "(list 1 \"x\" nil)",
                                                  "{:a 1 :b [1 2]}",
                                                  "{:a {:b 2}}",
                                                  "(fn [x] x)",
                                                  "(fn [x] (* x x))",
                                                  "+",
                                                  "sum",
                                                  "...",
                                                  "(span 0 2)",
                                                  "(span nil nil -1)",
                                                  "(atom 1)",
                                                  "\"é\\n\"",
                                                  "'[-1 2]",
                                                  "[0 1]",
                                                  "[-1]",
                                                  "(list 0 nil)"};
    return rng_.chance(0.35) ? tensor() : rng_.pick(some);
  }

  Rng& rng_;
  std::vector<std::string> scope_;
  int counter_ = 0;
};

// Tokens with the white space before them; joining them gives the text back.
std::vector<std::string> tokens(const std::string& text) {
  std::vector<std::string> out;
  for (size_t at = 0; at < text.size();) {
    size_t end = at;
    while (end < text.size() && std::isspace(static_cast<unsigned char>(text[end])))
      ++end;
    if (end < text.size() && is_word_char(text[end]))
      while (end < text.size() && is_word_char(text[end]))
        ++end;
    else if (end < text.size() && text[end] == '"')
      for (++end; end < text.size() && text[end - 1] != '\0' && text[end] != '"'; ++end) {
      }
    else
      ++end;
    end = std::min(end, text.size());
    out.push_back(text.substr(at, end - at));
    at = end;
  }
  return out;
}

// The range of tokens of a random bracketed form, or an empty one.
std::pair<size_t, size_t> random_form(Rng& rng, const std::vector<std::string>& t) {
  std::vector<size_t> openers;
  for (size_t i = 0; i < t.size(); ++i)
    if (!t[i].empty() && std::strchr("([{", t[i].back())) openers.push_back(i);
  if (openers.empty()) return {0, 0};
  size_t first = rng.pick(openers);
  int depth = 0;
  for (size_t i = first; i < t.size(); ++i) {
    if (t[i].empty()) continue;
    if (std::strchr("([{", t[i].back()))
      ++depth;
    else if (std::strchr(")]}", t[i].back()) && --depth == 0)
      return {first, i + 1};
  }
  return {first, t.size()};
}

}  // namespace

bool touches_world(const std::string& program) {
  for (size_t at = 0; at < program.size();) {
    if (!is_word_char(program[at])) {
      ++at;
      continue;
    }
    size_t end = at;
    while (end < program.size() && is_word_char(program[end]))
      ++end;
    std::string_view word = std::string_view(program).substr(at, end - at);
    for (const char* name : kOutside)
      if (word == name) return true;
    at = end;
  }
  return false;
}

std::string wild_program(Rng& rng) {
  Wild w(rng);
  return rng.chance(0.5) ? w.expr(1 + rng.below(4)) : w.function_call(1 + rng.below(4));
}

std::vector<std::string> read_corpus(const std::string& folder) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".cases") paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());  // the same corpus on every machine
  std::vector<std::string> out;
  for (const auto& path : paths) {
    std::ifstream in(path);
    std::string line, program;
    auto finish = [&] {
      if (!program.empty() && !touches_world(program)) out.push_back(program);
      program.clear();
    };
    while (std::getline(in, line)) {
      if (line.starts_with("--- "))
        finish();
      else if (!line.starts_with(";;;") && !line.starts_with("=>") && !line.starts_with("~> ") &&
               !line.starts_with("!"))
        program += line + "\n";
    }
    finish();
  }
  return out;
}

std::string mutated(Rng& rng, const std::vector<std::string>& corpus) {
  std::string text = rng.pick(corpus);
  for (int turns = 1 + rng.below(4); turns > 0; --turns) {
    std::vector<std::string> t = tokens(text);
    if (t.empty()) break;
    size_t at = static_cast<size_t>(rng.below(static_cast<int>(t.size())));
    switch (rng.below(10)) {
      case 0: t.erase(t.begin() + static_cast<std::ptrdiff_t>(at)); break;
      case 1: t.insert(t.begin() + static_cast<std::ptrdiff_t>(at), t[at]); break;
      case 2: std::swap(t[at], t[static_cast<size_t>(rng.below(static_cast<int>(t.size())))]); break;
      case 3:
        t[at] = fmt::format(" {}", rng.pick({"0", "-1", "1e30", "nan", "9223372036854775807", "nil", "[]", "\"\"",
                                             ":axis", "(zeros [0])", "true", "1.5"}));
        break;
      case 4: t[at] = fmt::format(" {}", rng.pick(usable_builtins())->name); break;
      case 5:
      case 6: {  // a form of another program replaces one of ours
        std::vector<std::string> other = tokens(rng.pick(corpus));
        auto [from, to] = random_form(rng, other);
        auto [first, last] = random_form(rng, t);
        t.erase(t.begin() + static_cast<std::ptrdiff_t>(first), t.begin() + static_cast<std::ptrdiff_t>(last));
        t.insert(t.begin() + static_cast<std::ptrdiff_t>(first), other.begin() + static_cast<std::ptrdiff_t>(from),
                 other.begin() + static_cast<std::ptrdiff_t>(to));
        t.insert(t.begin() + static_cast<std::ptrdiff_t>(first), " ");
        break;
      }
      case 7: {  // a form inside itself
        auto [first, last] = random_form(rng, t);
        std::vector<std::string> copy(t.begin() + static_cast<std::ptrdiff_t>(first),
                                      t.begin() + static_cast<std::ptrdiff_t>(last));
        t.insert(t.begin() + static_cast<std::ptrdiff_t>(first + (last - first) / 2), copy.begin(), copy.end());
        break;
      }
      case 8: t[at] += "()[]{}'`~\"#%&:;@\\\x80\xff\xc3 "[rng.below(22)]; break;
      default:
        if (!t[at].empty()) t[at].back() = static_cast<char>(rng.below(256));
        break;
    }
    text.clear();
    for (const std::string& piece : t)
      text += piece;
    if (text.size() > 4000) text.resize(4000);
  }
  return text;
}

}  // namespace fuzz
