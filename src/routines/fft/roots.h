// Roots of unity, the same on every machine: computed in twice the precision of their type and rounded once. Any thread
// may call this.
#pragma once
#include <cstdint>
#include <vector>

namespace sheaf::routines {

template <class T>
struct Complex {
  T re, im;
};

// e^(-2 pi i k / n), for 0 <= k < n.
template <class T>
Complex<T> root_of_unity(int64_t k, int64_t n);

// All of them, by k.
template <class T>
std::vector<Complex<T>> roots_of_unity(int64_t n);

}  // namespace sheaf::routines
