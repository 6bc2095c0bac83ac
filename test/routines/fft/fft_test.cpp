// The definition of Fourier transforms against the sum that it computes.
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <cstring>
#include <random>
#include <vector>

#include "routines/fft/args.h"
#include "routines/fft/roots.h"
#include "routines/fft/stages.h"

namespace sheaf::routines {
namespace {

using Wide = long double;
using WideComplex = std::complex<Wide>;

WideComplex root(int64_t k, int64_t n) {
  return std::polar<Wide>(1, -2 * std::acos(Wide(-1)) * static_cast<Wide>(k) / static_cast<Wide>(n));
}

TEST(Fft, RootsAreRounded) {
  for (int64_t n : {1, 2, 3, 5, 8, 12, 97, 1000, 4096, 65537})
    for (int64_t k = 0; k < n; k += 1 + n / 500) {
      const auto wide = root(k, n);
      const auto single = root_of_unity<float>(k, n);
      const auto twice = root_of_unity<double>(k, n);
      EXPECT_NEAR(static_cast<double>(single.re - wide.real()), 0, 0x1p-25 + 1e-15) << k << " of " << n;
      EXPECT_NEAR(static_cast<double>(single.im - wide.imag()), 0, 0x1p-25 + 1e-15) << k << " of " << n;
      // half a unit, and the error of the wide angle
      EXPECT_NEAR(static_cast<double>(twice.re - wide.real()), 0, 0x1p-54 + 0x1p-61) << k << " of " << n;
      EXPECT_NEAR(static_cast<double>(twice.im - wide.imag()), 0, 0x1p-54 + 0x1p-61) << k << " of " << n;
    }
  // All of them at once are the same.
  for (int64_t n : {1, 2, 4, 6, 8, 12, 20, 1000, 1024}) {
    const auto all = roots_of_unity<double>(n);
    for (int64_t k = 0; k < n; ++k) {
      const auto one = root_of_unity<double>(k, n);
      EXPECT_EQ(std::memcmp(&all[static_cast<size_t>(k)], &one, sizeof(one)), 0) << k << " of " << n;
    }
  }
  // On the axes they are exact.
  for (auto [k, re, im] : {std::array{0, 1, 0}, {1, 0, -1}, {2, -1, 0}, {3, 0, 1}}) {
    const auto z = root_of_unity<double>(k, 4);
    EXPECT_EQ(z.re, re);
    EXPECT_EQ(z.im, im);
  }
}

TEST(Fft, StagesHaveTheProduct) {
  for (int64_t n = 1; n < 3000; ++n) {
    const Stages stages = stages_of(n);
    int64_t product = 1, left = 1;
    for (size_t i = 0; i < stages.radices.size(); ++i) {
      product *= stages.radices[i];
      if (i + 1 == stages.left) left = product;
    }
    EXPECT_EQ(product, stages.smooth ? n : 1);
    EXPECT_EQ(left, stages.left_product);
  }
}

// The root mean square of the error over that of the result, in units of rounding.
template <class T>
double error_of(const std::vector<T>& y, const std::vector<Wide>& expected) {
  Wide error = 0, size = 0;
  for (size_t i = 0; i < y.size(); ++i) {
    error += (y[i] - expected[i]) * (y[i] - expected[i]);
    size += expected[i] * expected[i];
  }
  return static_cast<double>(std::sqrt(error / size) / std::numeric_limits<T>::epsilon());
}

template <class T>
std::vector<T> run(const FftArgs<>& args, std::vector<T> x, size_t results) {
  std::vector<T> y(results);
  std::byte* buffers[] = {reinterpret_cast<std::byte*>(x.data()), reinterpret_cast<std::byte*>(y.data())};
  fft({buffers}, args);
  return y;
}

template <class T>
void expect_sums(DType dtype, int64_t n, double bound, std::mt19937_64& rng) {
  std::normal_distribution<double> normal;
  const size_t count = static_cast<size_t>(n), half = count / 2 + 1;
  std::vector<WideComplex> roots;
  for (int64_t k = 0; k < n; ++k)
    roots.push_back(root(k, n));
  // Sums of z by powers of the root, or of its inverse.
  auto sums = [&](const std::vector<WideComplex>& z, bool inverse, size_t results) {
    std::vector<Wide> out;
    for (size_t k = 0; k < results; ++k) {
      WideComplex sum = 0;
      for (size_t j = 0; j < count; ++j)
        sum += z[j] * (inverse ? std::conj(roots[j * k % count]) : roots[j * k % count]);
      out.push_back(sum.real()), out.push_back(sum.imag());
    }
    return out;
  };
  std::vector<T> pairs(2 * count), reals(count);
  for (T& e : pairs)
    e = static_cast<T>(normal(rng));
  for (T& e : reals)
    e = static_cast<T>(normal(rng));
  std::vector<WideComplex> z, z_reals(reals.begin(), reals.end());
  for (size_t j = 0; j < count; ++j)
    z.emplace_back(pairs[2 * j], pairs[2 * j + 1]);
  for (bool inverse : {false, true})
    EXPECT_LT(error_of(run<T>({dtype, FftKind::Complex, inverse, FftScale::One, 1, n, 1}, pairs, 2 * count),
                       sums(z, inverse, count)),
              bound)
        << n;
  EXPECT_LT(error_of(run<T>({dtype, FftKind::FromReal, false, FftScale::One, 1, n, 1}, reals, 2 * half),
                     sums(z_reals, false, half)),
            bound)
      << n;
  const std::vector<T> first(pairs.begin(), pairs.begin() + static_cast<int64_t>(2 * half));
  std::vector<WideComplex> mirrored(count);
  for (size_t k = 0; k < half; ++k) {
    mirrored[k] = z[k];
    if (k == 0 || 2 * k == count)
      mirrored[k] = mirrored[k].real();
    else
      mirrored[count - k] = std::conj(z[k]);
  }
  const auto both = sums(mirrored, true, count);
  std::vector<Wide> real_parts;
  for (size_t j = 0; j < count; ++j)
    real_parts.push_back(both[2 * j]);
  EXPECT_LT(error_of(run<T>({dtype, FftKind::ToReal, false, FftScale::One, 1, n, 1}, first, count), real_parts), bound)
      << n;
}

TEST(Fft, EqualsTheSum) {
  std::mt19937_64 rng(1);
  for (int64_t n : {1,  2,  3,  4,  5,  6,   7,   8,   9,   10,  11,  12,  13,  14,   15,   16,   17,
                    22, 26, 30, 64, 97, 100, 121, 169, 210, 256, 343, 509, 512, 1000, 1018, 1024, 1155}) {
    const double bound = 0.6 * std::sqrt(std::log2(static_cast<double>(n)) + 1) * (stages_of(n).smooth ? 1 : 3);
    expect_sums<float>(DType::F32, n, bound, rng);
    expect_sums<double>(DType::F64, n, bound, rng);
  }
}

}  // namespace
}  // namespace sheaf::routines
