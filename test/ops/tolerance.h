// The one table of tolerances: by dtype, for a single operation and for a sum of n terms.
#pragma once
#include <cmath>

#include "tensor/dtype.h"

namespace sheaf::ops {

// Half a unit in the last place for what rounds once; elementary functions in f32 and f64 are within two units.
inline double relative_tolerance(DType d) {
  switch (d) {
    case DType::F64: return 4 * 0x1p-53;
    case DType::F32: return 4 * 0x1p-24;
    case DType::F16: return 1.01 * 0x1p-11;
    case DType::BF16: return 1.01 * 0x1p-8;
    default: return 0;
  }
}
// Numbers below this have fewer digits.
inline double absolute_tolerance(DType d) {
  switch (d) {
    case DType::F64: return 0x1p-1072;
    case DType::F32: return 0x1p-147;
    case DType::F16: return 0x1p-24;
    case DType::BF16: return 0x1p-133;
    default: return 0;
  }
}
inline double tolerance(DType d, double magnitude, double terms = 1) {
  return absolute_tolerance(d) + relative_tolerance(d) * std::fabs(magnitude) * std::sqrt(terms);
}
inline double largest(DType d) {
  switch (d) {
    case DType::F16: return 65504;
    case DType::F32:
    case DType::BF16: return 0x1.fep127;
    default: return 0x1.fffffffffffffp1023;
  }
}

}  // namespace sheaf::ops
