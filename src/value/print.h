// Values as text (language specification §10).
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "value/value.h"

namespace sheaf {

// "int", "float", "tensor", … as messages name types.
std::string_view type_name(const Value& v);
// The rendering used by print, str, the REPL and a program's result.
std::string render(const Value& v);
// The short rendering of messages: "txt" in quotes, :kw, nil, list(3), dict(2), f32[2x3], function; scalars as printed.
std::string short_text(const Value& v);
// A string in quotes as traces and stacks show it: on one line, cut when it is long.
std::string brief_string(const std::string& s);
// "f32[2x3]", "f32[]" for rank 0.
std::string tensor_type_text(const Tensor& t);
// A float as printed: shortest digits that read back to the same value of that type, never an exponent; "3.0".
std::string float_text(float x);
// A float as messages show it: as printed, but with an exponent in place of a long row of zeros; the reader takes both.
std::string brief_number(float x);
// One element of a tensor as printed inside it: "3.", "0.5", "7", "true".
std::string element_text(const Tensor& t, int64_t flat);

// Format strings: Python's mini-language. `values` are consumed left to right.
std::string format_text(std::string_view format, const std::vector<Value>& values);
// True when `print` treats the text as a format: it contains "{}" or "{:".
bool looks_like_format(std::string_view text);
// How many values a format takes.
size_t count_fields(std::string_view format);

// `pp`: like render, with `precision` significant digits for floats and line breaks so that lines fit `width` where
// possible.
std::string pretty_text(const Value& v, int precision, int width);

}  // namespace sheaf
