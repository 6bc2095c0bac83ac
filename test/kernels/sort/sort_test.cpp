// Sorting, searching and running sums by threads against the plain routines, bit for bit.
#include "kernels/sort/sort.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <random>

#include "runtime/thread_pool.h"
#include "scalar/scalar_ops.h"

namespace sheaf::kernels {
namespace {

constexpr int kNumRealDTypes = static_cast<int>(DType::C64);

// Few different values, so that many are equal; among them both zeros, infinities and NaN.
template <class T>
std::vector<T> random_values(std::mt19937_64& rng, int64_t n) {
  std::vector<T> x(n);
  bool few = rng() % 2;
  for (T& e : x) {
    double v = few ? static_cast<double>(rng() % 7) - 3 : std::normal_distribution<double>(0, 100)(rng);
    if constexpr (!std::is_integral_v<T>) {
      uint64_t r = rng() % 40;
      if (r < 5) v = std::array{-0.0, 0.0, double(INFINITY), -double(INFINITY), double(NAN)}[r];
    } else if constexpr (std::is_same_v<T, bool>) {
      v = v > 0;
    } else if constexpr (std::is_unsigned_v<T>) {
      v = std::abs(v);
    }
    e = scalar::convert<T>(v);
  }
  return x;
}

struct NanLast {
  bool operator()(float a, float b) const { return a < b || (!std::isnan(a) && std::isnan(b)); }
};

template <class T, class Args>
void same_as_plain(void (*definition)(const routines::RoutineCall&, const Args&),
                   void (*fast)(const routines::RoutineCall&, const Args&), const Args& args, int64_t n,
                   std::mt19937_64& rng) {
  std::unique_ptr<T[]> x(new T[n + 1]), a(new T[n + 1]()), b(new T[n + 1]());
  std::vector<int32_t> from_a(n), from_b(n);
  auto values = random_values<std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>>(rng, n);
  for (int64_t i = 0; i < n; ++i)
    x[i] = static_cast<T>(values[i]);
  auto run = [&](auto* routine, T* out, int32_t* from) {
    std::byte* buffers[] = {reinterpret_cast<std::byte*>(x.get()), reinterpret_cast<std::byte*>(out),
                            reinterpret_cast<std::byte*>(from)};
    routine({buffers}, args);
  };
  run(definition, a.get(), from_a.data());
  run(fast, b.get(), from_b.data());
  for (int64_t i = 0; i < n; ++i) {
    double u = scalar::convert<double>(a[i]), v = scalar::convert<double>(b[i]);
    if (std::isnan(u) && std::isnan(v)) continue;  // which NaN a sum gives is the machine's choice
    ASSERT_EQ(std::memcmp(&a[i], &b[i], sizeof(T)), 0) << Args::kRoutine << " of dtype " << name_of(args.dtype)
                                                       << ", element " << i << " of " << n << ": " << u << " and " << v;
  }
  EXPECT_EQ(from_a, from_b) << Args::kRoutine << " of dtype " << name_of(args.dtype) << ", " << n << " elements";
}

TEST(Ordered, SortEqualsPlain) {
  std::mt19937_64 rng(1);
  for (int d = 0; d < kNumRealDTypes; ++d)
    for (int64_t rows : {0, 1, 5})
      for (int64_t n : {0, 1, 2, 3, 17, 255, 256, 1000})
        for (bool descending : {false, true})
          for (int64_t count : {n, std::min<int64_t>(n, 3), n / 8, n / 2, int64_t{0}})
            scalar::visit_dtype(static_cast<DType>(d), [&]<class T>(std::type_identity<T>) {
              const routines::SortArgs<> args{static_cast<DType>(d), rows, n, descending, count};
              same_as_plain<T>(routines::sort, sort, args, rows * n, rng);
            });
}

TEST(Ordered, SortOfLongRowsEqualsPlain) {
  std::mt19937_64 rng(5);
  const int before = runtime::num_threads();
  for (int threads : {2, 3})
    for (int d = 0; d < kNumRealDTypes; ++d)
      for (int64_t n : {1 << 16, 100003})
        for (bool descending : {false, true})
          scalar::visit_dtype(static_cast<DType>(d), [&]<class T>(std::type_identity<T>) {
            runtime::set_num_threads(threads);
            const routines::SortArgs<> args{static_cast<DType>(d), 1, n, descending, descending ? n / 2 : n};
            same_as_plain<T>(routines::sort, sort, args, n, rng);
          });
  runtime::set_num_threads(before);
}

TEST(Ordered, SearchEqualsPlain) {
  std::mt19937_64 rng(3);
  for (int64_t rows : {0, 1, 5})
    for (int64_t n : {0, 1, 2, 1000})
      for (int64_t count : {0, 1, 3, 5000})
        for (bool right : {false, true}) {
          auto sorted = random_values<float>(rng, rows * n), x = random_values<float>(rng, rows * count);
          for (int64_t r = 0; r < rows; ++r)
            std::sort(sorted.begin() + r * n, sorted.begin() + (r + 1) * n, NanLast{});
          std::vector<int32_t> plain(rows * count, -1), fast = plain;
          for (auto [routine, out] : {std::pair{&routines::search_sorted, &plain}, {&search_sorted, &fast}}) {
            std::byte* buffers[] = {reinterpret_cast<std::byte*>(sorted.data()), reinterpret_cast<std::byte*>(x.data()),
                                    reinterpret_cast<std::byte*>(out->data())};
            routine({buffers}, {DType::F32, rows, n, count, right});
          }
          EXPECT_EQ(plain, fast);
          for (int64_t i = 0; i < rows * count; ++i) {
            auto begin = sorted.begin() + i / count * n;
            auto found = right ? std::upper_bound(begin, begin + n, x[i], NanLast{})
                               : std::lower_bound(begin, begin + n, x[i], NanLast{});
            ASSERT_EQ(fast[i], found - begin) << x[i];
          }
        }
}

TEST(Ordered, CumulateEqualsPlain) {
  std::mt19937_64 rng(2);
  for (int d = 0; d < kNumRealDTypes; ++d)
    for (int64_t outer : {0, 1, 3})
      for (int64_t n : {0, 1, 2, 300})
        for (int64_t inner : {0, 1, 2, 255, 257})
          for (auto what : {routines::Running::Sum, routines::Running::Product, routines::Running::Maximum})
            scalar::visit_dtype(static_cast<DType>(d), [&]<class T>(std::type_identity<T>) {
              const routines::CumulateArgs<> args{static_cast<DType>(d), outer, n, inner, what};
              same_as_plain<T>(routines::cumulate, cumulate, args, outer * n * inner, rng);
            });
}

// Several blocks of a row, one row and many, and blocks of columns.
TEST(Ordered, LongCumulateEqualsPlain) {
  std::mt19937_64 rng(5);
  for (DType d : {DType::F32, DType::F64, DType::BF16, DType::I32})
    for (auto [outer, n, inner] : {std::array<int64_t, 3>{1, 2049, 1},
                                   {1, 4096, 1},
                                   {1, 4097, 1},
                                   {2, 30000, 1},
                                   {40, 5000, 1},
                                   {1, 2100, 260},
                                   {2, 2048, 3}})
      for (auto what : {routines::Running::Sum, routines::Running::Product, routines::Running::Minimum})
        scalar::visit_dtype(d, [&]<class T>(std::type_identity<T>) {
          same_as_plain<T>(routines::cumulate, cumulate, {d, outer, n, inner, what}, outer * n * inner, rng);
        });
}

TEST(Ordered, RecurrenceEqualsPlain) {
  std::mt19937_64 rng(4);
  for (DType d : {DType::F32, DType::F64, DType::BF16, DType::F16})
    for (int64_t outer : {0, 1, 19})
      for (int64_t n : {0, 1, 2, 300})
        for (int64_t inner : {0, 1, 2, 257})
          for (bool backward : {false, true})
            scalar::visit_dtype(d, [&]<class T>(std::type_identity<T>) {
              if constexpr (scalar::kIsFloat<T> || scalar::kIsNarrowFloat<T>) {
                int64_t count = outer * n * inner;
                auto factors = random_values<T>(rng, count), terms = random_values<T>(rng, count);
                std::vector<T> plain(count), fast(count);
                for (auto [routine, out] : {std::pair{&routines::recurrence, &plain}, {&recurrence, &fast}}) {
                  std::byte* buffers[] = {reinterpret_cast<std::byte*>(factors.data()),
                                          reinterpret_cast<std::byte*>(terms.data()),
                                          reinterpret_cast<std::byte*>(out->data())};
                  routine({buffers}, {d, outer, n, inner, backward});
                }
                for (int64_t i = 0; i < count; ++i) {
                  double u = scalar::convert<double>(plain[i]), v = scalar::convert<double>(fast[i]);
                  ASSERT_TRUE(u == v || (std::isnan(u) && std::isnan(v))) << u << " and " << v;
                }
              }
            });
}

}  // namespace
}  // namespace sheaf::kernels
