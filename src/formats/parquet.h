// Parquet: tables by columns.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "value/value.h"

namespace sheaf::formats {

bool is_parquet(std::string_view bytes);
// A dict of columns, of those in `only` or, if that is empty, of all; they must be flat. Numbers are tensors: integers
// of the width the file says, decimals, times and unsigned numbers of 64 bits that do not fit in i64 as f64. Dates and
// timestamps are seconds since 1970, i64 or, with fractions of a second, f64. Texts are lists of strings. Where values
// are missing, integers and times become numbers with NaN (f32 up to 16 bits, else f64); texts and truth values are
// lists with nil.
Value parse_parquet(std::string_view bytes, const std::vector<std::string>& only = {});

}  // namespace sheaf::formats
