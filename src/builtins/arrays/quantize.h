// Weights in 8 or 4 bits with one scale for each group of rows: the dict that `quantize` makes, and its product.
#pragma once
#include "builtins/core/numeric.h"
#include "value/dict.h"

namespace sheaf::builtins {

// True for what `quantize` gave: {:quantized :q8|:q4 :values v :scales s}.
bool is_quantized(const Value& v);
// x [..., K] @ w [K, N]
Value quantized_product(const Value& x, const Value& w);

}  // namespace sheaf::builtins
