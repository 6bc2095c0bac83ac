// The syntax tree that the reader builds and the expander rewrites. Immutable and shared; every node keeps the span of
// its text (a node made by a macro has the span of the macro call). The reader limits nesting (kMaxNesting), so
// recursion over forms is safe.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "support/name.h"
#include "support/source.h"

namespace sheaf::syntax {

inline constexpr int kMaxNesting = 2000;

enum class FormKind : uint8_t {
  Symbol,
  Keyword,
  Int,
  Float,
  String,
  Bool,
  Nil,
  List,    // ( … )
  Vector,  // [ … ]
  Dict,    // { … }: items are key, value, key, value …
  Quote,
  Quasiquote,
  Unquote,
  UnquoteSplicing,  // one item each
};

struct Form;
using FormPtr = std::shared_ptr<const Form>;

struct Form {
  FormKind kind;
  Span span;
  Name name;                   // Symbol, Keyword (without the colon)
  int64_t int_value = 0;       // Int; Bool (0 or 1)
  double float_value = 0;      // Float
  std::string text;            // String
  bool raw = false;            // String: written as #r"…"
  std::vector<FormPtr> items;  // List, Vector, Dict, quotes
  uint32_t written_in = 0;     // Symbol from a macro's template: the source of the template; see home()

  bool is_symbol() const { return kind == FormKind::Symbol; }
  bool is_symbol(std::string_view s) const { return kind == FormKind::Symbol && name.str() == s; }
  bool is_keyword() const { return kind == FormKind::Keyword; }
  bool is_list() const { return kind == FormKind::List; }
  bool is_vector() const { return kind == FormKind::Vector; }
  // The source whose private names and aliases apply to a symbol.
  uint32_t home() const { return written_in ? written_in : span.source; }
  // A list whose head is the symbol `s`.
  bool is_call(std::string_view s) const { return kind == FormKind::List && !items.empty() && items[0]->is_symbol(s); }
};

FormPtr make_symbol(std::string_view name, Span span);
FormPtr make_keyword(std::string_view name, Span span);
FormPtr make_int(int64_t v, Span span);
FormPtr make_float(double v, Span span);
FormPtr make_string(std::string v, Span span, bool raw = false);
FormPtr make_bool(bool v, Span span);
FormPtr make_nil(Span span);
// List, Vector, Dict and the quotes.
FormPtr make_seq(FormKind kind, std::vector<FormPtr> items, Span span);

// Structural equality, ignoring spans.
bool equal(const Form& a, const Form& b);

}  // namespace sheaf::syntax
