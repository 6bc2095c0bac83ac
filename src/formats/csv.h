// Tables as text: .csv, and .tsv with tabs.
#pragma once
#include <string>
#include <string_view>

#include "value/value.h"

namespace sheaf::formats {

// With a first row that is not all numbers: a dict of columns by its names. A column of ints is an i32 or i64 tensor,
// of numbers (what is missing is NaN) an f32 tensor, or f64 where f32 does not hold its whole numbers, of true/false a
// bool tensor, else a list of strings. Missing are empty cells and NA, N/A, null, None, NaN. With a first row of
// numbers, a table of numbers: an f32 matrix.
Value parse_csv(std::string_view text, char separator = ',');
// A dict of columns (lists or rank-1 tensors of one length), a list of dicts with the same keys, or a matrix.
std::string write_csv(const Value& v, char separator = ',');

}  // namespace sheaf::formats
