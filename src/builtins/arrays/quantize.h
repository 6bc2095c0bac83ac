// 8-bit or 4-bit weights with one scale per group of rows: the dict that `quantize` returns, and its product.
#pragma once
#include "builtins/core/numeric.h"
#include "value/dict.h"

namespace sheaf::builtins {

// True for a result of `quantize`: {:quantized :q8|:q4 :values v :scales s}.
bool is_quantized(const Value& v);
// x [..., K] @ w [K, N]
Value quantized_product(const Value& x, const Value& w);

}  // namespace sheaf::builtins
