#include "routines/fft/stages.h"

#include <algorithm>
#include <map>

#include "routines/fft/plain.h"

namespace sheaf::routines {
namespace {

// Eights, and fours where they are left over.
void append_twos(int twos, std::vector<int>& radices) {
  const int fours = twos % 3 == 2 ? 1 : twos % 3 == 1 && twos > 1 ? 2 : 0, eights = (twos - 2 * fours) / 3;
  radices.insert(radices.end(), static_cast<size_t>(eights), 8);
  radices.insert(radices.end(), static_cast<size_t>(fours), 4);
  if (twos == 1) radices.push_back(2);
}

// Of a power of two that is to be divided near the root, and would not be by eights: the short ones, whose parts must
// not be shorter than a vector, and those beyond the cache.
bool is_halved(int twos) { return twos == 8 || twos == 9 || twos >= 20; }

// The radices, falling, with those first whose product is nearest to sqrt(n); behind them rising, since the last step
// multiplies by no roots and is best a large one.
void divide(int64_t n, Stages& stages) {
  std::map<int64_t, std::vector<bool>> products = {{1, std::vector<bool>(stages.radices.size())}};
  for (size_t i = 0; i < stages.radices.size(); ++i)
    for (auto [product, taken] : std::map(products)) {
      taken[i] = true;
      products.try_emplace(product * stages.radices[i], std::move(taken));
    }
  int64_t best = 1;
  for (const auto& [product, taken] : products)
    if (std::min(product, n / product) > std::min(best, n / best)) best = product;
  std::vector<int> left, right;
  for (size_t i = 0; i < stages.radices.size(); ++i)
    (products[best][i] ? left : right).push_back(stages.radices[i]);
  stages.left = left.size(), stages.left_product = best;
  std::reverse(right.begin(), right.end());
  left.insert(left.end(), right.begin(), right.end());
  stages.radices = std::move(left);
}

// 4, 5, 6 or 7 times a power of two.
int64_t convolution_length(int64_t n) {
  int64_t unit = 1;
  while (8 * unit < n)
    unit *= 2;
  for (int64_t times = 4;; ++times)
    if (times * unit >= n) return times * unit;
}

}  // namespace

Stages stages_of(int64_t n) {
  Stages out;
  int twos = 0;
  int64_t rest = n;
  for (; rest % 2 == 0; rest /= 2)
    ++twos;
  for (int prime : {13, 11, 7, 5, 3})
    for (; rest % prime == 0; rest /= prime)
      out.radices.push_back(prime);
  out.smooth = rest == 1;
  if (!out.smooth) return {};
  if (out.radices.empty() && is_halved(twos)) {
    append_twos(twos / 2, out.radices);
    twos -= twos / 2;
  }
  append_twos(twos, out.radices);
  std::sort(out.radices.rbegin(), out.radices.rend());
  divide(n, out);
  return out;
}

template <class T>
Chirp<T> chirp_of(int64_t n) {
  Chirp<T> out;
  out.length = convolution_length(2 * n - 1);
  std::vector<Complex<double>> filter(static_cast<size_t>(out.length), {0, 0});
  int64_t square = 0;  // j^2 modulo 2 n
  for (int64_t j = 0; j < n; ++j) {
    const Complex<double> c = root_of_unity<double>(square, 2 * n);
    if constexpr (sizeof(T) == 8)
      out.factors.push_back(c);
    else
      out.factors.push_back(root_of_unity<T>(square, 2 * n));
    filter[static_cast<size_t>(j)] = {c.re, -c.im};
    if (j > 0) filter[static_cast<size_t>(out.length - j)] = {c.re, -c.im};
    square = (square + 2 * j + 1) % (2 * n);
  }
  plain::transform(filter);
  for (const Complex<double>& f : filter)
    out.filter.push_back({static_cast<T>(f.re / static_cast<double>(out.length)),
                          static_cast<T>(f.im / static_cast<double>(out.length))});
  return out;
}

template Chirp<float> chirp_of(int64_t);
template Chirp<double> chirp_of(int64_t);

}  // namespace sheaf::routines
