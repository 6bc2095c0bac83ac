// Tables as text: .csv, and .tsv with tabs.
#pragma once
#include <string>
#include <string_view>

#include "value/value.h"

namespace sheaf::formats {

// If the first row is not all numbers: a dict of columns, keyed by that row. A column of ints becomes an i32 or i64
// tensor; of numbers an f32 tensor (NaN for missing cells), or f64 if f32 cannot represent its whole numbers; of
// true/false a bool tensor; else a list of strings. Empty cells and NA, N/A, null, None, NaN count as missing. If the
// first row is all numbers: an f32 matrix.
Value parse_csv(std::string_view text, char separator = ',');
// A dict of columns (lists or rank-1 tensors of one length), a list of dicts with the same keys, or a matrix.
std::string write_csv(const Value& v, char separator = ',');

}  // namespace sheaf::formats
