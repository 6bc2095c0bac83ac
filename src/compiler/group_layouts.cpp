#include "compiler/group_layouts.h"

#include <algorithm>
#include <utility>

namespace sheaf::compiler {

using memory::collapse_axes;

Layout over_space(const Layout& array, const Dims& user, const Dims& space, bool row) {
  Layout at = memory::stretched(array, user), out{space, {}};
  for (size_t a = 0; a < user.size(); ++a)
    if (user[a] != 1) out.strides.push_back(at.strides[a]);
  if (row) out.strides.push_back(0);
  return out;
}

Layout permuted(const Layout& l, const std::vector<int>& order) {
  Layout out;
  for (int a : order) {
    out.sizes.push_back(l.sizes[a]);
    out.strides.push_back(l.strides[a]);
  }
  return out;
}

std::optional<std::vector<Layout>> as_matrices(const std::vector<Layout>& layouts, const Dims& space, int64_t columns) {
  size_t rows = 0;
  int64_t inner = checked_num_elems(space);
  while (rows < space.size() && inner > columns)
    inner /= space[rows++];
  if (inner != columns) return std::nullopt;
  std::vector<Layout> down, across;
  for (const Layout& l : layouts) {
    down.push_back({Dims(l.sizes.begin(), l.sizes.begin() + rows), Dims(l.strides.begin(), l.strides.begin() + rows)});
    across.push_back({Dims(l.sizes.begin() + rows, l.sizes.end()), Dims(l.strides.begin() + rows, l.strides.end())});
  }
  collapse_axes(down);
  collapse_axes(across);
  if (down[0].sizes.size() != 1 || across[0].sizes.size() != 1) return std::nullopt;
  for (size_t i = 0; i < down.size(); ++i) {
    down[i].sizes.push_back(across[i].sizes[0]);
    down[i].strides.push_back(across[i].strides[0]);
  }
  return down;
}

std::vector<Layout> as_rows(const std::vector<Layout>& layouts, const Dims& space) {
  std::vector<Layout> rows = layouts;
  for (Layout& l : rows)
    l.sizes.resize(space.size() - 1), l.strides.resize(space.size() - 1);
  collapse_axes(rows);
  constexpr int64_t kEnough = 16;
  size_t widest = 0;
  for (size_t a = 1; a < rows[0].sizes.size() && rows[0].sizes[widest] < kEnough; ++a)
    if (rows[0].sizes[a] > rows[0].sizes[widest]) widest = a;
  for (size_t i = 0; i < rows.size(); ++i) {
    std::swap(rows[i].sizes[0], rows[i].sizes[widest]);
    std::swap(rows[i].strides[0], rows[i].strides[widest]);
    rows[i].sizes.push_back(space.back());
    rows[i].strides.push_back(layouts[i].strides.back());
  }
  return rows;
}

ReducedAxes collapse_reduction(std::vector<Layout>& arrays, std::vector<bool> reduced) {
  collapse_axes(arrays, &reduced);
  auto count = std::count(reduced.begin(), reduced.end(), true);
  auto first = std::find(reduced.begin(), reduced.end(), true) - reduced.begin();
  if (count > 0) return {static_cast<int>(first), static_cast<int>(count)};
  // Only axes of size 1 are reduced: one iteration.
  for (Layout& t : arrays) {
    t.sizes.push_back(1);
    t.strides.push_back(0);
  }
  return {static_cast<int>(reduced.size()), 1};
}

}  // namespace sheaf::compiler
