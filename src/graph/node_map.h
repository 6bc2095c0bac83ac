// Facts about the nodes of a graph, for passes.
#pragma once
#include <algorithm>
#include <cstdint>
#include <span>
#include <type_traits>
#include <unordered_map>
#include <vector>

#include "graph/node.h"

namespace sheaf::graph {

// A map from nodes to values; a node without an entry has `T()`. The nodes of one graph have nearby ids, so this is an
// array indexed by id; the few older nodes, such as leaves from before, are in a hash map.
template <class T>
class NodeMap {
 public:
  NodeMap() = default;
  // `nodes` must be in order of creation.
  explicit NodeMap(std::span<Node* const> nodes, const T& start = T()) : start_(start) {
    if (nodes.empty()) return;
    uint64_t newest = nodes.back()->id, window = kSpread * nodes.size();
    first_ = std::max(nodes.front()->id, newest < window ? 0 : newest - window + 1);
    values_.assign(newest - first_ + 1, start);
  }
  T& operator[](const Node* n) {
    uint64_t i = n->id - first_;
    return i < values_.size() ? values_[i] : older_.try_emplace(n, start_).first->second;
  }
  const T& operator[](const Node* n) const {
    uint64_t i = n->id - first_;
    if (i < values_.size()) return values_[i];
    auto it = older_.find(n);
    return it == older_.end() ? start_ : it->second;
  }

 private:
  static constexpr uint64_t kSpread = 16;  // upper limit of ids per node
  static_assert(!std::is_same_v<T, bool>, "a vector of bits has no references");
  uint64_t first_ = 0;
  std::vector<T> values_;
  std::unordered_map<const Node*, T> older_;
  T start_{};
};

}  // namespace sheaf::graph
