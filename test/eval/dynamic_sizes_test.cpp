// Sizes that change between calls: counts compilations, and compares the results with those of the interpreter.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "run_program.h"

namespace sheaf {
namespace {

// The program gives its interpreted results, with at most the given number of compilations of a function.
void expect_compiled(const std::string& program, const std::string& function, int at_most) {
  Outcome expected = run(program, trace::JitMode::Off);
  for (trace::JitMode mode : {trace::JitMode::Auto, trace::JitMode::Always}) {
    Outcome actual = run(program, mode);
    EXPECT_EQ(expected.value, actual.value);
    EXPECT_LE(actual.compiled[function], at_most);
    EXPECT_GE(actual.compiled[function], 1);
  }
}

const char* const kGpt = R"(
(def D 8) (def H 2) (def V 11)
(defn w [k r c] (* 0.3 (random-normal (random-key k) [r c])))
(def p {:wte (w 1 V D) :wpe (w 2 64 D) :blocks (map (fn [i] {:qkv (w (+ i 3) D (* 3 D)) :up (w (+ i 7) D (* 4 D))
    :down (w (+ i 9) (* 4 D) D)}) (range 2))})
(defn heads [x] (let [[B T C] (shape x)] (swapaxes (reshape x [B T H (/ C H)]) 1 2)))
)";

TEST(DynamicSizes, GrowingContextCompilesTwice) {
  expect_compiled(std::string(kGpt) + R"(
(defn block [x p]
  (let [[q k v] (map heads (tensor-split (@ x (get p :qkv)) 3 :axis -1))
        y (reshape (swapaxes (attention q k v :causal true) 1 2) (shape x))
        x (+ x y)]
    (+ x (@ (gelu (@ x (get p :up))) (get p :down)))))
(defn logits [p ids]
  (let [T (shape ids 1)
        x (+ (embedding ids (get p :wte)) (slice (get p :wpe) 0 T))
        x (reduce block x (get p :blocks))]
    (@ (get (first x) (- T 1)) (tr (get p :wte)))))
(reduce (fn [ids i] (concat ids (reshape (cast (argmax (logits p ids)) :i32) [1 1]) :axis 1))
    (cast (tensor '[[1 2]]) :i32) (range 40)))",
                  "logits", 2);
}

TEST(DynamicSizes, WrittenOutCausalMask) {
  expect_compiled(std::string(kGpt) + R"(
(defn attend [p ids]
  (let [x (get (get p :wte) ids)
        T (len ids)
        scores (/ (@ x (tr x)) (sqrt D))
        mask (tril (ones [T T]))
        s (softmax (where (> mask 0.5) scores -1e9) :axis -1)]
    (mean (@ s x))))
(reduce (fn [acc n] (append acc (attend p (mod (range (+ n 2)) V)))) '[] (range 20)))",
                  "attend", 2);
}

TEST(DynamicSizes, GrowingCache) {
  expect_compiled(R"(
(defn step [cache x]
  (let [cache (concat cache (reshape x [1 4]) :axis 0)
        s (softmax (@ cache (transpose (reshape x [1 4]))) :axis 0)]
    [cache (sum (* s cache) :axis 0)]))
(second (reduce (fn [[cache x] i] (step cache x)) [(ones [3 4]) (tensor '[1 2 3 4])] (range 30))))",
                  "step", 2);
}

TEST(DynamicSizes, CacheWrittenAtAPosition) {
  expect_compiled(R"(
(defn step [cache x pos]
  (let [cache (at-set cache x pos)
        seen (at cache (span 0 (+ pos 1)))
        s (softmax (@ seen x) :axis 0)]
    [cache (@ s seen)]))
(second (reduce (fn [[cache x] i] (step cache x (int i))) [(zeros [24 4]) (tensor '[1 2 3 4])] (range 20))))",
                  "step", 2);
}

TEST(DynamicSizes, RandomBatchesOfATrainingStep) {
  expect_compiled(R"(
(defn loss [w x] (mean (** (@ (relu (@ x w)) (transpose w)) 2)))
(defn step [w x] (let [[l g] ((value-and-grad (fn [w] (loss w x))) w)] (- w (* 0.01 g))))
(def sizes '[[3 5] [7 5] [2 5] [9 5] [4 5] [3 5] [6 5] [11 5]])
(reduce (fn [w s] (step w (random-normal (random-key (get s 0)) [(get s 0) 4 5]))) (* 0.1 (ones [5 3])) sizes))",
                  "step", 2);
}

TEST(DynamicSizes, BatchAndLength) {
  expect_compiled(R"(
(defn loss [w x y] (cross-entropy-loss (@ (mean (get w x) :axis 1) (transpose w)) y))
(defn step [w x y] (let [[l g] ((value-and-grad (fn [w] (loss w x y))) w)] (- w (* 0.1 g))))
(defn batch [b t] [(random-randint (random-key t) [b t] 0 7) (random-randint (random-key b) [b] 0 7)])
(reduce (fn [w s] (let [[x y] (batch (get s 0) (get s 1))] (step w x y))) (* 0.1 (ones [7 3]))
  '[[3 5] [7 9] [2 5] [9 4] [4 4] [3 8] [6 6] [11 2]]))",
                  "step", 3);
}

TEST(DynamicSizes, NumbersOfSizesAreData) {
  expect_compiled(R"(
(defn f [x] (+ (sum x) (* 0.5 (len x)) (/ 1 (shape x 0)) (mean (range (len x)))))
(map (fn [n] (f (ones [(+ n 2)]))) (range 12)))",
                  "f", 2);
}

TEST(DynamicSizes, BranchesOnSizes) {
  expect_compiled(R"(
(defn f [x] (if (> (len x) 6) (* x 2) (+ x 1)))
(map (fn [n] (sum (f (ones [(+ n 2)])))) (range 12)))",
                  "f", 3);
}

TEST(DynamicSizes, ErrorsAreThoseOfTheInterpreter) {
  EXPECT_EQ(run("(defn f [x y] (+ x y)) (f (ones [3]) (ones [3])) (f (ones [4]) (ones [4])) (try (f (ones [5]) (ones "
                "[6])) (catch e (get e :message)))",
                trace::JitMode::Always)
                .value,
            run("(try (+ (ones [5]) (ones [6])) (catch e (get e :message)))", trace::JitMode::Off).value);
}

// Marked inside the function, or on its argument: one variant, from the first trace, serves all sizes.
TEST(DynamicSizes, MarkedDynamic) {
  const char* calls = "(map (fn [n] (f (* 0.5 (ones [n 3])))) '[4 4 5 7 9 2])";
  Outcome evidence = run(std::string("(defn f [x] (sum (exp x)))\n") + calls, trace::JitMode::Always);
  EXPECT_EQ(evidence.compiled["f"], 2);
  expect_compiled(std::string("(defn f [x] (sum (exp (mark-dynamic x 0))))\n") + calls, "f", 1);
  expect_compiled(std::string("(defn f [x] (sum (exp (mark-dynamic x -2))))\n") + calls, "f", 1);
  expect_compiled("(defn f [x] (sum (exp x)))\n(map (fn [n] (f (mark-dynamic (* 0.5 (ones [n 3])) 0))) '[4 4 5 7 9 2])",
                  "f", 1);
  expect_compiled(
      "(defn f [p] (sum (exp (get p :x))))\n(map (fn [n] (f {:x (mark-dynamic (* 0.5 (ones [n n])))})) '[4 4 5 7 9 2])",
      "f", 1);
}

TEST(DynamicSizes, MarkedDynamicUnderAGradient) {
  expect_compiled(
      "(defn f [x] ((value-and-grad (fn [p] (sum (* (mark-dynamic p 0) p)))) x))\n(map (fn [n] (f (ones [n]))) '[4 4 5 "
      "7])",
      "f", 1);
}

TEST(DynamicSizes, MarkedStatic) {
  for (const char* f : {"(defn f [x] (sum (exp (mark-static x 0))))\n(map (fn [n] (f (ones [n 3]))) '[4 4 5 5 7 7])",
                        "(defn f [x] (sum (exp x)))\n(map (fn [n] (f (mark-static (ones [n 3]) 0))) '[4 4 5 5 7 7])"}) {
    Outcome expected = run(f, trace::JitMode::Off), marked = run(f, trace::JitMode::Always);
    EXPECT_EQ(expected.value, marked.value);
    EXPECT_EQ(marked.compiled["f"], 3) << f;
  }
}

// A mark belongs to one tensor and one axis: values computed from it, and views of it, have none.
TEST(DynamicSizes, MarksDoNotSpread) {
  Outcome o = run("(defn f [x] (sum (exp x)))\n(map (fn [n] (f (tr (mark-dynamic (ones [n 3]) 1)))) '[4 4 5 5])",
                  trace::JitMode::Always);
  EXPECT_EQ(o.compiled["f"], 2);
}

TEST(DynamicSizes, SwitchedOff) {
  trace::set_dynamic_mode(trace::DynamicMode::Off);
  Outcome out = run("(defn f [x] (* x 2)) (map (fn [n] (sum (f (ones [(+ n 2)])))) (range 6))", trace::JitMode::Always);
  trace::set_dynamic_mode(trace::DynamicMode::Auto);
  EXPECT_EQ(out.compiled["f"], 6);
}

}  // namespace
}  // namespace sheaf
