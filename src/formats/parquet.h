// Parquet: column-oriented tables.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "value/value.h"

namespace sheaf::formats {

bool is_parquet(std::string_view bytes);
// Returns a dict of columns: those in `only` or, if that is empty, all; they must be flat. Numbers become tensors:
// integers of the stored width; decimals, times and unsigned 64-bit numbers beyond i64 as f64. Dates and timestamps are
// seconds since 1970, i64 or, with fractional seconds, f64. Texts are lists of strings. With missing values, integers
// and times become floats with NaN (f32 up to 16 bits, else f64); texts and booleans become lists with nil.
Value parse_parquet(std::string_view bytes, const std::vector<std::string>& only = {});

}  // namespace sheaf::formats
