#include "graph/fusion_group.h"

#include <fmt/format.h>

#include <algorithm>

#include "graph/node_map.h"
#include "graph/op_def.h"

namespace sheaf::graph {
namespace {

constexpr const char* kKinds[] = {"map", "rows", "reduce", "single", "product"};

std::string members_text(const FusionGroup& kernel) {
  std::string out;
  for (const FusionGroup::Member& m : kernel.members)
    out += fmt::format(" {}{}", m.node->op->name, m.stored ? "!" : "");
  return out;
}

std::string at(const FusionGroup& kernel) {
  const Span& span = kernel.root()->span;
  return span ? "  ; " + place(span) : "";
}

class Verifier {
 public:
  Verifier(const Graph& g, const std::vector<FusionGroup>& groups)
      : g_(g), groups_(groups), nodes_(live_nodes(g)), made_(nodes_), reads_(nodes_) {}

  void run() {
    for (const auto& n : g_.inputs)
      made_[n.get()] = 1;
    for (const FusionGroup& g : groups_)
      each_part(g, [&](const FusionGroup& part) { each_read(part, [&](const Operand& o) { ++reads_[base_of(o)]; }); });
    for (const Operand& o : g_.outputs)
      if (o.is_node()) ++reads_[base_of(o)];
    for (const FusionGroup& g : groups_) {
      const bool is_product = g.kind == FusionGroup::Product;
      check(is_product == (!g.prologue.empty() || !g.epilogue.empty()), g, "only a product has fused parts");
      each_part(g, [&](const FusionGroup& part) { check_kernel(part); });
      if (is_product) check_product(g);
    }
    for (const Node* n : nodes_)
      INVARIANT(made_[n] || n->op->view || n->op->kind == OpKind::Structure, n->op->name << " is in no group of\n"
                                                                                         << print(groups_));
  }

 private:
  void check(bool ok, const FusionGroup& kernel, const char* what) const {
    INVARIANT(ok, what << ": the group of " << kernel.root()->op->name << " in\n" << print(groups_));
  }

  void check_kernel(const FusionGroup& kernel) {
    check(!kernel.members.empty(), kernel, "a group has members");
    each_read(kernel, [&](const Operand& o) {
      const Node* from = base_of(o);
      check(made_[from] || from->op->view || from->op->kind == OpKind::Structure, kernel,
            "an operand is made before it is read");
    });
    for (size_t i = 0; i < kernel.members.size(); ++i) {
      const FusionGroup::Member& m = kernel.members[i];
      check(!made_[m.node], kernel, "a node is a member once");
      check(i == 0 || kernel.members[i - 1].node->id < m.node->id, kernel, "members are in order");
      for (int from : m.inputs)
        check(from < static_cast<int>(i), kernel, "a member reads earlier ones");
      made_[m.node] = 1;
    }
    check(kernel.members.back().stored, kernel, "the root is stored");
  }

  void check_product(const FusionGroup& g) const {
    const Node* product = g.root();
    check(g.members.size() == 1 && product->op->kind == OpKind::Contract && product->inputs.size() == 2, g,
          "a product is one contraction of two operands");
    check(g.prologue.size() <= 1 && g.epilogue.size() <= 1, g, "a product has one prologue and one epilogue at most");
    for (const FusionGroup& p : g.prologue) {
      check(p.kind == FusionGroup::Map || p.kind == FusionGroup::Rows, g, "a prologue is elementwise or works by rows");
      const Operand &a = product->inputs[0], &b = product->inputs[1];
      check(a.is_node() && has_member(p, base_of(a)) && reads_[base_of(a)] == 1, g,
            "a prologue makes the first factor for the product alone");
      check(!b.is_node() || !has_member(p, base_of(b)), g, "a prologue does not make the second factor");
      for (const FusionGroup& e : g.epilogue)
        each_read(e, [&](const Operand& o) {
          check(!has_member(p, base_of(o)), g, "an epilogue reads nothing that the prologue makes");
        });
    }
    for (const FusionGroup& e : g.epilogue) {
      check(e.kind == FusionGroup::Map || e.kind == FusionGroup::Reduce, g, "an epilogue is elementwise or a sum");
      check(e.kind == FusionGroup::Map || num_elems(e.root()->types[0].sizes).value() == 1, g,
            "an epilogue adds up all elements or none");
      check(num_elems(e.space).value() == num_elems(product->types[0].sizes).value(), g,
            "an epilogue has an element for each one");
      bool reads = false;
      each_read(e, [&](const Operand& o) { reads |= base_of(o) == product; });
      check(reads, g, "an epilogue reads the product");
    }
  }

  const Graph& g_;
  const std::vector<FusionGroup>& groups_;
  std::vector<Node*> nodes_;
  NodeMap<char> made_;
  NodeMap<int> reads_;
};

}  // namespace

bool has_member(const FusionGroup& kernel, const Node* n) {
  return std::any_of(kernel.members.begin(), kernel.members.end(),
                     [&](const FusionGroup::Member& m) { return m.node == n; });
}

Sizes squeezed(const Sizes& sizes) {
  Sizes out;
  for (Size s : sizes)
    if (!(s == Size(1))) out.push_back(s);
  return out;
}

Node* base_of(const Operand& o) {
  Node* n = o.node().get();
  while (n->op->view && n->inputs[0].is_node())
    n = n->inputs[0].node().get();
  return n;
}

std::string print(const std::vector<FusionGroup>& groups) {
  std::string out;
  for (const FusionGroup& g : groups) {
    if (g.kind != FusionGroup::Product) {
      out += fmt::format("group {} {{{} }}{}\n", kKinds[g.kind], members_text(g), at(g));
      continue;
    }
    out += "group product {\n";
    for (const FusionGroup& p : g.prologue)
      out += fmt::format("  prologue {} {{{} }}{}\n", kKinds[p.kind], members_text(p), at(p));
    out += fmt::format(" {}{}\n", members_text(g), at(g));
    for (const FusionGroup& e : g.epilogue)
      out += fmt::format("  epilogue {} {{{} }}{}\n", kKinds[e.kind], members_text(e), at(e));
    out += "}\n";
  }
  return out;
}

void verify(const Graph& g, const std::vector<FusionGroup>& groups) { Verifier(g, groups).run(); }

}  // namespace sheaf::graph
