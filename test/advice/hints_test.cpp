#include "advice/hints.h"

#include <gtest/gtest.h>

namespace sheaf::advice {
namespace {

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(Hints, HabitsOfOtherLanguages) {
  struct Row {
    const char* name;
    const char* advice;
  };
  for (const Row& row : std::vector<Row>{{"define", "(defn"},    {"defvar", "(def "},    {"defparameter", "(def "},
                                         {"lambda", "(fn"},      {"set!", "assoc"},      {"return", "last expression"},
                                         {"import", "(use"},     {"require", "(use"},    {"print!", "(print"},
                                         {"var", "(let"},        {"const", "(let"},      {"true?", "directly"},
                                         {"false?", "directly"}, {"begin", "(do"},       {"progn", "(do"},
                                         {"car", "(first"},      {"cdr", "(rest"},       {"format", "print"},
                                         {"foreach", "map"},     {"for-each", "reduce"}, {"while!", "(while"},
                                         {"loop!", "(while"},    {"typeof", "(shape"},   {"type-of", "(ndim"},
                                         {"append!", "(append"}, {"push", "(append"},    {"push!", "(append"},
                                         {"reverse", "(flip"}}) {
    EXPECT_TRUE(has(generic_hint(std::string("Undefined symbol: ") + row.name), row.advice)) << row.name;
    EXPECT_TRUE(has(generic_hint(std::string("Unknown function: ") + row.name), row.advice)) << row.name;
  }
}

TEST(Hints, NamesThatExistHereAreTypos) {
  for (const char* name : {"cond", "list", "loop", "recur", "inc", "dec", "for", "nil?", "type", "slise"}) {
    EXPECT_EQ(generic_hint(std::string("Undefined symbol: ") + name), "Check for typos.");
    EXPECT_EQ(generic_hint(std::string("Unknown function: ") + name),
              "Check for typos. Use (use module) to import functions.");
  }
  EXPECT_TRUE(has(generic_hint("adam -> Unknown function: lambda"), "(fn"));
}

TEST(Hints, ByMessage) {
  struct Row {
    const char* message;
    const char* advice;
  };
  for (const Row& row :
       std::vector<Row>{{"Cannot broadcast shapes [2, 3] and [4]", "(shape x)"},
                        {"zeros: shape must contain integers, got x", "Quote the shape"},
                        {"Invalid shape: expected integer, got symbol 'N'.", "Quote the shape"},
                        {"slice: end (9) out of bounds for axis 0 with size 5", "0-based; the valid range is [0, 4]"},
                        {"index-update: index 8 is out of bounds for axis 0 with size 0", "no index is valid"},
                        {"index 3 out of bounds for axis 0", "[0, size-1]"},
                        {"axis 3 out of bounds for 2D tensor", "(ndim x) is 2"},
                        {"index 9 out of bounds for length 4", "(len x)"},
                        {"slice: end (9) out of bounds for axis 0 with size 5", "at most 5"},
                        {"get: index 29 is out of bounds for tensor with 29 rows", "[0, 28]"},
                        {"index cannot be NaN", "(len x)"},
                        {"Expected a function, got 3", "called"},
                        {"append: first argument must be a list", "(list a b)"},
                        {"value-and-grad: loss must be a scalar, got [2]", "single scalar"},
                        {"with-params: binding must be a symbol", "(with-params [params] body)"},
                        {"@ requires 2 arguments, got 3", "parenthesis"}})
    EXPECT_TRUE(has(generic_hint(row.message), row.advice)) << row.message << ": " << generic_hint(row.message);
  EXPECT_EQ(generic_hint("Division by zero"), "");
}

TEST(Hints, NamesThatAreProbablySlips) {
  std::vector<std::string_view> names = {"scores", "join-heads", "x", "learning-rate", "softmax"};
  auto likely = [&](std::string_view name) { return std::string(likely_name(name, names)); };
  EXPECT_EQ(likely("scrores"), "scores");
  EXPECT_EQ(likely("joinheads"), "join-heads");
  EXPECT_EQ(likely("sofmtax"), "softmax");
  EXPECT_EQ(likely("y"), "");
  EXPECT_EQ(likely("gradient"), "");
  EXPECT_EQ(likely("scores"), "");
}

TEST(Hints, NearNames) {
  std::vector<std::string_view> names{"concat", "softmax", "log-softmax", "sum", "mean", "max"};
  auto near = [&](std::string_view name) { return near_names(name, names); };
  EXPECT_EQ(near("sofmax"), (std::vector<std::string_view>{"softmax"}));
  EXPECT_EQ(near("np.concatenate"), (std::vector<std::string_view>{"concat"}));
  EXPECT_EQ(near("softmax"), (std::vector<std::string_view>{"softmax", "log-softmax"}));
  EXPECT_TRUE(near("xyz").empty());
}

}  // namespace
}  // namespace sheaf::advice
