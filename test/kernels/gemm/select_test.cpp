// The decision list among GEMM algorithms, for processors with given facts.
#include "kernels/gemm/select.h"

#include <gtest/gtest.h>

#include <string>

namespace sheaf::kernels {
namespace {

// C[m,n] of contiguous f32 matrices, each of which may be transposed; lanes and tiles as on NEON.
GemmProblem f32(int64_t m, int64_t n, int64_t k, bool ta = false, bool tb = false) {
  return {.m = m,
          .n = n,
          .k = k,
          .a = ta ? GemmProblem::Strides{1, m} : GemmProblem::Strides{k, 1},
          .b = tb ? GemmProblem::Strides{k, 1} : GemmProblem::Strides{1, n},
          .element_bytes = 4,
          .sum_bytes = 4,
          .bf16_dot = false,
          .bf16_tiles = false,
          .lanes = 4,
          .tile_rows = 8,
          .small_width = 8,
          .limits = kGemm16};
}

std::string name(const GemmProblem& p) { return std::string(info(choose(p).algorithm).name); }

TEST(SelectGemm, ByShapeAndStrides) {
  EXPECT_EQ(name(f32(1, 768, 768, false, true)), "few-rows-transposed");
  EXPECT_EQ(name(f32(1, 768, 768)), "stream");
  EXPECT_EQ(name(f32(4, 4096, 4096)), "stream");
  EXPECT_EQ(name(f32(16, 16, 16)), "small");
  EXPECT_EQ(name(f32(1000, 64, 600)), "unpacked-a");
  EXPECT_EQ(name(f32(64, 64, 600, true)), "outer");
  EXPECT_EQ(name(f32(64, 1024, 1024, false, true)), "unpacked-b");
  EXPECT_EQ(name(f32(1024, 1024, 1024)), "packed");
  EXPECT_EQ(name(f32(1024, 1024, 1024, true, true)), "packed");
}

TEST(SelectGemm, DotProductInstructionsDefineTheResult) {
  GemmProblem p = f32(1024, 1024, 1024);
  p.element_bytes = 2, p.bf16_dot = true;
  EXPECT_EQ(name(p), "bf16-dot");
  p.bf16_tiles = true;
  EXPECT_EQ(name(p), "amx");
}

TEST(SelectGemm, EveryChoiceWorksAndSaysWhy) {
  for (int64_t m : {1, 2, 7, 30, 300})
    for (int64_t n : {1, 2, 9, 64, 700})
      for (int64_t k : {1, 8, 200, 2000})
        for (int layout = 0; layout < 4; ++layout) {
          GemmProblem p = f32(m, n, k, layout & 1, layout & 2);
          GemmChoice c = choose(p);
          EXPECT_TRUE(info(c.algorithm).works(p)) << m << " " << n << " " << k << " " << layout << " " << name(p);
          EXPECT_FALSE(c.why.empty());
        }
}

}  // namespace
}  // namespace sheaf::kernels
