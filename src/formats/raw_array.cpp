#include "formats/raw_array.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace sheaf::formats {
namespace {

static_assert(std::endian::native == std::endian::little, "files are little-endian and copied as they are");

struct KnownType {
  std::string_view code;
  DType dtype;
};
constexpr KnownType kTypes[] = {{"f4", DType::F32}, {"f8", DType::F64}, {"V2", DType::BF16}, {"f2", DType::F16},
                                {"i4", DType::I32}, {"i8", DType::I64}, {"u4", DType::U32},  {"b1", DType::Bool},
                                {"i1", DType::I8},  {"u1", DType::U8},  {"i2", DType::I16},  {"u2", DType::U16},
                                {"c8", DType::C64}};

void swap_elements(std::byte* p, int64_t n, int width) {
  for (int64_t i = 0; i < n; ++i, p += width)
    std::reverse(p, p + width);
}

}  // namespace

std::optional<RawType> parse_numpy_type(std::string_view text) {
  RawType type;
  if (!text.empty() && std::string_view("<>|=").find(text[0]) != std::string_view::npos) {
    type.big_endian = text[0] == '>';
    text.remove_prefix(1);
  }
  if (text == "u8") {
    type.dtype = DType::I64;
    type.is_u64 = true;
    type.element_bytes = 8;
    return type;
  }
  for (const KnownType& k : kTypes) {
    if (text != k.code) continue;
    type.dtype = k.dtype;
    type.element_bytes = size_bytes(k.dtype);
    return type;
  }
  return std::nullopt;
}

std::string numpy_type_text(DType d) {
  for (const KnownType& k : kTypes)
    if (k.dtype == d) return (size_bytes(d) == 1 || d == DType::BF16 ? "|" : "<") + std::string(k.code);
  return "";
}

int64_t checked_file_elems(const Dims& sizes) {
  // Strides are products of sizes whether or not another axis is empty, so an empty axis must not excuse the rest.
  Dims without_zeros = sizes;
  for (int64_t& d : without_zeros) {
    if (d < 0) throw runtime_error("an array has the negative size " + std::to_string(d));
    d = std::max<int64_t>(d, 1);
  }
  checked_num_elems(without_zeros);
  return checked_num_elems(sizes);
}

namespace {

// A buffer of its own, so that a device gets these bytes and not all of a file.
Ref<Buffer> part_of(const Ref<Buffer>& whole, std::string_view bytes) {
  const size_t at = static_cast<size_t>(bytes.data() - reinterpret_cast<const char*>(whole->host()));
  return make_ref<Buffer>(whole->host_mut() + at, bytes.size(), [whole] {}, whole->origin());
}

}  // namespace

Tensor tensor_from_raw(const RawType& type, const Dims& sizes, std::string_view bytes, bool fortran,
                       const Ref<Buffer>& whole) {
  int64_t n = checked_file_elems(sizes);
  if (static_cast<uint64_t>(n) * type.element_bytes != bytes.size())
    throw runtime_error(fmt::format("an array of shape {} needs {} bytes, its data has {}", shape_text(sizes),
                                    n * type.element_bytes, bytes.size()));
  Dims stored = sizes;
  if (fortran) std::reverse(stored.begin(), stored.end());
  bool as_is = !type.big_endian && type.dtype != DType::Bool && !type.is_u64 && !fortran;
  if (whole && as_is && n > 0 && reinterpret_cast<uintptr_t>(bytes.data()) % type.element_bytes == 0)
    return {type.dtype, stored, contiguous_strides(stored), 0, part_of(whole, bytes)};
  Tensor t = empty_tensor(type.dtype, stored);
  if (n > 0) std::memcpy(t.bytes_mut(), bytes.data(), bytes.size());
  const int parts = is_complex(type.dtype) ? 2 : 1;
  if (type.big_endian) swap_elements(t.bytes_mut(), n * parts, type.element_bytes / parts);
  if (type.dtype == DType::Bool) {
    // Any non-zero byte is true in a file; in memory only 1 is.
    auto* p = t.data_mut<uint8_t>();
    for (int64_t i = 0; i < n; ++i)
      p[i] = p[i] != 0;
  }
  if (type.is_u64 && std::any_of(t.data<int64_t>(), t.data<int64_t>() + n, [](int64_t v) { return v < 0; }))
    throw runtime_error("an unsigned 64-bit element does not fit i64");
  if (!fortran) return t;
  std::reverse(t.sizes.begin(), t.sizes.end());
  std::reverse(t.strides.begin(), t.strides.end());
  return contiguous(t);
}

std::string_view raw_bytes(const Tensor& t) {
  return {reinterpret_cast<const char*>(t.bytes()), static_cast<size_t>(t.num_elems()) * size_bytes(t.dtype)};
}

}  // namespace sheaf::formats
