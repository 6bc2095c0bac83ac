// Elements as text that keeps every bit: floats in hexadecimal, NaNs with their payload. For the text forms of the IRs.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

#include "tensor/dtype.h"
#include "tensor/size.h"

namespace sheaf {

class Scanner;

// "0x1.8p+1", "-inf", "nan:0x7fc00000", "12", "true"; both parts of a complex number: "0x1.8p+1j-inf"
std::string exact_text(DType d, const std::byte* element);
// The inverse; false when the text is no element of that type.
bool parse_exact(DType d, std::string_view text, std::byte* element);

// "f32", and a size as Size::str writes it.
DType scan_dtype(Scanner& s);
Size scan_size(Scanner& s);

}  // namespace sheaf
