// A product of strided views as a routine, `contract_views` (implicit GEMM): operands that are no matrices in memory,
// such as the windows of a convolution, or one image per example, which counts as columns. The rows and the columns of
// an operand are up to kViewAxes axes of an array each, the last axis varying fastest. The result is bit for bit that
// of `contract` on the materialized matrices.
#pragma once
#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "routines/gemm/args.h"
#include "routines/routine.h"
#include "tensor/dtype.h"

namespace sheaf::routines {

inline constexpr size_t kViewAxes = 4;  // channels and three axes of a window

template <class Int>
struct ViewAxes {
  std::array<Int, kViewAxes> sizes, strides;
};
template <class Int>
struct MatrixOfView {
  Int batch;  // stride
  ViewAxes<Int> rows, columns;
};

// Buffers: a, b, c [batch, m, n] (contiguous), all of F32 or all of F64.
template <class Int = int64_t>
struct ContractViewsArgs {
  static constexpr std::string_view kRoutine = "contract_views";
  DType dtype;
  Int batch;
  MatrixOfView<Int> a, b;
  static void fields(auto& self, auto&& f) {
    f(self.dtype), f(self.batch);
    for (auto* matrix : {&self.a, &self.b}) {
      f(matrix->batch);
      for (auto* axes : {&matrix->rows, &matrix->columns})
        f(axes->sizes), f(axes->strides);
    }
  }
};

constexpr int64_t num_offsets(const ViewAxes<int64_t>& axes) {
  int64_t out = 1;
  for (int64_t n : axes.sizes)
    out *= n;
  return out;
}
// The offset of each row or column from the first, in elements.
std::vector<int64_t> offsets(const ViewAxes<int64_t>& axes);

// Materializes both operands as matrices and calls `contract`.
void contract_written_out(const RoutineCall& call, const ContractViewsArgs<>& args,
                          void (*contract)(const RoutineCall&, const GemmArgs<>&));

void contract_views(const RoutineCall& call, const ContractViewsArgs<>& args);

}  // namespace sheaf::routines
