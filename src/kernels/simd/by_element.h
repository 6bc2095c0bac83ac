// A table of kernels for each element type in memory that is computed in T: for float also the narrow floats.
#pragma once
#include <type_traits>

#include "scalar/scalar_ops.h"

namespace sheaf::kernels {

using scalar::BFloat16;
using scalar::Float16;

template <class T, template <class, class> class Table>
struct ByElement {
  Table<T, T> same;
  const Table<T, T>& of(const T*) const { return same; }
};
template <template <class, class> class Table>
struct ByElement<float, Table> {
  Table<float, float> same;
  Table<float, BFloat16> bf16;
  Table<float, Float16> f16;
  const Table<float, float>& of(const float*) const { return same; }
  const Table<float, BFloat16>& of(const BFloat16*) const { return bf16; }
  const Table<float, Float16>& of(const Float16*) const { return f16; }
};

// Builds the tables: table.operator()<S>() returns the one for S.
template <class T, template <class, class> class Table, class F>
constexpr ByElement<T, Table> by_element(F table) {
  if constexpr (std::is_same_v<T, float>)
    return {table.template operator()<float>(), table.template operator()<BFloat16>(),
            table.template operator()<Float16>()};
  else
    return {table.template operator()<T>()};
}

}  // namespace sheaf::kernels
