#include "value/print.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "support/display_width.h"
#include "value/dict.h"
#include "value/print_parts.h"

namespace sheaf {
namespace {

using printing::Style;

// Values nested deeper than this print as "...": every level copies the text of the ones inside it.
constexpr size_t kMaxDepth = 2000;

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

// A list, tuple, dict or atom that is partly rendered.
struct Open {
  Value value;
  int64_t width;                   // columns left, 0 for no limit
  std::vector<std::string> heads;  // ":key " of a dict's entries
  std::vector<std::string> parts;

  size_t size() const {
    if (value.tag() == Tag::Atom) return 1;
    return value.is_dict() ? value.as_dict().size() : value.items().size();
  }
  const Value& child(size_t i) const {
    if (value.tag() == Tag::Atom) return static_cast<const AtomObj*>(value.object())->value;
    return value.is_dict() ? value.as_dict().entries()[i].value : value.items()[i];
  }
  // The width available to part `i`: without what precedes it, and one column for what follows.
  int64_t width_of_child(size_t i) const {
    if (width == 0) return 0;
    int64_t around = value.is_dict() ? 1 + display_width(heads[i]) : value.tag() == Tag::Atom ? 6 : 1;
    return std::max<int64_t>(width - around - 1, 1);
  }
};

bool any_multiline(const std::vector<std::string>& parts) {
  return std::any_of(parts.begin(), parts.end(), is_multiline);
}

int64_t joined_width(const std::vector<std::string>& parts) {
  int64_t total = 0;
  for (const std::string& s : parts)
    total += display_width(s) + 2;
  return total;
}

std::string sequence_text(const Open& o, char open, char close) {
  std::string out(1, open);
  bool multiline = any_multiline(o.parts);
  bool fill = !multiline && o.width && 1 + joined_width(o.parts) > o.width;
  int64_t column = 0;
  for (size_t i = 0; i < o.parts.size(); ++i) {
    int64_t w = fill ? display_width(o.parts[i]) : 0;
    bool newline = multiline || (fill && i > 0 && column + w + 2 > o.width);
    if (i > 0) out += newline ? ",\n " : ", ";
    column = newline || i == 0 ? w + 2 : column + w + 2;  // including the comma
    append_indented(out, o.parts[i], 1);
  }
  return out += close;
}

std::string dict_text(const Open& o) {
  bool multiline = any_multiline(o.parts) || (o.width && 1 + joined_width(o.heads) + joined_width(o.parts) -
                                                                 2 * static_cast<int64_t>(o.parts.size()) >
                                                             o.width);
  std::string out = "{";
  for (size_t i = 0; i < o.parts.size(); ++i) {
    if (i > 0) out += multiline ? ",\n " : ", ";
    out += o.heads[i];
    append_indented(out, o.parts[i], multiline ? 1 + display_width(o.heads[i]) : 0);
  }
  return out += '}';
}

std::string closed_text(const Open& o) {
  switch (o.value.tag()) {
    case Tag::List: return sequence_text(o, '[', ']');
    case Tag::Tuple: return sequence_text(o, '(', ')');
    case Tag::Dict: return dict_text(o);
    default: return "<atom " + o.parts[0] + ">";
  }
}

// Uses an explicit stack: a program deep in recursion may print, and data nest without limit.
class Printer {
 public:
  explicit Printer(const Style& style) : style_(style) {}

  std::string text(const Value& v) {
    if (!is_container(v)) return leaf(v);
    open(v, style_.width);
    for (;;) {
      Open& top = open_.back();
      size_t i = top.parts.size();
      if (i == top.size()) {
        std::string done = closed_text(top);
        open_.pop_back();
        if (open_.empty()) return done;
        open_.back().parts.push_back(std::move(done));
        continue;
      }
      if (top.value.is_dict()) top.heads.push_back(":" + top.value.as_dict().entries()[i].key.str() + " ");
      const Value& child = top.child(i);
      if (!is_container(child))
        top.parts.push_back(part(top.value, child));
      else if (open_.size() >= kMaxDepth)
        top.parts.push_back("...");
      else if (is_open_atom(child))
        top.parts.push_back("<atom ...>");
      else
        open(child, top.width_of_child(i));
    }
  }

 private:
  static bool is_container(const Value& v) { return v.is_seq() || v.is_dict() || v.tag() == Tag::Atom; }

  void open(Value v, int64_t width) { open_.push_back({std::move(v), width, {}, {}}); }

  // An atom can contain itself; it is not opened a second time.
  bool is_open_atom(const Value& v) const {
    auto same = [&](const Open& o) { return o.value.object() == v.object(); };
    return v.tag() == Tag::Atom && std::any_of(open_.begin(), open_.end(), same);
  }

  std::string part(const Value& inside, const Value& v) const {
    return inside.is_list() && v.is_string() ? "'" + v.as_string() + "'" : leaf(v);
  }

  std::string leaf(const Value& v) const {
    switch (v.tag()) {
      case Tag::Bool: return v.as_bool() ? "true" : "false";
      case Tag::Int: return std::to_string(v.as_int());
      case Tag::Float: return printing::decimal_text(v.as_float(), DType::F32, ".0", style_.precision);
      case Tag::Keyword: return ":" + v.as_keyword().str();
      case Tag::Marker: return "...";
      case Tag::Unbound: return "<unbound>";
      case Tag::String: return v.as_string();
      case Tag::Tensor: return printing::tensor_text(v.as_tensor(), style_);
      case Tag::Function:
      case Tag::Builtin: return function_text(v);
      case Tag::Traced: {
        Value now = v.as_traced()->concrete();
        return now.is_nil() ? "<" + v.as_traced()->describe() + ">" : leaf(now);
      }
      case Tag::Opaque: return "<opaque>";
      default: return "nil";
    }
  }

  const Style& style_;
  std::vector<Open> open_;
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

std::string brief_number(float x) {
  float size = std::fabs(x);
  bool long_row = std::isfinite(x) && x != 0 && (size < 1e-4f || size >= 1e15f);
  return long_row ? fmt::format("{}", x) : float_text(x);
}

std::string render(const Value& v) { return pretty_text(v, 0, 0); }

std::string pretty_text(const Value& v, int precision, int width) {
  Style style{precision, width};
  return Printer(style).text(v);
}

std::string brief_string(const std::string& s) {
  constexpr size_t kMaxPoints = 50, kCutPoints = 47;
  size_t points = 0;
  std::string out, cut;
  for (char c : s) {
    bool continues = (static_cast<unsigned char>(c) & 0xC0) == 0x80;
    if (!continues && points++ == kCutPoints) cut = out;
    if (points > kMaxPoints) return "\"" + cut + "...\"";
    if (c == '\n')
      out += "\\n";
    else
      out += c;
  }
  return "\"" + out + "\"";
}

std::string short_text(const Value& v) {
  auto counted = [](const char* what, size_t n) { return what + ("(" + std::to_string(n) + ")"); };
  switch (v.tag()) {
    case Tag::String: return "\"" + v.as_string() + "\"";
    case Tag::List: return counted("list", v.items().size());
    case Tag::Tuple: return counted("tuple", v.items().size());
    case Tag::Dict: return counted("dict", v.as_dict().size());
    case Tag::Tensor: return tensor_type_text(v.as_tensor());
    case Tag::Function:
    case Tag::Builtin: return "function";
    case Tag::Atom: return "atom";
    case Tag::Traced: {
      Value now = v.as_traced()->concrete();
      return now.is_nil() ? v.as_traced()->describe() : short_text(now);
    }
    default: return render(v);
  }
}

}  // namespace sheaf
