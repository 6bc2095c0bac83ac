// Element types. All of them are stored as they are; arithmetic on i8 u8 i16 u16 is carried out in i32 by the builtins,
// that on c64 with its two f32, the real part and then the imaginary one (docs/design/complex.md).
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

namespace sheaf {

enum class DType : uint8_t { F32, F64, BF16, F16, I32, I64, U32, Bool, I8, U8, I16, U16, C64 };
inline constexpr int kNumDTypes = 13;

std::string_view name_of(DType d);                       // "f32", …
std::optional<DType> dtype_from_name(std::string_view);  // without the colon
// " Valid dtypes: :f32, …" for messages.
std::string_view dtype_list();

inline constexpr int size_bytes(DType d) {
  constexpr int sizes[] = {4, 8, 2, 2, 4, 8, 4, 1, 1, 1, 2, 2, 8};
  return sizes[static_cast<int>(d)];
}
inline constexpr bool is_float(DType d) { return d <= DType::F16; }
inline constexpr bool is_int(DType d) {
  return d == DType::I32 || d == DType::I64 || d == DType::U32 || (d >= DType::I8 && d <= DType::U16);
}
inline constexpr bool is_complex(DType d) { return d == DType::C64; }
// What a derivative may flow through.
inline constexpr bool is_inexact(DType d) { return is_float(d) || is_complex(d); }
inline constexpr bool is_storage_only(DType d) { return d >= DType::I8 && d <= DType::U16; }
// The type arithmetic is carried out in: bf16 and f16 widen to f32, small ints to i32.
inline constexpr DType compute_type(DType d) {
  if (d == DType::BF16 || d == DType::F16) return DType::F32;
  if (is_storage_only(d)) return DType::I32;
  return d;
}
// The type as which kernels see elements: those of c64 are 64 bits to them.
inline constexpr DType kernel_type(DType d) { return is_complex(d) ? DType::I64 : d; }
// Promotion of two array dtypes (decisions "Promotion").
DType promote(DType a, DType b);

// Software conversions, round to nearest even; NaN stays NaN.
uint16_t f32_to_bf16(float x);
uint16_t f32_to_f16(float x);
inline float bf16_to_f32(uint16_t h) { return __builtin_bit_cast(float, static_cast<uint32_t>(h) << 16); }
float f16_to_f32(uint16_t h);

}  // namespace sheaf
