#include "support/wrap.h"

#include <gtest/gtest.h>

#include "support/terminal.h"

namespace sheaf {
namespace {

TEST(Wrap, BreaksBetweenWords) {
  EXPECT_EQ(wrapped("", 30), "");
  EXPECT_EQ(wrapped("short", 30), "short\n");
  EXPECT_EQ(wrapped("one two three four five six seven", 20), "one two three four\nfive six seven\n");
  // A continuation line has the indentation of its line, and more if requested.
  EXPECT_EQ(wrapped("  one two three four five six seven\nx", 24), "  one two three four\n  five six seven\nx\n");
  EXPECT_EQ(wrapped("  one two three four five six seven\nx", 24, 2), "  one two three four\n    five six seven\nx\n");
}

TEST(Wrap, CountsColumnsAndKeepsLongWordsWhole) {
  EXPECT_EQ(wrapped("日本語日本語 日本語日本語 a", 24), "日本語日本語\n日本語日本語 a\n");
  EXPECT_EQ(wrapped("see /a/path/that/is/longer/than/a/line and so on", 20),
            "see\n/a/path/that/is/longer/than/a/line\nand so on\n");
  EXPECT_EQ(wrapped("a narrow window is left alone", 10), "a narrow window is left alone\n");
}

TEST(Terminal, NewlinesStayOutsideColours) {
  EXPECT_EQ(painted("<", "a\n\nb\n"), "<a\033[0m\n\n<b\033[0m\n");
  EXPECT_EQ(painted("<", ""), "");
}

}  // namespace
}  // namespace sheaf
