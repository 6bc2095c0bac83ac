#include "passes/graph/join_parts.h"

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "graph/op_def.h"
#include "ops/apply.h"

namespace sheaf::passes {
namespace {

using graph::Node;
using graph::Operand;

bool is_slice_add(const Node* n) { return n->op->name == "slice_add"; }
bool is_zero_pad(const Node* n) { return n->op->name == "pad" && n->attrs.get<double>("value") == 0; }
bool all_are(const Sizes& sizes, int64_t value) {
  return std::all_of(sizes.begin(), sizes.end(), [&](Size s) { return s.value() == value; });
}

// A node that writes a part into the array; the part is its last operand.
struct Part {
  Node* node;
  int64_t start, size;  // along the axis
};

struct Chain {
  int axis = -1;
  std::vector<Part> parts;  // by start
};

// The one axis along which a part is smaller than the whole, or -1.
int axis_of(const Sizes& part, const Sizes& whole) {
  int axis = -1;
  for (size_t a = 0; a < whole.size(); ++a) {
    if (part[a] == whole[a]) continue;
    if (axis >= 0) return -1;
    axis = static_cast<int>(a);
  }
  return axis;
}

class Joining : public Rewrite {
 public:
  Joining(const graph::Graph& g, const std::vector<Node*>& nodes) {
    if (std::none_of(nodes.begin(), nodes.end(), is_slice_add)) return;
    count_uses(g, nodes);
    for (Node* n : nodes)
      if (is_slice_add(n) && !continues(n))
        if (auto chain = chain_to(n)) {
          for (const Part& p : chain->parts) {
            joined_[p.node];
            if (!first_ || p.node->id < first_->id) first_ = p.node;
          }
          chains_[n] = std::move(*chain);
        }
  }

  const Node* first() const override { return first_; }

  Operand make(Node* n, const Rebuild& rebuild) override {
    auto part = joined_.find(n);
    if (part == joined_.end()) return {};
    part->second = rebuild.renamed(n->inputs.back());
    if (is_slice_add(n) && is_float(n->types[0].dtype))
      part->second = at(n, ops::add(part->second, ops::like(part->second, 0)));
    auto chain = chains_.find(n);
    return chain == chains_.end() ? part->second : at(n, joined(chain->second));
  }

 private:
  void count_uses(const graph::Graph& g, const std::vector<Node*>& nodes) {
    uses_ = graph::NodeMap<int>(nodes);
    follower_ = graph::NodeMap<char>(nodes);
    for (Node* n : nodes)
      for (size_t i = 0; i < n->inputs.size(); ++i) {
        if (!n->inputs[i].is_node()) continue;
        Node* of = n->inputs[i].node().get();
        ++uses_[of];
        if (i == 0 && is_slice_add(n)) follower_[of] = 1;
      }
    for (const Operand& o : g.outputs)
      if (o.is_node()) ++uses_[o.node().get()];
  }

  // True if n has one use, the array operand of another slice_add.
  bool continues(const Node* n) const { return uses_[n] == 1 && follower_[n]; }

  std::optional<Chain> chain_to(Node* last) const {
    Chain c;
    for (Node* n = last;;) {
      const Sizes &part = n->inputs.back().sizes(), &whole = last->types[0].sizes;
      bool adds = is_slice_add(n);
      const Sizes& starts = n->attrs.sizes(adds ? "starts" : "lo");
      if (adds ? !all_are(n->attrs.sizes("steps"), 1) : !all_are(n->attrs.sizes("interior"), 0)) return std::nullopt;
      int axis = axis_of(part, whole);
      if (axis < 0 || (c.axis >= 0 && axis != c.axis)) return std::nullopt;
      c.axis = axis;
      c.parts.push_back({n, starts[axis].value(), part[axis].value()});
      if (!adds) break;
      if (!n->inputs[0].is_node()) return std::nullopt;
      n = n->inputs[0].node().get();
      if (!continues(n) || !(is_slice_add(n) || is_zero_pad(n))) return std::nullopt;
    }
    std::sort(c.parts.begin(), c.parts.end(), [](const Part& a, const Part& b) { return a.start < b.start; });
    int64_t covered = 0;
    for (const Part& p : c.parts) {
      if (p.start != covered) return std::nullopt;
      covered += p.size;
    }
    if (covered != last->types[0].sizes[c.axis].value()) return std::nullopt;
    return c;
  }

  Operand joined(const Chain& c) const {
    std::vector<Operand> parts;
    for (const Part& p : c.parts)
      parts.push_back(joined_.at(p.node));
    return ops::concat(std::move(parts), c.axis);
  }

  static Operand at(const Node* n, Operand o) {
    if (o.is_node()) o.node()->span = n->span;
    return o;
  }

  const Node* first_ = nullptr;
  graph::NodeMap<int> uses_;
  graph::NodeMap<char> follower_;                    // the array of a slice_add
  std::unordered_map<const Node*, Chain> chains_;    // by last node
  std::unordered_map<const Node*, Operand> joined_;  // by every node of the chain, once built: the concatenation
};

}  // namespace

std::unique_ptr<Rewrite> join_parts(const graph::Graph& g, const std::vector<Node*>& nodes) {
  return std::make_unique<Joining>(g, nodes);
}

}  // namespace sheaf::passes
