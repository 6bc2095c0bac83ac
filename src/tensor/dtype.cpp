#include "tensor/dtype.h"

#include <bit>

namespace sheaf {

std::string_view name_of(DType d) {
  constexpr std::string_view names[] = {"f32",  "f64", "bf16", "f16", "i32", "i64", "u32",
                                        "bool", "i8",  "u8",   "i16", "u16", "c64"};
  return names[static_cast<int>(d)];
}

std::optional<DType> dtype_from_name(std::string_view s) {
  for (int i = 0; i < kNumDTypes; ++i)
    if (name_of(static_cast<DType>(i)) == s) return static_cast<DType>(i);
  return std::nullopt;
}

std::string_view dtype_list() { return ":f32, :f64, :bf16, :f16, :i32, :i64, :u32, :bool, :i8, :u8, :i16, :u16, :c64"; }

DType promote(DType a, DType b) {
  a = is_storage_only(a) ? DType::I32 : a;
  b = is_storage_only(b) ? DType::I32 : b;
  if (a == b) return a;
  if (is_complex(a) || is_complex(b)) return DType::C64;  // f64 too: there is no wider one
  if (a == DType::Bool) return b;
  if (b == DType::Bool) return a;
  if (is_float(a) && is_float(b)) {
    if (a == DType::F64 || b == DType::F64) return DType::F64;
    return DType::F32;  // f32 with anything narrower, and bf16 with f16
  }
  if (is_float(a)) return a;
  if (is_float(b)) return b;
  return DType::I64;  // two different int types among i32, i64, u32
}

uint16_t f32_to_bf16(float x) {
  uint32_t u = std::bit_cast<uint32_t>(x);
  if ((u & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>((u >> 16) | 0x40);
  u += 0x7fffu + ((u >> 16) & 1);
  return static_cast<uint16_t>(u >> 16);
}

uint16_t f32_to_f16(float x) {
  uint32_t u = std::bit_cast<uint32_t>(x);
  uint32_t sign = (u >> 16) & 0x8000u;
  u &= 0x7fffffffu;
  if (u > 0x7f800000u) return static_cast<uint16_t>(sign | 0x7e00u);
  if (u >= 0x477ff000u) return static_cast<uint16_t>(sign | 0x7c00u);  // rounds to infinity, or is it
  if (u < 0x38800000u) {
    // Denormal in f16: let the FPU round by adding 0.5, whose ulp is f16's smallest denormal.
    float f = std::bit_cast<float>(u) + 0.5f;
    return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(f) - 0x3f000000u));
  }
  u += 0xfffu + ((u >> 13) & 1) - (112u << 23);
  return static_cast<uint16_t>(sign | (u >> 13));
}

float f16_to_f32(uint16_t h) {
  uint32_t sign = static_cast<uint32_t>(h & 0x8000u) << 16;
  uint32_t rest = h & 0x7fffu;
  if (rest >= 0x7c00u) return std::bit_cast<float>(sign | 0x7f800000u | ((rest & 0x3ffu) << 13));
  if (rest < 0x400u) {
    float f = static_cast<float>(rest) * 0x1p-24f;
    return std::bit_cast<float>(std::bit_cast<uint32_t>(f) | sign);
  }
  return std::bit_cast<float>(sign | ((rest << 13) + (112u << 23)));
}

}  // namespace sheaf
