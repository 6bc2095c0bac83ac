// Matrix products, fast: the bits of routines/gemm/args.h. gemm.cpp chooses an algorithm by shape, strides and
// processor.
#pragma once
#include <memory>
#include <vector>

#include "routines/routine.h"
#include "tensor/dtype.h"

namespace sheaf::runtime {
class PackedForm;
class FusedProduct;
}  // namespace sheaf::runtime

namespace sheaf::kernels {

void contract(const routines::CallArgs& call);

// How a product of one row by a matrix that stays the same runs with that matrix packed, or nullptr where that is not
// faster. Strides are those of a [k, n].
std::shared_ptr<const runtime::PackedForm> packed_row_form(DType dtype, int64_t n, int64_t k, int64_t stride_k,
                                                           int64_t stride_n);

// A product of one pair of matrices that runs with a prologue and an epilogue, or nullptr for integers; `args` are
// those of the routine `contract`.
std::shared_ptr<const runtime::FusedProduct> fused_product(std::vector<int64_t> args);

}  // namespace sheaf::kernels
