// Freed blocks are reused, and blocks that stay unused are unmapped.
#include "tensor/buffer_pool.h"

#include <gtest/gtest.h>

#include <cstring>

#include "support/error.h"

namespace sheaf {
namespace {

BufferPool& pool() { return BufferPool::get(); }

TEST(BufferPool, ReusesABlockForASizeNearIt) {
  pool().release_kept();
  std::byte* first = pool().take(1'000'000);
  pool().give(first, 1'000'000);
  std::byte* second = pool().take(1'001'000);
  EXPECT_EQ(first, second) << "one size class";
  pool().give(second, 1'001'000);
}

// One block after the other, each a little larger: one block of each size class remains, not one of each size.
TEST(BufferPool, SizesThatGrowLeaveLittle) {
  pool().release_kept();
  size_t all = 0;
  for (size_t n = 64 << 10; n < 4 << 20; n += 4096) {
    std::byte* p = pool().take(n);
    std::memset(p, 1, 4096);
    pool().give(p, n);
    all += n;
  }
  EXPECT_LT(pool().kept_bytes(), size_t{48} << 20);
  EXPECT_GT(all, size_t{2000} << 20);
}

TEST(BufferPool, WhatIsForgottenGoesForFreshMemory) {
  pool().release_kept();
  constexpr size_t kBytes = 8 << 20;
  pool().give(pool().take(kBytes), kBytes);
  EXPECT_EQ(pool().kept_bytes(), kBytes);
  for (int i = 0; i < 1024; ++i)
    pool().give(pool().take(1 << 20), 1 << 20);
  EXPECT_EQ(pool().kept_bytes(), kBytes + (1 << 20));
  pool().give(pool().take(4 << 20), 4 << 20);
  EXPECT_EQ(pool().kept_bytes(), size_t{5} << 20);
}

TEST(BufferPool, RefusesMoreThanTheLimit) {
  const MemoryStats before = pool().stats();
  pool().set_limit(before.live_bytes + (1 << 20));
  EXPECT_THROW(pool().take(2 << 20), UserError);
  pool().set_limit(before.limit_bytes);
  EXPECT_EQ(pool().stats().live_bytes, before.live_bytes);
}

}  // namespace
}  // namespace sheaf
