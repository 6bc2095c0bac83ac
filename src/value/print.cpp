#include "value/print.h"

#include <algorithm>

#include "value/dict.h"
#include "value/print_parts.h"

namespace sheaf {
namespace {

using printing::Style;

// Values nested deeper than this print as "...": the printer recurses, and data may nest without limit.
constexpr int kMaxDepth = 2000;

bool is_multiline(std::string_view s) { return s.find('\n') != std::string_view::npos; }

// Appends `text` with `indent` spaces after every newline.
void append_indented(std::string& out, std::string_view text, int64_t indent) {
  for (size_t at; (at = text.find('\n')) != std::string_view::npos; text.remove_prefix(at + 1)) {
    out.append(text.substr(0, at + 1));
    out.append(indent, ' ');
  }
  out.append(text);
}

std::string function_text(const Value& v) {
  const std::string& name = v.as_function()->name();
  if (name.empty()) return "<function>";
  return (v.tag() == Tag::Builtin ? "<builtin:" : "<fn:") + name + ">";
}

class Printer {
 public:
  explicit Printer(const Style& style) : style_(style) {}

  // `width` is the number of columns left, 0 for no limit.
  std::string text(const Value& v, int depth, int64_t width) {
    switch (v.tag()) {
      case Tag::Nil: return "nil";
      case Tag::Bool: return v.as_bool() ? "true" : "false";
      case Tag::Int: return std::to_string(v.as_int());
      case Tag::Float: return printing::decimal_text(v.as_float(), DType::F32, ".0", style_.precision);
      case Tag::Keyword: return ":" + v.as_keyword().str();
      case Tag::Marker: return "...";
      case Tag::Unbound: return "<unbound>";
      case Tag::String: return v.as_string();
      case Tag::List: return sequence(v, '[', ']', depth, width);
      case Tag::Tuple: return sequence(v, '(', ')', depth, width);
      case Tag::Dict: return dict(v.as_dict(), depth, width);
      case Tag::Tensor: return printing::tensor_text(v.as_tensor(), style_);
      case Tag::Function: case Tag::Builtin: return function_text(v);
      case Tag::Traced: {
        Value now = v.as_traced()->concrete();
        return now.is_nil() ? "<" + v.as_traced()->describe() + ">" : text(now, depth, width);
      }
      case Tag::Atom: return atom(static_cast<const AtomObj*>(v.object()), depth, width);
      case Tag::Opaque: return "<opaque>";
    }
    return "";
  }

 private:
  // Room inside brackets that take `columns`, and one more for what follows the item.
  static int64_t narrower(int64_t width, int64_t columns) {
    return width == 0 ? 0 : std::max<int64_t>(width - columns - 1, 1);
  }

  std::string sequence(const Value& v, char open, char close, int depth, int64_t width) {
    if (depth >= kMaxDepth) return "...";
    std::vector<std::string> parts;
    bool multiline = false;
    int64_t total = 1;
    for (const Value& item : v.items()) {
      std::string s = text(item, depth + 1, narrower(width, 1));
      if (v.is_list() && item.is_string()) s = "'" + s + "'";
      multiline |= is_multiline(s);
      if (width) total += printing::display_width(s) + 2;
      parts.push_back(std::move(s));
    }
    std::string out(1, open);
    bool fill = !multiline && width && total > width;
    int64_t column = 0;
    for (size_t i = 0; i < parts.size(); ++i) {
      int64_t w = fill ? printing::display_width(parts[i]) : 0;
      bool newline = multiline || (fill && i > 0 && column + w + 2 > width);
      if (i > 0) out += newline ? ",\n " : ", ";
      column = newline || i == 0 ? w + 2 : column + w + 2;  // up to and with the comma
      append_indented(out, parts[i], 1);
    }
    return out += close;
  }

  std::string dict(const DictObj& d, int depth, int64_t width) {
    if (depth >= kMaxDepth) return "...";
    std::vector<std::string> heads, parts;
    bool multiline = false;
    int64_t total = 1;
    for (const DictEntry& e : d.entries()) {
      heads.push_back(":" + e.key.str() + " ");
      parts.push_back(text(e.value, depth + 1, narrower(width, 1 + (width ? printing::display_width(heads.back()) : 0))));
      multiline |= is_multiline(parts.back());
      if (width) total += printing::display_width(heads.back()) + printing::display_width(parts.back()) + 2;
    }
    multiline |= width && total > width;
    std::string out = "{";
    for (size_t i = 0; i < parts.size(); ++i) {
      if (i > 0) out += multiline ? ",\n " : ", ";
      out += heads[i];
      append_indented(out, parts[i], multiline ? 1 + printing::display_width(heads[i]) : 0);
    }
    return out += '}';
  }

  // An atom can hold itself; the second time round it is not opened.
  std::string atom(const AtomObj* a, int depth, int64_t width) {
    if (depth >= kMaxDepth || std::find(open_atoms_.begin(), open_atoms_.end(), a) != open_atoms_.end())
      return "<atom ...>";
    open_atoms_.push_back(a);
    std::string out = "<atom " + text(a->value, depth + 1, narrower(width, 6)) + ">";
    open_atoms_.pop_back();
    return out;
  }

  const Style& style_;
  std::vector<const AtomObj*> open_atoms_;
};

std::string_view traced_type_name(const TracedObj& t) {
  Value now = t.concrete();
  if (!now.is_nil()) return type_name(now);
  std::string what = t.describe();
  for (std::string_view scalar : {"int", "float", "bool"})
    if (what == scalar) return scalar;
  return "tensor";
}

}  // namespace

std::string_view type_name(const Value& v) {
  switch (v.tag()) {
    case Tag::Nil: return "nil";
    case Tag::Bool: return "bool";
    case Tag::Int: return "int";
    case Tag::Float: return "float";
    case Tag::Keyword: return "keyword";
    case Tag::Marker: return "ellipsis";
    case Tag::Unbound: return "unbound";
    case Tag::String: return "string";
    case Tag::List: return "list";
    case Tag::Tuple: return "tuple";
    case Tag::Dict: return "dict";
    case Tag::Tensor: return "tensor";
    case Tag::Function: return "function";
    case Tag::Builtin: return v.as_function()->name().empty() ? "function" : "builtin";
    case Tag::Traced: return traced_type_name(*v.as_traced());
    case Tag::Atom: return "atom";
    case Tag::Opaque: return "opaque";
  }
  return "";
}

std::string float_text(float x) { return printing::decimal_text(x, DType::F32, ".0"); }

std::string render(const Value& v) { return pretty_text(v, 0, 0); }

std::string pretty_text(const Value& v, int precision, int width) {
  Style style{precision, width};
  return Printer(style).text(v, 0, width);
}

std::string short_text(const Value& v) {
  auto counted = [](const char* what, size_t n) { return what + ("(" + std::to_string(n) + ")"); };
  switch (v.tag()) {
    case Tag::String: return "\"" + v.as_string() + "\"";
    case Tag::List: return counted("list", v.items().size());
    case Tag::Tuple: return counted("tuple", v.items().size());
    case Tag::Dict: return counted("dict", v.as_dict().size());
    case Tag::Tensor: return tensor_type_text(v.as_tensor());
    case Tag::Function: case Tag::Builtin: return "function";
    case Tag::Atom: return "atom";
    case Tag::Traced: {
      Value now = v.as_traced()->concrete();
      return now.is_nil() ? v.as_traced()->describe() : short_text(now);
    }
    default: return render(v);
  }
}

}  // namespace sheaf
