// Discrete Fourier transforms along an axis, of F32 or F64. A complex number is a pair of neighbours in memory.
//
// The bits: every length has one list of steps (stages.h), whatever processor and number of threads there are. A step
// takes butterflies (butterfly_code.h) and multiplies by roots of unity (roots.h) with fused multiply-adds.
#pragma once
#include "routines/routine.h"
#include "tensor/dtype.h"

namespace sheaf::routines {

enum class FftKind : uint8_t {
  Complex,   // x [outer, n, inner, 2], y alike
  FromReal,  // x [outer, n, inner], y [outer, n / 2 + 1, inner, 2]: the other half is its mirror image
  ToReal,    // x [outer, n / 2 + 1, inner, 2], y [outer, n, inner]: the inverse of that; imaginary parts of elements
             // that are their own mirror image count as 0
};

enum class FftScale : uint8_t { One, Root, Count };  // results are multiplied by 1, 1 / sqrt(n) or 1 / n
template <class T>
T scale_of(FftScale scale, int64_t n);

// Buffers: x, y, which share nothing.
template <class Int = int64_t>
struct FftArgs {
  static constexpr std::string_view kRoutine = "fft";
  DType dtype;
  FftKind kind;
  bool inverse;  // Complex: exponents of the other sign, as ToReal has
  FftScale scale;
  Int outer, n, inner;
  static void fields(auto& self, auto&& f) {
    f(self.dtype), f(self.kind), f(self.inverse), f(self.scale), f(self.outer), f(self.n), f(self.inner);
  }
};

// y[k] = scale * the sum over j of x[j] e^(-2 pi i j k / n).
void fft(const RoutineCall& call, const FftArgs<>& args);

}  // namespace sheaf::routines
