// Which way a product takes, by its shape: those of algorithms.h and few_rows.h for floats, with the bits of
// routines/gemm's definition. Integers are rows of B times elements of A, in any order. N = 1 is the thin form of
// the transposed product.
#include "kernels/gemm/gemm.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>
#include <vector>

#include "kernels/gemm/algorithms.h"
#include "kernels/gemm/autotune.h"
#include "kernels/gemm/few_rows.h"
#include "kernels/gemm/gemv_bf16_dot.h"
#include "kernels/gemm/micro_kernels.h"
#include "kernels/simd/narrow.h"
#include "runtime/thread_pool.h"
#include "scalar/bf16_dot.h"
#include "scalar/scalar_ops.h"

namespace sheaf::kernels {
namespace {

using routines::kContractBlock;

constexpr int64_t kStreamRows = 32, kStreamRowsPacked = 16, kStreamRowsNarrow = 64,
                  kThinRows = 8;  // at most, in the thin forms; the second where a tile can pack B on its way
template <class S>
constexpr int64_t kTurnedRows = sizeof(S) == 4 ? 8 : 4;  // narrow elements are widened again for each four rows
constexpr int64_t kTurnedLeast = 5, kTurnedMost = 192;   // rows where columns of B are read where they are; with wide
                                                         // vectors from more than kThinRows on
constexpr int64_t kCrowded = 16 << 10;  // bytes: columns a multiple of that apart share a set of the first-level cache,
                                        // and more than four of them no longer stay there
constexpr int64_t kTurnDepth = 256;     // from here on copying the result is nothing
constexpr int64_t kFlatMost = 256, kFlatRows = 96;  // columns at most, rows at least where rows of A are
constexpr int64_t kSmall = 6144;          // elements of B that stay in the first-level cache with room to spare
constexpr int64_t kSmallInPlace = 16384;  // the same where it need not be packed, with vectors of 16 bytes

// The ways to a product. Each gives the same bits; which is the fastest depends on the shape, the strides and the
// machine.
enum class Form : uint8_t {
  Flat,
  Small,
  Stream,
  Turned,
  Outer,
  Swapped,
  Shallow,
  Tall,
  Tall2,
  Tall3,
  Tall4,
  ThinTurned,
  ThinPacked,
  Pairs
};
constexpr std::string_view kFormNames[] = {"flat",    "small",       "stream",      "turned", "outer",
                                           "swapped", "shallow",     "tall",        "tall-2", "tall-3",
                                           "tall-4",  "thin-turned", "thin-packed", "pairs"};
constexpr int64_t kTunedFlops = 1 << 14;  // a smaller product is over before a choice is looked up

template <class T, class S>
class Product {
 public:
  Product(Operand<S> a, Operand<S> b, T* c, int64_t m, int64_t n, int64_t k, const Fusion& fusion = {})
      : a_(a), b_(b), c_(c), m_(m), n_(n), k_(k), fusion_(fusion) {
    if (n == 1 && m > 1) {
      std::swap(a_, b_);
      std::swap(m_, n_);
    }
  }

  // `alone`: no other product runs beside it, so that it can be timed.
  void run(bool alone) {
    const bool tries = alone && tuning() && m_ * n_ * k_ >= kTunedFlops;
    if (fusion_.prologue && (tries || !by_rows(usual()))) {
      auto& a = rows_ == m_ ? a_ : b_;
      a = with_rows(a, fusion_, 0, rows_, true);
      fusion_.prologue = nullptr;
    }
    Form form = tries ? fastest() : usual();
    if (!fusion_.epilogue || in_parts(form)) return run(form, fusion_);
    run(form, {fusion_.prologue, nullptr, fusion_.source});
    (*fusion_.epilogue)({0, rows_, 0, columns_});
  }

  // Whether the parts that it tells of are whole rows.
  bool tells_rows() const {
    Form form = usual();
    return in_parts(form) && (form == Form::Shallow || form == Form::Flat || form == Form::Small ||
                              (form == Form::Pairs && is_shallow(m_, n_, k_, sizeof(S), sizeof(T))));
  }

 private:
  static constexpr bool kSame = std::is_same_v<T, S>;
  static constexpr DType kDType = std::is_same_v<S, float>      ? DType::F32
                                  : std::is_same_v<S, double>   ? DType::F64
                                  : std::is_same_v<S, BFloat16> ? DType::BF16
                                                                : DType::F16;

  // Limits are where one way begins to be faster than another (--max-autotune shows it), with vectors of 16 bytes and
  // with wider ones, whose tiles are larger.
  static constexpr int64_t kNear = 1 << 18;  // elements of B that the second-level cache holds
  bool wide_vectors() const { return kern_.lanes * sizeof(T) > 16; }
  bool widest_vectors() const { return kern_.lanes * sizeof(T) == 64; }

  Form usual() const {
    if (pairs_) return Form::Pairs;
    if (m_ == 1 && can(Form::ThinTurned)) return Form::ThinTurned;
    bool turned_b = (m_ > kThinRows || (m_ >= kTurnedLeast && !wide_vectors() && n_ * k_ > kSmall &&
                                        b_.minor * sizeof(S) % kCrowded != 0)) &&
                    fits_turned();
    if constexpr (kSame) {
      if (fits_small()) return Form::Small;
      if (fits_flat(least_flat_rows())) return Form::Flat;
      if (fits_outer()) return Form::Outer;
      if (can(Form::Small) && n_ * k_ <= kSmall && !turned_b) return Form::Small;
    }
    if (!kSame && n_ <= kFlatMost / 2 && fits_flat(kFlatRows)) return Form::Flat;
    if (turned_b) return Form::Turned;
    // A panel whose rows are a multiple of 8 KiB apart falls into few sets of the second-level cache, and streaming it
    // pays for longer. What stays in that cache is packed sooner.
    bool packs_well = kSame && b_.k * sizeof(S) % 8192 != 0, near = kSame && n_ * k_ <= kNear;
    if (m_ <= (near         ? (wide_vectors() ? 12 : kThinRows)
               : packs_well ? (widest_vectors() ? kern_.rows - 1 : kStreamRowsPacked)
               : kSame      ? kStreamRows
                            : kStreamRowsNarrow) &&
        can(Form::Stream))
      return Form::Stream;
    if (can(Form::Shallow) && is_shallow(m_, n_, k_, sizeof(T), sizeof(T))) return Form::Shallow;
    // Of two factors with contiguous rows the wide one is better packed on the way.
    if (kSame && m_ > n_ && n_ <= kFlatMost && k_ >= kTurnDepth && can(Form::Swapped)) return Form::Swapped;
    if (can(Form::Tall)) return Form::Tall;
    return can(Form::ThinTurned) ? Form::ThinTurned : Form::ThinPacked;
  }

  // Elements of a B that tiles read where it is. Wide ones have so many rows that the second-level cache, too, gives it
  // in time.
  int64_t in_place_most() const {
    int64_t vector = kern_.lanes * sizeof(T);
    return vector <= 16 ? kSmallInPlace : (vector <= 32 ? 192 << 10 : 640 << 10) / int64_t(sizeof(T));
  }

  bool fits_small() const {
    constexpr int64_t kRows = 256, kColumns = 64;  // of A, and of a turned A with more k than that
    bool whole = kern_.padded(n_) == n_;
    if (!can(Form::Small) || n_ * k_ > in_place_most()) return false;
    if (wide_vectors()) {
      // Each thread packs what is turned, which takes microseconds up to some size, if no panel must be filled up
      // column by column.
      constexpr int64_t kSoonPacked = 1 << 15, kPackedRows = 24;
      bool soon = n_ * k_ <= kSoonPacked, many = m_ >= 2 * kColumns * runtime::num_threads();
      if (b_.minor != 1) return many || (soon && m_ >= kPackedRows && (whole || n_ <= kColumns));
      if (!whole) return a_.k == 1 ? many || soon : soon && m_ > kThinRows && !can(Form::Outer);
      return a_.k == 1 || k_ <= 2 * kColumns || m_ <= kRows;
    }
    // A B that fills half of the first-level cache is packed where there are many rows of A.
    int64_t most = a_.k != 1 && k_ > kColumns ? kColumns : n_ * k_ > kSmallInPlace / 2 ? kFlatRows : kRows;
    return b_.minor == 1 && m_ <= most;
  }

  // From how many rows on A is read where it is. Fewer pay where packing it would take its time: for few columns, or
  // for many k.
  int64_t least_flat_rows() const {
    if (wide_vectors())
      return n_ > kFlatMost / 2 ? 512 : k_ >= kTurnDepth && n_ % (2 * kern_.lanes) == 0 ? 48 : kFlatRows;
    bool narrow = n_ <= 64;
    if (b_.minor == 1 && narrow && n_ * k_ > kSmall) return 32;
    return (narrow && b_.k == 1) || k_ >= kTurnDepth ? 48 : kFlatRows;
  }

  bool fits_flat(int64_t least) const {
    int64_t most = widest_vectors() || (wide_vectors() && b_.k == 1)
                       ? kFlatMost * 3 / 2
                       : kFlatMost;  // turned columns are packed once, not by each group of rows
    return a_.k == 1 && m_ >= least && n_ >= 2 * in_place_width() && n_ <= most;
  }
  // Rows may have to be filled up; with too many where tiles are wide or elements must be widened as well.
  bool fits_turned() const {
    bool cheap = kSame && !wide_vectors();
    return b_.k == 1 && m_ <= kTurnedMost && (cheap || 4 * m_ >= 3 * round_up(m_, in_place_width()));
  }
  int64_t in_place_width() const { return kern_.small_vectors * kern_.lanes; }

  // Rows further apart share too few sets of the cache, and the more so the longer they are read. Wide vectors pay for
  // that where C is narrow or low.
  bool fits_outer() const {
    int64_t apart = std::max(a_.k, b_.k) * int64_t(sizeof(T)), most = k_ > kContractBlock ? 512 : 768;
    if (wide_vectors()) most = std::min(m_, n_) > 192 ? 1024 : k_ <= kContractBlock ? 4096 : m_ > n_ ? 2048 : 1024;
    return can(Form::Outer) && apart <= most;
  }

  // Whether a way works at all, well or not, without taking much memory.
  bool can(Form form) const {
    if (pairs_ != (form == Form::Pairs)) return false;
    bool many = m_ > kThinRows;
    switch (form) {
      case Form::Flat: return a_.k == 1 && many && n_ <= 4 * kFlatMost && n_ >= 2 * in_place_width();
      case Form::Small:
        return kSame && m_ > 1 && n_ * k_ <= std::max(4 * kSmall, in_place_most()) && k_ <= kContractBlock &&
               (a_.k == 1 || a_.minor == 1) && n_ >= kern_.lanes;
      case Form::Stream: return b_.minor == 1 && m_ <= kStreamRowsNarrow;
      case Form::Turned: return b_.k == 1 && m_ > 1 && m_ <= 2 * kTurnedMost;
      case Form::Outer: return kSame && a_.minor == 1 && b_.minor == 1 && m_ >= 2 * kern_.rows && n_ >= 2 * kern_.lanes;
      case Form::Swapped:
        return kSame && n_ > kThinRows && m_ * n_ <= 4 * kPackedElements && a_.minor == 1 && b_.minor == 1;
      case Form::Shallow: return many && k_ <= kContractBlock && n_ * k_ <= kPackedElements;
      case Form::Tall:
      case Form::Tall2:
      case Form::Tall3:
      case Form::Tall4: return many;
      case Form::ThinTurned: return std::is_same_v<T, float> && b_.k == 1 && m_ <= kTurnedRows<S>;
      case Form::ThinPacked: return !many;
      case Form::Pairs: return true;
    }
    return false;
  }

  Form fastest() {
    std::array<Form, std::size(kFormNames)> forms;
    std::array<std::string_view, std::size(kFormNames)> names;
    size_t count = 0;
    auto add = [&](Form form) { names[count] = kFormNames[static_cast<size_t>(form)], forms[count++] = form; };
    Form first = usual();
    add(first);
    for (size_t f = 0; f < std::size(kFormNames); ++f)
      if (Form form = static_cast<Form>(f); form != first && can(form)) add(form);
    ProductWork work{kDType, m_, n_, k_, a_.minor, a_.k, b_.minor, b_.k};
    return forms[fastest_way(work, {names.data(), count}, [&](size_t i) { run(forms[i], {}); })];
  }

  // Whether a way asks for rows of A before it reads them.
  bool by_rows(Form form) const {
    if (rows_ == 1 || columns_ == 1) return false;
    return form == Form::Flat || form == Form::Small || form == Form::Shallow || form == Form::Tall ||
           form == Form::Pairs;
  }
  // Whether a way tells of parts. Of one row or column there are none.
  bool in_parts(Form form) const {
    if (rows_ == 1 || columns_ == 1) return false;
    return form != Form::Stream && form != Form::Swapped && form != Form::ThinTurned && form != Form::ThinPacked;
  }

  void run(Form form, const Fusion& fusion) {
    if constexpr (kSame) {
      switch (form) {
        case Form::Small: return small_product(a_, b_, c_, m_, n_, k_, fusion);
        case Form::Outer: return outer_product(a_, b_, c_, m_, n_, k_, fusion.epilogue);
        case Form::Swapped: {
          T* turned = scratch<T>(2, m_ * n_);
          tall_product(b_, a_, turned, n_, m_, k_);
          return transpose(c_, n_, turned, m_, m_, n_);
        }
        default: break;
      }
    }
    if constexpr (std::is_same_v<S, BFloat16>)
      if (form == Form::Pairs)
        return m_ == 1 ? row_pairs_product(a_, b_, c_, n_, k_) : pairs_product(a_, b_, c_, m_, n_, k_, fusion);
    if (form == Form::Flat) return flat_product(a_, b_, c_, m_, n_, k_, fusion);
    if (form == Form::Shallow) return shallow_product(a_, b_, c_, m_, n_, k_, fusion);
    if (form == Form::Turned) return turned_product(a_, b_, c_, m_, n_, k_, fusion.epilogue);
    if (form == Form::Stream) return thin_stream(a_, b_, c_, m_, n_, k_);
    if (form >= Form::Tall && form <= Form::Tall4)
      return tall_product(a_, b_, c_, m_, n_, k_, static_cast<int>(form) - static_cast<int>(Form::Tall), fusion);
    if constexpr (std::is_same_v<T, float>)
      if (form == Form::ThinTurned && thin_turned(a_, b_, c_, m_, n_, k_)) return;
    thin_packed(a_, b_, c_, m_, n_, k_);
  }

  const GemmKernels<T>& kern_ = gemm_kernels<T>();
  Operand<S> a_, b_;
  T* c_;
  int64_t m_, n_, k_;
  const int64_t rows_ = m_, columns_ = n_;  // before m and n change places
  Fusion fusion_;
  const bool pairs_ =
      std::is_same_v<S, BFloat16> && scalar::bf16_in_pairs();  // another definition: no other way has its bits
};

// The parts of a long sum (routines/gemm/args.h), for rows of C whose totals stay near; several small parts at a time.
template <class T, class S>
class Parts {
 public:
  Parts(const Operand<S>& a, const Operand<S>& b, T* c, int64_t m, int64_t n, int64_t k, bool alone)
      : a_(a), b_(b), c_(c), m_(m), n_(n), k_(k), alone_(alone) {}

  void run() {
    for (int64_t p = 0; p < parts_; p += together_) {
      int64_t count = std::min(together_, parts_ - p);
      if (together_ == 1)
        product(p, waiting(waiting_), alone_);
      else
        runtime::parallel_for(
            count,
            [&](int64_t begin, int64_t end) {
              for (int64_t i = begin; i < end; ++i)
                product(p + i, fresh_ + i * size_, false);
            },
            std::max<int64_t>(1, kTaskFlops / (2 * size_ * part_)));
      for (int64_t i = 0; i < count; ++i) {
        if (together_ > 1) std::copy_n(fresh_ + i * size_, size_, waiting(waiting_));
        ++waiting_;
        for (int64_t bits = p + i; bits & 1; bits >>= 1)
          fold();
      }
    }
    while (waiting_ > 1)
      fold();
  }

 private:
  void product(int64_t p, T* to, bool alone) {
    int64_t from = p * part_;
    Product<T, S>({a_.at(0, from), a_.minor, a_.k}, {b_.at(0, from), b_.minor, b_.k}, to, m_, n_,
                  std::min(part_, k_ - from))
        .run(alone);
  }

  // Totals that wait for others, the oldest in C.
  T* waiting(int64_t i) const { return i == 0 ? c_ : totals_ + (i - 1) * size_; }

  void fold() {
    T *to = waiting(waiting_ - 2), *from = waiting(waiting_ - 1);
    runtime::parallel_for(
        size_,
        [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i)
            to[i] += from[i];
        },
        1 << 16);
    --waiting_;
  }

  Operand<S> a_, b_;
  T* c_;
  int64_t m_, n_, k_;
  bool alone_;
  const int64_t part_ = routines::contract_part(k_), parts_ = pieces(k_, part_), size_ = m_ * n_;
  const int64_t together_ = 2 * size_ * part_ < 8 * kTaskFlops ? std::min<int64_t>(parts_, 64) : 1;
  const int64_t levels_ = std::bit_width(static_cast<uint64_t>(parts_));
  T *totals_ = scratch<T>(5, (levels_ + together_) * size_), *fresh_ = totals_ + levels_ * size_;
  int64_t waiting_ = 0;
};

template <class T, class S>
void product(const Operand<S>& a, const Operand<S>& b, T* c, int64_t m, int64_t n, int64_t k, bool alone,
             const Fusion& fusion) {
  if (k <= routines::kContractPart) return Product<T, S>(a, b, c, m, n, k, fusion).run(alone);
  const Operand<S> whole = with_rows(a, fusion, 0, m, true);
  // Two rows at least, unless there is but one: a row alone is added up in another way.
  int64_t strips = std::max<int64_t>(1, std::min(m / 2, pieces(m * n, kPackedElements)));
  for (int64_t s = 0; s < strips; ++s) {
    int64_t first = m * s / strips, last = m * (s + 1) / strips;
    Parts<T, S>({whole.at(first, 0), a.minor, a.k}, b, c + first * n, last - first, n, k, alone).run();
    if (fusion.epilogue) (*fusion.epilogue)({first, last - first, 0, n});
  }
}

struct Args {
  int64_t batch, m, n, k, sab, sam, sak, sbb, sbk, sbn;
};

// Calls one(p, alone) for each matrix of the batch: several small ones at a time, or each by all threads.
template <class F>
void for_batch(const Args& g, F&& one) {
  int64_t flops = 2 * g.m * g.n * g.k + 1;
  if (flops > 8 * kTaskFlops || g.batch == 1) {
    for (int64_t p = 0; p < g.batch; ++p)
      one(p, true);
  } else {
    runtime::parallel_for(
        g.batch,
        [&](int64_t begin, int64_t end) {
          for (int64_t p = begin; p < end; ++p)
            one(p, false);
        },
        std::max<int64_t>(1, kTaskFlops / flops));
  }
}

template <class S>
void contract_floats(const routines::CallArgs& call, const Args& g, const Fusion& fusion = {}) {
  using T = std::conditional_t<std::is_same_v<S, double>, double, float>;
  const S* a = reinterpret_cast<const S*>(call.buffers[0]);
  const S* b = reinterpret_cast<const S*>(call.buffers[1]);
  S* c = reinterpret_cast<S*>(call.buffers[2]);
  bool wide_result = !std::is_same_v<S, T> && routines::contracts_to_f32(call.args);
  if (g.k == 0) {
    std::memset(c, 0, g.batch * g.m * g.n * (wide_result ? sizeof(T) : sizeof(S)));
    if (fusion.epilogue) (*fusion.epilogue)({0, g.m, 0, g.n});
    return;
  }
  for_batch(g, [&](int64_t p, bool alone) {
    Operand<S> x{a + p * g.sab, g.sam, g.sak}, y{b + p * g.sbb, g.sbn, g.sbk};
    S* out = c + p * g.m * g.n;
    if constexpr (std::is_same_v<S, T>) {
      product(x, y, out, g.m, g.n, g.k, alone, fusion);
    } else if (wide_result) {
      product(x, y, reinterpret_cast<T*>(call.buffers[2]) + p * g.m * g.n, g.m, g.n, g.k, alone, fusion);
    } else {
      T* wide = scratch<T>(2, g.m * g.n);
      const auto round = [&](const runtime::Tile& part) {
        const bool whole = part.columns == g.n;
        const int64_t rows = whole ? 1 : part.rows, columns = whole ? part.rows * g.n : part.columns;
        runtime::parallel_for(
            rows * columns,
            [&](int64_t begin, int64_t end) {
              for (int64_t at = begin, here; at < end; at += here) {
                const int64_t r = at / columns, e = at - r * columns, from = (part.row + r) * g.n + part.column + e;
                here = std::min(columns - e, end - at);
                narrow(out + from, wide + from, here);
              }
            },
            1 << 16);
        if (fusion.epilogue) (*fusion.epilogue)(part);
      };
      const EpilogueFn rounded(round);
      product(x, y, wide, g.m, g.n, g.k, alone, {fusion.prologue, &rounded, fusion.source});
    }
  });
}

template <class S>
void contract_ints(const routines::CallArgs& call, const Args& g) {
  using T = std::conditional_t<std::is_same_v<S, int8_t>, int32_t, S>;
  using U = std::make_unsigned_t<T>;
  const S* a = reinterpret_cast<const S*>(call.buffers[0]);
  const S* b = reinterpret_cast<const S*>(call.buffers[1]);
  U* c = reinterpret_cast<U*>(call.buffers[2]);
  runtime::parallel_for(
      g.batch * g.m,
      [&](int64_t begin, int64_t end) {
        for (int64_t row = begin; row < end; ++row) {
          int64_t p = row / g.m, i = row % g.m;
          U* out = c + row * g.n;
          const S* x = a + p * g.sab + i * g.sam;
          const S* y = b + p * g.sbb;
          if (g.sbn == 1) {
            std::fill(out, out + g.n, U(0));
            for (int64_t l = 0; l < g.k; ++l) {
              U e = U(T(x[l * g.sak]));
              const S* r = y + l * g.sbk;
#pragma GCC ivdep
              for (int64_t j = 0; j < g.n; ++j)
                out[j] += e * U(T(r[j]));
            }
          } else {
            for (int64_t j = 0; j < g.n; ++j) {
              U sum = 0;
              for (int64_t l = 0; l < g.k; ++l)
                sum += U(T(x[l * g.sak])) * U(T(y[l * g.sbk + j * g.sbn]));
              out[j] = sum;
            }
          }
        }
      },
      std::max<int64_t>(1, kTaskFlops / (8 * g.n * g.k + 1)));
}

Args args_of(const routines::CallArgs& call) {
  auto& v = call.args;
  return {v[1], v[2], v[3], v[4], v[5], v[6], v[7], v[8], v[9], v[10]};
}

template <class S>
class FusedContract final : public runtime::FusedProduct {
 public:
  explicit FusedContract(std::vector<int64_t> args) : args_(std::move(args)) {}
  void run(std::span<std::byte* const> buffers, const Fusion& fusion) const override {
    routines::CallArgs call{buffers, args_};
    contract_floats<S>(call, args_of(call), fusion);
  }
  bool completes_rows() const override {
    using T = std::conditional_t<std::is_same_v<S, double>, double, float>;
    Args g = args_of({{}, args_});
    return g.k <= routines::kContractPart &&
           Product<T, S>({nullptr, g.sam, g.sak}, {nullptr, g.sbn, g.sbk}, nullptr, g.m, g.n, g.k).tells_rows();
  }

 private:
  std::vector<int64_t> args_;  // of the contraction (routines/gemm/args.h)
};

}  // namespace

void contract(const routines::CallArgs& call) {
  Args g = args_of(call);
  if (g.batch <= 0 || g.m <= 0 || g.n <= 0) return;
  switch (static_cast<DType>(call.args[0])) {
    case DType::F32: return contract_floats<float>(call, g);
    case DType::F64: return contract_floats<double>(call, g);
    case DType::BF16: return contract_floats<BFloat16>(call, g);
    case DType::F16: return contract_floats<Float16>(call, g);
    case DType::I32: return contract_ints<int32_t>(call, g);
    case DType::I64: return contract_ints<int64_t>(call, g);
    case DType::U32: return contract_ints<uint32_t>(call, g);
    case DType::I8: return contract_ints<int8_t>(call, g);
    default: return routines::contract(call);
  }
}

std::shared_ptr<const runtime::FusedProduct> fused_product(std::vector<int64_t> args) {
  switch (static_cast<DType>(args[0])) {
    case DType::F32: return std::make_shared<FusedContract<float>>(std::move(args));
    case DType::F64: return std::make_shared<FusedContract<double>>(std::move(args));
    case DType::BF16: return std::make_shared<FusedContract<BFloat16>>(std::move(args));
    case DType::F16: return std::make_shared<FusedContract<Float16>>(std::move(args));
    default: return nullptr;
  }
}

}  // namespace sheaf::kernels
