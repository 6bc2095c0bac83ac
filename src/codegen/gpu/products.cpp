#include "codegen/gpu/products.h"

#include <algorithm>
#include <iterator>

#include "codegen/gpu/contract.h"
#include "codegen/gpu/contract_tiles.h"
#include "codegen/gpu/matrix_units.h"
#include "codegen/gpu/row_products.h"
#include "support/error.h"

namespace sheaf::codegen::gpu {
namespace {

using routines::GemmArgs;

std::vector<ProgramStep> steps(std::vector<EmittedLaunch> launches) {
  return {std::make_move_iterator(launches.begin()), std::make_move_iterator(launches.end())};
}

std::vector<ProgramStep> emit_library(const GemmArgs<>& g, const std::vector<int32_t>& buffers,
                                      const std::string& prefix, Helpers& helpers, const Facilities& f) {
  LibrarySteps made = emit_library_product(g, *f.library(library_product(g)), buffers, prefix, helpers);
  std::vector<ProgramStep> out = steps(std::move(made.before));
  out.emplace_back(std::move(made.call));
  std::move(made.after.begin(), made.after.end(), std::back_inserter(out));
  return out;
}

constexpr ProductForm kForms[] = {
    {"library", "cuBLASLt has more than twice the rate of the units' templates",
     [](const GemmArgs<>& g, const Facilities& f) {
       return f.library && f.aligned && suits_library(g) && f.library(library_product(g)).has_value();
     },
     emit_library},
    {"matrix-units", "numbers of 16 bits, and enough rows and columns for the units",
     [](const GemmArgs<>& g, const Facilities& f) { return f.matrix_units && suits_matrix_units(g); },
     [](const GemmArgs<>& g, const std::vector<int32_t>& buffers, const std::string& prefix, Helpers& helpers,
        const Facilities& f) {
       return steps(emit_unit_contract(g, unit_tiling_of(g), buffers, prefix, helpers, f.aligned));
     }},
    {"tiles", "numbers of 4 or 8 bytes, whose tiles are copied in the background",
     [](const GemmArgs<>& g, const Facilities& f) { return f.copies && suits_tiles(g); },
     [](const GemmArgs<>& g, const std::vector<int32_t>& buffers, const std::string& prefix, Helpers& helpers,
        const Facilities& f) { return steps(emit_tiles(g, tile_shape_of(g), buffers, prefix, helpers, f.aligned)); }},
    {"one-row", "one row or column waits for memory: many of its elements are requested at once",
     [](const GemmArgs<>& g, const Facilities&) { return is_row_product(g); },
     [](const GemmArgs<>& g, const std::vector<int32_t>& buffers, const std::string& prefix, Helpers& helpers,
        const Facilities& f) { return steps(emit_row_product(g, buffers, prefix, helpers, f.aligned)); }},
    {"stated-order", "nothing is faster for it", [](const GemmArgs<>&, const Facilities&) { return true; },
     [](const GemmArgs<>& g, const std::vector<int32_t>& buffers, const std::string& prefix, Helpers& helpers,
        const Facilities&) {
       // Only what a library was expected to compute is stored otherwise, and that suits matrix units.
       INVARIANT(routines::line_of(g) == g.n, "a product in stated order of rows that are apart");
       return steps(emit_contract(g, tiling_of(g), buffers, prefix, helpers));
     }},
};

}  // namespace

const ProductForm& product_form(const GemmArgs<>& g, const Facilities& f) {
  return *std::find_if(std::begin(kForms), std::end(kForms), [&](const ProductForm& p) { return p.applies(g, f); });
}

}  // namespace sheaf::codegen::gpu
