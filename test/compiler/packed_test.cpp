// Matrices that are read repeatedly are repacked, without a change of values, until they are written to or freed.
#include "runtime/packed.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstdio>
#include <cstring>
#include <thread>
#include <utility>

#include "compiler/compile.h"
#include "compiler/pipeline.h"
#include "kernels/gemm/gemm.h"
#include "ops/apply.h"
#include "ops/table.h"
#include "runtime/target.h"
#include "trace/traced.h"

namespace sheaf::compiler {
namespace {

using graph::Operand;
using runtime::packed_stats;

constexpr int64_t kSize = 512;
// The bytes of the packed matrix, if packing is done at all.
int64_t packed_bytes() {
  auto form = kernels::repacked_form({.dtype = DType::BF16,
                                      .batch = 1,
                                      .m = 1,
                                      .n = kSize,
                                      .k = kSize,
                                      .a = {kSize, kSize, 1},
                                      .b = {kSize * kSize, kSize, 1},
                                      .result = DType::BF16},
                                     runtime::host_target());
  return form ? form->facts.bytes : 0;
}

class Packed : public ::testing::Test {
 protected:
  void SetUp() override {
    trace::install();
    Operand x = input({1, 1, kSize}), w = input({1, kSize, kSize});
    g_.outputs = {ops::dot(x, w)};
    code_ = compile(g_);
  }
  Operand input(Dims sizes) {
    g_.inputs.push_back(make_ref<graph::Node>(&ops::op("input"), graph::Attrs{}, std::vector<Operand>{},
                                              std::vector<graph::TensorType>{{DType::BF16, to_sizes(sizes)}}));
    return Operand(g_.inputs.back(), 0);
  }
  static void fill(const Tensor& t, int step) {
    for (int64_t i = 0; i < t.num_elems(); ++i)
      store_double(DType::BF16, t.bytes_mut() + 2 * i, static_cast<double>(i * step % 13) - 6);
  }
  static Tensor numbers(Dims sizes, int step) {
    Tensor t = empty_tensor(DType::BF16, sizes);
    fill(t, step);
    return t;
  }
  bool same_product(const Tensor& a, const Tensor& b) const {
    return std::memcmp(a.bytes(), b.bytes(), kSize * 2) == 0;
  }

  graph::Graph g_;
  Compiled code_;
  Tensor x_ = numbers({1, 1, kSize}, 5), w_ = numbers({1, kSize, kSize}, 3);
};

TEST_F(Packed, AfterAFewReadsWithTheSameBits) {
  const int64_t before = packed_stats().bytes;
  Tensor first = run(code_, std::vector{x_, w_})[0];
  EXPECT_EQ(packed_stats().bytes, before) << "once is not worth it";
  for (int i = 0; i < 4; ++i)
    EXPECT_TRUE(same_product(run(code_, std::vector{x_, w_})[0], first));
  EXPECT_EQ(packed_stats().bytes, before + packed_bytes());
  EXPECT_LE(packed_stats().bytes, packed_stats().most_bytes);
  w_ = Tensor();
  EXPECT_EQ(packed_stats().bytes, before) << "goes with the matrix";
}

TEST_F(Packed, NotOnceTheMatrixIsWrittenTo) {
  for (int i = 0; i < 4; ++i)
    run(code_, std::vector{x_, w_});
  w_.buffer->will_change();
  fill(w_, 7);
  Tensor expected = run(code_, std::vector{x_, copy_of(w_)})[0];
  for (int i = 0; i < 4; ++i)
    EXPECT_TRUE(same_product(run(code_, std::vector{x_, w_})[0], expected)) << i;
}

// A step that reads its weights and returns them changed, in place.
TEST_F(Packed, NotWhatACallGivesUp) {
  Operand w(g_.inputs[1], 0);
  g_.outputs.push_back(ops::add(w, w));
  Compiled step = compile(g_);
  for (int i = 0; i < 4; ++i)
    run(code_, std::vector{x_, w_});
  uint8_t given_up[] = {0, 1};
  for (int i = 0; i < 4; ++i) {
    Tensor expected = run(code_, std::vector{x_, copy_of(w_)})[0];
    std::vector<Tensor> out = run(step, std::vector{x_, w_}, given_up);
    EXPECT_TRUE(same_product(out[0], expected)) << i;
    EXPECT_EQ(out[1].buffer.get(), w_.buffer.get()) << "in place";
    w_ = out[1];
  }
}

TEST_F(Packed, ManyThreadsShareOneCopy) {
  const int64_t before = packed_stats().bytes;
  enable_atomic_counts();
  Tensor expected = run(code_, std::vector{x_, copy_of(w_)})[0];
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 20; ++i)
        EXPECT_TRUE(same_product(run(code_, std::vector{x_, w_})[0], expected));
    });
  for (auto& t : threads)
    t.join();
  EXPECT_EQ(packed_stats().bytes, before + packed_bytes());
}

// Products of more rows read the copy that single rows have caused, with the same bits, and cause none themselves.
TEST_F(Packed, ForMoreRowsToo) {
  const int64_t before = packed_stats().bytes;
  graph::Graph wide;
  std::swap(wide, g_);
  Operand x = input({1, 8, kSize}), w = input({1, kSize, kSize});
  g_.outputs = {ops::dot(x, w)};
  Compiled rows = compile(g_);
  Tensor x8 = numbers({1, 8, kSize}, 11);
  Tensor expected = run(rows, std::vector{x8, w_})[0];
  for (int i = 0; i < 4; ++i)
    run(rows, std::vector{x8, w_});
  EXPECT_EQ(packed_stats().bytes, before);
  for (int i = 0; i < 4; ++i)
    run(code_, std::vector{x_, w_});
  EXPECT_EQ(packed_stats().bytes, before + packed_bytes());
  Tensor actual = run(rows, std::vector{x8, w_})[0];
  EXPECT_EQ(std::memcmp(actual.bytes(), expected.bytes(), 8 * kSize * 2), 0);
}

// The matrix in a file that is mapped.
Tensor mapped(const Tensor& t) {
  const size_t bytes = t.buffer->size_bytes();
  std::FILE* file = std::tmpfile();
  EXPECT_EQ(std::fwrite(t.bytes(), 1, bytes, file), bytes);
  std::fflush(file);
  void* p = mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, fileno(file), 0);
  std::fclose(file);
  EXPECT_NE(p, MAP_FAILED);
  Tensor out = t;
  out.buffer =
      make_ref<Buffer>(static_cast<std::byte*>(p), bytes, [p, bytes] { munmap(p, bytes); }, Buffer::Origin::File);
  return out;
}

// For a weight in a mapped file only the copy stays in memory.
TEST_F(Packed, InPlaceOfAFile) {
  Tensor w = mapped(w_), expected = run(code_, std::vector{x_, w_})[0];
  const int64_t before = packed_stats().bytes;
  for (int i = 0; i < 5; ++i)
    EXPECT_TRUE(same_product(run(code_, std::vector{x_, w})[0], expected)) << i;
  EXPECT_EQ(packed_stats().bytes, before + packed_bytes());
  EXPECT_TRUE(same_product(w, w_)) << "its pages come again when they are read";
  w = Tensor();
  EXPECT_EQ(packed_stats().bytes, before);
}

// Contiguous columns are copied unchanged, and only from a file.
TEST_F(Packed, ATableOfAFile) {
  g_.outputs = {ops::dot(Operand(g_.inputs[0], 0), ops::swap_last_two(Operand(g_.inputs[1], 0)))};
  Compiled by_columns = compile(g_);
  const int64_t before = packed_stats().bytes;
  Tensor w = mapped(w_), expected;
  for (int i = 0; i < 5; ++i)
    expected = run(by_columns, std::vector{x_, w_})[0];
  EXPECT_EQ(packed_stats().bytes, before);
  for (int i = 0; i < 5; ++i)
    EXPECT_TRUE(same_product(run(by_columns, std::vector{x_, w})[0], expected)) << i;
  EXPECT_EQ(packed_stats().bytes, before + packed_bytes());
}

TEST_F(Packed, NotMemoryOfOthersNorWhenSwitchedOff) {
  const int64_t before = packed_stats().bytes;
  Tensor foreign = w_;
  foreign.buffer = make_ref<Buffer>(w_.buffer->host_mut(), w_.buffer->size_bytes(), [] {});
  for (int i = 0; i < 5; ++i)
    run(code_, std::vector{x_, foreign});
  switch_pass("repack", false);
  Compiled plain = compile(g_);
  switch_pass("repack", true);
  for (int i = 0; i < 5; ++i)
    run(plain, std::vector{x_, w_});
  EXPECT_EQ(packed_stats().bytes, before);
}

}  // namespace
}  // namespace sheaf::compiler
