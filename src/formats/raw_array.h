// Arrays as other programs store them: a run of elements, their NumPy type, byte order and axis order.
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
  bool is_u64 = false;  // read into i64, so that values above its range are errors
};

// "<f4", ">i8", "|b1", "V2" (bfloat16), also without the order character; nothing for types we do not hold.
std::optional<RawType> parse_numpy_type(std::string_view text);
// The type as NumPy writes it into files: "<f4", "|b1", "|V2" for bf16.
std::string numpy_type_text(DType d);

// The product of sizes that a file claims. Throws UserError for sizes no array can have, even if one is 0.
int64_t checked_file_elems(const Dims& sizes);
// Throws UserError unless `bytes` holds exactly the elements of `sizes`. `fortran`: the first axis runs fastest.
// `whole`, when given, is memory that holds `bytes` and may be shared: the tensor is then a view of it where no element
// has to be changed.
Tensor tensor_from_raw(const RawType& type, const Dims& sizes, std::string_view bytes, bool fortran = false,
                       const Ref<Buffer>& whole = {});
// The elements in row-major order.
std::string_view raw_bytes(const Tensor& contiguous_tensor);

}  // namespace sheaf::formats
