#include "syntax/printer.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "syntax/columns.h"
#include "syntax/lexer.h"
#include "syntax/string_literal.h"

namespace sheaf::syntax {
namespace {

constexpr int kLongHead = 12;

// The shortest digits that read back to the same double, with a form that reads as a float and not as an int.
std::string float_text(double v) {
  if (std::isnan(v)) return "NaN";
  if (std::isinf(v)) return v < 0 ? "-inf" : "inf";
  double magnitude = std::fabs(v);
  bool positional = v == 0 || (magnitude >= 1e-5 && magnitude < 1e15);
  char buffer[64];
  auto format = positional ? std::chars_format::fixed : std::chars_format::scientific;
  auto end = std::to_chars(buffer, buffer + sizeof buffer, v, format).ptr;
  std::string out(buffer, end);
  bool reads_as_int = out.find_first_of(".e") == std::string::npos;
  return reads_as_int ? out + ".0" : out;
}

bool is_atom(const Form& f) { return f.kind < FormKind::List; }
bool is_prefixed(const Form& f) { return f.kind >= FormKind::Quote; }

std::string atom_text(const Form& f) {
  switch (f.kind) {
    case FormKind::Symbol: return f.name.str();
    case FormKind::Keyword: return ":" + f.name.str();
    case FormKind::Int: return std::to_string(f.int_value);
    case FormKind::Float: return float_text(f.float_value);
    case FormKind::String: return f.raw ? fmt::format("{}{}\"", kRawQuote, f.text) : quoted_text(f.text);
    case FormKind::Bool: return f.int_value ? "true" : "false";
    default: return "nil";
  }
}

std::string_view opener(const Form& f) {
  switch (f.kind) {
    case FormKind::List: return "(";
    case FormKind::Vector: return "[";
    case FormKind::Dict: return "{";
    case FormKind::Quote: return "'";
    case FormKind::Quasiquote: return "`";
    case FormKind::UnquoteSplicing: return "~@";
    default: break;
  }
  // `~ @x`: without the space it would read as a splice of x.
  const Form& inner = *f.items[0];
  return inner.is_symbol() && inner.name.str().starts_with('@') ? "~ " : "~";
}

std::string_view closer(const Form& f) {
  switch (f.kind) {
    case FormKind::List: return ")";
    case FormKind::Vector: return "]";
    case FormKind::Dict: return "}";
    default: return "";
  }
}

void append_flat(const Form& f, std::string& out) {
  if (is_atom(f)) {
    out += atom_text(f);
    return;
  }
  out += opener(f);
  for (size_t i = 0; i < f.items.size(); ++i) {
    if (i > 0) out += ' ';
    append_flat(*f.items[i], out);
  }
  out += closer(f);
}

// Subtracts the flat width of `f` from `budget`. Returns false as soon as the budget is exhausted, so that a test at
// every level of a deep form stays cheap.
bool fits(const Form& f, int& budget) {
  if (f.kind == FormKind::String && f.text.size() > 4 * static_cast<size_t>(std::max(budget, 0))) return false;
  if (is_atom(f)) {
    budget -= code_points(atom_text(f));
    return budget >= 0;
  }
  budget -= static_cast<int>(opener(f).size() + closer(f).size() + (f.items.empty() ? 0 : f.items.size() - 1));
  if (budget < 0) return false;
  return std::all_of(f.items.begin(), f.items.end(), [&](const FormPtr& item) { return fits(*item, budget); });
}

class Pretty {
 public:
  explicit Pretty(int width) : width_(width) {}

  std::string run(const Form& f) {
    form(f);
    return std::move(out_);
  }

 private:
  void write(std::string_view s) {
    out_ += s;
    column_ += code_points(s);
  }

  // Limits indentation to the width: a deep form would otherwise print mostly blanks.
  void newline(int indent) {
    column_ = std::min(indent, width_);
    out_ += '\n';
    out_.append(column_, ' ');
  }

  void form(const Form& f) {
    int budget = width_ - column_;
    if (is_atom(f) || f.items.empty() || fits(f, budget)) return write(to_text(f));
    int start = column_;
    write(opener(f));
    if (is_prefixed(f))
      form(*f.items[0]);
    else if (f.kind == FormKind::Vector)
      rows(f, 0, 1, start + 1);
    else if (f.kind == FormKind::Dict)
      rows(f, 0, 2, start + 1);
    else
      list(f, start);
    write(closer(f));
  }

  // Prints the items from `from` on, `per_row` per line; the first row starts on the current line.
  void rows(const Form& f, size_t from, size_t per_row, int indent) {
    for (size_t i = from; i < f.items.size(); ++i) {
      if (i > from && (i - from) % per_row == 0)
        newline(indent);
      else if (i > from)
        write(" ");
      form(*f.items[i]);
    }
  }

  // Prints `count` header items on the first line, then one body form per line.
  void header_and_body(const Form& f, size_t count, int indent) {
    for (size_t i = 0; i < f.items.size(); ++i) {
      if (i > count)
        newline(indent);
      else if (i > 0)
        write(" ");
      form(*f.items[i]);
    }
  }

  void list(const Form& f, int start) {
    const Form& head = *f.items[0];
    if (!head.is_symbol() && !head.is_keyword()) return rows(f, 0, 1, start + 1);
    if (f.is_call("let") && f.items.size() > 1 && f.items[1]->is_vector()) return let(f, start);
    bool documented = f.items.size() > 2 && f.items[2]->kind == FormKind::String;
    if (f.is_call("defn")) return header_and_body(f, documented ? 1 : 2, start + 2);
    if (f.is_call("fn") || f.is_call("if")) return header_and_body(f, 1, start + 2);
    if (f.is_call("do")) return header_and_body(f, 0, start + 2);
    if (code_points(atom_text(head)) > kLongHead) return header_and_body(f, 0, start + 2);
    write(atom_text(head));
    if (f.items.size() == 1) return;
    write(" ");
    rows(f, 1, 1, column_);
  }

  // One binding per line, even if all would fit on one: the let as a whole did not.
  void let(const Form& f, int start) {
    write("let [");
    rows(*f.items[1], 0, 2, column_);
    write("]");
    for (size_t i = 2; i < f.items.size(); ++i) {
      newline(start + 2);
      form(*f.items[i]);
    }
  }

  int width_;
  int column_ = 0;
  std::string out_;
};

}  // namespace

std::string to_text(const Form& form) {
  std::string out;
  append_flat(form, out);
  return out;
}

std::string pretty(const Form& form, int width) { return Pretty(width).run(form); }

}  // namespace sheaf::syntax
