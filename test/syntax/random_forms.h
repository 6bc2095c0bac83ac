// Random texts for the property tests of this folder; the same seed gives the same text everywhere.
#pragma once
#include <array>
#include <cmath>
#include <cstring>
#include <random>
#include <string>

#include "syntax/form.h"
#include "syntax/lexer.h"
#include "syntax/printer.h"

namespace sheaf::syntax {

class RandomForms {
 public:
  explicit RandomForms(uint32_t seed) : rng_(seed) {}

  uint32_t below(uint32_t n) { return static_cast<uint32_t>(rng_() % n); }

  FormPtr form(int depth) {
    switch (below(depth > 0 ? 14 : 8)) {
      case 0:
        return make_symbol(pick({"x", "a/b", "x->y", "...", "@", "@x", "#", "%", "0:3", "cast", "let", "fn"}), {});
      case 1: return make_keyword(pick({"", "axis", "f32", "a:b", "i8"}), {});
      case 2: return make_int(static_cast<int64_t>(rng_()) >> below(64), {});
      case 3: return make_float(any_float(), {});
      case 4: return make_string(pick({"", "a b", "q\"\\\n\t\r;)", "\xCE\xB1\xE2\x80\xA8\xFF", "\x1b\x01"}), {});
      case 5: return make_bool(below(2), {});
      case 6: return make_nil({});
      case 7: return make_symbol(pick({"defn", "if", "cond", "with-params", "a-rather-long-name", "\xCE\xB1"}), {});
      case 8:
      case 9: return make_seq(FormKind::List, items(depth, below(6)), {});
      case 10: return make_seq(FormKind::Vector, items(depth, below(6)), {});
      case 11: return make_seq(FormKind::Dict, items(depth, 2 * below(4)), {});
      case 12: {
        FormPtr vector = make_seq(FormKind::Vector, items(depth, below(4)), {});
        return make_seq(FormKind::List, {make_symbol("cast", {}), vector, make_keyword("bf16", {})}, {});
      }
      default: {
        auto kind = static_cast<FormKind>(static_cast<int>(FormKind::Quote) + below(4));
        return make_seq(kind, {form(depth - 1)}, {});
      }
    }
  }

  // Fragments of syntax in any order; most do not read.
  std::string soup(size_t pieces) {
    std::string out;
    for (size_t i = 0; i < pieces; ++i)
      out += pick({"(",  ")",  "[",     "]",    "{",   "}",   "(f ",     "(let [a ",     "'",     "`",        "~",
                   "~@", "#(", "% ",    "%2 ",  "%& ", "\"",  "\\",      "\"s\" ",       "; c\n", "\n",       "\n\n\n",
                   " ",  ",",  ":f32 ", " :k ", "x ",  "12 ", "-1.5e3 ", "\xE2\x80\xA8", "\xFF",  "\xE2\x80", "\r\n"});
    return out;
  }

  // A text that reads, with comments, commas and line breaks in odd places.
  std::string program(int depth) {
    std::string out;
    for (uint32_t n = 1 + below(4); n > 0; --n)
      append(*form(depth), out);
    return out;
  }

  std::string mutate(std::string s) {
    for (uint32_t n = 1 + below(4); n > 0 && !s.empty(); --n) {
      uint32_t at = below(static_cast<uint32_t>(s.size()));
      switch (below(3)) {
        case 0: s.erase(at, 1 + below(3)); break;
        case 1: s[at] = static_cast<char>(below(256)); break;
        default: s.insert(at, soup(1)); break;
      }
    }
    return s;
  }

 private:
  std::string pick(std::initializer_list<const char*> options) {
    return options.begin()[below(static_cast<uint32_t>(options.size()))];
  }

  double any_float() {
    constexpr std::array<double, 11> kSpecial = {0.0,   -0.0,   1.0,      -2.5,      1e-3, 1e15,
                                                 1e300, 5e-324, INFINITY, -INFINITY, NAN};
    if (below(2)) return kSpecial[below(kSpecial.size())];
    uint64_t bits = rng_();
    double v;
    std::memcpy(&v, &bits, sizeof v);
    return v;
  }

  std::vector<FormPtr> items(int depth, uint32_t count) {
    std::vector<FormPtr> out;
    for (uint32_t i = 0; i < count; ++i) {
      FormPtr next = form(depth - 1);
      // A dtype keyword after a vector cannot be written: it reads as a suffix.
      bool dtype = next->is_keyword() && is_dtype_suffix(":" + next->name.str());
      out.push_back(dtype ? make_int(i, {}) : next);
    }
    return out;
  }

  std::string blank() {
    return pick({" ", " ", " ", " ", ", ", " ,  ", "\n", "\n  ", "\n\n\n", " ; note\n", "\n;; own line\n", "\t", "\r\n",
                 "  ; far\r\n"});
  }

  void append(const Form& f, std::string& out) {
    constexpr std::array<const char*, 7> kOpeners = {"(", "[", "{", "'", "`", "~", "~@"};
    if (f.kind < FormKind::List) {
      out += to_text(f) + blank();
      return;
    }
    auto kind = static_cast<size_t>(f.kind) - static_cast<size_t>(FormKind::List);
    out += kOpeners[kind];
    if (kind == 5 || below(4) == 0) out += blank();  // after ~ always, in case an @ follows
    for (const FormPtr& item : f.items)
      append(*item, out);
    if (kind < 3) out += closer_of(kOpeners[kind][0]) + blank();
  }

  std::mt19937_64 rng_;
};

}  // namespace sheaf::syntax
