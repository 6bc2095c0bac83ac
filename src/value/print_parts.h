// Printing helpers shared by print.cpp, print_tensor.cpp and format.cpp; private to this folder.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "tensor/tensor.h"

namespace sheaf::printing {

// The options of `pp`. The defaults give the language's own rendering.
struct Style {
  int precision = 0;  // significant digits of non-integral floats; 0: the shortest that reads back
  int width = 0;      // columns available for containers; 0: no limit
};

// A float of dtype `d` without exponent. `integral_suffix` (".0" or ".") follows integral values below 1e15.
std::string decimal_text(double v, DType d, std::string_view integral_suffix, int precision = 0);
// The element at `p` as shown inside a tensor.
std::string element_text_at(DType d, const std::byte* p, int precision = 0);
std::string tensor_text(const Tensor& t, const Style& style);

}  // namespace sheaf::printing
