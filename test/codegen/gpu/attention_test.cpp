// The templates for attention and its reverse against the definition (routines/attention), to the bit: groups of rows,
// blocks and stretches of columns, masks, windows, several types, infinities and NaN.
#include "codegen/gpu/attention.h"

#include <gtest/gtest.h>

#include "codegen/gpu/text_program.h"
#include "codegen/random_kernels.h"

namespace sheaf::codegen::gpu {
namespace {

using codegen::testing::Memory;
using routines::MaskKind;

struct Case {
  routines::AttentionVjpArgs<> args;
  int64_t offset, window;
  bool special;  // with infinities and NaN
};

Case attention_case(DType d, std::array<int64_t, 7> sizes, bool causal, MaskKind mask, bool interleaved) {
  Case c{{}, 0, int64_t{1} << 62, false};
  auto& a = c.args;
  a.dtype = d;
  a.causal = causal;
  a.mask = mask;
  std::tie(a.batch, a.heads, a.groups, a.rows, a.columns, a.depth, a.width) = std::tuple_cat(sizes);
  // [B, H, T, D], or [B, T, H, D] seen in that order.
  auto strides = [&](int64_t heads, int64_t rows, int64_t width) {
    return interleaved ? std::array<int64_t, 4>{heads * rows * width, width, heads * width, 1}
                       : std::array<int64_t, 4>{heads * rows * width, rows * width, width, 1};
  };
  a.q = strides(a.heads, a.rows, a.depth);
  a.k = strides(a.groups, a.columns, a.depth);
  a.v = strides(a.groups, a.columns, a.width);
  a.mask_strides = {interleaved ? 0 : a.heads * a.rows * a.columns, a.rows * a.columns, a.columns, 1};
  a.lse = a.delta = {a.rows * a.heads, a.heads, 1};
  a.dy = {a.rows * a.heads * a.width, a.heads * a.width, a.width, 1};
  return c;
}

Memory memory(DType d, int64_t n) {
  return {d, std::vector<std::byte>(static_cast<size_t>(std::max<int64_t>(n, 1) * size_bytes(d)))};
}

Memory random_memory(DType d, int64_t n, bool special, std::mt19937_64& rng) {
  Memory m = memory(d, n);
  scalar::visit_dtype(d, [&]<class T>(std::type_identity<T>) {
    for (int64_t i = 0; i < n; ++i) {
      double x = std::normal_distribution<double>(0, 1)(rng);
      if (d == DType::Bool) x = i / 700 % 3 != 0 && rng() % 8 != 0;
      if (const uint64_t r = rng() % 300; special && r < 3) x = r == 0 ? INFINITY : r == 1 ? -INFINITY : NAN;
      const T v = scalar::convert<T>(x);
      std::memcpy(m.bytes.data() + i * static_cast<int64_t>(sizeof(T)), &v, sizeof(T));
    }
  });
  return m;
}

template <class T>
Memory value(DType d, T x) {
  Memory m = memory(d, 1);
  std::memcpy(m.bytes.data(), &x, sizeof x);
  return m;
}

struct Attention : testing::EachProgram {};
SHEAF_EACH_PROGRAM(Attention);

TEST_P(Attention, TemplatesEqualDefinition) {
  const uint64_t seed = testing::seed();
  std::mt19937_64 rng(seed);
  std::vector<Case> cases;
  auto any = [&](auto... x) {
    const int64_t all[] = {x...};
    return all[rng() % std::size(all)];
  };
  constexpr DType kTypes[] = {DType::F32, DType::F32, DType::F64, DType::BF16, DType::F16};
  for (int i = 0; i < 24; ++i) {
    const int64_t groups = any(1, 1, 2), heads = groups * any(1, 1, 3);
    Case c = attention_case(kTypes[rng() % std::size(kTypes)],
                            {any(1, 1, 2), heads, groups, i % 3 == 0 ? 1 : any(2, 15, 16, 17, 40),
                             any(1, 7, 63, 64, 65, 130), any(1, 3, 8, 33, 64), any(1, 5, 16, 33)},
                            rng() % 2, static_cast<MaskKind>(rng() % 3), rng() % 2);
    c.offset = any(0, 0, 5, 90, -3);
    if (rng() % 3 == 0) c.window = any(0, 1, 20, 100);
    c.special = rng() % 4 == 0;
    cases.push_back(c);
  }
  // Several stretches of columns.
  cases.push_back(attention_case(DType::F32, {1, 1, 1, 3, 1100, 4, 4}, false, MaskKind::Bool, false));
  cases.push_back(attention_case(DType::F32, {1, 2, 1, 1, 1100, 4, 4}, false, MaskKind::None, false));
  cases.push_back(attention_case(DType::F32, {1, 1, 1, 2, 70, 200, 256}, false, MaskKind::None, false));

  const auto batch = make();
  for (const Case& c : cases) {
    // Numbers of the arrays below, in the order of each routine.
    const bool masked = c.args.mask != MaskKind::None;
    std::vector<int32_t> forward{0, 1, 2, 3, 4, 5}, reverse{0, 1, 2, 3, 4, 5, 8, 9, 10};
    if (masked) forward.push_back(6), reverse.push_back(6);
    forward.insert(forward.end(), {7, 8});
    reverse.insert(reverse.end(), {11, 12, 13});
    testing::Entry e;
    for (Launch& l : emit_attention(c.args, forward, batch->next_prefix(), batch->helpers()))
      e.program.steps.emplace_back(std::move(l));
    for (Launch& l : emit_attention_vjp(c.args, reverse, batch->next_prefix() + "v", batch->helpers()))
      e.program.steps.emplace_back(std::move(l));
    batch->add(std::move(e));
  }
  batch->compile();
  for (size_t i = 0; i < cases.size(); ++i) {
    const Case& c = cases[i];
    const auto& a = c.args;
    const DType t = a.dtype == DType::F64 ? DType::F64 : DType::F32;
    const int64_t q = a.batch * a.heads * a.rows, k = a.batch * a.groups * a.columns;
    std::vector<Memory> expected{
        random_memory(a.dtype, q * a.depth, c.special, rng),
        random_memory(a.dtype, k * a.depth, c.special, rng),
        random_memory(a.dtype, k * a.width, c.special, rng),
        t == DType::F64 ? value(t, 0.37) : value(t, 0.37f),
        value(DType::I64, c.offset),
        value(DType::I64, c.window),
        random_memory(a.mask == MaskKind::Bool ? DType::Bool : a.dtype, q * a.columns, false, rng),
        memory(a.dtype, q * a.width),
        memory(t, q),
        random_memory(t, q, false, rng),
        random_memory(a.dtype, q * a.width, c.special, rng),
        memory(a.dtype, q * a.depth),
        memory(a.dtype, k * a.depth),
        memory(a.dtype, k * a.width)};
    std::vector<Memory> actual = expected;
    const std::vector<std::byte*> all = codegen::testing::pointers(expected);
    std::vector<std::byte*> forward(all.begin(), all.begin() + 6), reverse = forward;
    reverse.insert(reverse.end(), {all[8], all[9], all[10]});
    if (a.mask != MaskKind::None) forward.push_back(all[6]), reverse.push_back(all[6]);
    forward.insert(forward.end(), {all[7], all[8]});
    reverse.insert(reverse.end(), {all[11], all[12], all[13]});
    routines::attention({forward, {}}, a);
    routines::attention_vjp({reverse, {}}, a);
    loop::CheckRecord check;
    batch->run(i, testing::regions(actual), {}, check, seed + i);
    ASSERT_EQ(codegen::testing::difference(expected, {}, actual, {}), "")
        << sheaf::name_of(a.dtype) << " B" << a.batch << " H" << a.heads << " G" << a.groups << " T" << a.rows << " S"
        << a.columns << " D" << a.depth << " E" << a.width << (a.causal ? " causal" : "") << " mask "
        << static_cast<int>(a.mask) << " offset " << c.offset << " window " << c.window << " case " << i
        << " SHEAF_SEED=" << seed;
  }
}

}  // namespace
}  // namespace sheaf::codegen::gpu
