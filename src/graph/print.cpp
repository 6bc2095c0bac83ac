#include <fmt/format.h>

#include <cstring>
#include <unordered_map>

#include "graph/op_def.h"
#include "graph/text.h"
#include "tensor/element_text.h"

namespace sheaf::graph {
namespace {

bool is_splat(const Tensor& t) {
  int width = size_bytes(t.dtype);
  for (int64_t i = 1, n = t.num_elems(); i < n; ++i)
    if (std::memcmp(t.bytes(), t.bytes() + i * width, width) != 0) return false;
  return t.num_elems() > 1;
}

std::string constant_text(const Operand& o) {
  Tensor t = contiguous(o.value());
  bool splat = is_splat(t);
  std::string s = "const " + type_text(o.type()) + (splat ? " splat {" : " {");
  for (int64_t i = 0, n = splat ? 1 : t.num_elems(); i < n; ++i)
    s += (i ? ", " : "") + exact_text(t.dtype, t.bytes() + i * size_bytes(t.dtype));
  return s + "}";
}

std::string indented(const std::string& text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    size_t end = text.find('\n', at);
    out += "    " + text.substr(at, end - at + 1);
    at = end + 1;
  }
  return out;
}

class Printer {
 public:
  std::string run(const Graph& g) {
    std::string params;
    for (const auto& n : g.inputs) {
      number(n.get());
      params += fmt::format("{}{}: {}", params.empty() ? "" : ", ", name(n.get()), type_text(n->types[0]));
    }
    std::string out = "graph(" + params + ") {\n";
    for (Node* n : live_nodes(g))
      if (!numbers_.count(n)) {
        out += "  " + line(*n) + "\n";
        for (const auto& inner : n->subgraphs)
          out += indented(print(*inner));
      }
    std::string kept;
    for (const auto& n : g.effects)
      if (is_plain(*n)) kept += (kept.empty() ? "" : ", ") + name(n.get());
    return out + (kept.empty() ? "" : "  keep " + kept + "\n") + "  return " + list(g.outputs) + "\n}\n";
  }

 private:
  // Marks host calls, and control nodes with their sub-graphs, as effects.
  static bool is_plain(const Node& n) { return n.op->kind != OpKind::Host && n.op->kind != OpKind::Control; }
  void number(Node* n) { numbers_.emplace(n, numbers_.size()); }
  std::string name(Node* n) const { return fmt::format("v{}", numbers_.at(n)); }

  std::string ref(const Operand& o) const {
    if (!o.is_node()) return constant_text(o);
    std::string s = name(o.node().get());
    return o.node()->types.size() > 1 ? fmt::format("{}.{}", s, o.index()) : s;
  }

  std::string list(const std::vector<Operand>& operands) const {
    std::string s;
    for (const Operand& o : operands)
      s += (s.empty() ? "" : ", ") + ref(o);
    return s;
  }

  std::string line(Node& n) {
    std::string types, attrs = n.attrs.str();
    for (const TensorType& t : n.types)
      types += (types.empty() ? "" : ", ") + type_text(t);
    if (n.types.size() != 1) types = "(" + types + ")";
    std::string args = list(n.inputs);
    number(&n);
    return fmt::format("{}: {} = {}({}){}{}", name(&n), types, n.op->name, args, attrs.empty() ? "" : " ", attrs);
  }

  std::unordered_map<Node*, size_t> numbers_;
};

// Numbers the nodes of both graphs alike and compares them in order.
class Comparison {
 public:
  bool run(const Graph& a, const Graph& b) {
    std::vector<Node*> x = live_nodes(a), y = live_nodes(b);
    if (a.inputs.size() != b.inputs.size() || x.size() != y.size()) return false;
    for (size_t i = 0; i < a.inputs.size(); ++i) {
      if (!(a.inputs[i]->types == b.inputs[i]->types)) return false;
      other_[a.inputs[i].get()] = b.inputs[i].get();
    }
    for (size_t i = 0, j = 0; i < x.size(); ++i) {
      if (other_.count(x[i])) continue;
      while (j < y.size() && is_input(b, y[j]))
        ++j;
      if (j == y.size() || !same(*x[i], *y[j])) return false;
      other_[x[i]] = y[j++];
    }
    if (a.effects.size() != b.effects.size()) return false;
    for (size_t i = 0; i < a.effects.size(); ++i)
      if (other_.at(a.effects[i].get()) != b.effects[i].get()) return false;
    return same(a.outputs, b.outputs);
  }

 private:
  static bool is_input(const Graph& g, Node* n) {
    for (const auto& in : g.inputs)
      if (in.get() == n) return true;
    return false;
  }

  bool same(const Node& a, const Node& b) const {
    return a.op == b.op && a.attrs == b.attrs && a.types == b.types && same(a.inputs, b.inputs);
  }

  bool same(const std::vector<Operand>& a, const std::vector<Operand>& b) const {
    if (a.size() != b.size()) return false;
    for (size_t i = 0; i < a.size(); ++i)
      if (!same(a[i], b[i])) return false;
    return true;
  }

  bool same(const Operand& a, const Operand& b) const {
    if (a.is_node() != b.is_node()) return false;
    if (a.is_node()) {
      auto it = other_.find(a.node().get());
      return it != other_.end() && it->second == b.node().get() && a.index() == b.index();
    }
    if (!(a.type() == b.type())) return false;
    Tensor x = contiguous(a.value()), y = contiguous(b.value());
    return x.num_elems() == 0 || std::memcmp(x.bytes(), y.bytes(), x.num_elems() * size_bytes(x.dtype)) == 0;
  }

  std::unordered_map<Node*, Node*> other_;
};

}  // namespace

std::string print(const Graph& g) { return Printer().run(g); }
bool equal(const Graph& a, const Graph& b) { return Comparison().run(a, b); }

}  // namespace sheaf::graph
