// The product with quantized weights, fast: the bits of routines/quantized/args.h. Two algorithms: one reads the
// weights as they are stored, for few rows of x; the other packs them for a matrix unit.
#pragma once
#include "kernels/quantized/byte_tiles.h"
#include "routines/quantized/args.h"

namespace sheaf::kernels {

// By the algorithm that is best for these sizes, or by the definition where none applies.
void contract_quantized(const routines::RoutineCall& call, const routines::QuantizedArgs<>& args);

// As quantize stores them, in f32, with groups whose sums fit into 32 bits: what both expect.
bool is_stored_in_order(const routines::QuantizedArgs<>& args);
void contract_quantized_dots(const routines::RoutineCall& call, const routines::QuantizedArgs<>& args);

// Whether groups consist of whole rows of tiles: what this one expects besides.
bool has_byte_tiles(const routines::QuantizedArgs<>& args);
void contract_quantized_tiles(const routines::RoutineCall& call, const routines::QuantizedArgs<>& args,
                              const ByteTileKernels& kernels = byte_tile_kernels());

}  // namespace sheaf::kernels
