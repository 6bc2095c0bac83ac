#include "support/error.h"

#include <gtest/gtest.h>

#include "common/sample_program.h"
#include "support/internal_error.h"

namespace sheaf {
namespace {

using sample::program;
using sample::span_of;

TEST(OneLine, Kinds) {
  Span at = span_of(program(), "(slise x 0 4)");
  EXPECT_EQ(one_line({ErrorKind::Parse, "M", at}), "/a/b.shf:8: parse error: M");
  EXPECT_EQ(one_line({ErrorKind::Compile, "M", at}), "/a/b.shf:8: compile error: M");
  EXPECT_EQ(one_line({ErrorKind::Runtime, "M", at}), "/a/b.shf:8: runtime error: M");
  EXPECT_EQ(one_line({ErrorKind::Autodiff, "M", at}), "/a/b.shf:8: autodiff error: M");
  EXPECT_EQ(one_line({ErrorKind::Io, "M", at}), "io error: M");
  EXPECT_EQ(one_line(runtime_error("M")), "runtime error: M");
}

TEST(Invariant, SaysWhatFailed) {
  int two = 2;
  auto message = [](auto&& f) -> std::string {
    try {
      f();
    } catch (const InternalError& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_TRUE(message([&] { INVARIANT(two == 3, "two is " << two); }).ends_with(": two == 3 is false: two is 2"));
  EXPECT_TRUE(message([&] { INVARIANT(two == 3); }).ends_with(": two == 3 is false"));
  EXPECT_EQ(message([&] { INVARIANT(two == 2); }), "");
}

}  // namespace
}  // namespace sheaf
