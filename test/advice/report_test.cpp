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
  // Columns are counted in characters, but carets are placed where a terminal shows the form: wide characters take two
  // columns, combining ones none.
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

TEST(Report, LongLinesAreCutAroundTheForm) {
  std::string filler(60, 'a');
  uint32_t s = add_source("u", filler + " (f x) " + filler + "\n" + filler + filler + "\n", SourceKind::File);
  UserError e(ErrorKind::Runtime, "M", span_of(s, "(f x)"));
  e.label = "here";
  EXPECT_EQ(report(e, {.width = 44}),
            "error: M\n --> u:1:62\n  |\n"
            "1 | …aaaaaaaa (f x) aaaaaaaaaaaaaaaaaaaaaaa…\n"
            "  |           ^^^^^ here\n"
            "2 | aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa…\n"
            "  |\n\n");
  // Lines that fit stay whole; a form that is too long is shown from its beginning, and a label that does not fit gets
  // its own line.
  EXPECT_NE(report(e, {.width = 140}).find("1 | " + filler + " (f x) " + filler + "\n"), std::string::npos);
  UserError wide(ErrorKind::Runtime, "M", Span{s, 0, 127});
  wide.label = "this";
  EXPECT_EQ(report(wide, {.width = 24}),
            "error: M\n --> u:1:1\n  |\n"
            "1 | aaaaaaaaaaaaaaaaaaa…\n"
            "  | ^^^^^^^^^^^^^^^^^^^^\n"
            "  | this\n"
            "2 | aaaaaaaaaaaaaaaaaaa…\n"
            "  |\n\n");
  uint32_t at_the_end = add_source("u", "12345678901234 (f)", SourceKind::File);
  UserError right(ErrorKind::Runtime, "M", span_of(at_the_end, "(f)"));
  right.label = "differs";
  EXPECT_EQ(
      report(right, {.width = 24}),
      "error: M\n --> u:1:16\n  |\n1 | 12345678901234 (f)\n  |                ^^^\n  |              differs\n  |\n\n");
}

TEST(Report, CutsRespectWideCharacters) {
  std::string filler;
  for (int i = 0; i < 30; ++i)
    filler += "日";
  uint32_t s = add_source("u", filler + "(f)" + filler, SourceKind::File);
  // 24 columns: "…", a blank for the half of a character, two characters, the form, seven characters, "…".
  EXPECT_EQ(report({ErrorKind::Runtime, "M", span_of(s, "(f)")}, {.width = 28}),
            "error: M\n --> u:1:31\n  |\n1 | … 日日(f)日日日日日日日…\n  |       ^^^\n  |\n\n");
}

TEST(Report, ColoursByRole) {
  uint32_t s = add_source("u", "(f 1)", SourceKind::File);
  UserError e(ErrorKind::Runtime, "M\nmore", span_of(s, "(f 1)"));
  e.label = "here";
  e.notes = {"note"};
  e.hints = {"hint"};
  e.stack = {{"g", "", {}}};
  EXPECT_EQ(report(e, {.colour = true}),
            "\033[1;35merror: M\033[0m\n\033[1;35mmore\033[0m\n\033[36m --> u:1:1\033[0m\n"
            "\033[2m  |\033[0m\n\033[2m1 |\033[0m (f 1)\n"
            "\033[2m  |\033[0m \033[1;31m^^^^^\033[0m \033[1;31mhere\033[0m\n\033[2m  |\033[0m\n"
            "  = note\n\033[32m  = hint: hint\033[0m\n\033[2m  = in g\033[0m\n\n");
  EXPECT_EQ(report(e).find('\033'), std::string::npos);
}

// Characters that a terminal would wrap, widen or interpret.
TEST(Report, FitsATerminal) {
  uint32_t s = add_source("u", "\t(f \"a\tb\")\n\"\033[2J\xFF\"\n", SourceKind::File);
  UserError e(ErrorKind::Runtime, "a headline of more than thirty columns", span_of(s, "(f \"a\tb\")"));
  e.label = "a label that is longer than what there is room for";
  e.notes = {"x is \"\033[31m\""};
  e.hints = {"a hint of more than thirty columns, too"};
  e.stack = {{"f", "x: f32[8x3], y: f32[8x3]", span_of(s, "(f \"a\tb\")")}};
  EXPECT_EQ(report(e, {.width = 30, .terminal = true}),
            "error: a headline of more than\n  thirty columns\n --> u:1:2\n  |\n"
            "1 |         (f \"a   b\")\n  |         ^^^^^^^^^^^\n"
            "  | a label that is longer\n  | than what there is room\n  | for\n"
            "2 | \"␛[2J�\"\n  |\n"
            "  = x is \"␛[31m\"\n  = hint: a hint of more than\n    thirty columns, too\n"
            "  = in f (x: f32[8x3], y:\n    f32[8x3]) at u:1:2\n\n");
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(Report, AdviceOnlyWhenTheErrorHasNone) {
  EXPECT_TRUE(has(report(runtime_error("Unknown function: f")), "hint: Check for typos"));
  EXPECT_FALSE(has(report(runtime_error("Unknown function: f").hint("mine")), "typos"));
}

}  // namespace
}  // namespace sheaf::advice
