// Passes over kernels keep every bit: random kernels in the reference executor before and after.
#include <gtest/gtest.h>

#include "codegen/random_kernels.h"
#include "loop/reference.h"
#include "loop/regions.h"
#include "passes/loop/chunk.h"
#include "passes/loop/expand_math.h"
#include "passes/loop/hoist.h"
#include "passes/loop/specialize.h"
#include "passes/loop/tile.h"

namespace sheaf::passes {
namespace {

namespace testing = codegen::testing;

bool has_elementary(const loop::Kernel& k) {
  for (const loop::Inst& i : k.values)
    if (i.op >= loop::Op::Exp) return true;
  return false;
}

template <class Pass>
void keeps_bits(Pass pass) {
  uint64_t first = std::random_device{}();
  for (uint64_t seed = first; seed < first + 60; ++seed) {
    testing::Generator::Case c = testing::Generator(seed).make();
    loop::Kernel changed = pass(c);
    loop::verify(changed);
    std::vector<testing::Memory> expected = c.buffers, actual = c.buffers;
    loop::CheckRecord expected_check, actual_check;
    loop::run_reference(c.kernel, testing::pointers(expected), c.sizes, expected_check);
    loop::run_reference(changed, testing::pointers(actual), c.sizes, actual_check);
    ASSERT_EQ(testing::difference(expected, expected_check, actual, actual_check), "") << "seed " << seed << "\n"
                                                                                       << loop::print(c.kernel);
  }
}

TEST(ExpandMath, KeepsBitsAndLeavesNoElementaryFunction) {
  keeps_bits([](const testing::Generator::Case& c) {
    loop::Kernel k = expand_math(c.kernel);
    EXPECT_FALSE(has_elementary(k));
    return k;
  });
}

TEST(HoistInvariants, KeepsBits) {
  keeps_bits([](const testing::Generator::Case& c) {
    loop::Kernel k = hoist_invariants(c.kernel, c.sizes);
    loop::verify(k);
    return k;
  });
}

// What is the same along a row is computed once; what another loop writes stays where it is.
TEST(HoistInvariants, MovesWhatDoesNotVary) {
  loop::Builder b("f");
  b.buffer(DType::F32, false);
  b.buffer(DType::F32, true);
  auto rows = b.size(), columns = b.size();
  auto i = b.begin_loop(rows, loop::Mark::Parallel), j = b.begin_loop(columns, loop::Mark::Vector);
  auto at = b.add(b.mul(i, columns), j);
  auto half = b.div(b.load(0, i), b.number(DType::F32, 2));
  b.store(1, at, b.add(b.mul(b.load(0, at), half), b.load(1, at)));
  b.end();
  b.end();
  const loop::Kernel k = b.finish();
  const std::vector<int64_t> sizes{4, 8}, empty{4, 0};
  const loop::Block& outer = hoist_invariants(k, sizes).body.back().body;
  EXPECT_EQ(outer.size(), 4u);  // the row's offset, the load, the division, the loop
  EXPECT_EQ(outer.back().body.size(), 6u);
  EXPECT_EQ(loop::print(hoist_invariants(k, empty)), loop::print(k));
}

TEST(Chunk, KeepsBits) {
  keeps_bits([](const testing::Generator::Case& c) { return chunk(c.kernel); });
}

TEST(Chunk, LeavesSumsOfColumnsToBackEnds) {
  loop::Builder b("f");
  b.buffer(DType::F32, false);
  b.buffer(DType::F32, true);
  auto rows = b.size(), columns = b.size();
  auto i = b.begin_loop(columns, loop::Mark::Vector), j = b.begin_reduce(rows, loop::Combine::Sum);
  b.store(1, i, b.end_reduce(b.load(0, b.add(b.mul(j, columns), i))));
  b.end();
  loop::Kernel k = b.finish();
  EXPECT_EQ(loop::print(chunk(k)), loop::print(k));
}

// Chunks of every length but a full one, and counters whose upper words differ from chunk to chunk.
TEST(Chunk, SplitsIndicesIntoWords) {
  loop::Builder b("f");
  b.buffer(DType::U32, true);
  auto keys = b.size(), n = b.size();
  auto key = b.begin_loop(keys, loop::Mark::Free), i = b.begin_loop(n, loop::Mark::Vector);
  auto low = b.convert(i, DType::U32), high = b.convert(b.shr(i, b.i64(14)), DType::U32);
  b.store(0, b.add(b.mul(key, n), i), b.xor_(b.mul(low, b.u32(2654435761u)), b.add(high, b.convert(key, DType::U32))));
  b.end();
  b.end();
  loop::Kernel k = b.finish(), chunked = chunk(k);
  loop::verify(chunked);
  ASSERT_EQ(chunked.body.back().mark, loop::Mark::Parallel);
  for (auto [rows, columns] : {std::pair<int64_t, int64_t>{1, 1}, {3, 16384}, {2, 40000}, {0, 5}, {4, 0}, {5, 16385}}) {
    std::vector<uint32_t> expected(static_cast<size_t>(rows * columns) + 1), actual(expected.size());
    std::vector<int64_t> sizes{rows, columns};
    auto run = [&](const loop::Kernel& kernel, std::vector<uint32_t>& out) {
      std::byte* buffers[] = {reinterpret_cast<std::byte*>(out.data())};
      loop::CheckRecord check;
      loop::run_reference(kernel, buffers, sizes, check);
    };
    run(k, expected);
    run(chunked, actual);
    EXPECT_EQ(expected, actual) << rows << " by " << columns;
  }
}

TEST(Specialize, KeepsBits) {
  keeps_bits(
      [](const testing::Generator::Case& c) { return specialize(c.kernel, StrideSizes(c.kernel).known(c.sizes)); });
}

TEST(Tile, KeepsBits) {
  keeps_bits([](const testing::Generator::Case& c) {
    return tile_transposed(specialize(c.kernel, StrideSizes(c.kernel).known(c.sizes)));
  });
}

TEST(Tile, WalksATransposedOperandInSquares) {
  loop::Builder b("f");
  b.buffer(DType::F32, false);
  b.buffer(DType::F32, true);
  auto n = b.size(), m = b.size(), across = b.size();
  auto i = b.begin_loop(n, loop::Mark::Parallel), j = b.begin_loop(m, loop::Mark::Vector);
  b.store(1, b.add(b.mul(i, m), j), b.neg(b.load(0, b.add(i, b.mul(j, across)))));
  b.end();
  b.end();
  loop::Kernel k = b.finish(), tiled = tile_transposed(k);
  loop::verify(tiled);
  EXPECT_EQ(tiled.num_axes, 4);
  for (auto [rows, columns] : {std::pair<int64_t, int64_t>{1, 1}, {16, 16}, {17, 33}, {0, 5}, {40, 3}}) {
    std::vector<float> x(rows * columns + 1), expected(rows * columns + 1), actual(rows * columns + 1);
    for (size_t e = 0; e < x.size(); ++e)
      x[e] = static_cast<float>(e);
    std::vector<int64_t> sizes{rows, columns, rows};
    auto run = [&](const loop::Kernel& kernel, std::vector<float>& out) {
      std::byte* buffers[] = {reinterpret_cast<std::byte*>(x.data()), reinterpret_cast<std::byte*>(out.data())};
      loop::CheckRecord check;
      loop::run_reference(kernel, buffers, sizes, check);
    };
    run(k, expected);
    run(tiled, actual);
    EXPECT_EQ(expected, actual) << rows << " by " << columns;
  }
}

TEST(Specialize, FindsTheStridesOfVectorAxes) {
  loop::Builder b("f");
  b.buffer(DType::F32, false);
  b.buffer(DType::F32, true);
  auto n = b.size(), m = b.size(), outer = b.size(), inner = b.size();
  auto i = b.begin_loop(n, loop::Mark::Parallel), j = b.begin_loop(m, loop::Mark::Vector);
  b.store(1, b.add(b.mul(i, m), j), b.load(0, b.add(b.mul(i, outer), b.mul(j, inner))));
  b.end();
  b.end();
  loop::Kernel k = b.finish();
  std::vector<int64_t> sizes{1, 1, 1, 1};
  EXPECT_EQ(StrideSizes(k).known(sizes), (std::vector<KnownSize>{{3, 1}}));
  sizes[3] = 5;
  EXPECT_TRUE(StrideSizes(k).known(sizes).empty());
}

TEST(Specialize, KnowsShortRows) {
  loop::Builder b("f");
  b.buffer(DType::F32, false);
  b.buffer(DType::F32, true);
  auto n = b.size(), m = b.size(), outer = b.size(), inner = b.size();
  auto i = b.begin_loop(n, loop::Mark::Parallel), j = b.begin_reduce(m, loop::Combine::Sum);
  b.store(1, i, b.end_reduce(b.load(0, b.add(b.mul(i, outer), b.mul(j, inner)))));
  b.end();
  loop::Kernel k = b.finish();
  auto known = [&](std::vector<int64_t> sizes) { return known_sizes(k, sizes); };
  EXPECT_EQ(known({100, 5, 5, 1}), (std::vector<KnownSize>{{3, 1}, {1, 5}, {2, 5}}));
  EXPECT_EQ(known({100, 5, 7, 1}), (std::vector<KnownSize>{{3, 1}, {1, 5}}));
  EXPECT_EQ(known({100, 27, 27, 1}), (std::vector<KnownSize>{{3, 1}, {1, loop::kShortRow, true}}));
  EXPECT_EQ(known({100, 32, 32, 1}), (std::vector<KnownSize>{{3, 1}}));
  EXPECT_EQ(known({10, 5, 5, 1}), (std::vector<KnownSize>{{3, 1}}));
  ShortRows rows(k);
  auto pattern = [&](std::vector<int64_t> sizes) { return rows.pattern(sizes); };
  EXPECT_EQ(pattern({100, 27, 27, 1}), pattern({90, 28, 28, 1}));
  EXPECT_NE(pattern({100, 5, 5, 1}), pattern({100, 5, 7, 1}));
  EXPECT_NE(pattern({100, 5, 5, 1}), pattern({100, 6, 6, 1}));
}

}  // namespace
}  // namespace sheaf::passes
