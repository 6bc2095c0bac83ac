#include "syntax/printer.h"

#include <gtest/gtest.h>

#include "random_forms.h"
#include "syntax/reader.h"

namespace sheaf::syntax {
namespace {

FormPtr read_one(std::string_view text) {
  auto forms = read_text(text, 0);
  EXPECT_EQ(forms.size(), 1u) << text;
  return forms.at(0);
}

TEST(ToText, Rows) {
  for (const char* text : {"x",
                           ":axis",
                           ":",
                           "12",
                           "-9223372036854775808",
                           "1.0",
                           "-0.0",
                           "0.001",
                           "100000.0",
                           "1e+20",
                           "inf",
                           "-inf",
                           "NaN",
                           "\"a\\n\\t\\r\\\"\\\\b\"",
                           "\"\\e[0m\\0\\x07\\x001\"",
                           "#r\"\\p{L}+\"",
                           "true",
                           "false",
                           "nil",
                           "()",
                           "[]",
                           "{}",
                           "(f 1 [2 3] {:a 4})",
                           "'x",
                           "`(a ~b ~@c)",
                           "~ @x",
                           "~@x",
                           "(cast [1 2] :f32)",
                           "# (a)"}) {
    auto forms = read_text(text, 0);
    std::string printed;
    for (const auto& f : forms)
      printed += (printed.empty() ? "" : " ") + to_text(*f);
    EXPECT_EQ(printed, text);
  }
  EXPECT_EQ(to_text(*read_one("#(+ % 1)")), "(fn [%1] (+ %1 1))");
}

TEST(ToText, RandomFormsReadBack) {
  for (uint32_t seed = 0; seed < 4000; ++seed) {
    FormPtr form = RandomForms(seed).form(5);
    FormPtr again = read_one(to_text(*form));
    ASSERT_TRUE(equal(*form, *again)) << "seed " << seed << "\n" << to_text(*form);
  }
}

TEST(Pretty, RandomFormsReadBack) {
  for (uint32_t seed = 0; seed < 4000; ++seed) {
    FormPtr form = RandomForms(seed).form(6);
    std::string text = pretty(*form, 20);
    ASSERT_TRUE(equal(*form, *read_one(text))) << "seed " << seed << "\n" << text;
  }
}

TEST(Pretty, FlatWhenItFits) {
  EXPECT_EQ(pretty(*read_one("(defn f [x]\n (+ x\n 1))")), "(defn f [x] (+ x 1))");
  std::string exact = "(f " + std::string(86, 'a') + ")";
  EXPECT_EQ(pretty(*read_one(exact)), exact);
}

TEST(Pretty, Layouts) {
  struct Row {
    int width;
    const char* text;
  };
  for (const Row& row : std::vector<Row>{
           {20, "(defn head [x]\n  (slice x 0 4))"},
           {24, "(defn head\n  \"First four.\"\n  [x]\n  (slice x 0 4))"},
           {20, "(let [a (f 1)\n      b 2]\n  (g a b)\n  (h a))"},
           {20, "(if (f xxxxxx)\n  (then xxxxx)\n  (else xxxxx))"},
           {20, "(do\n  (first xxxxx)\n  (second xxxx))"},
           {20, "(fn [x]\n  (slice xxx 0 4))"},
           {20, "(map (fn [x] x)\n     [1 2 3 4 5])"},
           {20, "(a-very-long-head\n  1\n  2)"},
           {12, "[(f 1 2)\n (g 3 4)]"},
           {12, "{:a (f 1)\n :b (g 2)}"},
           {12, "'(f aaaaa\n    bbbbb)"},
           {12, "((f aaaaa)\n (g bbbbb))"},
       })
    EXPECT_EQ(pretty(*read_one(row.text), row.width), row.text);
}

}  // namespace
}  // namespace sheaf::syntax
