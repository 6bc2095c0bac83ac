// Values as text (language specification §10).
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "value/value.h"

namespace sheaf {

// "int", "float", "tensor", …: the type names in messages.
std::string_view type_name(const Value& v);
// The text that print, str, the REPL and a program's result show.
std::string render(const Value& v);
// The short text in messages: "txt" in quotes, :kw, nil, list(3), dict(2), f32[2x3], function; scalars as printed.
std::string short_text(const Value& v);
// A quoted string for traces and stacks: on one line, cut if it is long.
std::string brief_string(const std::string& s);
// "f32[2x3]", "f32[]" for rank 0.
std::string tensor_type_text(const Tensor& t);
// A float as printed: the shortest digits that read back to the same value of its type, never an exponent; "3.0".
std::string float_text(float x);
// A float in messages: as printed, but with an exponent in place of many zeros; the reader accepts both.
std::string brief_number(float x);
// One element as printed inside a tensor: "3.", "0.5", "7", "true".
std::string element_text(const Tensor& t, int64_t flat);

// Format strings: Python's mini-language. Consumes `values` from left to right.
std::string format_text(std::string_view format, const std::vector<Value>& values);
// True if `print` treats the text as a format: it contains "{}" or "{:".
bool looks_like_format(std::string_view text);
// The number of values that a format consumes.
size_t count_fields(std::string_view format);

// `pp`: like render, with `precision` significant digits for floats, and line breaks to fit lines into `width` where
// possible.
std::string pretty_text(const Value& v, int precision, int width);

}  // namespace sheaf
