#include "passes/graph/fuse.h"

#include <algorithm>

#include "graph/op_def.h"

namespace sheaf::passes {
namespace {

using graph::Node;
using graph::Operand;
using graph::OpKind;

// More arrays than this in one kernel gain nothing and cost address registers.
constexpr size_t kMaxMembers = 48;
constexpr size_t kMaxArrays = 14;

struct Group {
  std::vector<Node*> members;  // root first (built from consumers to producers)
  Sizes space;                 // what the loops run over
  bool reduce = false;
};

const Sizes& out_sizes(const Node* n) { return n->types[0].sizes; }

bool starts_group(const Node* n) { return n->op->kind == OpKind::Elementwise || n->op->kind == OpKind::Reduce; }

size_t num_arrays(const Group& g, const std::unordered_map<Node*, int>& group_of, int id) {
  std::vector<const void*> seen;
  size_t constants = 0;
  for (Node* m : g.members)
    for (const Operand& in : m->inputs) {
      if (!in.is_node()) {
        constants += in.rank() > 0;
        continue;
      }
      auto it = group_of.find(in.node().get());
      if (it != group_of.end() && it->second == id) continue;
      if (std::find(seen.begin(), seen.end(), in.node().get()) == seen.end()) seen.push_back(in.node().get());
    }
  return seen.size() + constants + 1;
}

}  // namespace

std::vector<FusionGroup> choose_groups(const graph::Graph& g) {
  std::vector<Node*> live = live_nodes(g);
  std::unordered_map<Node*, std::vector<Node*>> users;
  std::unordered_map<Node*, bool> is_output;
  for (Node* n : live)
    for (const Operand& in : n->inputs)
      if (in.is_node()) users[in.node().get()].push_back(n);
  for (const Operand& o : g.outputs)
    if (o.is_node()) is_output[o.node().get()] = true;

  std::vector<Group> groups;
  std::unordered_map<Node*, int> group_of;
  for (size_t i = live.size(); i-- > 0;) {
    Node* n = live[i];
    if (n->op->kind == OpKind::Structure || n->op->view) continue;
    int joined = -1;
    if (n->op->kind == OpKind::Elementwise && !users[n].empty()) {
      // The group of the earliest consumer; every other use must come after that group's root.
      for (Node* u : users[n]) {
        auto it = group_of.find(u);
        if (it == group_of.end() || !starts_group(u)) continue;
        const Group& c = groups[it->second];
        if (joined < 0 || c.members[0]->id < groups[joined].members[0]->id) joined = it->second;
      }
      if (joined >= 0) {
        Group& c = groups[joined];
        bool fits = c.space == out_sizes(n) && c.members.size() < kMaxMembers;
        bool outside = is_output[n];
        for (Node* u : users[n]) {
          auto it = group_of.find(u);
          if (it != group_of.end() && it->second == joined) continue;
          outside = true;
          fits &= u->id > c.members[0]->id;
        }
        // A reduction keeps its inputs to itself: its loops do not store elements.
        fits &= !(outside && c.reduce);
        if (fits) {
          group_of[n] = joined;
          c.members.push_back(n);
          if (num_arrays(c, group_of, joined) > kMaxArrays) {
            c.members.pop_back();
            fits = false;
          }
        }
        if (!fits) joined = -1;
      }
    }
    if (joined < 0) {
      Group fresh;
      fresh.members = {n};
      fresh.reduce = n->op->kind == OpKind::Reduce;
      fresh.space = fresh.reduce ? n->inputs[0].sizes() : out_sizes(n);
      group_of[n] = static_cast<int>(groups.size());
      groups.push_back(std::move(fresh));
    }
  }
  std::vector<FusionGroup> out;
  for (size_t k = groups.size(); k-- > 0;) {
    FusionGroup f;
    f.members.assign(groups[k].members.rbegin(), groups[k].members.rend());
    std::sort(f.members.begin(), f.members.end(), [](Node* a, Node* b) { return a->id < b->id; });
    for (Node* m : f.members) {
      bool outside = is_output[m] || m == f.members.back();
      for (Node* u : users[m]) {
        auto it = group_of.find(u);
        outside |= it == group_of.end() || it->second != static_cast<int>(k);
      }
      if (outside) f.stored.push_back(m);
    }
    out.push_back(std::move(f));
  }
  std::sort(out.begin(), out.end(), [](const FusionGroup& a, const FusionGroup& b) { return a.root()->id < b.root()->id; });
  return out;
}

}  // namespace sheaf::passes
