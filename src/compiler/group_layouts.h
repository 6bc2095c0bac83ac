// Layouts of a group's arrays over the group's space, in the forms that kernels take.
#pragma once
#include <optional>
#include <vector>

#include "memory/layout.h"

namespace sheaf::compiler {

using memory::Layout;

// The layout of an array under the sizes `user` of the node that reads it, over the space of the group, which has the
// same axes but those of size 1. `row`: the node has one value per row, so the last axis of the space is not its own.
Layout over_space(const Layout& array, const Dims& user, const Dims& space, bool row);

Layout permuted(const Layout& l, const std::vector<int>& order);

// The space as a matrix of so many columns; nothing where some array's strides do not allow it.
std::optional<std::vector<Layout>> as_matrices(const std::vector<Layout>& layouts, const Dims& space, int64_t columns);

// Outer axes merged, the last one, a row, kept apart. The first axis, which threads share, is made the longest if it is
// short.
std::vector<Layout> as_rows(const std::vector<Layout>& layouts, const Dims& space);

// Merges axes of the same sort (kept or reduced) where every array allows it; the
// position of the first reduced one and their number: one, but where an array does not allow it.
struct ReducedAxes {
  int first, count;
};
ReducedAxes collapse_reduction(std::vector<Layout>& arrays, std::vector<bool> reduced);

}  // namespace sheaf::compiler
