// The fast product with quantized weights, with the bits of routines/quantized/args.h. Two algorithms: one reads the
// stored weights, for few rows of x; the other packs them for a matrix unit.
#pragma once
#include "kernels/quantized/byte_tiles.h"
#include "routines/quantized/args.h"

namespace sheaf::kernels {

// Runs the best algorithm for these sizes, or the definition if none applies.
void contract_quantized(const routines::RoutineCall& call, const routines::QuantizedArgs<>& args);

// The precondition of both algorithms: weights in the layout of `quantize`, f32, groups whose sums fit in 32 bits.
bool is_stored_in_order(const routines::QuantizedArgs<>& args);
void contract_quantized_dots(const routines::RoutineCall& call, const routines::QuantizedArgs<>& args);

// The additional precondition of contract_quantized_tiles: groups consist of whole rows of tiles.
bool has_byte_tiles(const routines::QuantizedArgs<>& args);
void contract_quantized_tiles(const routines::RoutineCall& call, const routines::QuantizedArgs<>& args,
                              const ByteTileKernels& kernels = byte_tile_kernels());

}  // namespace sheaf::kernels
