// Fast attention and its backward pass against the definition in routines/attention/attention.cpp, bit for bit, for any
// number of threads.
#include "kernels/attention/attention.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "routines/attention/args.h"
#include "runtime/thread_pool.h"
#include "scalar/scalar_ops.h"

namespace sheaf::kernels {
namespace {

using routines::MaskKind;

struct Problem {
  int64_t batch, heads, groups, rows, columns, depth, width;
  bool causal;
  MaskKind mask;
  int64_t offset, window;
  int64_t step;      // between neighbouring elements
  bool interleaved;  // [B, T, H, D] seen as [B, H, T, D]
  bool special;      // with infinities and NaN
};

std::string text(const Problem& p, uint64_t seed) {
  std::string s;
  for (int64_t x : {p.batch, p.heads, p.groups, p.rows, p.columns, p.depth, p.width, int64_t{p.causal},
                    static_cast<int64_t>(p.mask), p.offset, p.window, p.step})
    s += std::to_string(x) + " ";
  return s + (p.interleaved ? "interleaved " : "") + (p.special ? "special " : "") + "seed " + std::to_string(seed);
}

std::array<int64_t, 4> four(const std::vector<int64_t>& strides) {
  return {strides[0], strides[1], strides[2], strides[3]};
}

template <class S>
struct Array {
  std::vector<S> data;
  std::vector<int64_t> strides;
};

template <class S>
Array<S> random_array(std::mt19937_64& rng, const Problem& p, int64_t heads, int64_t rows, int64_t width) {
  Array<S> a;
  a.data.resize(p.batch * heads * rows * width * p.step + 1);
  for (S& x : a.data) {
    double e = std::normal_distribution<double>(0, 1)(rng);
    uint64_t r = rng() % 400;
    if (p.special && r < 3)
      e = r == 0 ? INFINITY : r == 1 ? -INFINITY : NAN;
    else if (r < 20)
      e = r < 8 ? -1e-38 : r < 12 ? 0 : -0.0;
    x = scalar::convert<S>(e);
  }
  int64_t last = p.step, row = width * p.step * (p.interleaved ? heads : 1),
          head = width * p.step * (p.interleaved ? 1 : rows);
  a.strides = {heads * rows * width * p.step, head, row, last};
  return a;
}

template <class T>
bool same(const std::vector<T>& a, const std::vector<T>& b) {
  for (size_t i = 0; i < a.size(); ++i) {
    auto x = scalar::convert<double>(a[i]), y = scalar::convert<double>(b[i]);
    if (!(std::isnan(x) && std::isnan(y)) && std::memcmp(&a[i], &b[i], sizeof(T)) != 0) {
      ADD_FAILURE() << "element " << i << ": " << x << " and " << y;
      return false;
    }
  }
  return true;
}

template <class T>
std::byte* bytes(std::vector<T>& v) {
  return reinterpret_cast<std::byte*>(v.data());
}

template <class S, class T>
void check(DType dtype, const Problem& p, uint64_t seed, routines::Arithmetic arithmetic = {}) {
  std::mt19937_64 rng(seed);
  auto q = random_array<S>(rng, p, p.heads, p.rows, p.depth), k = random_array<S>(rng, p, p.groups, p.columns, p.depth),
       v = random_array<S>(rng, p, p.groups, p.columns, p.width);
  auto added = random_array<S>(rng, p, p.heads, p.rows, p.columns);
  std::vector<uint8_t> shown(p.batch * p.heads * p.rows * p.columns * p.step + 1);
  for (size_t i = 0; i < shown.size(); ++i)
    shown[i] = i / 700 % 3 != 0 && rng() % 8 != 0;
  std::vector<int64_t> offset{p.offset}, window{p.window};
  std::vector<T> scale{T(0.37)};
  routines::AttentionVjpArgs<> args{};
  args.dtype = dtype, args.causal = p.causal, args.mask = p.mask;
  args.batch = p.batch, args.heads = p.heads, args.groups = p.groups, args.rows = p.rows, args.columns = p.columns;
  args.depth = p.depth, args.width = p.width;
  args.q = four(q.strides), args.k = four(k.strides), args.v = four(v.strides);
  args.mask_strides = four(added.strides);
  if (seed % 3 == 0) args.mask_strides[0] = args.mask_strides[1] = 0;
  std::vector<std::byte*> in{bytes(q.data), bytes(k.data), bytes(v.data), bytes(scale), bytes(offset), bytes(window)};
  auto run = [&](auto* routine, std::vector<std::byte*> inputs, std::vector<std::byte*> outputs) {
    if (p.mask != MaskKind::None) inputs.push_back(p.mask == MaskKind::Bool ? bytes(shown) : bytes(added.data));
    inputs.insert(inputs.end(), outputs.begin(), outputs.end());
    routine({inputs, arithmetic}, args);
  };
  std::vector<S> y(p.batch * p.rows * p.heads * p.width), y2 = y;
  std::vector<T> lse(p.batch * p.rows * p.heads), lse2 = lse;
  run(routines::attention, in, {bytes(y), bytes(lse)});
  run(attention, in, {bytes(y2), bytes(lse2)});
  ASSERT_TRUE(same(y, y2) && same(lse, lse2))
      << "forward " << sheaf::name_of(dtype) << (arithmetic.bf16_tiles ? " by tiles " : " ") << " " << text(p, seed);

  auto dy = random_array<S>(rng, p, p.heads, p.rows, p.width);
  auto delta = random_array<T>(rng, p, p.heads, p.rows, 1);
  args.lse = {p.rows * p.heads, p.heads, 1};
  args.delta = {delta.strides[0], delta.strides[2], delta.strides[1]};
  args.dy = {dy.strides[0], dy.strides[2], dy.strides[1], dy.strides[3]};
  in.insert(in.end(), {bytes(lse), bytes(delta.data), bytes(dy.data)});
  std::vector<S> dq(p.batch * p.rows * p.heads * p.depth), dk(p.batch * p.columns * p.groups * p.depth),
      dv(p.batch * p.columns * p.groups * p.width), dq2 = dq, dk2 = dk, dv2 = dv;
  run(routines::attention_vjp, in, {bytes(dq), bytes(dk), bytes(dv)});
  run(attention_vjp, in, {bytes(dq2), bytes(dk2), bytes(dv2)});
  ASSERT_TRUE(same(dq, dq2)) << "dq " << sheaf::name_of(dtype) << (arithmetic.bf16_tiles ? " by tiles " : " ") << " "
                             << text(p, seed);
  ASSERT_TRUE(same(dk, dk2)) << "dk " << sheaf::name_of(dtype) << (arithmetic.bf16_tiles ? " by tiles " : " ") << " "
                             << text(p, seed);
  ASSERT_TRUE(same(dv, dv2)) << "dv " << sheaf::name_of(dtype) << (arithmetic.bf16_tiles ? " by tiles " : " ") << " "
                             << text(p, seed);
}

void all_types(const Problem& p, uint64_t seed) {
  check<float, float>(DType::F32, p, seed);
  check<double, double>(DType::F64, p, seed);
  check<scalar::BFloat16, float>(DType::BF16, p, seed);
  check<scalar::BFloat16, float>(DType::BF16, p, seed, {.bf16_tiles = true});
  check<scalar::Float16, float>(DType::F16, p, seed);
}

constexpr int64_t kNoWindow = int64_t{1} << 40;

TEST(Attention, EqualsDefinition) {
  uint64_t seed = std::random_device{}();
  std::mt19937_64 rng(seed);
  constexpr int64_t sizes[] = {1, 2, 3, 4, 5, 7, 8, 9, 13, 15, 16, 17, 24, 31, 33, 47, 64, 65, 70, 130};
  constexpr int64_t widths[] = {1, 2, 3, 4, 5, 8, 12, 15, 16, 20, 33, 64};
  for (int trial = 0; trial < 120; ++trial) {
    runtime::set_num_threads(1 + trial % 4);
    int64_t groups = 1 + static_cast<int64_t>(rng() % 2);
    Problem p{1 + static_cast<int64_t>(rng() % 2),
              groups * (1 + static_cast<int64_t>(rng() % 2)),
              groups,
              sizes[rng() % std::size(sizes)],
              sizes[rng() % std::size(sizes)],
              widths[rng() % std::size(widths)],
              widths[rng() % std::size(widths)],
              rng() % 2 == 0,
              static_cast<MaskKind>(rng() % 3),
              0,
              kNoWindow,
              rng() % 4 ? 1 : 2,
              rng() % 2 == 0,
              rng() % 4 == 0};
    if (rng() % 3)
      p.offset = p.columns - p.rows;
    else
      p.offset = static_cast<int64_t>(rng() % 200) - 100;
    if (rng() % 3 == 0) p.window = static_cast<int64_t>(rng() % 40);
    all_types(p, seed + trial);
    if (HasFatalFailure()) return;
  }
}

// More columns than a segment; one row, as when decoding, where segments are tasks.
TEST(Attention, LongRows) {
  for (int threads : {1, 4})
    for (int64_t rows : {1, 3, 20}) {
      runtime::set_num_threads(threads);
      for (MaskKind mask : {MaskKind::None, MaskKind::Bool}) {
        all_types({1, 2, 1, rows, 1300, 8, 8, true, mask, 1300 - rows, kNoWindow, 1, true, false}, 1);
        all_types({1, 1, 1, rows, 1030, 5, 9, false, mask, 0, 700, 1, false, false}, 2);
        if (HasFatalFailure()) return;
      }
    }
}

// Few heads and many threads: dq and dk, dv are separate tasks.
TEST(Attention, OneHeadManyThreads) {
  runtime::set_num_threads(4);
  all_types({1, 1, 1, 200, 190, 16, 16, true, MaskKind::None, 0, kNoWindow, 1, false, false}, 3);
  all_types({1, 2, 1, 150, 150, 16, 8, true, MaskKind::Bool, 0, kNoWindow, 1, false, false}, 4);
}

TEST(Attention, Empty) {
  for (int64_t batch : {0, 1})
    for (int64_t rows : {0, 2})
      for (int64_t depth : {0, 3})
        all_types({batch, 1, 1, rows, 3, depth, 2, false, MaskKind::None, 0, kNoWindow, 1, false, false}, 5);
  all_types({1, 1, 1, 2, 3, 2, 0, false, MaskKind::None, 0, kNoWindow, 1, false, false}, 5);
  all_types({1, 1, 1, 3, 3, 2, 2, true, MaskKind::None, -2, kNoWindow, 1, false, false}, 5);  // fully masked rows
  all_types({1, 1, 1, 3, 3, 2, 2, true, MaskKind::None, -9, kNoWindow, 1, false, false}, 5);
}

}  // namespace
}  // namespace sheaf::kernels
