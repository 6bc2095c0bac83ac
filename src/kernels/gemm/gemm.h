// Fast matrix products, with the bits of routines/gemm/args.h. select.h chooses an algorithm by shape, strides and
// processor. Any thread may call these; concurrent calls share the thread pool.
#pragma once
#include <memory>

#include "kernels/gemm/select.h"
#include "routines/gemm/args.h"
#include "tensor/dtype.h"

namespace sheaf::runtime {
class PackedForm;
class FusedProduct;
struct Target;
}  // namespace sheaf::runtime

namespace sheaf::kernels {

void contract(const routines::RoutineCall& call, const routines::GemmArgs<>& args);

// The name of the algorithm that `contract` uses by default, and the reason, for people. Empty for integers.
struct GemmPlan {
  std::string_view algorithm, why;
};
GemmPlan gemm_plan(const routines::GemmArgs<>& args, routines::Arithmetic arithmetic);

// The packed form of a product by a constant B, or nullptr if reading B unpacked is faster.
std::shared_ptr<const runtime::PackedForm> repacked_form(const routines::GemmArgs<>& args,
                                                         const runtime::Target& target);

// The fused form of a product of one pair of matrices: runs a prologue on rows of A before it reads them, and an
// epilogue on tiles of C after it completes them. nullptr for integers.
std::shared_ptr<const runtime::FusedProduct> fused_product(const routines::GemmArgs<>& args,
                                                           const runtime::Target& target);

}  // namespace sheaf::kernels
