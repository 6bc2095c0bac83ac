// Elements of any dtype as complex numbers, for code that looks at elements on the host.
#pragma once
#include <complex>

#include "tensor/tensor.h"

namespace sheaf {

// The element at an address; of a real dtype without an imaginary part.
inline std::complex<double> load_complex(DType d, const std::byte* p) {
  return {load_double(d, p), is_complex(d) ? load_double(DType::F32, p + sizeof(float)) : 0};
}
// The element itself where it is real, |z| of a complex one: what a summary of an array is about.
inline double load_size(DType d, const std::byte* p) {
  return is_complex(d) ? std::abs(load_complex(d, p)) : load_double(d, p);
}

}  // namespace sheaf
