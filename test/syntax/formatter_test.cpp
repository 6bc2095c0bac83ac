#include "syntax/formatter.h"

#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "random_forms.h"
#include "support/error.h"
#include "syntax/reader.h"

namespace sheaf::syntax {
namespace {

// Formats, and checks the invariants of every text.
std::string format(const std::string& text, int width = 100) {
  std::string once = format_source(text, width);
  EXPECT_EQ(once, format_source(once, width)) << "not idempotent on:\n" << text;
  auto before = read_text(text, 0), after = read_text(once, 0);
  EXPECT_EQ(before.size(), after.size()) << text << "\n=>\n" << once;
  for (size_t i = 0; i < std::min(before.size(), after.size()); ++i)
    EXPECT_TRUE(equal(*before[i], *after[i])) << text << "\n=>\n" << once;
  return once;
}

struct Row {
  const char* before;
  const char* after;
};

void expect_rows(const std::vector<Row>& rows, int width = 100) {
  for (const Row& row : rows) {
    EXPECT_EQ(format(row.before, width), row.after);
    EXPECT_EQ(format(row.after, width), row.after);
  }
}

TEST(Formatter, Indentation) {
  expect_rows({
      {"(defn f [x]\n(+ x 1))", "(defn f [x]\n  (+ x 1))\n"},
      {"(let [a 1\nb 2]\n      (+ a\nb))", "(let [a 1\n      b 2]\n  (+ a\n     b))\n"},
      {"(if a\n b\n   c)", "(if a\n  b\n  c)\n"},
      {"(f a\nb)", "(f a\n   b)\n"},
      {"(f\na\nb)", "(f\n  a\n  b)\n"},
      {"[1\n2]", "[1\n 2]\n"},
      {"{:a 1\n:b 2}", "{:a 1\n :b 2}\n"},
      {"'(1 2\n3)", "'(1 2\n  3)\n"},
      {"#(f %\n1)", "#(f %\n    1)\n"},
      {"(defmodel m (x)\n[dense :in])", "(defmodel m (x)\n  [dense :in])\n"},
      {"((fn [x]\nx)\n1)", "((fn [x]\n   x)\n 1)\n"},
      {"(f \xCE\xB1\xCE\xB2 (g 1\n2))", "(f \xCE\xB1\xCE\xB2 (g 1\n         2))\n"},
  });
}

// The words in double quotes of a file, from one text to another.
std::set<std::string> quoted_words(const std::string& path, const std::string& from, const std::string& to) {
  std::ifstream in(std::string(TEST_DIR) + "/../../editors/" + path);
  std::stringstream file;
  file << in.rdbuf();
  std::string text = file.str();
  size_t begin = text.find(from);
  EXPECT_NE(begin, std::string::npos) << path << ": " << from;
  if (begin == std::string::npos) return {};
  text = text.substr(begin, text.find(to, begin) - begin);
  std::set<std::string> words;
  static const std::regex quoted("\"([^\" ]+)\"");
  for (std::sregex_iterator it(text.begin(), text.end(), quoted), end; it != end; ++it)
    words.insert((*it)[1]);
  return words;
}

// Editors indent by two exactly the forms that the formatter indents by two.
TEST(Formatter, EditorsKnowTheSameBodies) {
  std::set<std::string> names, bodies;
  for (const char* list : {"sheaf-definition-forms", "sheaf-special-forms", "sheaf-functions", "sheaf-body-forms"})
    names.merge(quoted_words("emacs/sheaf-mode.el", std::string("(defconst ") + list, "))"));
  EXPECT_GT(names.size(), 100u);
  for (const std::string& name : names)
    if (format("(" + name + " a\nb)") == "(" + name + " a\n  b)\n") bodies.insert(name);
  EXPECT_EQ(quoted_words("emacs/sheaf-mode.el", "(defconst sheaf-body-forms", "))"), bodies);
  EXPECT_EQ(quoted_words("vim/indent/sheaf.vim", "let s:body_forms", "]\n"), bodies);
}

TEST(Formatter, SpacesAndBlankLines) {
  expect_rows({
      {"", ""},
      {" \n\n ", ""},
      {"( f   a\tb )", "(f a b)\n"},
      {"(f a\n)", "(f a)\n"},
      {"(\nf a)", "(f a)\n"},
      {"a\n\n\n\nb\n\n", "a\n\nb\n"},
      {"(do\n\n\n  a\n\n\n  b)", "(do\n\n  a\n\n  b)\n"},
      {"{:a 1 ,:b 2,}", "{:a 1, :b 2}\n"},
      {"[1 2]:f32", "[1 2] :f32\n"},
      {"[1 2]\n :f32", "[1 2] :f32\n"},
      {"' x ~ @y ~@ z", "'x ~ @y ~@z\n"},
      {"a\r\nb\r\n", "a\nb\n"},
      {"(f)(g)", "(f) (g)\n"},
  });
}

TEST(Formatter, Comments) {
  expect_rows({
      {";;  top ( \n  ; next\n(f)", ";;  top ( \n; next\n(f)\n"},
      {"(f a ; why\nb)", "(f a ; why\n   b)\n"},
      {"(f a   ; why\n)", "(f a   ; why\n   )\n"},
      {"(let [a 1 ; one\n;; about b\nb 2]\na)", "(let [a 1 ; one\n      ;; about b\n      b 2]\n  a)\n"},
      {"( ; first\nf)", "(; first\n f)\n"},
      {"(f);x", "(f) ;x\n"},
      {"(f) ; end\r\n", "(f) ; end\n"},
      {"[1] ; c\n:f32", "[1] ; c\n:f32\n"},
      {"'; c\nx", "'; c\n x\n"},
  });
}

TEST(Formatter, StringsStayVerbatim) {
  expect_rows({{"(f \"a\n   b ; c  \"   x)", "(f \"a\n   b ; c  \" x)\n"},
               {"\"\\x41\\n\"", "\"\\x41\\n\"\n"},
               {"(f   #r\"\\q ( \\\"  1)", "(f #r\"\\q ( \\\" 1)\n"}});
}

TEST(Formatter, NumbersStayAsWritten) { EXPECT_EQ(format("[1e-3 +5 .5 1. 007]"), "[1e-3 +5 .5 1. 007]\n"); }

TEST(Formatter, BreaksLongLines) {
  expect_rows(
      {
          {"(defn head [x] (slice x 0 4))", "(defn head [x]\n  (slice x 0 4))\n"},
          {"(defn f \"Does it.\" [x] (g x))", "(defn f\n  \"Does it.\"\n  [x]\n  (g x))\n"},
          {"(let [a 1 b 2 c 3] (+ a b c))", "(let [a 1 b 2 c 3]\n  (+ a b c))\n"},
          {"(let [a (f 1) b (g 2)] (+ a b))", "(let [a (f 1)\n      b (g 2)]\n  (+ a b))\n"},
          {"(map (fn [x] (+ x 1)) [1 2 3])", "(map (fn [x]\n       (+ x 1))\n     [1 2 3])\n"},
          {"(a-very-long-head 1 2 3 4 5)", "(a-very-long-head\n  1\n  2\n  3\n  4\n  5)\n"},
          {"(sum (f aaaaa) :axis 0 :k 1)", "(sum (f aaaaa)\n     :axis 0\n     :k 1)\n"},
          {"[1 2 3 4 5 6 7 8 9 10 11 12]", "[1 2 3 4 5 6 7 8 9\n 10 11 12]\n"},
          {"[[1 2 3 4] [5 6 7 8] [9 10]]", "[[1 2 3 4]\n [5 6 7 8]\n [9 10]]\n"},
          {"{:a (f 1) :b (g 2) :c (h 3)}", "{:a (f 1)\n :b (g 2)\n :c (h 3)}\n"},
          {"(cond (f a) 1 (g b) 2 :else 3)", "(cond\n  (f a) 1\n  (g b) 2\n  :else 3)\n"},
      },
      20);
}

TEST(Formatter, WrapsLongLinesOfBrokenForms) {
  expect_rows(
      {
          // Elements that do not fit on the author's line begin the next one; keys keep their values.
          {"{:a (f 100) :b (g 200)\n:c (h 3) :d 4}", "{:a (f 100)\n :b (g 200)\n :c (h 3) :d 4}\n"},
          {"(f :a (f 100) :b (g 200)\n:c 3)", "(f :a (f 100)\n   :b (g 200)\n   :c 3)\n"},
          {"(str aaaa bbbb cccc dddd\n\"e\")", "(str aaaa bbbb cccc\n     dddd\n     \"e\")\n"},
          {"[aaaa (f b) (g c) (h d)\n(i e)]", "[aaaa (f b) (g c)\n (h d)\n (i e)]\n"},
          {"(do aaaa (f b) (g c d)\n(i e))", "(do aaaa (f b)\n  (g c d)\n  (i e))\n"},
          // An element that fits nowhere stays in place and is broken itself.
          {"(f a (ggggg hhhhh iiiii jjjjj)\nb)", "(f a (ggggg hhhhh\n            iiiii\n            jjjjj)\n   b)\n"},
      },
      20);
}

TEST(Formatter, KeywordCalls) {
  expect_rows({
      {"(:key m\ndefault)", "(:key m\n      default)\n"},
      {"(-> m :a\n:b)", "(-> m :a\n    :b)\n"},
  });
  expect_rows({{"(:weights (:layer model) (zeros [2 2]))", "(:weights (:layer model)\n          (zeros [2 2]))\n"}},
              30);
}

TEST(Formatter, RejectsWhatDoesNotRead) {
  try {
    format_source("(f\n  [1)");
    FAIL();
  } catch (const UserError& e) {
    EXPECT_EQ(e.message, "Unexpected closing ')'");
    EXPECT_EQ(place(e.span), "<format>:2:5");
  }
}

TEST(Formatter, RandomTexts) {
  for (uint32_t seed = 0; seed < 4000; ++seed) {
    RandomForms random(seed);
    format(random.program(5), seed % 2 ? 20 : 60);
    if (HasFailure()) FAIL() << "seed " << seed;
  }
}

TEST(Formatter, RandomBytes) {
  size_t readable = 0;
  for (uint32_t seed = 0; seed < 10000; ++seed) {
    RandomForms random(seed);
    std::string text = seed % 2 ? random.soup(1 + random.below(12)) : random.mutate(random.program(3));
    try {
      read_text(text, 0);
    } catch (const UserError&) {
      continue;
    }
    ++readable;
    format(text, 15);
    if (HasFailure()) FAIL() << "seed " << seed;
  }
  EXPECT_GT(readable, 1000u);
}

TEST(Formatter, LongTexts) {
  for (const char* piece : {"1 ", "(f 1) ", "1, ", ":a ", "'x ", "1\n", "[1] :f32 ", "; c\n"}) {
    std::string text = "[";
    while (text.size() < 300'000)
      text += piece;
    format(text + "]");
  }
}

TEST(Formatter, DeepAndWide) {
  std::string text(1990, '(');
  for (int i = 0; i < 20000; ++i)
    text += "\n1";
  text += std::string(1990, ')');
  EXPECT_LT(format(text).size(), 3'000'000u);
}

}  // namespace
}  // namespace sheaf::syntax
