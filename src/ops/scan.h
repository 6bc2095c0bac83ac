// Shared by the entry of `scan` (scan.cpp) and its VJP (scan_vjp.cpp). Internal to these two.
#pragma once
#include <vector>

#include "graph/engine.h"
#include "ops/apply.h"
#include "ops/loops.h"

namespace sheaf::ops {

inline graph::TensorType row_type(const graph::TensorType& t) {
  graph::TensorType row = t;
  row.sizes.erase(row.sizes.begin());
  return row;
}

inline graph::TensorType stacked_type(const graph::TensorType& t, Size n) {
  graph::TensorType s = t;
  s.sizes.insert(s.sizes.begin(), n);
  return s;
}

inline Operand row(const Operand& stacked, int64_t i) { return squeeze_axis(slice_axis(stacked, 0, i, 1), 0); }

template <class T>
std::vector<T> part(const std::vector<T>& v, size_t first, size_t count) {
  return {v.begin() + static_cast<ptrdiff_t>(first), v.begin() + static_cast<ptrdiff_t>(first + count)};
}

template <class T>
void append(std::vector<T>& to, const std::vector<T>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

// The loop description of a scan node.
Scan scan_of(const Node& n);

void reverse_scan(graph::VjpCtx& c);

}  // namespace sheaf::ops
