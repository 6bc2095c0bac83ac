// The pieces of printing shared by print.cpp, print_tensor.cpp and format.cpp; private to this folder.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "tensor/tensor.h"

namespace sheaf::printing {

// What `pp` may change. The language's own rendering is the default.
struct Style {
  int precision = 0;  // significant digits of non-integral floats; 0: the shortest that reads back
  int width = 0;      // columns to fit containers into; 0: no limit
};

// A float of dtype `d`, positional. `integral_suffix` (".0" or ".") follows integral values below 1e15.
std::string decimal_text(double v, DType d, std::string_view integral_suffix, int precision = 0);
// The element at an address as shown inside a tensor.
std::string element_text_at(DType d, const std::byte* p, int precision = 0);
std::string tensor_text(const Tensor& t, const Style& style);

}  // namespace sheaf::printing
