// Factorizations by threads, vectors and the GEMM's tiles against the plain routines, bit for bit, and their results
// against what they are to be.
#include "kernels/linalg/linalg.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include "kernels/random_data.h"
#include "runtime/thread_pool.h"

namespace sheaf::kernels {
namespace {

using routines::RoutineCall;
using testing::bytes;
using testing::fill;

template <class T>
constexpr DType kDType = std::is_same_v<T, double> ? DType::F64 : DType::F32;

struct WithThreads {
  explicit WithThreads(int n) : before(runtime::num_threads()) { runtime::set_num_threads(n); }
  ~WithThreads() { runtime::set_num_threads(before); }
  int before;
};

// Runs both forms of a routine on the inputs, and expects the same bits in all outputs, of these sizes; returns them.
template <class T, class Args>
std::vector<std::vector<T>> same_as_plain(void (*definition)(const RoutineCall&, const Args&),
                                          void (*fast)(const RoutineCall&, const Args&), const Args& args,
                                          std::vector<std::vector<T>> inputs, const std::vector<int64_t>& sizes) {
  auto run = [&](auto* routine) {
    std::vector<std::vector<T>> out;
    std::vector<std::byte*> buffers;
    for (auto& x : inputs)
      buffers.push_back(bytes(x));
    for (int64_t n : sizes)
      out.emplace_back(static_cast<size_t>(n), T(7));
    for (auto& x : out)
      buffers.push_back(bytes(x));
    routine({buffers}, args);
    return out;
  };
  const auto plain = run(definition);
  for (int threads : {1, 2, 5}) {
    WithThreads with(threads);
    const auto found = run(fast);
    for (size_t i = 0; i < plain.size(); ++i)
      for (size_t e = 0; e < plain[i].size(); ++e) {
        if (std::isnan(plain[i][e]) && std::isnan(found[i][e])) continue;  // which NaN it is is the machine's choice
        EXPECT_EQ(std::memcmp(&plain[i][e], &found[i][e], sizeof(T)), 0)
            << Args::kRoutine << " of " << name_of(kDType<T>) << ", " << threads << " threads, output " << i
            << ", element " << e << ": " << plain[i][e] << " and " << found[i][e];
        if (std::memcmp(&plain[i][e], &found[i][e], sizeof(T)) != 0) return plain;
      }
  }
  return plain;
}

constexpr int64_t kSizes[] = {0, 1, 2, 3, 7, 8, 9, 16, 31, 33, 64, 65, 100, 130, 257, 300};

template <class T>
std::vector<T> random_matrix(std::mt19937_64& rng, int64_t elements) {
  std::vector<T> a(static_cast<size_t>(elements));
  fill(a, rng);
  return a;
}

// a [m, k] b [k, n] in double.
template <class T>
std::vector<double> product(const std::vector<T>& a, const std::vector<T>& b, int64_t m, int64_t k, int64_t n) {
  std::vector<double> c(static_cast<size_t>(m * n));
  for (int64_t i = 0; i < m; ++i)
    for (int64_t l = 0; l < k; ++l)
      for (int64_t j = 0; j < n; ++j)
        c[i * n + j] += double(a[i * k + l]) * double(b[l * n + j]);
  return c;
}
template <class T, class U>
double distance(const std::vector<T>& a, const std::vector<U>& b) {
  double most = 0;
  for (size_t i = 0; i < a.size(); ++i)
    most = std::max(most, std::fabs(double(a[i]) - double(b[i])));
  return most;
}
template <class T>
double size_of(const std::vector<T>& a) {
  return distance(a, std::vector<T>(a.size()));
}

template <class T>
class Linalg : public ::testing::Test {
 protected:
  std::mt19937_64 rng{1};
  const double eps = std::numeric_limits<T>::epsilon();
};
using Floats = ::testing::Types<float, double>;
TYPED_TEST_SUITE(Linalg, Floats);

TYPED_TEST(Linalg, SolveEqualsPlain) {
  using T = TypeParam;
  for (int64_t n : kSizes)
    for (int64_t columns : {1, 5, n > 100 ? 200 : 40})
      for (int64_t batch : {1, 3}) {
        if (batch * n > 300) continue;
        const auto a = random_matrix<T>(this->rng, batch * n * n), b = random_matrix<T>(this->rng, batch * n * columns);
        const auto x = same_as_plain<T, routines::SolveArgs<>>(routines::solve, solve, {kDType<T>, batch, n, columns},
                                                               {a, b}, {batch * n * columns})[0];
        if (batch > 1) continue;
        const double off = distance(product(a, x, n, n, columns), b);
        EXPECT_LE(off, 20 * this->eps * double(n + 1) * size_of(a) * (size_of(x) + 1)) << n << " x " << columns;
      }
}

TYPED_TEST(Linalg, DetEqualsPlain) {
  using T = TypeParam;
  for (int64_t n : kSizes)
    same_as_plain<T, routines::DetArgs<>>(routines::det, det, {{kDType<T>, 2, n}},
                                          {random_matrix<T>(this->rng, 2 * n * n)}, {2});
}

TYPED_TEST(Linalg, CholeskyEqualsPlain) {
  using T = TypeParam;
  for (int64_t n : kSizes)
    for (int64_t batch : {1, 4}) {
      if (batch * n > 300) continue;
      auto a = random_matrix<T>(this->rng, batch * n * n);
      for (int64_t i = 0; i < batch * n; ++i)
        a[i * n + i % n] += T(4 * std::sqrt(double(n)) + 4);
      if (batch > 1 && n > 0) a[n * n] = -1;  // the second is not positive definite
      const auto l = same_as_plain<T, routines::CholeskyArgs<>>(routines::cholesky, cholesky, {{kDType<T>, batch, n}},
                                                                {a}, {batch * n * n})[0];
      if (batch > 1) continue;
      std::vector<T> lt(l.size());
      std::vector<double> symmetric(l.size());
      for (int64_t i = 0; i < n; ++i)
        for (int64_t j = 0; j < n; ++j)
          lt[i * n + j] = l[j * n + i], symmetric[i * n + j] = 0.5 * (double(a[i * n + j]) + double(a[j * n + i]));
      EXPECT_LE(distance(product(l, lt, n, n, n), symmetric), 4 * this->eps * double(n + 1) * size_of(a)) << n;
    }
}

TYPED_TEST(Linalg, SlogdetEqualsPlain) {
  using T = TypeParam;
  for (int64_t n : kSizes)
    same_as_plain<T, routines::SlogdetArgs<>>(routines::slogdet, slogdet, {{kDType<T>, 2, n}},
                                              {random_matrix<T>(this->rng, 2 * n * n)}, {2, 2});
}

TYPED_TEST(Linalg, SolveTriangularEqualsPlain) {
  using T = TypeParam;
  for (int64_t n : {0, 1, 5, 8, 9, 33, 100, 200})
    for (int flags = 0; flags < 8; ++flags) {
      const bool upper = flags & 1, transposed = flags & 2, unit = flags & 4;
      auto a = random_matrix<T>(this->rng, n * n);
      for (int64_t i = 0; i < n * n; ++i)
        a[i] = i % (n + 1) == 0 ? a[i] + T(4) : a[i] / T(n);
      const auto b = random_matrix<T>(this->rng, n * 70);
      const auto x = same_as_plain<T, routines::SolveTriangularArgs<>>(routines::solve_triangular, solve_triangular,
                                                                       {kDType<T>, 1, n, 70, upper, transposed, unit},
                                                                       {a, b}, {n * 70})[0];
      std::vector<T> t(a.size());
      for (int64_t i = 0; i < n; ++i)
        for (int64_t j = 0; j < n; ++j)
          if (i == j || (i < j) == upper) t[transposed ? j * n + i : i * n + j] = i == j && unit ? T(1) : a[i * n + j];
      EXPECT_LE(distance(product(t, x, n, n, 70), b), 20 * this->eps * double(n + 1) * (size_of(x) + 1)) << n;
    }
}

TYPED_TEST(Linalg, LuEqualsPlain) {
  using T = TypeParam;
  for (auto [m, n] : {std::pair{0, 3}, {1, 1}, {3, 5}, {5, 3}, {40, 40}, {100, 30}, {30, 100}, {150, 150}}) {
    const int64_t least = std::min(m, n);
    const auto a = random_matrix<T>(this->rng, m * n);
    auto run = [&](auto* routine, std::vector<int32_t>& order) {
      auto from = a;
      std::vector<T> f(a.size());
      std::byte* buffers[] = {bytes(from), bytes(f), bytes(order)};
      routine({buffers}, routines::LuArgs<>{{kDType<T>, 1, m, n}});
      return f;
    };
    std::vector<int32_t> order(static_cast<size_t>(m)), same(static_cast<size_t>(m));
    const auto f = run(routines::lu, order);
    EXPECT_EQ(std::memcmp(f.data(), run(lu, same).data(), f.size() * sizeof(T)), 0) << m << " x " << n;
    EXPECT_EQ(order, same);
    std::vector<T> l(static_cast<size_t>(m * least)), u(static_cast<size_t>(least * n)), rows(a.size());
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) {
        if (j < i && j < least) l[i * least + j] = f[i * n + j];
        if (j >= i && i < least) u[i * n + j] = f[i * n + j];
        rows[i * n + j] = a[order[i] * n + j];
      }
    for (int64_t i = 0; i < least; ++i)
      l[i * least + i] = 1;
    EXPECT_LE(size_of(l), 1) << m << " x " << n;
    EXPECT_LE(distance(product(l, u, m, least, n), rows), 20 * this->eps * double(least + 1) * (size_of(u) + 1));
  }
}

// The columns of q are orthonormal.
template <class T>
double off_identity(const std::vector<T>& q, int64_t m, int64_t n) {
  std::vector<T> qt(q.size()), one(static_cast<size_t>(n * n));
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j)
      qt[j * m + i] = q[i * n + j];
  for (int64_t i = 0; i < n; ++i)
    one[i * n + i] = 1;
  return distance(product(qt, q, n, m, n), one);
}

TYPED_TEST(Linalg, QrEqualsPlain) {
  using T = TypeParam;
  for (auto [m, n] : {std::pair{3, 0}, {1, 1}, {5, 3}, {17, 17}, {40, 16}, {100, 65}, {150, 150}, {300, 20}})
    for (double scale : {1.0, 1e-30, 1e30}) {
      auto a = random_matrix<T>(this->rng, m * n);
      for (T& x : a)
        x = T(x * scale);
      if (m == 17) std::fill_n(a.begin(), 17, T(0));  // without full rank
      const auto out = same_as_plain<T, routines::QrArgs<>>(routines::qr, qr, {{kDType<T>, 1, m, n}}, {a},
                                                            {int64_t(m) * n, int64_t(n) * n});
      EXPECT_LE(off_identity(out[0], m, n), 10 * this->eps * double(n + 1)) << m << " x " << n;
      EXPECT_LE(distance(product(out[0], out[1], m, n, n), a), 20 * this->eps * double(n + 1) * size_of(a));
    }
}

TYPED_TEST(Linalg, EighEqualsPlain) {
  using T = TypeParam;
  // Besides random ones, matrices whose values are equal, nearly equal, or of very different magnitudes.
  enum { Random, Zero, Ones, Identity, Graded, Pairs, Banded, Kinds };
  for (int64_t n : {0, 1, 2, 3, 48, 49, 97, 150, 290})
    for (int kind = 0; kind < (n > 200 ? Zero : Kinds); ++kind) {  // 290: a product in parts
      auto a = random_matrix<T>(this->rng, n * n);
      for (int64_t i = 0; i < n; ++i)
        for (int64_t j = 0; j < n; ++j) {
          T& x = a[i * n + j];
          const double away = std::fabs(double(i - j));
          if (kind == Zero || ((kind == Identity || kind == Pairs) && i != j)) x = 0;
          if (kind == Ones || (kind == Identity && i == j)) x = 1;
          if (kind == Graded) x = T(std::pow(0.5, double(i + j) / 4));
          if (kind == Pairs && i == j) x = T(double(i / 2) + 1e-14 * double(i));
          if (kind == Banded) x = away == 0 ? T(std::fabs(double(i) - double(n) / 2)) : away == 1 ? T(1) : T(0);
        }
      const auto out =
          same_as_plain<T, routines::EighArgs<>>(routines::eigh, eigh, {{kDType<T>, 1, n}}, {a}, {n, n * n});
      const std::vector<T>&w = out[0], &v = out[1];
      EXPECT_TRUE(std::is_sorted(w.begin(), w.end())) << n << ", " << kind;
      const auto values =
          same_as_plain<T, routines::EigvalshArgs<>>(routines::eigvalsh, eigvalsh, {{kDType<T>, 1, n}}, {a}, {n});
      EXPECT_TRUE(std::is_sorted(values[0].begin(), values[0].end())) << n << ", " << kind;
      EXPECT_LE(distance(values[0], w), 20 * this->eps * double(n + 1) * (size_of(w) + 1e-300)) << n << ", " << kind;
      EXPECT_LE(off_identity(v, n, n), 20 * this->eps * double(n + 1)) << n << ", " << kind;
      std::vector<T> scaled(v.size()), vt(v.size());
      std::vector<double> symmetric(v.size());
      for (int64_t i = 0; i < n; ++i)
        for (int64_t j = 0; j < n; ++j) {
          scaled[i * n + j] = v[i * n + j] * w[j], vt[j * n + i] = v[i * n + j];
          symmetric[i * n + j] = 0.5 * (double(a[i * n + j]) + double(a[j * n + i]));
        }
      EXPECT_LE(distance(product(scaled, vt, n, n, n), symmetric),
                20 * this->eps * double(n + 1) * (size_of(w) + 1e-300))
          << n << ", " << kind;
    }
}

TYPED_TEST(Linalg, SvdEqualsPlain) {
  using T = TypeParam;
  enum { Random, Zero, Ones, Identity, Graded, LowRank, Kinds };
  for (auto [m, n] :
       {std::pair{2, 0}, {1, 1}, {3, 2}, {13, 13}, {24, 24}, {40, 25}, {49, 49}, {97, 97}, {150, 110}, {290, 290}})
    for (int kind = 0; kind < (n > 200 ? Zero : Kinds); ++kind) {  // 290: a product in parts
      auto a = random_matrix<T>(this->rng, m * n);
      for (int64_t i = 0; i < m; ++i)
        for (int64_t j = 0; j < n; ++j) {
          T& x = a[i * n + j];
          if (kind == Zero || (kind == Identity && i != j)) x = 0;
          if (kind == Ones || (kind == Identity && i == j)) x = 1;
          if (kind == Graded) x *= T(std::pow(0.5, double(i + j) / 4));
          if (kind == LowRank && j >= 3) x = a[i * n + j % 3] * T(j);
        }
      const auto out = same_as_plain<T, routines::SvdArgs<>>(routines::svd, svd, {{kDType<T>, 1, m, n}}, {a},
                                                             {int64_t(m) * n, n, int64_t(n) * n});
      const std::vector<T>&u = out[0], &s = out[1], &v = out[2];
      EXPECT_TRUE(std::is_sorted(s.rbegin(), s.rend())) << m << " x " << n << ", " << kind;
      const auto values =
          same_as_plain<T, routines::SvdvalsArgs<>>(routines::svdvals, svdvals, {{kDType<T>, 1, m, n}}, {a}, {n});
      EXPECT_TRUE(std::is_sorted(values[0].rbegin(), values[0].rend())) << m << " x " << n << ", " << kind;
      EXPECT_LE(distance(values[0], s), 20 * this->eps * double(m + 1) * (size_of(s) + 1e-300))
          << m << " x " << n << ", " << kind;
      EXPECT_LE(off_identity(u, m, n), 20 * this->eps * double(m + 1)) << m << " x " << n << ", " << kind;
      EXPECT_LE(off_identity(v, n, n), 20 * this->eps * double(m + 1)) << m << " x " << n << ", " << kind;
      std::vector<T> us(u.size()), vt(v.size());
      for (int64_t i = 0; i < m; ++i)
        for (int64_t j = 0; j < n; ++j)
          us[i * n + j] = u[i * n + j] * s[j];
      for (int64_t i = 0; i < n; ++i)
        for (int64_t j = 0; j < n; ++j)
          vt[j * n + i] = v[i * n + j];
      EXPECT_LE(distance(product(us, vt, m, n, n), a), 20 * this->eps * double(m + 1) * (size_of(s) + 1e-300))
          << m << " x " << n << ", " << kind;
    }
}

// Without a pivot, with NaN and infinities: the same for both forms.
TYPED_TEST(Linalg, SingularMatrices) {
  using T = TypeParam;
  for (int64_t n : {1, 3, 40, 90})
    for (T odd : {T(0), std::numeric_limits<T>::quiet_NaN(), std::numeric_limits<T>::infinity()}) {
      auto a = random_matrix<T>(this->rng, n * n);
      for (int64_t i = 0; i < n; ++i)
        a[i * n + n / 2] = odd;
      const auto b = random_matrix<T>(this->rng, n * 2);
      const auto x =
          same_as_plain<T, routines::SolveArgs<>>(routines::solve, solve, {kDType<T>, 1, n, 2}, {a, b}, {n * 2})[0];
      EXPECT_FALSE(std::isfinite(x[n / 2 * 2]) && std::isnormal(x[n / 2 * 2])) << n << " with " << odd;
      const auto d = same_as_plain<T, routines::DetArgs<>>(routines::det, det, {{kDType<T>, 1, n}}, {a}, {1})[0];
      EXPECT_TRUE(odd != 0 || d[0] == 0) << n << ": " << d[0];
      same_as_plain<T, routines::CholeskyArgs<>>(routines::cholesky, cholesky, {{kDType<T>, 1, n}}, {a}, {n * n});
    }
}

}  // namespace
}  // namespace sheaf::kernels
