// Compares the templates for attention and its backward pass with the definition (routines/attention), to the bit:
// groups of rows, blocks and segments of columns, masks, windows, several types, infinities and NaN. Templates for
// matrix units are compared within their bounds.
#include "codegen/gpu/attention.h"

#include <gtest/gtest.h>

#include "codegen/gpu/attention_units.h"
#include "codegen/gpu/text_program.h"
#include "codegen/gpu/unit_cases.h"
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

struct Operands {
  std::vector<Memory> arrays;
  std::vector<int32_t> forward, reverse;  // numbers of the arrays, in the order of each routine
};

Operands operands_of(const Case& c, std::mt19937_64& rng) {
  const auto& a = c.args;
  const DType t = a.dtype == DType::F64 ? DType::F64 : DType::F32;
  const int64_t q = a.batch * a.heads * a.rows, k = a.batch * a.groups * a.columns;
  Operands out{
      {random_memory(a.dtype, q * a.depth, c.special, rng), random_memory(a.dtype, k * a.depth, c.special, rng),
       random_memory(a.dtype, k * a.width, c.special, rng), t == DType::F64 ? value(t, 0.37) : value(t, 0.37f),
       value(DType::I64, c.offset), value(DType::I64, c.window),
       random_memory(a.mask == MaskKind::Bool ? DType::Bool : a.dtype, q * a.columns, false, rng),
       memory(a.dtype, q * a.width), memory(t, q), random_memory(t, q, false, rng),
       random_memory(a.dtype, q * a.width, c.special, rng), memory(a.dtype, q * a.depth), memory(a.dtype, k * a.depth),
       memory(a.dtype, k * a.width)},
      {0, 1, 2, 3, 4, 5},
      {0, 1, 2, 3, 4, 5, 8, 9, 10}};
  if (a.mask != MaskKind::None) out.forward.push_back(6), out.reverse.push_back(6);
  out.forward.insert(out.forward.end(), {7, 8});
  out.reverse.insert(out.reverse.end(), {11, 12, 13});
  return out;
}

void run_definition(const Case& c, Operands& o) {
  auto some = [&](const std::vector<int32_t>& numbers) {
    std::vector<std::byte*> out;
    for (int32_t n : numbers)
      out.push_back(o.arrays[static_cast<size_t>(n)].bytes.data());
    return out;
  };
  const std::vector<std::byte*> forward = some(o.forward), reverse = some(o.reverse);
  routines::attention({forward, {}}, c.args);
  routines::attention_vjp({reverse, {}}, c.args);
}

std::string print(const Case& c) {
  const auto& a = c.args;
  return fmt::format("{} B{} H{} G{} T{} S{} D{} E{}{} mask {} offset {} window {}", sheaf::name_of(a.dtype), a.batch,
                     a.heads, a.groups, a.rows, a.columns, a.depth, a.width, a.causal ? " causal" : "",
                     static_cast<int>(a.mask), c.offset, c.window);
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
  // Several segments of columns.
  cases.push_back(attention_case(DType::F32, {1, 1, 1, 3, 1100, 4, 4}, false, MaskKind::Bool, false));
  cases.push_back(attention_case(DType::F32, {1, 2, 1, 1, 1100, 4, 4}, false, MaskKind::None, false));
  cases.push_back(attention_case(DType::F32, {1, 1, 1, 2, 70, 200, 256}, false, MaskKind::None, false));

  const auto batch = make();
  std::vector<Operands> operands;
  for (const Case& c : cases) {
    const Operands& o = operands.emplace_back(operands_of(c, rng));
    testing::Entry e;
    for (EmittedLaunch& l : emit_attention(c.args, o.forward, batch->next_prefix(), batch->helpers()))
      e.program.steps.emplace_back(std::move(l));
    for (EmittedLaunch& l : emit_attention_vjp(c.args, o.reverse, batch->next_prefix() + "v", batch->helpers()))
      e.program.steps.emplace_back(std::move(l));
    batch->add(std::move(e));
  }
  batch->compile();
  for (size_t i = 0; i < cases.size(); ++i) {
    Operands& expected = operands[i];
    std::vector<Memory> actual = expected.arrays;
    run_definition(cases[i], expected);
    loop::CheckRecord check;
    batch->run(i, testing::regions(actual), {}, check, seed + i);
    ASSERT_EQ(codegen::testing::difference(expected.arrays, {}, actual, {}), "")
        << print(cases[i]) << " case " << i << " SHEAF_SEED=" << seed;
  }
}

// Empty, or the distance of an array from the expected one, in norm. NaNs must be at the same positions in both.
std::string distance(const Memory& expected, const Memory& actual, double bound) {
  double error = 0, size = 0;
  const int64_t n = std::ssize(expected.bytes) / size_bytes(expected.dtype);
  for (int64_t i = 0; i < n; ++i) {
    const double x = testing::unit_value(expected, i), y = testing::unit_value(actual, i);
    if (std::isfinite(x) != std::isfinite(y)) return fmt::format("element {}: {} instead of {}", i, y, x);
    if (!std::isfinite(x)) continue;
    error += (x - y) * (x - y);
    size += x * x;
  }
  const double relative = size > 0 ? std::sqrt(error / size) : error;
  return relative <= bound ? "" : fmt::format("an error of {}", relative);
}

TEST_P(Attention, MatrixUnitsAreNearTheDefinition) {
  const uint64_t seed = testing::seed();
  std::mt19937_64 rng(seed);
  std::vector<Case> cases;
  auto any = [&](auto... x) {
    const int64_t all[] = {x...};
    return all[rng() % std::size(all)];
  };
  for (int i = 0; i < 14; ++i) {
    const int64_t groups = any(1, 1, 2), heads = groups * any(1, 1, 2);
    Case c = attention_case(i % 2 ? DType::BF16 : DType::F16,
                            {any(1, 1, 2), heads, groups, any(17, 31, 63, 64, 65, 100), any(1, 31, 64, 65, 130, 200),
                             i % 5 == 0 ? 128 : any(16, 17, 31, 32, 33, 64), i % 7 == 0 ? 100 : any(16, 17, 33, 64)},
                            rng() % 2, static_cast<MaskKind>(rng() % 3), rng() % 2);
    c.offset = any(0, 0, 5, 90, -3);
    if (rng() % 3 == 0) c.window = any(0, 1, 20, 100);
    cases.push_back(c);
  }
  // As many heads as give a warp 32 rows.
  cases.push_back(
      attention_case(DType::BF16, {4, 66, 33, any(17, 40, 100), any(31, 70), 16, 24}, true, MaskKind::None, false));
  const auto batch = make();
  std::vector<Operands> operands;
  for (const Case& c : cases) {
    const Operands& o = operands.emplace_back(operands_of(c, rng));
    const bool aligned = rng() % 4 != 0;
    testing::Entry e;
    for (EmittedLaunch& l : emit_unit_attention(c.args, o.forward, batch->next_prefix(), batch->helpers(), aligned))
      e.program.steps.emplace_back(std::move(l));
    for (EmittedLaunch& l :
         emit_unit_attention_vjp(c.args, o.reverse, batch->next_prefix() + "v", batch->helpers(), aligned))
      e.program.steps.emplace_back(std::move(l));
    batch->add(std::move(e));
  }
  batch->compile();
  for (size_t i = 0; i < cases.size(); ++i) {
    Operands& expected = operands[i];
    std::vector<Memory> actual = expected.arrays, again = actual;
    run_definition(cases[i], expected);
    loop::CheckRecord check;
    batch->run(i, testing::regions(actual), {}, check, seed + i);
    if (i % 4 == 0) {
      batch->run(i, testing::regions(again), {}, check, seed + i + 1);
      ASSERT_EQ(codegen::testing::difference(actual, {}, again, {}), "") << "another order of threads";
    }
    for (size_t result : {8, 7, 11, 12, 13})
      ASSERT_EQ(distance(expected.arrays[result], actual[result], result == 8 ? 1e-4 : 4e-3), "")
          << "array " << result << ", " << print(cases[i]) << " case " << i << " SHEAF_SEED=" << seed;
  }
}

}  // namespace
}  // namespace sheaf::codegen::gpu
