// Native code at sizes around every boundary (vectors, the 32 lanes and the blocks of reductions) and at strides that
// were known when it was compiled and that were not, for one thread and two: the bits of the block executor.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "codegen/block/block.h"
#include "codegen/llvm/native.h"
#include "codegen/random_kernels.h"
#include "passes/loop/expand_math.h"
#include "passes/loop/specialize.h"
#include "runtime/thread_pool.h"

namespace sheaf::codegen {
namespace {

using loop::Builder;
using loop::Combine;
using loop::Mark;
using loop::Op;
using testing::Memory;
using V = Builder::V;

constexpr int64_t kSizes[] = {0,  1,  2,   3,   4,   5,   15,   16,   17,   31,   32,
                              33, 63, 127, 129, 255, 257, 2047, 2048, 2049, 4099, 6200};
constexpr int64_t kStrides[] = {1, 0, 2, -1};
constexpr DType kTypes[] = {DType::F32, DType::F64, DType::BF16, DType::F16, DType::I32, DType::I64, DType::U32};

Memory random_memory(DType d, int64_t n, std::mt19937_64& rng) {
  Memory m{d, std::vector<std::byte>(static_cast<size_t>(std::max<int64_t>(n, 1) * size_bytes(d)))};
  scalar::visit_dtype(d, [&]<class T>(std::type_identity<T>) {
    for (int64_t i = 0; i < n; ++i) {
      double x = rng() % 64 == 0 ? (rng() % 2 ? NAN : -0.0) : std::normal_distribution<double>(0, 3)(rng);
      T v = scalar::convert<T>(is_float(d) ? x : x * 1000);
      std::memcpy(m.bytes.data() + i * static_cast<int64_t>(sizeof(T)), &v, sizeof(T));
    }
  });
  return m;
}

// Sizes: rows, columns, then the strides of the input (row, column). Output is contiguous.
struct Shape {
  int64_t rows, columns, row_stride, column_stride;
  std::vector<int64_t> sizes() const { return {rows, columns, row_stride, column_stride}; }
};

// The kernel and the number of elements it writes.
struct Subject {
  std::string name;
  loop::Kernel kernel;
  DType in, out;
  int64_t (*written)(const Shape&);
};

V element(Builder& b, DType d, V row, V column, V row_stride, V column_stride, V origin) {
  V offset = b.add(b.add(b.mul(row, row_stride), b.mul(column, column_stride)), origin);
  return b.convert(b.load(0, offset), compute_type(d));
}

template <class Body>
Subject subject(std::string name, DType in, DType out, int64_t (*written)(const Shape&), Body body) {
  Builder b(name);
  b.buffer(in, false);
  b.buffer(out, true);
  V rows = b.size(), columns = b.size(), row_stride = b.size(), column_stride = b.size(), origin = b.size();
  body(b, rows, columns,
       [&](V row, V column) { return element(b, in, row, column, row_stride, column_stride, origin); });
  return {name, b.finish(), in, out, written};
}

int64_t all(const Shape& s) { return s.rows * s.columns; }

std::vector<Subject> subjects(DType d) {
  std::vector<Subject> out;
  DType c = compute_type(d);
  out.push_back(subject("map", d, d, all, [&](Builder& b, V rows, V columns, auto at) {
    V i = b.begin_loop(rows, Mark::Parallel), j = b.begin_loop(columns, Mark::Vector);
    V x = at(i, j);
    b.store(1, b.add(b.mul(i, columns), j),
            b.convert(is_float(c) ? b.unary(Op::Tanh, x) : b.binary(Op::FloorDiv, x, b.number(c, 7)), d));
    b.end();
    b.end();
  }));
  for (Combine how : {Combine::Sum, Combine::Prod, Combine::Max, Combine::Min, Combine::ArgMax, Combine::ArgMin}) {
    bool position = how == Combine::ArgMax || how == Combine::ArgMin;
    DType to = position ? DType::I64 : d;
    std::string name = "combine " + std::to_string(static_cast<int>(how));
    out.push_back(subject(
        "row " + name, d, to, [](const Shape& s) { return s.rows; },
        [&](Builder& b, V rows, V columns, auto at) {
          V i = b.begin_loop(rows, Mark::Parallel), j = b.begin_reduce(columns, how);
          b.store(1, i, b.convert(b.end_reduce(at(i, j)), to));
          b.end();
        }));
    out.push_back(subject(
        "column " + name, d, to, [](const Shape& s) { return s.columns; },
        [&](Builder& b, V rows, V columns, auto at) {
          V j = b.begin_loop(columns, Mark::Vector), i = b.begin_reduce(rows, how);
          b.store(1, j, b.convert(b.end_reduce(at(i, j)), to));
          b.end();
        }));
  }
  if (is_float(c))
    out.push_back(subject("softmax", d, d, all, [&](Builder& b, V rows, V columns, auto at) {
      V i = b.begin_loop(rows, Mark::Parallel), j = b.begin_reduce(columns, Combine::Max);
      V max = b.end_reduce(at(i, j));
      j = b.begin_reduce(columns, Combine::Sum);
      V sum = b.end_reduce(b.unary(Op::Exp, b.sub(at(i, j), max)));
      j = b.begin_loop(columns, Mark::Vector);
      b.store(1, b.add(b.mul(i, columns), j), b.convert(b.div(b.unary(Op::Exp, b.sub(at(i, j), max)), sum), d));
      b.end();
      b.end();
    }));
  return out;
}

class Sizes : public ::testing::TestWithParam<DType> {};

TEST_P(Sizes, NativeEqualsBlock) {
  if (!native_available()) GTEST_SKIP() << "built without LLVM";
  std::mt19937_64 rng(7);
  for (const Subject& s : subjects(GetParam())) {
    passes::StrideSizes strides(s.kernel);
    auto block = BlockKernel::compile(s.kernel);
    // One version for any strides, and those for the strides below.
    std::vector<std::vector<passes::KnownSize>> known{{}};
    for (int64_t stride : kStrides)
      known.push_back(strides.known(std::vector<int64_t>{2, 2, stride, stride, 2}));
    std::vector<loop::Kernel> kernels;
    for (const auto& k : known)
      kernels.push_back(passes::expand_math(passes::specialize(s.kernel, k)));
    auto native = load_native_object(make_native_object(kernels));
    for (int64_t large : kSizes)
      for (int64_t small : {1, 3})
        for (bool tall : {false, true})
          for (int64_t stride : kStrides) {
            Shape shape{tall ? large : small, tall ? small : large, 0, 0};
            // Along the vector axis `stride`; the other one walks rows of a matrix.
            bool columns_inside = s.name.starts_with("column");
            shape.column_stride = stride;
            shape.row_stride = columns_inside || stride != 0 ? std::abs(stride) * shape.columns + 1 : 3;
            int64_t reach = std::abs(shape.row_stride) * shape.rows + std::abs(stride) * shape.columns + 2;
            std::vector<int64_t> sizes = shape.sizes();
            sizes.push_back(stride < 0 ? shape.columns : 0);
            std::vector<Memory> expected{random_memory(s.in, reach, rng), random_memory(s.out, s.written(shape), rng)};
            std::vector<Memory> before = expected;
            loop::CheckRecord expected_check;
            runtime::set_num_threads(1);
            block->run(testing::pointers(expected), sizes, expected_check);
            for (size_t v = 0; v < native.size(); ++v) {
              bool fits = true;
              for (const auto& k : known[v])
                fits &= sizes[static_cast<size_t>(k.index)] == k.value;
              if (!fits) continue;
              for (int threads : {1, 2}) {
                runtime::set_num_threads(threads);
                std::vector<Memory> actual = before;
                loop::CheckRecord check;
                check.site = native[v]->run(testing::pointers(actual), sizes, check.payload);
                ASSERT_EQ(testing::difference(expected, expected_check, actual, check), "")
                    << s.name << " " << shape.rows << "x" << shape.columns << " stride " << stride << " version " << v
                    << " threads " << threads;
              }
            }
          }
  }
}
// Rows as lanes: unrolled, in loops, and non-contiguous.
TEST_P(Sizes, ShortRowsEqualBlock) {
  if (!native_available()) GTEST_SKIP() << "built without LLVM";
  std::mt19937_64 rng(11);
  struct Rows {
    int64_t length, gap, stride;
  };
  constexpr Rows kRows[] = {{2, 0, 1},  {3, 0, 1}, {5, 0, 1},  {5, 2, 1}, {6, 0, 1},
                            {16, 0, 1}, {4, 4, 2}, {24, 0, 1}, {29, 0, 1}};
  for (const Subject& s : subjects(GetParam())) {
    if (s.name.starts_with("column") || s.name == "map") continue;
    auto block = BlockKernel::compile(s.kernel);
    auto sizes_of = [](const Rows& r, int64_t rows) {
      return std::vector<int64_t>{rows, r.length, r.length * r.stride + r.gap, r.stride, 1};
    };
    std::vector<loop::Kernel> kernels;
    for (const Rows& r : kRows)
      kernels.push_back(
          passes::expand_math(passes::specialize(s.kernel, passes::known_sizes(s.kernel, sizes_of(r, 100)))));
    auto native = load_native_object(make_native_object(kernels));
    for (size_t v = 0; v < native.size(); ++v)
      for (int64_t count : {32, 33, 47, 64, 79, 1000}) {
        const Rows& r = kRows[v];
        std::vector<int64_t> sizes = sizes_of(r, count);
        Shape shape{count, r.length, sizes[2], sizes[3]};
        std::vector<Memory> expected{random_memory(s.in, count * sizes[2] + 1, rng),
                                     random_memory(s.out, s.written(shape), rng)};
        std::vector<Memory> before = expected;
        loop::CheckRecord expected_check;
        block->run(testing::pointers(expected), sizes, expected_check);
        for (int threads : {1, 2}) {
          runtime::set_num_threads(threads);
          std::vector<Memory> actual = before;
          loop::CheckRecord check;
          check.site = native[v]->run(testing::pointers(actual), sizes, check.payload);
          ASSERT_EQ(testing::difference(expected, expected_check, actual, check), "")
              << s.name << " " << count << " rows of " << r.length << " threads " << threads;
        }
      }
  }
}
// Two axes that no single stride walks, reduced as one: rows shorter and longer than a step, and than a block.
TEST_P(Sizes, ReducedAxesEqualBlock) {
  if (!native_available()) GTEST_SKIP() << "built without LLVM";
  std::mt19937_64 rng(13);
  const DType d = GetParam();
  for (Combine how : {Combine::Sum, Combine::Max}) {
    Subject s = subject(
        "axes", d, d, [](const Shape&) { return int64_t{1}; },
        [&](Builder& b, V rows, V columns, auto at) {
          V k = b.begin_reduce(b.mul(rows, columns), how);
          V row = b.binary(Op::FloorDiv, k, columns);
          b.store(1, b.i64(0), b.convert(b.end_reduce(at(row, b.sub(k, b.mul(row, columns)))), d));
        });
    std::vector<loop::Kernel> kernels;
    const std::vector<std::vector<int64_t>> strides{{1, 0}, {0, 1}, {5000, 1}, {3, 2}};
    for (const auto& stride : strides)
      kernels.push_back(passes::expand_math(
          passes::specialize(s.kernel, passes::known_sizes(s.kernel, {{9, 9, stride[0], stride[1], 1}}))));
    auto block = BlockKernel::compile(s.kernel);
    auto native = load_native_object(make_native_object(kernels));
    for (size_t v = 0; v < native.size(); ++v)
      for (auto [rows, columns] : {std::pair<int64_t, int64_t>{1, 1},
                                   {7, 3},
                                   {40, 15},
                                   {3, 64},
                                   {5, 65},
                                   {9, 1000},
                                   {3, 4099},
                                   {0, 5},
                                   {5, 0}}) {
        std::vector<int64_t> sizes{rows, columns, strides[v][0], strides[v][1], 1};
        std::vector<Memory> expected{random_memory(d, rows * sizes[2] + columns * sizes[3] + 2, rng),
                                     random_memory(d, 1, rng)};
        std::vector<Memory> actual = expected;
        loop::CheckRecord expected_check, check;
        block->run(testing::pointers(expected), sizes, expected_check);
        check.site = native[v]->run(testing::pointers(actual), sizes, check.payload);
        ASSERT_EQ(testing::difference(expected, expected_check, actual, check), "") << rows << " by " << columns;
      }
  }
}
INSTANTIATE_TEST_SUITE_P(Types, Sizes, ::testing::ValuesIn(kTypes),
                         [](const auto& info) { return std::string(sheaf::name_of(info.param)); });

// Arrays so large that non-temporal stores may write them: whole lines, unaligned lines, odd rows, in place.
TEST(LargeArrays, AreWritten) {
  if (!native_available()) GTEST_SKIP() << "built without LLVM";
  Builder b("large");
  b.buffer(DType::F32, false);
  b.buffer(DType::F32, true);
  V rows = b.size(), columns = b.size();
  V i = b.begin_loop(rows, Mark::Parallel), j = b.begin_loop(columns, Mark::Vector);
  V at = b.add(b.mul(i, columns), j);
  b.store(1, at, b.add(b.load(0, at), b.number(DType::F32, 1)));
  b.end();
  b.end();
  const std::vector<loop::Kernel> kernels{passes::expand_math(b.finish())};
  auto native = load_native_object(make_native_object(kernels));
  constexpr int64_t kElements = 13'000'000, kLine = 16;
  std::vector<float> from(kElements + kLine), to(kElements + 3 * kLine);
  for (int64_t n = 0; n < kElements; ++n)
    from[static_cast<size_t>(n)] = static_cast<float>(n % 4099);
  float* line = to.data() + kLine - reinterpret_cast<uintptr_t>(to.data()) / sizeof(float) % kLine;
  for (auto [count, length] :
       {std::pair<int64_t, int64_t>{1, kElements}, {12'999, 1000}, {12'687, 1024}, {3, 4'300'001}})
    for (int64_t shift : {0, 1, 8})
      for (bool in_place : {false, true})
        for (int threads : {1, 2}) {
          runtime::set_num_threads(threads);
          std::copy(from.begin(), from.begin() + kElements, line + shift);
          const float* input = in_place ? line + shift : from.data();
          std::byte* buffers[] = {reinterpret_cast<std::byte*>(const_cast<float*>(input)),
                                  reinterpret_cast<std::byte*>(line + shift)};
          const int64_t sizes[] = {count, length};
          int64_t payload = 0;
          native[0]->run(buffers, sizes, payload);
          int64_t wrong = 0;
          for (int64_t n = 0; n < count * length; ++n)
            wrong += line[shift + n] != from[static_cast<size_t>(n)] + 1;
          ASSERT_EQ(wrong, 0) << count << " by " << length << " from " << shift;
        }
}
// Threads share the blocks of a reduction outside of all loops in waves: none, one, several, and more than a wave.
TEST(Reduction, SharedByThreadsKeepsItsBits) {
  if (!native_available()) GTEST_SKIP() << "built without LLVM";
  Builder b("total");
  b.buffer(DType::F32, false);
  b.buffer(DType::F32, true);
  V i = b.begin_reduce(b.size(), loop::Combine::Sum);
  b.store(1, b.i64(0), b.end_reduce(b.load(0, i)));
  loop::Kernel kernels[] = {b.finish()};
  auto block = BlockKernel::compile(kernels[0]);
  auto native = load_native_object(make_native_object(kernels));
  std::mt19937_64 rng(3);
  std::vector<float> x(2048 * 2048 + 3 * 2048 + 77);
  for (float& e : x)
    e = std::normal_distribution<float>(0, 1)(rng);
  for (size_t n : {size_t{0}, size_t{1}, size_t{31}, size_t{2047}, size_t{2048}, size_t{2049}, size_t{100001},
                   x.size() - 77, x.size()}) {
    auto total = [&](auto run) {
      float y = -1;
      std::byte* buffers[] = {reinterpret_cast<std::byte*>(x.data()), reinterpret_cast<std::byte*>(&y)};
      int64_t sizes[] = {static_cast<int64_t>(n)};
      run(buffers, sizes);
      return y;
    };
    float expected = total([&](auto& buffers, auto& sizes) {
      loop::CheckRecord check;
      block->run(buffers, sizes, check);
    });
    for (int threads : {1, 2, 8}) {
      runtime::set_num_threads(threads);
      int64_t payload = 0;
      EXPECT_EQ(total([&](auto& buffers, auto& sizes) { native[0]->run(buffers, sizes, payload); }), expected)
          << n << " elements, " << threads << " threads";
    }
  }
}

// i64 to f32 rounds once: through f64 these would first round to an even neighbour.
TEST(Conversion, OfLargeIntegersRoundsOnce) {
  if (!native_available()) GTEST_SKIP() << "built without LLVM";
  Builder b("convert");
  b.buffer(DType::I64, false);
  b.buffer(DType::F32, true);
  V j = b.begin_loop(b.size(), Mark::Vector);
  b.store(1, j, b.convert(b.load(0, j), DType::F32));
  b.end();
  loop::Kernel kernels[] = {b.finish()};
  auto native = load_native_object(make_native_object(kernels));
  std::vector<int64_t> x;
  for (int shift = 30; shift < 38; ++shift)
    for (int64_t low : {-1, 0, 1})
      x.push_back((((int64_t{1} << 24) + 1) << shift) + low);
  std::vector<float> y(x.size());
  std::byte* buffers[] = {reinterpret_cast<std::byte*>(x.data()), reinterpret_cast<std::byte*>(y.data())};
  int64_t sizes[] = {static_cast<int64_t>(x.size())}, payload = 0;
  native[0]->run(buffers, sizes, payload);
  for (size_t i = 0; i < x.size(); ++i)
    EXPECT_EQ(y[i], static_cast<float>(x[i])) << x[i];
}

// x > k ? k : x is exact for NaN and for zeros of either sign, also when it becomes one instruction.
TEST(Select, BetweenLimitsKeepsNaNAndZeros) {
  if (!native_available()) GTEST_SKIP() << "built without LLVM";
  constexpr float inf = std::numeric_limits<float>::infinity();
  std::vector<float> x{0.0f,   -0.0f,   1.0f, -1.0f, 2.0f, 3.0f,  -3.0f, inf,  -inf, NAN,
                       1e-40f, -1e-40f, 2.5f, -2.5f, 0.5f, -0.5f, NAN,   7.0f, -0.0f};
  for (float k : {2.0f, 0.0f, -0.0f, -1.0f}) {
    Builder b("limits");
    b.buffer(DType::F32, false);
    b.buffer(DType::F32, true);
    b.buffer(DType::F32, true);
    V j = b.begin_loop(b.size(), Mark::Vector);
    V e = b.load(0, j), limit = b.f32(k);
    b.store(1, j, b.select(b.gt(e, limit), limit, e));
    b.store(2, j, b.select(b.lt(e, limit), limit, e));
    b.end();
    loop::Kernel kernels[] = {b.finish()};
    auto native = load_native_object(make_native_object(kernels));
    std::vector<float> below(x.size()), above(x.size());
    std::byte* buffers[] = {reinterpret_cast<std::byte*>(x.data()), reinterpret_cast<std::byte*>(below.data()),
                            reinterpret_cast<std::byte*>(above.data())};
    int64_t sizes[] = {static_cast<int64_t>(x.size())}, payload = 0;
    native[0]->run(buffers, sizes, payload);
    auto same = [](float a, float b) {
      return (a != a && b != b) || std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b);
    };
    for (size_t i = 0; i < x.size(); ++i) {
      EXPECT_TRUE(same(below[i], x[i] > k ? k : x[i])) << x[i] << " " << k;
      EXPECT_TRUE(same(above[i], x[i] < k ? k : x[i])) << x[i] << " " << k;
    }
  }
}

}  // namespace
}  // namespace sheaf::codegen
