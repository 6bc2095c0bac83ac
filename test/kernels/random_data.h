// Random data for tests of kernels.
#pragma once
#include <cstddef>
#include <random>
#include <type_traits>
#include <vector>

#include "scalar/scalar_ops.h"

namespace sheaf::kernels::testing {

template <class T>
std::byte* bytes(std::vector<T>& v) {
  return reinterpret_cast<std::byte*>(v.data());
}

template <class T>
void fill(std::vector<T>& v, std::mt19937_64& rng) {
  for (T& x : v) {
    double e = std::normal_distribution<double>(0, 1)(rng);
    if constexpr (std::is_integral_v<T>)
      x = static_cast<T>(rng());
    else
      x = scalar::convert<T>(rng() % 50 == 0 ? (e > 0 ? 1e-30 : -1e-30) : e);
  }
}

}  // namespace sheaf::kernels::testing
