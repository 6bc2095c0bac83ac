#include "runtime/target.h"

#include <gtest/gtest.h>

namespace sheaf::runtime {
namespace {

TEST(Target, HostIsDescribed) {
  const Target& t = host_target();
  EXPECT_EQ(&t, &host_target());
  EXPECT_FALSE(t.name.empty());
  EXPECT_TRUE(t.vector_bytes == 16 || t.vector_bytes == 32 || t.vector_bytes == 64) << t.vector_bytes;
  EXPECT_EQ(t.vector_bytes == 16, t.kind == Target::Kind::Portable || t.kind == Target::Kind::Neon);
  EXPECT_GE(t.l2_bytes, 64 << 10);
  EXPECT_EQ(t.alignment_bytes % t.vector_bytes, 0);
}

}  // namespace
}  // namespace sheaf::runtime
