// Matrix products, fast: the bits of routines/gemm/args.h. select.h chooses an algorithm by shape, strides and
// processor. Any thread may call these; several at once share the pool.
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

// The algorithm that `contract` takes by default, by its name, and why; for people. Nothing for integers.
struct GemmPlan {
  std::string_view algorithm, why;
};
GemmPlan gemm_plan(const routines::GemmArgs<>& args, routines::Arithmetic arithmetic);

// A product by a B that stays the same, with B packed, or nullptr where that is slower than B as it is.
std::shared_ptr<const runtime::PackedForm> repacked_form(const routines::GemmArgs<>& args,
                                                         const runtime::Target& target);

// A product of one pair of matrices that runs a prologue on rows of A before it reads them, and an epilogue on tiles of
// C after it completes them; nullptr for integers.
std::shared_ptr<const runtime::FusedProduct> fused_product(const routines::GemmArgs<>& args,
                                                           const runtime::Target& target);

}  // namespace sheaf::kernels
