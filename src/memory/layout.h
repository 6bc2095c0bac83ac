// Strided layouts for kernels: stretching, collapsing and grouping axes.
#pragma once
#include <vector>

#include "tensor/tensor.h"

namespace sheaf::memory {

// An array without its memory.
struct Layout {
  Dims sizes, strides;
};

// Under larger sizes, with stride 0 on stretched and new axes.
Layout stretched(const Layout& a, const Dims& sizes);
// Drops axes of size 1 and merges neighbouring axes that every array walks as one, and that are of one sort if `sorts`
// are given, which become those of the axes that are left. All arrays have the same sizes.
void collapse_axes(std::vector<Layout>& arrays, std::vector<bool>* sorts = nullptr);

}  // namespace sheaf::memory
