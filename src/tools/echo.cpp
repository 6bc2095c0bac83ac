#include "tools/echo.h"

#include <fmt/format.h>

#include "eval/core.h"
#include "value/dict.h"
#include "value/print.h"

namespace sheaf::tools {
namespace {

constexpr int kManyTensors = 6;  // a value with more of them is shown as a tree of shapes
constexpr int kMaxDepth = 64, kMaxLines = 200;

struct Totals {
  int64_t tensors = 0, elements = 0, bytes = 0;
};

void add_totals(const Value& v, Totals& t, int depth) {
  if (depth > kMaxDepth) return;
  if (v.is_tensor()) {
    int64_t n = v.as_tensor().num_elems();
    ++t.tensors;
    t.elements += n;
    t.bytes += n * size_bytes(v.as_tensor().dtype);
  } else if (v.is_seq()) {
    for (const Value& x : v.items())
      add_totals(x, t, depth + 1);
  } else if (v.is_dict()) {
    for (const DictEntry& e : v.as_dict().entries())
      add_totals(e.value, t, depth + 1);
  }
}

std::string with_commas(int64_t n) {
  std::string s = std::to_string(n);
  for (ptrdiff_t at = static_cast<ptrdiff_t>(s.size()) - 3; at > 0; at -= 3)
    s.insert(static_cast<size_t>(at), ",");
  return s;
}

std::string size_text(int64_t bytes) {
  double n = static_cast<double>(bytes);
  if (n < 1e3) return fmt::format("{} bytes", bytes);
  if (n < 1e6) return fmt::format("{:.1f} KB", n / 1e3);
  if (n < 1e9) return fmt::format("{:.1f} MB", n / 1e6);
  return fmt::format("{:.2f} GB", n / 1e9);
}

std::string leaf_text(const Value& v) {
  std::string text = v.is_tensor() ? tensor_type_text(v.as_tensor()) : v.is_string() ? short_text(v) : render(v);
  if (text.size() > 60 || text.find('\n') != std::string::npos) text = short_text(v);
  return text;
}

bool is_node(const Value& v) { return v.is_dict() || v.is_seq(); }

// True if two values look the same in the tree.
bool same_outline(const Value& a, const Value& b, int depth) {
  if (a.tag() != b.tag() || depth > kMaxDepth) return false;
  if (a.is_tensor()) return a.as_tensor().dtype == b.as_tensor().dtype && a.as_tensor().sizes == b.as_tensor().sizes;
  if (a.is_seq()) {
    if (a.items().size() != b.items().size()) return false;
    for (size_t i = 0; i < a.items().size(); ++i)
      if (!same_outline(a.items()[i], b.items()[i], depth + 1)) return false;
    return true;
  }
  if (a.is_dict()) {
    auto x = a.as_dict().entries(), y = b.as_dict().entries();
    if (x.size() != y.size()) return false;
    for (size_t i = 0; i < x.size(); ++i)
      if (x[i].key.str() != y[i].key.str() || !same_outline(x[i].value, y[i].value, depth + 1)) return false;
    return true;
  }
  return leaf_text(a) == leaf_text(b);
}

class Tree {
 public:
  // The lines of a node's children, without its own line.
  void children(const Value& v, const std::string& indent, int depth) {
    if (depth > kMaxDepth) return line(indent + "...");
    if (lines > kMaxLines) return;
    if (v.is_dict()) {
      size_t width = 0;
      for (const DictEntry& e : v.as_dict().entries())
        if (!is_node(e.value)) width = std::max(width, e.key.str().size() + 1);
      for (const DictEntry& e : v.as_dict().entries())
        child(fmt::format("{:<{}}", ":" + e.key.str(), width), e.value, indent, depth);
      return;
    }
    auto items = v.items();
    for (size_t i = 0; i < items.size() && lines <= kMaxLines;) {
      size_t end = i + 1;
      while (end < items.size() && same_outline(items[i], items[end], depth))
        ++end;
      child(end - i == 1 ? fmt::format("[{}]", i) : fmt::format("[{}-{}] each", i, end - 1), items[i], indent, depth);
      i = end;
    }
  }
  std::string text;
  int lines = 0;

 private:
  void line(const std::string& s) {
    if (++lines <= kMaxLines)
      text += s + "\n";
    else if (lines == kMaxLines + 1)
      text += "   ...\n";
  }
  void child(const std::string& head, const Value& v, const std::string& indent, int depth) {
    if (!is_node(v)) return line(fmt::format("{}{} {}", indent, head, leaf_text(v)));
    std::string_view trimmed(head);
    while (trimmed.ends_with(' '))
      trimmed.remove_suffix(1);
    line(fmt::format("{}{}", indent, trimmed));
    children(v, indent + "  ", depth + 1);
  }
};

}  // namespace

std::string echo_text(const Value& v) {
  std::string prefix = v.is_tensor() ? fmt::format("=> tensor {} = ", tensor_type_text(v.as_tensor())) : "=> ";
  std::string out = prefix;
  for (char c : render(v)) {
    out += c;
    if (c == '\n') out.append(prefix.size(), ' ');
  }
  return out;
}

std::optional<std::string> shape_tree_text(const Value& v) {
  if (!is_node(v)) return std::nullopt;
  Totals t;
  add_totals(v, t, 0);
  if (t.tensors <= kManyTensors) return std::nullopt;
  Tree tree;
  tree.children(v, "   ", 0);
  return fmt::format("=> {} with {} tensors, {} parameters ({})\n{}", type_name(v), t.tensors, with_commas(t.elements),
                     size_text(t.bytes), tree.text.substr(0, tree.text.size() - 1));
}

std::string type_text(const Value& v) {
  switch (v.tag()) {
    case Tag::Tensor: return "tensor " + tensor_type_text(v.as_tensor());
    case Tag::List:
    case Tag::Tuple: return fmt::format("{} of {}", type_name(v), v.items().size());
    case Tag::Function: {
      std::string params;
      for (const eval::Param& p : static_cast<eval::Closure*>(v.object())->proto->params)
        params += (params.empty() ? "" : ", ") + p.name.str();
      return "function of (" + params + ")";
    }
    case Tag::Dict: {
      std::string fields;
      for (const DictEntry& e : v.as_dict().entries()) {
        if (fields.size() > 200) {
          fields += ", ...";
          break;
        }
        std::string inner =
            e.value.is_dict() ? fmt::format("dict of {}", e.value.as_dict().size()) : type_text(e.value);
        fields += fmt::format("{}:{} {}", fields.empty() ? "" : ", ", e.key.str(), inner);
      }
      return "dict {" + fields + "}";
    }
    default: return std::string(type_name(v));
  }
}

}  // namespace sheaf::tools
