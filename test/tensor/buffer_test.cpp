// Buffers with memory in another space, which counts requests.
#include "tensor/buffer.h"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

#include "support/internal_error.h"
#include "tensor/tensor.h"

namespace sheaf {
namespace {

// Its addresses are those of the host with a flipped bit, so that dereferencing one by mistake faults.
class Elsewhere final : public Space {
 public:
  static constexpr uint64_t kMoved = uint64_t{1} << 62;
  int taken = 0, given = 0, fetched = 0, sent = 0;

  std::string_view name() const override { return "elsewhere"; }
  uint64_t take(size_t bytes) override {
    ++taken;
    return host_space().take(bytes) ^ kMoved;
  }
  void give(uint64_t address, size_t bytes) override {
    ++given;
    host_space().give(address ^ kMoved, bytes);
  }
  void fetch(uint64_t from, std::byte* to, size_t bytes) override {
    ++fetched;
    host_space().fetch(from ^ kMoved, to, bytes);
  }
  void send(const std::byte* from, uint64_t to, size_t bytes) override {
    ++sent;
    host_space().send(from, to ^ kMoved, bytes);
  }
  void copy(const Tensor& from, const Tensor& to) override { copy_on_host(here(from), here(to)); }

 private:
  static Tensor here(const Tensor& t) {
    Tensor out = t;
    out.buffer =
        make_ref<Buffer>(reinterpret_cast<std::byte*>(t.buffer->address() ^ kMoved), t.buffer->size_bytes(), nullptr);
    return out;
  }
};

// Spaces live as long as the program.
Elsewhere& fresh_space() { return *new Elsewhere; }

Tensor counting(Dims sizes) {
  Tensor t = empty_tensor(DType::I32, std::move(sizes));
  std::iota(t.data_mut<int32_t>(), t.data_mut<int32_t>() + t.num_elems(), 0);
  return t;
}

Tensor moved(const Tensor& t, Space& space) {
  Tensor out = empty_tensor(space, t.dtype, t.sizes);
  space.send(t.bytes(), out.buffer->address(), static_cast<size_t>(t.num_elems()) * size_bytes(t.dtype));
  return out;
}

TEST(Buffer, OfTheHostIsItsOwnView) {
  Tensor t = counting({3});
  EXPECT_TRUE(t.buffer->is_on_host());
  EXPECT_EQ(&t.buffer->home(), &host_space());
  EXPECT_EQ(t.buffer->host(), t.buffer->host_mut());
  EXPECT_EQ(t.buffer->in(host_space()), t.buffer->address());
}

TEST(Buffer, IsFetchedOnceUntilItChanges) {
  Elsewhere& space = fresh_space();
  {
    Tensor t = moved(counting({4}), space);
    EXPECT_EQ(&t.buffer->home(), &space);
    EXPECT_EQ(t.data<int32_t>()[3], 3);
    EXPECT_EQ(element_as_int(t, 2), 2);
    EXPECT_EQ(space.fetched, 1);
    t.buffer->will_change();
    EXPECT_EQ(element_as_int(t, 2), 2);
    EXPECT_EQ(space.fetched, 2);
    EXPECT_THROW(t.buffer->host_mut(), InternalError);
  }
  EXPECT_EQ(space.taken, space.given);
}

TEST(Buffer, IsSentOnceUntilItChanges) {
  Elsewhere& space = fresh_space();
  {
    Tensor t = counting({4});
    const uint64_t there = t.buffer->in(space);
    EXPECT_EQ(t.buffer->in(space), there);
    EXPECT_EQ(space.sent, 1);
    t.data_mut<int32_t>()[0] = 7;
    t.buffer->will_change();
    int32_t first = 0;
    space.fetch(t.buffer->in(space), reinterpret_cast<std::byte*>(&first), sizeof first);
    EXPECT_EQ(first, 7);
  }
  EXPECT_EQ(space.taken, 2);
  EXPECT_EQ(space.given, 2);
}

// Their owners may write to them at any time.
TEST(Buffer, OfOthersIsSentEachTime) {
  Elsewhere& space = fresh_space();
  int32_t theirs[2] = {1, 2};
  Ref<Buffer> b = make_ref<Buffer>(reinterpret_cast<std::byte*>(theirs), sizeof theirs, nullptr);
  const uint64_t there = b->in(space);
  theirs[1] = 5;
  EXPECT_EQ(b->in(space), there);
  int32_t got[2];
  space.fetch(there, reinterpret_cast<std::byte*>(got), sizeof got);
  EXPECT_EQ(got[1], 5);
}

TEST(Buffer, AliasSharesMemoryAndTellsOfItsEnd) {
  Elsewhere& space = fresh_space();
  bool gone = false;
  Tensor t = moved(counting({2}), space);
  {
    Ref<Buffer> alias = Buffer::alias(t.buffer, [&] { gone = true; });
    EXPECT_EQ(alias->address(), t.buffer->address());
    EXPECT_FALSE(alias->is_on_host());
    EXPECT_FALSE(alias->is_ours());
  }
  EXPECT_TRUE(gone);
}

TEST(Buffer, CopiesAreMadeWhereTheElementsAre) {
  Elsewhere& space = fresh_space();
  Tensor t = moved(counting({2, 3}), space);
  Tensor turned = t;
  turned.sizes = {3, 2};
  turned.strides = {1, 3};
  const Tensor copies[] = {contiguous(turned), copy_of(t), reshaped(turned, {6}), cast_tensor(turned, DType::F32)};
  EXPECT_EQ(space.fetched, 0);
  for (const Tensor& c : copies)
    EXPECT_EQ(&c.buffer->home(), &space);
  EXPECT_EQ(element_as_int(copies[0], 1), 3);
  EXPECT_EQ(element_as_int(copies[1], 1), 1);
  EXPECT_EQ(element_as_int(copies[2], 5), 5);
  EXPECT_EQ(element_as_double(copies[3], 3), 4.0);
}

TEST(Buffer, OfNothing) {
  Elsewhere& space = fresh_space();
  Tensor t = empty_tensor(space, DType::F64, {0, 3});
  EXPECT_EQ(copy_of(t).num_elems(), 0);
  EXPECT_NE(contiguous(t).buffer->host(), nullptr);
}

}  // namespace
}  // namespace sheaf
