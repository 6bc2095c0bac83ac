// Random kernels, with memory for them, to compare executors: every buffer must agree to the bit (NaN with any NaN).
#pragma once
#include <cstring>
#include <random>

#include "loop/builder.h"
#include "scalar/scalar_ops.h"

namespace sheaf::codegen::testing {
using loop::Builder;
using loop::Combine;
using loop::Mark;
using loop::Op;
using V = Builder::V;

constexpr int kNumKernelDTypes = static_cast<int>(DType::C64);  // the last, which kernels do not know
inline constexpr DType kCompute[] = {DType::F32, DType::F64, DType::I32, DType::I64, DType::U32, DType::Bool};

struct Memory {
  DType dtype;
  std::vector<std::byte> bytes;
};

class Generator {
 public:
  explicit Generator(uint64_t seed) : rng_(seed), b_("random" + std::to_string(seed)) {}

  struct Case {
    loop::Kernel kernel;
    std::vector<Memory> buffers;
    std::vector<int64_t> sizes;
  };

  Case make() {
    switch (pick(8)) {
      case 0: flat(Mark::Vector); break;
      case 1: flat(Mark::Parallel); break;
      case 2: rows(); break;
      case 3: columns(); break;
      case 4: nested(); break;
      case 5: rows(); break;
      case 6: reduce_all(); break;
      default: matrix(); break;
    }
    return {b_.finish(), std::move(buffers_), std::move(sizes_)};
  }

 private:
  struct Axis {
    V index;
    int64_t extent;
  };
  using Pool = std::vector<V>;

  int64_t pick(int64_t n) { return std::uniform_int_distribution<int64_t>(0, n - 1)(rng_); }
  bool chance(int percent) { return pick(100) < percent; }
  int64_t extent() {
    constexpr int64_t sizes[] = {0, 1, 2, 3, 5, 31, 32, 33, 64, 100, 255, 256, 257, 511, 600};
    return sizes[pick(std::size(sizes))];
  }
  int64_t long_extent() {
    constexpr int64_t sizes[] = {1000, 2047, 2048, 2049, 4096, 5000, 10001};
    return chance(50) ? extent() : sizes[pick(std::size(sizes))];
  }
  int64_t short_extent() { return chance(15) ? 70 : pick(9); }

  // An integer as a constant or as a run-time size.
  V number(int64_t x) {
    if (chance(50)) return b_.i64(x);
    sizes_.push_back(x);
    return b_.size();
  }
  V open(int64_t n, Mark mark) { return b_.begin_loop(number(n), mark); }

  template <class T>
  T element() {
    if constexpr (std::is_same_v<T, bool>)
      return pick(2);
    else if constexpr (std::is_same_v<T, scalar::BFloat16>)
      return scalar::to_bf16(element<float>());
    else if constexpr (std::is_same_v<T, scalar::Float16>)
      return scalar::to_f16(element<float>());
    else if constexpr (std::is_floating_point_v<T>) {
      constexpr T inf = std::numeric_limits<T>::infinity(), nan = std::numeric_limits<T>::quiet_NaN();
      const T special[] = {0,
                           T(-0.0),
                           inf,
                           -inf,
                           nan,
                           std::numeric_limits<T>::denorm_min(),
                           std::numeric_limits<T>::max(),
                           T(1),
                           T(-1),
                           T(0.5),
                           T(2147483648.0),
                           T(-1e20)};
      if (special_ && pick(10) == 0) return special[pick(std::size(special))];
      return static_cast<T>(std::normal_distribution<double>(0, chance(5) ? 1000 : 2)(rng_));
    } else {
      if (pick(8) == 0) return chance(50) ? std::numeric_limits<T>::min() : std::numeric_limits<T>::max();
      return chance(50) ? static_cast<T>(pick(20) - 10) : static_cast<T>(rng_());
    }
  }

  int new_buffer(DType d, int64_t n, bool written) {
    Memory m{d, std::vector<std::byte>(std::max<int64_t>(n, 1) * size_bytes(d))};
    special_ = chance(50);
    scalar::visit_dtype(d, [&]<class T>(std::type_identity<T>) {
      for (int64_t i = 0; i < n; ++i) {
        T x = element<T>();
        std::memcpy(m.bytes.data() + i * sizeof(T), &x, sizeof(T));
      }
    });
    buffers_.push_back(std::move(m));
    return b_.buffer(d, written);
  }

  // An offset that walks the axes with random strides, and the elements it needs.
  V random_offset(const std::vector<Axis>& axes, int64_t& size) {
    int64_t low = 0, high = 0;
    V sum = b_.i64(0);
    for (const Axis& a : axes) {
      constexpr int64_t strides[] = {0, 1, 1, 1, 2, 3, -1, 7, 300};
      int64_t s = strides[pick(std::size(strides))];
      int64_t reach = s * std::max<int64_t>(a.extent - 1, 0);
      (reach < 0 ? low : high) += reach;
      sum = b_.add(sum, b_.mul(a.index, number(s)));
    }
    size = high - low + 1;
    return b_.add(sum, number(-low));
  }
  // Row-major or column-major over the axes: a place of its own for each iteration.
  V own_offset(const std::vector<Axis>& axes, int64_t& size, bool transposed) {
    V sum = b_.i64(0);
    int64_t stride = 1;
    for (size_t i = 0; i < axes.size(); ++i) {
      const Axis& a = axes[transposed ? i : axes.size() - 1 - i];
      sum = b_.add(sum, b_.mul(a.index, number(stride)));
      stride *= std::max<int64_t>(a.extent, 1);
    }
    size = stride;
    return sum;
  }

  V widened(V v) {
    DType d = b_.type_of(v), c = compute_type(d);
    return c == d ? v : b_.convert(v, c);
  }

  V load(const std::vector<Axis>& axes, const Pool& pool) {
    DType d = static_cast<DType>(pick(kNumKernelDTypes));
    int64_t size = 0;
    if (chance(15) && !pool.empty()) {
      // A gather: any value taken modulo the size.
      V v = pool[pick(pool.size())];
      V i = b_.convert(v, DType::I64);
      size = 1 + pick(50);
      return widened(b_.load(new_buffer(d, size, false), b_.binary(Op::FloorMod, i, number(size))));
    }
    V offset = random_offset(axes, size);
    return widened(b_.load(new_buffer(d, size, false), offset));
  }

  V of_type(const Pool& pool, DType type) {
    Pool fitting;
    for (V v : pool)
      if (b_.type_of(v) == type) fitting.push_back(v);
    if (!fitting.empty() && !chance(10)) return fitting[pick(fitting.size())];
    if (!pool.empty() && chance(70)) return b_.convert(pool[pick(pool.size())], type);
    return b_.number(type, static_cast<double>(pick(7)));
  }

  V random_op(const Pool& pool) {
    for (;;) {
      Op op = static_cast<Op>(static_cast<int>(Op::Add) +
                              pick(static_cast<int>(Op::ErfInv) - static_cast<int>(Op::Add) + 1));
      if (op >= Op::Exp && chance(60)) continue;
      DType type = kCompute[pick(std::size(kCompute))];
      if (op == Op::Bitcast) {
        constexpr DType pairs[][2] = {{DType::F32, DType::I32},
                                      {DType::I32, DType::F32},
                                      {DType::I64, DType::F64},
                                      {DType::U32, DType::F32},
                                      {DType::F64, DType::I64}};
        auto& p = pairs[pick(std::size(pairs))];
        V x = of_type(pool, p[0]);
        // Processors differ in the bits of the NaNs that they compute.
        if (is_float(p[0])) x = b_.select(b_.eq(x, x), x, b_.number(p[0], 1));
        return b_.bitcast(x, p[1]);
      }
      if (op == Op::Convert) {
        V x = of_type(pool, type);
        if (chance(30)) {
          DType narrow = static_cast<DType>(pick(kNumKernelDTypes));
          return widened(b_.convert(x, narrow));
        }
        return b_.convert(x, kCompute[pick(std::size(kCompute))]);
      }
      if (op == Op::Seldom) return b_.seldom(of_type(pool, DType::Bool), of_type(pool, type), of_type(pool, type));
      if (op == Op::Select) return b_.select(of_type(pool, DType::Bool), of_type(pool, type), of_type(pool, type));
      bool defined = scalar::visit_dtype(type, [&]<class T>(std::type_identity<T>) {
        if constexpr (scalar::kIsCompute<T>)
          return scalar::is_defined<T>(op);
        else
          return false;
      });
      if (!defined) continue;
      if (op == Op::Fma) return b_.fma(of_type(pool, type), of_type(pool, type), of_type(pool, type));
      if (op >= Op::Lt && op <= Op::Ne) return b_.compare(op, of_type(pool, type), of_type(pool, type));
      if (scalar::num_operands(op) == 2) return b_.binary(op, of_type(pool, type), of_type(pool, type));
      return b_.unary(op, of_type(pool, type));
    }
  }

  void compute(Pool& pool, const std::vector<Axis>& axes, int64_t steps) {
    for (int64_t i = 0; i < steps; ++i) {
      if (chance(25))
        pool.push_back(load(axes, pool));
      else
        pool.push_back(random_op(pool));
      if (chance(6))
        b_.check(b_.ne(of_type(pool, DType::I32), b_.i32(static_cast<int32_t>(pick(6)))), static_cast<int>(pick(100)),
                 of_type(pool, DType::I64));
    }
  }

  void store(const Pool& pool, const std::vector<Axis>& axes) {
    int64_t size = 0;
    V offset = own_offset(axes, size, chance(30));
    DType d = static_cast<DType>(pick(kNumKernelDTypes));
    V v = pool.back();
    if (chance(30)) v = pool[pick(pool.size())];
    if (chance(40)) d = b_.type_of(v);
    b_.store(new_buffer(d, size, true), offset, b_.convert(v, d));
  }
  // Reads and writes the same places.
  void update(Pool& pool, const std::vector<Axis>& axes) {
    int64_t size = 0;
    V offset = own_offset(axes, size, chance(30));
    DType d = kCompute[pick(std::size(kCompute))];
    int buffer = new_buffer(d, size, true);
    V old = b_.load(buffer, offset);
    pool.push_back(old);
    compute(pool, axes, 1 + pick(3));
    b_.store(buffer, offset, of_type(pool, d));
    if (chance(50)) store(pool, axes);
  }
  void stores(Pool& pool, const std::vector<Axis>& axes) {
    for (int64_t i = 1 + pick(3); i > 0; --i)
      store(pool, axes);
    if (chance(30)) update(pool, axes);
  }

  V reduce(const Pool& outer, const std::vector<Axis>& axes, int64_t n) {
    auto combine = static_cast<Combine>(pick(6));
    std::vector<Axis> inner = axes;
    inner.push_back({b_.begin_reduce(number(n), combine), n});
    Pool pool = outer;
    pool.push_back(inner.back().index);
    if (chance(90)) pool.push_back(load(inner, pool));
    V loaded = pool.back();
    compute(pool, inner, pick(4));
    DType type = kCompute[pick(5)];
    return b_.end_reduce(chance(30) ? b_.convert(loaded, type) : of_type(pool, type));
  }

  void flat(Mark mark) {
    int64_t n = chance(10) ? 100000 : long_extent();
    std::vector<Axis> axes{{open(n, mark), n}};
    Pool pool{axes[0].index};
    compute(pool, axes, 1 + pick(12));
    stores(pool, axes);
    b_.end();
  }
  void matrix() {
    int64_t m = short_extent(), n = extent();
    std::vector<Axis> axes{{open(m, chance(50) ? Mark::Parallel : chance(50) ? Mark::Free : Mark::Serial), m}};
    Pool pool{axes[0].index};
    compute(pool, axes, pick(3));
    axes.push_back({open(n, Mark::Vector), n});
    pool.push_back(axes[1].index);
    compute(pool, axes, 1 + pick(12));
    stores(pool, axes);
    b_.end();
    b_.end();
  }
  void rows() {
    int64_t m = short_extent(), n = long_extent();
    std::vector<Axis> axes{{open(m, chance(70) ? Mark::Parallel : chance(50) ? Mark::Free : Mark::Serial), m}};
    Pool pool{axes[0].index};
    for (int64_t r = 1 + pick(3); r > 0; --r) {
      pool.push_back(reduce(pool, axes, n));
      compute(pool, axes, pick(3));
      if (chance(40)) store(pool, axes);
      if (chance(70)) {
        std::vector<Axis> inner = axes;
        inner.push_back({open(n, Mark::Vector), n});
        Pool more = pool;
        more.push_back(inner[1].index);
        compute(more, inner, 1 + pick(5));
        stores(more, inner);
        b_.end();
      }
    }
    store(pool, axes);
    b_.end();
  }
  void columns() {
    int64_t n = extent();
    std::vector<Axis> axes;
    Pool pool;
    bool outer = chance(50);
    if (outer) {
      int64_t m = short_extent();
      axes.push_back({open(m, Mark::Parallel), m});
      pool.push_back(axes[0].index);
    }
    axes.push_back({open(n, Mark::Vector), n});
    pool.push_back(axes.back().index);
    compute(pool, axes, pick(3));
    for (int64_t r = 1 + pick(2); r > 0; --r) {
      pool.push_back(reduce(pool, axes,
                            chance(10)   ? 2050 + pick(3) * 2048
                            : chance(50) ? short_extent()
                                         : 30 + pick(40)));
      compute(pool, axes, pick(4));
    }
    stores(pool, axes);
    b_.end();
    if (outer) b_.end();
  }
  void nested() {
    int64_t n = extent(), k = short_extent();
    std::vector<Axis> axes{{open(n, chance(50) ? Mark::Vector : Mark::Parallel), n}};
    Pool pool{axes[0].index};
    compute(pool, axes, 1 + pick(3));
    axes.push_back({open(k, Mark::Serial), k});
    Pool inner = pool;
    inner.push_back(axes[1].index);
    compute(inner, axes, 1 + pick(4));
    stores(inner, axes);
    b_.end();
    axes.pop_back();
    compute(pool, axes, pick(3));
    stores(pool, axes);
    b_.end();
  }
  void reduce_all() {
    if (chance(50)) {
      Pool pool;
      pool.push_back(reduce(pool, {}, chance(20) ? 70000 : long_extent()));
      store(pool, {});
      return;
    }
    // A reduction over a reduction.
    int64_t n = chance(20) ? 2100 : short_extent();
    Pool pool;
    std::vector<Axis> axes{{b_.begin_reduce(number(n), static_cast<Combine>(pick(6))), n}};
    pool.push_back(axes[0].index);
    pool.push_back(reduce(pool, axes, n > 100 ? 3 : long_extent()));
    compute(pool, axes, pick(3));
    pool = {b_.end_reduce(of_type(pool, kCompute[pick(5)]))};
    store(pool, {});
  }

  std::mt19937_64 rng_;
  Builder b_;
  std::vector<Memory> buffers_;
  std::vector<int64_t> sizes_;
  bool special_ = false;
};

template <class T>
bool same(T a, T b) {
  if constexpr (std::is_floating_point_v<T>)
    if (a != a && b != b) return true;
  if constexpr (std::is_same_v<T, scalar::BFloat16> || std::is_same_v<T, scalar::Float16>)
    return a.bits == b.bits || same(scalar::convert<float>(a), scalar::convert<float>(b));
  else
    return std::memcmp(&a, &b, sizeof(T)) == 0;
}

inline std::string difference(const Memory& expected, const Memory& actual) {
  return scalar::visit_dtype(expected.dtype, [&]<class T>(std::type_identity<T>) -> std::string {
    for (size_t i = 0; i < expected.bytes.size() / sizeof(T); ++i) {
      T x, y;
      std::memcpy(&x, expected.bytes.data() + i * sizeof(T), sizeof(T));
      std::memcpy(&y, actual.bytes.data() + i * sizeof(T), sizeof(T));
      if (!same(x, y))
        return "element " + std::to_string(i) + ": expected " + std::to_string(scalar::convert<double>(x)) + ", got " +
               std::to_string(scalar::convert<double>(y));
    }
    return "";
  });
}

inline std::vector<std::byte*> pointers(std::vector<Memory>& m) {
  std::vector<std::byte*> p;
  for (Memory& x : m)
    p.push_back(x.bytes.data());
  return p;
}

// The first difference between what two executors left behind, or "".
inline std::string difference(const std::vector<Memory>& expected, const loop::CheckRecord& expected_check,
                              const std::vector<Memory>& actual, const loop::CheckRecord& actual_check) {
  for (size_t i = 0; i < expected.size(); ++i)
    if (std::string d = difference(expected[i], actual[i]); !d.empty()) return "buffer " + std::to_string(i) + ", " + d;
  if (expected_check.site == actual_check.site && expected_check.payload == actual_check.payload) return "";
  return "check: expected " + std::to_string(expected_check.site) + " " + std::to_string(expected_check.payload) +
         ", got " + std::to_string(actual_check.site) + " " + std::to_string(actual_check.payload);
}

}  // namespace sheaf::codegen::testing
