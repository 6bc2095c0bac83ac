// Products of 16-bit numbers for tests of matrix units: operands, and whether a result is within the bounds that
// matrix_units.h states.
#pragma once
#include <fmt/format.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "codegen/gpu/matrix_units.h"
#include "codegen/gpu/text_program.h"
#include "codegen/random_kernels.h"
#include "scalar/scalar_ops.h"

namespace sheaf::codegen::gpu::testing {

struct UnitCase {
  routines::GemmArgs<> args;
  UnitTiling tiling;
  bool aligned;
};

// The leading dimensions of the operands are `a_gap` and `b_gap` elements larger than necessary.
inline UnitCase unit_case(DType d, bool to_f32, int64_t batch, int64_t m, int64_t n, int64_t k, bool a_transposed,
                          bool b_transposed, int64_t a_gap, int64_t b_gap, const UnitTiling& t, bool aligned) {
  auto strides = [](int64_t rows, int64_t columns, bool transposed, int64_t gap) {
    const int64_t line = (transposed ? rows : columns) + gap, lines = transposed ? columns : rows;
    return transposed ? routines::MatrixStrides<int64_t>{line * lines, 1, line}
                      : routines::MatrixStrides<int64_t>{line * lines, line, 1};
  };
  return {{.dtype = d,
           .batch = batch,
           .m = m,
           .n = n,
           .k = k,
           .a = strides(m, k, a_transposed, a_gap),
           .b = strides(k, n, b_transposed, b_gap),
           .result = to_f32 ? DType::F32 : d},
          t,
          aligned};
}

inline std::string print(const UnitCase& c) {
  const auto& g = c.args;
  return fmt::format("{} to {}, {} x {} x {} x {}, strides {} {} by {} {} to {}, tile {}, {} parts{}{}",
                     sheaf::name_of(g.dtype), sheaf::name_of(g.result), g.batch, g.m, g.n, g.k, g.a.row, g.a.column,
                     g.b.row, g.b.column, line_of(g), c.tiling.rows, c.tiling.parts, c.tiling.packs ? ", packed" : "",
                     c.aligned ? "" : ", unaligned");
}

inline float unit_value(const codegen::testing::Memory& m, int64_t i) {
  float out = 0;
  scalar::visit_dtype(m.dtype, [&]<class T>(std::type_identity<T>) {
    T x;
    std::memcpy(&x, m.bytes.data() + i * static_cast<int64_t>(sizeof(T)), sizeof(T));
    out = scalar::convert<float>(x);
  });
  return out;
}

// Normal numbers for a and b, NaNs in c. The padding between lines of operands is NaN too.
inline std::vector<codegen::testing::Memory> unit_operands(const routines::GemmArgs<>& g, uint64_t seed) {
  std::mt19937_64 rng(seed);
  auto filled = [](DType d, int64_t n) {
    return codegen::testing::Memory{
        d, std::vector<std::byte>(static_cast<size_t>(std::max<int64_t>(1, n) * size_bytes(d)), std::byte{0xff})};
  };
  auto operand = [&](const routines::MatrixStrides<int64_t>& s, int64_t rows, int64_t columns) {
    codegen::testing::Memory m = filled(g.dtype, g.batch * s.batch);
    std::normal_distribution<float> normal;
    scalar::visit_dtype(g.dtype, [&]<class T>(std::type_identity<T>) {
      for (int64_t p = 0; p < g.batch; ++p)
        for (int64_t i = 0; i < rows; ++i)
          for (int64_t j = 0; j < columns; ++j) {
            const T x = scalar::convert<T>(normal(rng));
            std::memcpy(m.bytes.data() + (p * s.batch + i * s.row + j * s.column) * static_cast<int64_t>(sizeof(T)), &x,
                        sizeof(T));
          }
    });
    return m;
  };
  return {operand(g.a, g.m, g.k), operand(g.b, g.k, g.n), filled(g.result, g.batch * g.m * line_of(g))};
}

// The result of entry i of a program.
inline std::vector<std::byte> unit_result(TextProgram& program, size_t i,
                                          const std::vector<codegen::testing::Memory>& operands, uint64_t seed) {
  std::vector<codegen::testing::Memory> memory = operands;
  loop::CheckRecord check;
  program.run(i, regions(memory), {}, check, seed);
  return std::move(memory[2].bytes);
}

// Empty, or by how much the result exceeds the bounds, over all rows or some 130 of many.
inline std::string unit_error(const routines::GemmArgs<>& g, const std::vector<codegen::testing::Memory>& operands,
                              const std::vector<std::byte>& bytes) {
  const codegen::testing::Memory result{g.result, bytes};
  // By rows, so that the inner loop is a plain one.
  std::vector<double> a(static_cast<size_t>(g.k)), b(static_cast<size_t>(g.k * g.n)), row(static_cast<size_t>(g.n));
  double error = 0, size = 0;
  for (int64_t p = 0; p < g.batch; ++p) {
    for (int64_t l = 0; l < g.k; ++l)
      for (int64_t j = 0; j < g.n; ++j)
        b[static_cast<size_t>(l * g.n + j)] = unit_value(operands[1], p * g.b.batch + l * g.b.row + j * g.b.column);
    const int64_t apart = 1 + g.m / 130;
    for (int64_t i = (g.m - 1) % apart; i < g.m; i += apart) {
      std::fill(row.begin(), row.end(), 0);
      for (int64_t l = 0; l < g.k; ++l) {
        const double x = unit_value(operands[0], p * g.a.batch + i * g.a.row + l * g.a.column);
        for (int64_t j = 0; j < g.n; ++j)
          row[static_cast<size_t>(j)] += x * b[static_cast<size_t>(l * g.n + j)];
      }
      for (int64_t j = 0; j < g.n; ++j) {
        const double y = unit_value(result, (p * g.m + i) * line_of(g) + j), exact = row[static_cast<size_t>(j)];
        error += (y - exact) * (y - exact);
        size += exact * exact;
      }
    }
  }
  const double relative = size > 0 ? std::sqrt(error / size) : error;
  const double bound = g.result == DType::F32 ? 2e-6 * std::sqrt(static_cast<double>(g.k)) : 4e-3;
  return relative <= bound ? "" : fmt::format("an error of {} of the result, above {}", relative, bound);
}

}  // namespace sheaf::codegen::gpu::testing
