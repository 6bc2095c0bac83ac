#include "support/small_vec.h"

#include <gtest/gtest.h>

namespace sheaf {
namespace {

using Few = SmallVec<int, 3>;

Few counted(int n) {
  Few v;
  for (int i = 0; i < n; ++i)
    v.push_back(i);
  return v;
}

// Sizes below, at and above what fits inside.
TEST(SmallVec, CopiesAndMovesAreTheSame) {
  for (int n = 0; n < 9; ++n)
    for (int m = 0; m < 9; ++m) {
      Few from = counted(n), to = counted(m), copy(from);
      EXPECT_EQ(from, copy);
      to = from;
      EXPECT_EQ(from, to);
      to.push_back(7);
      EXPECT_EQ(counted(n), from) << "a copy is its own";
      Few moved(std::move(copy));
      EXPECT_EQ(from, moved);
      EXPECT_TRUE(copy.empty());  // NOLINT(bugprone-use-after-move): what was moved from is empty and can be used
      copy.push_back(1);
      EXPECT_EQ(1u, copy.size());
      to = std::move(moved);
      EXPECT_EQ(from, to);
      const Few& same = to;
      to = same;
      EXPECT_EQ(from, to);
    }
}

TEST(SmallVec, GrowsAndShrinks) {
  Few v = counted(2);
  v.resize(5, 9);
  EXPECT_EQ((Few{0, 1, 9, 9, 9}), v);
  v.erase(v.begin() + 1);
  v.insert(v.begin(), 4);
  EXPECT_EQ((Few{4, 0, 9, 9, 9}), v);
  v.clear();
  EXPECT_EQ(Few{}, v);
}

}  // namespace
}  // namespace sheaf
