// Bytes to a device and back: in chunks of every size, more than the staging memory, and while earlier transfers are
// still in flight.
#include "runtime/each_device.h"

namespace sheaf::runtime {
namespace {

struct Transfers : EachDevice {};
SHEAF_EACH_DEVICE(Transfers);

TEST_P(Transfers, WhatWasSentComesBack) {
  Random r(1);
  for (size_t bytes : {0, 1, 63, 4096, 4097, 32 << 10, (32 << 10) + 1, 16 << 20, (70 << 20) + 5}) {
    std::vector<uint32_t> sent(bytes / 4 + 1), back(bytes / 4 + 1);
    for (uint32_t& x : sent)
      x = static_cast<uint32_t>(r.below(1 << 30));
    const Ref<Buffer> there = Buffer::allocate(device(), bytes);
    device().send(reinterpret_cast<const std::byte*>(sent.data()), there->address(), bytes);
    const std::vector<uint32_t> expected = sent;
    sent.assign(sent.size(), 0);  // the bytes may change as soon as they are sent
    device().fetch(there->address(), reinterpret_cast<std::byte*>(back.data()), bytes);
    EXPECT_EQ(std::memcmp(back.data(), expected.data(), bytes), 0) << bytes;
  }
}

// Three megabytes in small chunks, without a wait.
TEST_P(Transfers, SmallPiecesFollowEachOther) {
  constexpr size_t kCount = 1000, kSize = 3000;
  const Ref<Buffer> there = Buffer::allocate(device(), kCount * kSize);
  std::vector<std::byte> piece(kSize), back(kCount * kSize);
  for (size_t n = 0; n < kCount; ++n) {
    std::memset(piece.data(), static_cast<int>(n * 7 % 251), kSize);
    device().send(piece.data(), there->address() + n * kSize, kSize);
  }
  device().fetch(there->address(), back.data(), back.size());
  for (size_t n = 0; n < kCount; ++n)
    ASSERT_EQ(back[n * kSize + n], std::byte(n * 7 % 251)) << n;
}

TEST_P(Transfers, PiecesAreFetchedTogether) {
  Random r(2);
  std::vector<Tensor> here, there;
  std::vector<std::vector<std::byte>> back;
  for (int64_t n : {1, 8, 100, 0, 700}) {
    here.push_back(random_numbers(r, n));
    there.push_back(on(device(), here.back()));
    back.emplace_back(static_cast<size_t>(n) * 4);
  }
  std::vector<Fetch> pieces;
  for (size_t i = 0; i < here.size(); ++i)
    pieces.push_back({address_in(device(), there[i]), back[i].data(), back[i].size()});
  device().fetch_all(pieces, Device::Waiting::ToTheEnd);
  for (size_t i = 0; i < here.size(); ++i)
    EXPECT_TRUE(back[i].empty() || std::memcmp(back[i].data(), here[i].bytes(), back[i].size()) == 0) << i;
}

}  // namespace
}  // namespace sheaf::runtime
