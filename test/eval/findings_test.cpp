#include <gtest/gtest.h>

#include "eval/session.h"

namespace sheaf::eval {
namespace {

// "line:column message" of every error of a text.
std::vector<std::string> check(const std::string& text) {
  Session session;
  std::vector<std::string> out;
  for (const UserError& e : session.check(add_source("t.shf", text, SourceKind::File)))
    out.push_back(place(e.span).substr(6) + " " + e.message.substr(0, e.message.find('\n')));
  return out;
}

std::string first_hint(const std::string& text) {
  Session session;
  auto errors = session.check(add_source("t.shf", text, SourceKind::File));
  return errors.empty() || errors[0].hints.empty() ? "" : errors[0].hints[0];
}

using Lines = std::vector<std::string>;

// Ten mistakes in one file: all are listed, and nothing else.
TEST(Check, ListsAllErrors) {
  EXPECT_EQ(
      check(R"((def rate 0.1)
(def pattern "\d+")
(defn loss [w x] (sum (* w xx)))
(defn step [w]
  (- w (* rate (los w 1)
(defn two [a b] (+ a b))
(print (two 1))
(print (softmax [1 2] :axes 0))
(print (mean [1 2] :aksis 0))
(defn two [x] x)
(defn f [n] (+ 1 (recur (- n 1))))
(let [a] a)
(print "{}" 1 2)
(print (two 1 2)))
)"),
      (Lines{"2:15 Unknown escape \\d in a string", "3:28 Undefined symbol: xx", "5:8 Unclosed (* ...), missing ')'",
             "7:8 two expects 2 arguments (a, b), got 1.", "8:8 softmax: unknown option :axes. Known options: :axis",
             "9:8 mean: unknown option :aksis. Known options: :axis :keepdims :dtype and dtypes such as :bf16",
             "10:1 Function 'two' is already defined. Redefinition is not allowed to prevent shadowing bugs.",
             "11:18 recur must be the last expression of a loop or function",
             "12:1 let bindings must have even number of elements (name value pairs)",
             "13:1 print: the format has 1 field for 2 values; the last is left out", "14:18 Unexpected closing ')'"}));
}

TEST(Check, UnknownNames) {
  EXPECT_EQ(check("(defn f [x] (g x))\n(print (f y) z)"),
            (Lines{"1:14 Unknown function: g", "2:11 Undefined symbol: y", "2:14 Undefined symbol: z"}));
  EXPECT_EQ(check("(defn f [x] (let [y 1] (+ x yy (h zz))))"),
            (Lines{"1:29 Undefined symbol: yy", "1:33 Unknown function: h", "1:35 Undefined symbol: zz"}));
  EXPECT_EQ(first_hint("(defn f [width] (* widht 2))"), "Check for typos: did you mean width?");
  EXPECT_EQ(first_hint("(defn f [x] (prnt x))"), "Check for typos: did you mean print?");
  // The names in a lambda of another language are unknown because lambda is.
  EXPECT_EQ(check("(defn f [xs] (map (lambda [a] (* a a)) xs))").size(), 2u);
}

TEST(Check, NoFalseAlarms) {
  for (const char* text : {
           "(defn even [n] (if (= n 0) true (odd (- n 1))))\n(defn odd [n] (if (= n 0) false (even (- n 1))))",
           "(defn f [] (+ late 1))\n(def late 2)",
           "(defmacro twice [x] `(do ~x ~x))\n(defn f [y] (twice (print y)))",
           "(defn helper [form] (list 'print form unknown-to-programs))\n(defmacro m [x] (helper x))",
           "(defmacro def-one [n] `(defn ~n [] 1))\n(defn f [] (one))\n(def-one one)",
           "(defn f [p x] (with-params [p] (+ (@ x W) b)))",
           "(defn f [{:keys [a b] :or {b 1} :as m} [c & more]] (list a b m c more))",
           "(defn f [x & {:keys [axis] :or {axis -1}}] (list x axis))\n(f 1 :axis 2)\n(f :axis 2 1)",
           "(defn f [a b] (+ a b))\n(f :b 1 :a 2)\n(f 1 :b 2)\n(map f '[1] '[2])",
           "(defn f [x & rest] rest)\n(f 1)\n(f 1 2 3)",
           "(let [g (fn [n] (h n)) h (fn [n] n)] (g 1))",
           "(defn f [(x [B T])] (* B T (sum x)))",
           "(loop [i 0] (if (< i 3) (recur (+ i 1)) i))",
           "(try (error \"x\") (catch e (:message e)))",
           "(defn f [x] x)\n(throws (f 1 2))\n(throws (no-such-function no-such-value))",
           "(defn f [xs] (map #(+ % 1) xs))\n(-> [1 2] (f))\n(->> '[1] (map inc))",
           "(for [x (range 3) :when (> x 1) :let [y (* x x)]] y)",
           "(defn sum [x] x)\n(sum 1)",
           "(print \"{} {}\" 1 2 :end \"\")\n(print \"a\" 1)\n(print \"{}\")\n(print (json-str {}) 1)",
           "(use nn)\n(use strict)\n(softmax [1 2])",
       })
    EXPECT_EQ(check(text), Lines{}) << text;
}

TEST(Check, WrongArguments) {
  EXPECT_EQ(check("(defn f [a b] a)\n(f 1 2 3)\n(f :c 1)\n(f :a 1 :a 2)").size(), 2u);
  EXPECT_EQ(check("(defn f [x & {:keys [k]}] x)\n(f 1 :j 2)\n(f 1 2 :k 3)\n(f)").size(), 3u);
  EXPECT_EQ(check("(relu)\n(relu 1 2)\n(mean [1] 0)\n(reshape [1])").size(), 4u);
}

}  // namespace
}  // namespace sheaf::eval
