// How products are computed on a GPU: a decision list of forms, of which a product takes the first that applies to it.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "codegen/gpu/program.h"
#include "routines/gemm/args.h"

namespace sheaf::codegen::gpu {

struct ProductForm {
  std::string_view name;
  std::string_view why;
  bool (*applies)(const routines::GemmArgs<>& g, const Facilities& f);
  std::vector<ProgramStep> (*emit)(const routines::GemmArgs<>& g, const std::vector<int32_t>& buffers,
                                   const std::string& prefix, Helpers& helpers, const Facilities& f);
};
// Expects: has_template (contract.h).
const ProductForm& product_form(const routines::GemmArgs<>& g, const Facilities& f);

// The steps of a product. `buffers`: the kernel's numbers of a, b and c.
inline std::vector<ProgramStep> emit_product(const routines::GemmArgs<>& g, const std::vector<int32_t>& buffers,
                                             const std::string& prefix, Helpers& helpers, const Facilities& f) {
  return product_form(g, f).emit(g, buffers, prefix, helpers, f);
}

}  // namespace sheaf::codegen::gpu
