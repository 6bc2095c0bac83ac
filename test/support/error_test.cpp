#include "support/error.h"

#include <gtest/gtest.h>

#include "support/internal_error.h"

namespace sheaf {
namespace {

const char* kProgram =
    ";; one\n;; two\n;; three\n;; four\n\n;; keep the head of a signal\n(defn head [x]\n  (slise x 0 4))\n\n"
    "(head [1 2 3])\n";

Span span_of(uint32_t source, const std::string& part) {
  auto at = static_cast<uint32_t>(source_text(source).find(part));
  return {source, at, at + static_cast<uint32_t>(part.size())};
}

uint32_t program(SourceKind kind = SourceKind::File, const char* name = "/a/b.shf") {
  return add_source(name, kProgram, kind);
}

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
