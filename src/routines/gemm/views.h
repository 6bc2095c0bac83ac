// A product of arrays that are no matrices in memory as a routine, `contract_views`: the windows of a convolution, an
// image per example that counts as columns. Rows and columns of an operand are each up to kViewAxes axes of an array,
// of which the last counts fastest. The result is that of `contract` for the matrices as they would be if they were
// written out, to the bit.
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
// Where each row or column begins, in elements from the first.
std::vector<int64_t> offsets(const ViewAxes<int64_t>& axes);

// The product as one of matrices in memory: `contract` of both operands, written out.
void contract_written_out(const RoutineCall& call, const ContractViewsArgs<>& args,
                          void (*contract)(const RoutineCall&, const GemmArgs<>&));

void contract_views(const RoutineCall& call, const ContractViewsArgs<>& args);

}  // namespace sheaf::routines
