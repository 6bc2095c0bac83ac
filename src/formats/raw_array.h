// Arrays in other programs' layouts: a contiguous range of elements with their NumPy type, byte order and axis order.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "tensor/tensor.h"

namespace sheaf::formats {

struct RawType {
  DType dtype = DType::F32;
  int element_bytes = 4;
  bool big_endian = false;
  bool is_u64 = false;  // read into i64; larger values are errors
};

// "<f4", ">i8", "|b1", "V2" (bfloat16), also without the order character; nothing for unsupported types.
std::optional<RawType> parse_numpy_type(std::string_view text);
// NumPy's name of the type in files: "<f4", "|b1", "|V2" for bf16.
std::string numpy_type_text(DType d);

// The product of the sizes stated by a file. Throws UserError for sizes that no array can have, even if one is 0.
int64_t checked_file_elems(const Dims& sizes);
// Throws UserError unless `bytes` holds exactly the elements of `sizes`. `fortran`: column-major order. `whole`, if
// given, is memory that contains `bytes` and may be shared: the tensor is then a view of it unless elements must be
// converted.
Tensor tensor_from_raw(const RawType& type, const Dims& sizes, std::string_view bytes, bool fortran = false,
                       const Ref<Buffer>& whole = {});
// The elements in row-major order.
std::string_view raw_bytes(const Tensor& contiguous_tensor);

}  // namespace sheaf::formats
