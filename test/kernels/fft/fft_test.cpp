// Fourier transforms in vectors and by threads against the definition, bit for bit.
#include "kernels/fft/fft.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "runtime/thread_pool.h"

namespace sheaf::kernels {
namespace {

using routines::FftArgs;
using routines::FftKind;
using routines::FftScale;

template <class T>
void expect_same(const FftArgs<>& a, std::mt19937_64& rng) {
  const int64_t half = a.n / 2 + 1, columns = a.outer * a.inner;
  const size_t in = static_cast<size_t>(columns * (a.kind == FftKind::FromReal ? a.n
                                                   : a.kind == FftKind::ToReal ? 2 * half
                                                                               : 2 * a.n)),
               out = static_cast<size_t>(columns * (a.kind == FftKind::FromReal ? 2 * half
                                                    : a.kind == FftKind::ToReal ? a.n
                                                                                : 2 * a.n));
  std::vector<T> x(in), plain(out, T(7)), fast(out, T(7));
  std::normal_distribution<double> normal;
  for (T& e : x)
    e = static_cast<T>(normal(rng));
  const std::vector<T> before = x;
  auto run = [&](auto* routine, std::vector<T>& y) {
    std::byte* buffers[] = {reinterpret_cast<std::byte*>(x.data()), reinterpret_cast<std::byte*>(y.data())};
    routine(routines::RoutineCall{buffers}, a);
  };
  run(routines::fft, plain);
  for (int threads : {1, 3}) {
    runtime::set_num_threads(threads);
    std::fill(fast.begin(), fast.end(), T(7));
    run(fft, fast);
    EXPECT_TRUE(out == 0 || std::memcmp(plain.data(), fast.data(), out * sizeof(T)) == 0)
        << "kind " << static_cast<int>(a.kind) << ", inverse " << a.inverse << ", [" << a.outer << ", " << a.n << ", "
        << a.inner << "] of " << name_of(a.dtype) << ", " << threads << " threads";
    EXPECT_EQ(x, before);
  }
}

void expect_same(FftKind kind, bool inverse, FftScale scale, int64_t outer, int64_t n, int64_t inner,
                 std::mt19937_64& rng) {
  expect_same<float>({DType::F32, kind, inverse, scale, outer, n, inner}, rng);
  expect_same<double>({DType::F64, kind, inverse, scale, outer, n, inner}, rng);
}

// All kinds of transforms of a length.
void expect_same(int64_t outer, int64_t n, int64_t inner, std::mt19937_64& rng) {
  expect_same(FftKind::Complex, false, FftScale::One, outer, n, inner, rng);
  expect_same(FftKind::Complex, true, FftScale::Count, outer, n, inner, rng);
  expect_same(FftKind::FromReal, false, FftScale::Root, outer, n, inner, rng);
  expect_same(FftKind::ToReal, false, FftScale::Count, outer, n, inner, rng);
}

class FftTest : public ::testing::Test {
 protected:
  ~FftTest() override { runtime::set_num_threads(threads_); }
  std::mt19937_64 rng_{1};

 private:
  int threads_ = runtime::num_threads();
};

TEST_F(FftTest, EveryShortLengthEqualsPlain) {
  for (int64_t n = 1; n <= 130; ++n)
    for (auto [outer, inner] : {std::pair<int64_t, int64_t>{1, 1}, {19, 1}, {2, 3}, {1, 37}})
      expect_same(outer, n, inner, rng_);
}

TEST_F(FftTest, NothingToDo) {
  for (auto [outer, n, inner] : {std::array<int64_t, 3>{0, 4, 2}, {2, 4, 0}})
    expect_same(outer, n, inner, rng_);
}

// Every radix before and after the middle of a row, powers of two, lengths whose half is not smooth.
TEST_F(FftTest, LongerLengthsEqualPlain) {
  for (int64_t n : {256, 257, 300, 512, 640, 1000, 1001, 1024, 1155, 1331, 2028, 2048, 2197, 2401, 3125, 4096, 4099})
    for (auto [outer, inner] : {std::pair<int64_t, int64_t>{1, 1}, {3, 1}, {1, 2}, {1, 17}})
      expect_same(outer, n, inner, rng_);
}

// Rows in blocks, which threads share.
TEST_F(FftTest, LongRowsEqualPlain) {
  for (int64_t n : {20011, 32768, 46305, 65536, 150000, 262144})
    expect_same(1, n, 1, rng_);
}

}  // namespace
}  // namespace sheaf::kernels
