// Strided layouts for kernels: broadcasting and merging axes. Pure functions; any thread.
#pragma once
#include <vector>

#include "tensor/tensor.h"

namespace sheaf::memory {

// An array without its memory.
struct Layout {
  Dims sizes, strides;
};

// The array broadcast to `sizes`: stride 0 on broadcast and new axes.
Layout stretched(const Layout& a, const Dims& sizes);
// Drops axes of size 1 and merges adjacent axes that every array can walk with one stride. All arrays have equal sizes.
// Merges only axes of equal `sorts`; on return `sorts` describes the remaining axes.
void collapse_axes(std::vector<Layout>& arrays, std::vector<bool>* sorts = nullptr);

}  // namespace sheaf::memory
