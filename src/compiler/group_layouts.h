// Layouts of a group's arrays over the group's space, in the forms that kernels take.
#pragma once
#include <optional>
#include <vector>

#include "memory/layout.h"

namespace sheaf::compiler {

using memory::Layout;

// The layout of an array over the space of the group, which has the axes of `user` (the sizes of the node that reads
// it) except those of size 1. `row`: the node has one value per row, so it lacks the last axis of the space.
Layout over_space(const Layout& array, const Dims& user, const Dims& space, bool row);

Layout permuted(const Layout& l, const std::vector<int>& order);

// Views the space as a matrix of this many columns; nothing if some array's strides do not allow it.
std::optional<std::vector<Layout>> as_matrices(const std::vector<Layout>& layouts, const Dims& space, int64_t columns);

// Merges the outer axes and keeps the last one, the row. If the first axis, which threads divide, is short, moves the
// longest there.
std::vector<Layout> as_rows(const std::vector<Layout>& layouts, const Dims& space);

// Merges axes of the same kind (kept or reduced) where every array allows it. Returns the position of the first reduced
// axis and their number: one unless some array prevents it.
struct ReducedAxes {
  int first, count;
};
ReducedAxes collapse_reduction(std::vector<Layout>& arrays, std::vector<bool> reduced);

}  // namespace sheaf::compiler
