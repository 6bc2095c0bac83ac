// Functions called as values: arguments, elements of loops, results of other functions.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "run_program.h"

namespace sheaf {
namespace {

int compiled(const std::string& program, const std::string& function) {
  Outcome expected = run(program, trace::JitMode::Off), actual = run(program, trace::JitMode::Auto);
  EXPECT_EQ(expected.value, actual.value) << program;
  return actual.compiled[function];
}

const char* const kStep =
    "(def w (random-normal (random-key 1) '[8 8])) (defn step [s i] (tanh (+ (* s 0.5) (@ s w))))";

TEST(PassedFunctions, AnArgumentIsCompiled) {
  EXPECT_EQ(compiled(std::string(kStep) + "(defn thrice [f x] (let [t (now-ns)] (f (f (f x 0) 1) 2))) (thrice step w)",
                     "step"),
            1);
}

TEST(PassedFunctions, TheBodyOfALoopIsCompiled) {
  EXPECT_EQ(compiled(std::string(kStep) + "(reduce step w (range 5))", "step"), 1);
}

TEST(PassedFunctions, WhatABodyWithoutANameCallsIsCompiled) {
  const std::string program =
      std::string(kStep) + "(reduce (fn [[out s] i] (let [s (step s i)] [(concat out s :axis 0) s])) [w w] (range 5))";
  EXPECT_EQ(compiled(program, "<lambda>"), 0);
  EXPECT_EQ(compiled(program, "step"), 1);
}

// Freed code may be followed by other code at the same address: code compiled for the first must not run for the
// second.
TEST(PassedFunctions, CodeIsNotTakenForOtherCodeAtItsPlace) {
  for (trace::JitMode mode : {trace::JitMode::Auto, trace::JitMode::Always}) {
    trace::set_jit_mode(mode);
    eval::Session session;
    session.run_text("(def x (ones '[4])) (defn twice [f x] (f (f x)))");
    for (int i = 0; i < 100; ++i) {
      auto first = [&](const std::string& call) {
        return render(session.run_text(fmt::format("(int (get {} 0))", call)));
      };
      EXPECT_EQ(first(fmt::format("(twice (fn [y] (+ y {}.0)) x)", i)), fmt::format("{}", 1 + 2 * i));
      EXPECT_EQ(first(fmt::format("(reduce (fn [y k] (+ y {}.0)) x (range 3))", i)), fmt::format("{}", 1 + 3 * i));
      EXPECT_EQ(first(fmt::format("(twice (partial + {}.0) x)", i)), fmt::format("{}", 1 + 2 * i));
    }
  }
  trace::set_jit_mode(trace::JitMode::Auto);
}

}  // namespace
}  // namespace sheaf
