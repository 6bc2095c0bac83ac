#include "advice/report.h"

#include <gtest/gtest.h>

#include "common/sample_program.h"

namespace sheaf::advice {
namespace {

using sample::program;
using sample::span_of;

TEST(Report, ContextAndHint) {
  UserError e(ErrorKind::Runtime, "Unknown function: slise", span_of(program(), "(slise x 0 4)"));
  EXPECT_EQ(report(e),
            "error: Unknown function: slise\n"
            " --> /a/b.shf:8:3\n"
            "   |\n"
            " 6 | ;; keep the head of a signal\n"
            " 7 | (defn head [x]\n"
            " 8 |   (slise x 0 4))\n"
            "   |   ^^^^^^^^^^^^^\n"
            " 9 | \n"
            "10 | (head [1 2 3])\n"
            "   |\n"
            "  = hint: Check for typos. Use (use module) to import functions.\n"
            "\n");
}

TEST(Report, ContextOfEverySourceKind) {
  for (auto kind : {SourceKind::Eval, SourceKind::Repl, SourceKind::Prelude}) {
    uint32_t s = add_source("<eval>", "(f 1)", kind);
    EXPECT_EQ(report({ErrorKind::Runtime, "M", span_of(s, "(f 1)")}),
              "error: M\n --> <eval>:1:1\n  |\n1 | (f 1)\n  | ^^^^^\n  |\n\n");
  }
}

TEST(Report, CaretsOnlyOnTheFirstLine) {
  UserError e(ErrorKind::Runtime, "M", span_of(program(), "(defn head [x]\n  (slise x 0 4))"));
  e.label = "here";
  std::string text = report(e);
  EXPECT_NE(text.find("  | ^^^^^^^^^^^^^^ here\n"), std::string::npos) << text;
}

TEST(Report, CaretsCountColumnsAndKeepTabs) {
  uint32_t s = add_source("u", "\t\xCE\xB1 (\xCE\xB2\xCE\xB3)\r\n", SourceKind::File);
  EXPECT_EQ(report({ErrorKind::Runtime, "M", span_of(s, "(\xCE\xB2\xCE\xB3)")}),
            "error: M\n --> u:1:4\n  |\n1 | \t\xCE\xB1 (\xCE\xB2\xCE\xB3)\n  | \t  ^^^^\n  |\n\n");
  // Columns are counted in characters, carets stand where a terminal shows the form: wide characters take two places,
  // combining ones none.
  uint32_t wide = add_source("u", "\"日本\" (\"e\u0301日\")", SourceKind::Eval);
  EXPECT_EQ(report({ErrorKind::Runtime, "M", Span{wide, 9, 19}}),
            "error: M\n --> u:1:6\n  |\n1 | \"日本\" (\"e\u0301日\")\n  |        ^^^^^^^\n  |\n\n");
}

TEST(Report, OneCaretAtTheEnd) {
  uint32_t s = add_source("u", "'", SourceKind::File);
  EXPECT_EQ(report({ErrorKind::Parse, "M", Span{s, 1, 1}}), "error: M\n --> u:1:2\n  |\n1 | '\n  |  ^\n  |\n\n");
  uint32_t empty = add_source("u", "", SourceKind::File);
  EXPECT_EQ(report({ErrorKind::Parse, "M", Span{empty, 0, 0}}), "error: M\n --> u:1:1\n  |\n1 | \n  | ^\n  |\n\n");
}

TEST(Report, NotesHintsStackInOrder) {
  Span call = span_of(program(), "(head [1 2 3])");
  UserError e = runtime_error("first\nsecond");
  e.notes = {"called from x"};
  e.hints = {"try y", "or z"};
  e.stack = {{"head", "x: f32[8x3]", call}, {"main", "", {}}};
  EXPECT_EQ(report(e),
            "error: first\nsecond\n  = called from x\n  = hint: try y\n  = hint: or z\n"
            "  = in head (x: f32[8x3]) at /a/b.shf:10:1\n  = in main\n\n");
}

TEST(Report, LongStackIsShortened) {
  auto lines = [](size_t n) {
    UserError e = runtime_error("M");
    for (size_t i = 0; i < n; ++i)
      e.stack.push_back({"f" + std::to_string(i), "", {}});
    return report(e);
  };
  EXPECT_NE(lines(20).find("  = in f10\n"), std::string::npos);
  std::string text = lines(2000);
  EXPECT_NE(text.find("  = in f9\n  = ... 1985 more\n  = in f1995\n"), std::string::npos) << text;
  EXPECT_NE(text.find("  = in f1999\n\n"), std::string::npos) << text;
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(Report, AdviceOnlyWhenTheErrorHasNone) {
  EXPECT_TRUE(has(report(runtime_error("Unknown function: f")), "hint: Check for typos"));
  EXPECT_FALSE(has(report(runtime_error("Unknown function: f").hint("mine")), "typos"));
}

}  // namespace
}  // namespace sheaf::advice
