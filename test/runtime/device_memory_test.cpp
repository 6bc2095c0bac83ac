// Blocks of a device's memory: they never overlap, coalesce when they are freed, and segments are returned as a whole.
#include "runtime/device_memory.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace sheaf::runtime {
namespace {

// A driver that hands out neighbouring segments until it has given `limit` bytes.
struct Driver {
  size_t limit, given = 0;
  uint64_t next = 1 << 20;
  std::map<uint64_t, size_t> live = {};
  uint64_t allocate(size_t bytes) {
    if (given + bytes > limit) return 0;
    given += bytes;
    live[next] = bytes;
    return std::exchange(next, next + bytes);
  }
  void release(uint64_t address) {
    given -= live.at(address);
    live.erase(address);
  }
  DeviceMemory memory() {
    return {[this](size_t bytes) { return allocate(bytes); }, [this](uint64_t address) { release(address); }};
  }
};

constexpr size_t kSegment = DeviceMemory::kSegmentBytes, kBlock = DeviceMemory::kBlockBytes;

TEST(DeviceMemory, BlocksNeverOverlap) {
  Driver driver{16 * kSegment};
  DeviceMemory memory = driver.memory();
  std::map<uint64_t, size_t> live;
  std::mt19937_64 rng(7);
  for (int i = 0; i < 20000; ++i) {
    if (live.size() > 200 || (!live.empty() && rng() % 2)) {
      auto at = std::next(live.begin(), static_cast<std::ptrdiff_t>(rng() % live.size()));
      memory.give(at->first, at->second);
      live.erase(at);
      continue;
    }
    const size_t bytes = rng() % 8 == 0 ? rng() % (kSegment + kSegment / 2) : rng() % 5000;
    const uint64_t address = memory.take(bytes);
    if (!address) continue;
    EXPECT_EQ(address % kBlock, 0u);
    auto next = live.upper_bound(address);
    ASSERT_TRUE(next == live.end() || address + bytes <= next->first);
    ASSERT_TRUE(next == live.begin() ||
                std::prev(next)->first + std::max<size_t>(std::prev(next)->second, 1) <= address);
    live[address] = bytes;
  }
  for (auto [address, bytes] : live)
    memory.give(address, bytes);
  EXPECT_EQ(memory.in_use(), 0u);
  memory.trim([] {});
  EXPECT_EQ(driver.given, 0u);
}

TEST(DeviceMemory, WhatIsGivenBackIsTakenAgain) {
  Driver driver{kSegment};
  DeviceMemory memory = driver.memory();
  const uint64_t a = memory.take(1000), b = memory.take(1000), c = memory.take(1000);
  EXPECT_EQ(b - a, 1024u);
  memory.give(a, 1000);
  memory.give(b, 1000);
  EXPECT_EQ(memory.take(2000), a);  // both, joined
  memory.give(c, 1000);
  EXPECT_EQ(driver.given, kSegment);
}

TEST(DeviceMemory, SegmentsOfNeighboursStayApart) {
  Driver driver{4 * kSegment};
  DeviceMemory memory = driver.memory();
  const uint64_t a = memory.take(kSegment), b = memory.take(kSegment);
  EXPECT_EQ(b, a + kSegment);
  memory.give(a, kSegment);
  memory.give(b, kSegment);
  const uint64_t both = memory.take(2 * kSegment);  // in its own segment: no block spans two
  EXPECT_NE(both, a);
  bool waited = false;
  memory.trim([&] { waited = true; });
  EXPECT_TRUE(waited);
  EXPECT_EQ(driver.given, 2 * kSegment);
}

TEST(DeviceMemory, TheLastBytesOfADevice) {
  Driver driver{kSegment + 4 * DeviceMemory::kSegmentGrain};
  DeviceMemory memory = driver.memory();
  EXPECT_NE(memory.take(kSegment), 0u);
  EXPECT_NE(memory.take(DeviceMemory::kSegmentGrain), 0u);
  EXPECT_EQ(memory.take(kSegment), 0u);
}

TEST(DeviceMemory, TakesNoMoreThanItMay) {
  Driver driver{4 * kSegment};
  DeviceMemory memory = driver.memory();
  memory.set_limit(kSegment + DeviceMemory::kSegmentGrain);
  const uint64_t a = memory.take(kSegment), b = memory.take(512);
  EXPECT_NE(b, 0u);
  EXPECT_EQ(memory.take(DeviceMemory::kSegmentGrain), 0u);
  EXPECT_EQ(memory.peak(), kSegment + 512);
  memory.give(a, kSegment);
  EXPECT_EQ(memory.in_use(), 512u);
  EXPECT_EQ(memory.peak(), kSegment + 512);
  memory.trim([] {});
  EXPECT_NE(memory.take(kSegment), 0u);
}

}  // namespace
}  // namespace sheaf::runtime
