// Control flow and output inside compiled functions: the same text in every mode, and really compiled.
#include <gtest/gtest.h>

#include <map>

#include "advice/report.h"
#include "builtins/host/guard.h"
#include "builtins/host/output.h"
#include "eval/session.h"
#include "runtime/profiler.h"
#include "trace/jit.h"

namespace sheaf::eval {
namespace {

struct Outcome {
  std::string text, error;
  std::map<std::string, int> compiled;             // variants by function
  std::map<std::string, std::string> interpreted;  // reasons by function
};

Outcome run(const std::string& program, trace::JitMode mode) {
  Outcome o;
  trace::forget_compiled();
  trace::set_jit_mode(mode);
  trace::set_jit_listener([&](const trace::JitEvent& e) {
    if (e.outcome == trace::JitOutcome::Compiled)
      ++o.compiled[e.function];
    else if (e.outcome == trace::JitOutcome::Interpreted)
      o.interpreted[e.function] = e.reason + (e.span ? " at " + place(e.span) : "");
  });
  std::string* before = builtins::set_capture(&o.text);
  try {
    Session session;
    session.run_text(program, "<program>");
  } catch (const UserError& e) {
    o.error = advice::report(e);
  } catch (const builtins::GuardBreach& b) {
    o.error = b.check + ": " + b.message;
  }
  builtins::set_capture(before);
  trace::set_jit_listener(nullptr);
  trace::set_jit_mode(trace::JitMode::Auto);
  return o;
}

struct Example {
  const char* name;
  std::vector<const char*> compiled;  // functions that must run as compiled code
  const char* program;
};

void PrintTo(const Example& e, std::ostream* out) { *out << e.name; }

class ControlFlow : public ::testing::TestWithParam<Example> {};

TEST_P(ControlFlow, IsTheSameCompiled) {
  const Example& e = GetParam();
  Outcome off = run(e.program, trace::JitMode::Off);
  for (auto mode : {trace::JitMode::Auto, trace::JitMode::Always}) {
    Outcome on = run(e.program, mode);
    EXPECT_EQ(off.text, on.text);
    EXPECT_EQ(off.error, on.error);
    for (const char* f : e.compiled) {
      EXPECT_GE(on.compiled[f], 1) << f << " was not compiled";
      EXPECT_EQ(on.interpreted.count(f), 0u) << f << ": " << on.interpreted[f];
    }
  }
}

const Example kExamples[] = {
    {"print", {"step"}, R"((defn step [w x]
  (let [loss (sum (* w x))]
    (print "loss" loss) (print "{:.2f} {}" loss [loss 1]) (println {:w w :n '[1 "two"]} :end)
    (- w (* 0.1 x))))
(print (reduce (fn [w i] (step w [4 5 6])) [1 2 3] (range 5))))"},
    {"print_without_newline", {"f"}, R"((defn f [x] (do (print "a" :end ", ") (pp {:x x} :precision 2) (* x 2)))
(print (f [1 2]) (f [3 4]) (f [5.123 6])))"},
    {"print_in_gradient", {"once"}, R"((defn loss [w] (let [s (sum (* w w))] (print "in loss" s) s))
(defn once [w] ((value-and-grad (fn [p] (loss p))) w))
(print (once [1 2]) (once [3 4]) (once [5 6])))"},
    {"print_in_vmap", {"f"}, R"((defn f [m] ((vmap (fn [r] (print "row" r) (sum r))) m))
(print (f [[1 2] [3 4]]) (f [[5 6] [7 8]])))"},
    {"spy_and_tap", {"f"}, R"((defn f [x] (+ (spy (sum x)) (tap :twice (* 2 (sum x)))))
(print (f [1 2]) (f [3 4]) (f [5 6])))"},
    {"guard", {"f"}, R"((defn f [x] (do (print "f" x) (guard :range [0 10] (* x 2))))
(print (f [1 2]) (f [3 4]) (f [1 2]))
(print (f [3 40])))"},
    {"output_before_an_error", {"f"}, R"((defn f [x i] (do (print "first" (sum x)) (print "second") (get x i)))
(print (f [1 2 3] [0 1]) (f [1 2 3] [1 2]))
(print (try (f [1 2 3] [0 7]) (catch e (get e :message))))
(print "after")
(f [1 2 3] [9 9]))"},
    {"if", {"clip"}, R"((defn clip [g] (let [n (sqrt (sum (* g g)))] (if (> n 1.0) (/ g n) g)))
(print (clip [1 2 3]) (clip [0.1 0.2 0.3]) (clip [3 4 0])))"},
    {"structures", {"f"}, R"((defn f [x]
  (let [times (fn [k] (fn [y] (* y k)))
        r (if (> (sum x) 0) {:a (list x 1) :b "same" :f (times (sum x))}
              {:a (list (- x) 1) :b "same" :f (times (max x))})]
    (assoc (dict :a (get r :a) :b (get r :b)) :c ((get r :f) 3))))
(defn show [r] (print r))
(show (f [1 2])) (show (f [-1 -2])) (show (f [3 4])))"},
    {"cond_and_or_not", {"f"}, R"((defn f [x]
  (let [s (sum x) m (max x)]
    (cond (and (> s 2) (not (> m 5))) (* x 2) (or (< s -3) (< m -1)) (- x) true (+ x 1))))
(print (map (fn [x] (f x)) (list [1 2] [1 9] [-5 1] [-2 -1.5] [0 0]))))"},
    {"and_or_as_values",
     {"f"},
     R"((defn f [x] (list (and (> (sum x) 0) (< (sum x) 5)) (or (> (sum x) 7) (> (max x) 3)) (not (sum x))))
(print (map (fn [x] (f x)) (list [1 2] [3 4] [-1 1] [0 -4]))))"},
    {"when_prints", {"f"}, R"((defn f [x] (do (when (> (sum x) 3) (print "large" x)) (* x 2)))
(print (map (fn [x] (f x)) (list [1 2] [3 4] [5 6] [0 0]))))"},
    {"error_in_a_branch", {"f"}, R"((defn f [x] (if (< (sum x) 0) (error "negative") (sqrt x)))
(print (f [1 4]) (f [9 16]))
(print (try (f [-1 -4]) (catch e (list (get e :message) (get e :at)))))
(f [-1 0]))"},
    {"check_in_the_other_branch", {"f"}, R"((defn f [x i] (if (< (max i) 3) (get x i) (* 2 i)))
(print (f [1 2 3] [0 2]) (f [1 2 3] [0 9]) (f [1 2 3] [1 1])))"},
    {"gradient_of_if", {"g"}, R"((defn loss [w] (let [s (sum (* w w))] (if (> s 2) (* s (sum (sin w))) (sum (* w s)))))
(defn g [w] ((value-and-grad (fn [p] (loss p))) w))
(print (map (fn [x] (g x)) (list [1 2] [0.1 0.2] [3 4] [1 0.5]))))"},
    {"gradient_of_nested_if",
     {"g"},
     R"((defn loss [w] (let [s (sum w) a (* s s)] (+ a (if (> s 0) (if (> s 2) (* a s) (+ a (sum (exp w))))
         (- (sum (* w w)))) (* s 3))))
(defn g [w] ((value-and-grad (fn [p] (loss p))) w))
(print (map (fn [x] (g x)) (list [1 2] [0.1 0.2] [-3 -4] [1 0.5]))))"},
    {"second_and_third_derivative_of_if", {}, R"((defn f [w] (let [s (sum (* w w w w))] (if (> s 2) (* s s) (sin s))))
(defn g [w] (sum ((grad f) w)))
(defn h [w] ((grad (fn [p] (sum ((grad g) p)))) w))
(print (map (fn [x] (h x)) (list [1.0 2.0] [0.5 0.25] [1.5 0.5]))))"},
    {"vmap_of_if",
     {"f"},
     R"((defn f [m k] ((vmap (fn [r] (if (> (sum r) k) (* r 2) (if (> (max r) 1) (- r) (exp r))))) m))
(print (f [[1 2] [3 4] [0 0.5]] 3.5) (f [[1 2] [3 4] [0 0.5]] 2.5)))"},
    {"vmap_of_gradient_of_if",
     {"f"},
     R"((defn f [m] ((vmap (grad (fn [r] (let [s (sum (* r r))] (if (> s 3) (* s s) s))))) m))
(print (f [[1 2] [3 4] [0 0.5]]) (f [[1 1] [2 1] [0 9]])))"},
    {"branches_on_numbers", {"f"}, R"((defn f [x step] (if (< step 10) (* x (/ step 10)) x))
(print (map (fn [i] (f [1 2] i)) '[1 2 3 9 10 11 12])))"},
    {"many_predicates",
     {"f"},
     R"((defn f [x i] (cond (< i 1) (* x 1) (< i 2) (* x 2) (< i 3) (* x 3) (< i 4) (* x 4) (< i 5) (* x 5)
         (< i 6) (* x 6) true (* x 7)))
(print (map (fn [i] (f [1 2] i)) '[0 1 2 3 4 5 6 0 1 2 3 4 5 6])))"},
    {"sizes_from_numbers", {"f"}, R"((defn f [x n] (reshape x [(* n 2) (- n 1)]))
(print (f (range 12) 3) (f (range 12) 3)))"},
    {"scan", {"rnn", "stacked", "g"}, R"((def w [[0.1 0.2 0.3] [0.4 0.5 0.6] [0.7 0.8 0.9]])
(def xs (reshape (* 0.01 (range 90)) [30 3]))
(defn rnn [w xs] (scan (fn [h x] (let [n (tanh (+ (@ w h) x))] (list n (sum n)))) (zeros [3]) xs))
(defn stacked [w xs] (scan (fn [h x] (let [n (tanh (+ (@ w h) x))] (list n {:n n :s (sum n)}))) (zeros [3]) xs :stack))
(defn loss [w xs] (let [[h ys] (stacked w xs)] (+ (sum h) (sum (* (get ys :s) (get ys :s))) (sum (* w w)))))
(defn g [w xs] ((value-and-grad (fn [p] (loss (get p :w) (get p :x)))) {:w w :x xs}))
(print (rnn w xs) (rnn w xs) (stacked w xs) (stacked w xs) (g w xs) (g w xs)))"},
    {"scan_of_a_dict",
     {"f"},
     R"((defn f [a b] (scan (fn [c r] (let [n (+ (* 0.5 c) (sum (* (get r :a) (get r :b))))] (list n (get r :k)))) 0
         {:a a :b b :k 7}))
(def a (reshape (range 60) [20 3]))
(print (f a (* 2 a)) (f a (* 3 a))))"},
    {"repeat", {"f", "g"}, R"((defn f [x] (repeat [i 40] [y x] (+ (* y 0.5) (sin (* i x)))))
(defn g [x] ((grad (fn [p] (sum (repeat [i 40] [y p] (+ (* y 0.5) (* (sin (* i p)) y)))))) x))
(print (f [1 2 3]) (f [1 2 3]) (g [1 2 3]) (g [1 2 3])))"},
    {"reduce", {"f", "g"}, R"((defn f [x] (reduce (fn [a i] (+ a (* i (sum x)))) 0 (range 50)))
(defn g [x m] (reduce (fn [a r] (maximum (* a 0.5) (* r (sum x)))) m))
(def m (reshape (sin (range 90)) [30 3]))
(print (f [1 2 3]) (f [1 2 3]) (g [1 2] m) (g [1 2] m)))"},
    {"map", {"f", "g"}, R"((def m (reshape (sin (range 90)) [30 3]))
(defn f [x] (map (fn [r] (* r (sum r))) x))
(defn g [x] ((grad (fn [p] (sum (stack (map (fn [r] (* (sin r) r)) p))))) x))
(print (f m) (f m) (g m) (g m)))"},
    {"loop_with_its_index", {"f"}, R"((defn f [x xs] (repeat [i 30] [y x] (+ y (get xs i))))
(def xs (sin (range 30)))
(print (f [1 2 3] xs) (f [1 2 3] xs) (f [4 5 6] xs)))"},
    {"loop_that_needs_its_index", {"f"}, R"((defn f [x] (repeat [i 20] [y x] (+ y (sum (ones [(+ i 1)])))))
(print (f [1 2 3]) (f [1 2 3])))"},
    {"loop_that_prints",
     {"f"},
     R"((defn f [x] (repeat [i 20] [y x] (do (when (= (mod i 6) 0) (print "turn" i (sum y))) (* y 1.1))))
(print (f [1 2 3]) (f [1 2 3])))"},
    {"error_in_a_turn", {"f"}, R"((defn f [x xs] (repeat [i 25] [y x] (do (print i) (+ y (get xs i)))))
(print (f [1 2] (range 30)) (f [1 2] (range 30)) (try (f [1 2] (range 20)) (catch e (get e :message))))
(f [1 2] (range 5)))"},
    {"dict_carry",
     {"f"},
     R"((defn f [x] (reduce (fn [s i] {:n (+ (get s :n) 1) :m (* 0.9 (+ (get s :m) (sum (get s :w))))
         :w (- (get s :w) (* 0.01 (get s :w))) :tag "t" :k 3})
  {:n 0 :m 0 :w x :tag "t" :k 3} (range 100)))
(print (f [1 2]) (f [1 2])))"},
    {"branch_in_a_loop", {"f", "g"}, R"((defn f [x] (repeat [i 30] [y x] (if (> (sum y) 5) (* y 0.5) (+ y (* 0.1 i)))))
(defn g [x] ((grad (fn [p] (sum (* p (f p))))) x))
(print (f [1 2]) (f [1 2]) (g [1 2]) (g [1 2])))"},
    {"loop_in_a_loop",
     {"f", "g"},
     R"((defn f [w x] (repeat [i 20] [y x] (reduce (fn [a r] (tanh (+ (* a w) (* r y)))) y
         [[0.1 0.2] [0.3 0.4] [0.5 0.1]])))
(defn g [w x] ((value-and-grad (fn [p] (sum (repeat [i 20] [y x]
    (repeat [j 20] [z y] (tanh (+ (* z p) (* 0.1 j)))))))) w))
(print (f [0.5 0.6] [1 2]) (f [0.5 0.6] [1 2]) (g [0.5 0.6] [1 2]) (g [0.5 0.6] [1 2])))"},
    {"while", {"f", "g"}, R"((defn f [x] (while (< (sum y) 1000) [y x] (* y 1.5)))
(defn g [x] ((value-and-grad (fn [p] (sum (while (< (sum (* y y)) 1000) [y p] (* y (+ p 1.5)))))) x))
(print (f [1 2 3]) (f [1 2 3]) (f [100 200 800]) (g [1 2 3]) (g [1 2 3]) (g [100 200 800])))"},
    {"while_with_a_count",
     {"f"},
     R"((defn f [x] (while (and (< (get s :n) 50) (> (max (get s :x)) 0.1)) [s {:x x :n 0}]
         (do (print (get s :n)) {:x (* 0.5 (get s :x)) :n (+ 1 (get s :n))})))
(print (f [1 2 3]) (f [1 2 3]) (f [0.01 0.02 0])))"},
    {"second_and_third_derivatives_of_loops",
     {"a", "b", "c", "d", "e"},
     R"((defn a [x] ((grad (fn [q] (sum (* q ((grad (fn [p] (sum (repeat [i 30] [y p] (+ (* y p) (sin y)))))) q))))) x))
(defn b [x] ((grad (fn [q] (sum (* q ((grad (fn [p] (sum (repeat [i 30] [y [1 1]] (tanh (* p (sin y))))))) q))))) x))
(defn c [x] ((grad (fn [r] (sum ((grad (fn [q] (sum (* q ((grad
    (fn [p] (sum (repeat [i 20] [y p] (sin (+ (* y 0.5) p)))))) q))))) r)))) x))
(defn d [x] ((grad (fn [q] (let [[v g] ((value-and-grad (fn [p]
    (sum (repeat [i 20] [y (* 1.0 p)] (* p (sin (* p y))))))) q)] (* v (sum g))))) x))
(defn e [x] ((grad (fn [r] (sum ((grad (fn [q] (sum (* q ((grad
    (fn [p] (sum (repeat [i 20] [y [1 1]] (tanh (+ (* y y 0.5) p)))))) q))))) r)))) x))
(print (a [0.1 0.2]) (a [0.1 0.2]) (b [0.1 0.2]) (b [0.1 0.2]) (c [0.1 0.2]) (c [0.1 0.2]) (d [1.1 1.2]) (d [1.1 1.2])
    (e [0.1 0.2]) (e [0.1 0.2])))"},
    // The last bits and, through a reciprocal, the signs of zeros: of loop-invariant values, of a start that is used
    // elsewhere too, of the rows.
    {"second_derivatives_to_the_bit", {"a", "b", "c", "d"}, R"((def xs (sin (reshape (arange 34) [17 2])))
(defn a [w] ((grad (fn [w] (sum (* w ((grad (fn [w] (sum (repeat [i 18] [y [0.5 0.6]]
    (- y (* (* 0.3 w) (* w w))))))) w))))) w))
(defn b [p xs] ((grad (fn [p] (sum (* p ((grad (fn [p]
    (let [[c ys] (scan (fn [y r] (list (relu (* (relu p) p)) (* y (tanh p)))) (* 1.0 p) xs)]
    (+ (sum c) (sum (stack ys)) (sum (* p p)))))) p))))) p))
(defn c [p xs] ((grad (fn [xs] (sum (* (sin p) ((grad (fn [p]
    (let [[c ys] (scan (fn [y r] (list (* r (tanh r)) (* (tanh p) (- 0.3 y)))) (sin p) xs)]
    (+ (sum xs) (sum c) (sum (stack ys)))))) p))))) xs))
(defn d [p xs] ((hessian (fn [p] (sum (reduce (fn [y r] (sin (+ (* y p) r))) p xs)))) p))
(defn show [x] (do (print x) (print (/ 1.0 x))))
(repeat [i 2] [_ 0] (do (show (a [0.2 -0.4])) (show (b [0.3 0.7] xs)) (show (c [0.3 0.7] xs))
    (show (d [0.3 0.7] xs)) 0)))"},
    {"push_forward_of_a_loop", {"f"}, R"((def xs (sin (reshape (arange 34) [17 2])))
(defn f [p xs] (jvp (fn [p] (let [[c ys] (scan (fn [y r] (list (tanh (+ (* y p) r)) (* y p))) p xs)]
    (+ (sum c) (sum (stack ys)) (sum (* p p))))) (list p) (list (sin p))))
(print (f [0.3 0.7] xs) (f [0.3 0.7] xs)))"},
    {"vmap_of_loops", {"f", "g", "h", "k"}, R"((def m (reshape (sin (range 90)) [30 3]))
(defn f [m] ((vmap (fn [x] (first (scan (fn [c r] (list (+ (* c 0.9) (sin r)) c)) 0.0 x)))) m))
(defn g [m k] ((vmap (fn [x] (repeat [i 20] [y x] (+ (* y 0.5) (* k i))))) m))
(defn h [m] ((vmap (grad (fn [x] (sum (repeat [i 20] [y x] (sin (+ y x))))))) m))
(defn k [m w] ((vmap (fn [x] (repeat [i 20] [y x] (tanh (+ (* y w) (sum w)))))) m))
(print (f (transpose m)) (f (transpose m)) (g m 2.0) (g m 2.0) (h m) (h m) (k m [0.1 0.2 0.3]) (k m [0.1 0.2 0.3])))"},
    {"try_in_a_gradient",
     {"g"},
     R"((defn g [x] ((grad (fn [p] (try (sum (repeat [i 20] [y p] (* y 1.1))) (catch e 0.0)))) x))
(print (g [1 2]) (g [1 2])))"},
    {"training_driver", {"train"}, R"((defn loss [w x y] (let [e (- (@ x w) y)] (mean (* e e))))
(defn step [w x y] (let [[l g] ((value-and-grad (fn [p] (loss p x y))) w)] (- w (* 0.05 g))))
(defn train [w x y] (reduce (fn [p i] (step p x y)) w (range 500)))
(def x [[1 2] [3 1] [0 1] [2 2]])
(print (train [0 0] x [1 2 3 4]) (train [0 0] x [1 2 3 4])))"},
    {"checkpoint", {"g"}, R"((defn layer [w x] (tanh (* w (sin x))))
(defn loss [w] (sum ((checkpoint layer) w ((checkpoint layer) w [1 2 3]))))
(defn g [w] ((value-and-grad (fn [p] (loss p))) w))
(print (g [1 2 3]) (g [0.1 0.2 0.3]) (g [3 1 2])))"},
};
INSTANTIATE_TEST_SUITE_P(Examples, ControlFlow, ::testing::ValuesIn(kExamples),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(ControlFlowReasons, NameTheLine) {
  Outcome o = run("(defn f [x]\n  (if (> (sum x) 0) x \"text\"))\n(f [1 2]) (f [1 2])", trace::JitMode::Auto);
  EXPECT_EQ(o.interpreted["f"],
            "the branches on a traced value give different kinds of results: f32[2] and \"text\" at <program>:2:3");
}

// The backward pass of a branch recomputes it: adjoints of its values would be added up in another order.
TEST(ControlFlowReasons, BranchesAreNotDifferentiatedTwice) {
  const char* program = R"((defn f [p w] (sum (* (if (> (sum w) 0.5) (sin (+ (tanh w) (* p 0.3))) (* 0.3 p)) (+ w p))))
(defn g [p w] ((grad (fn [p] (f p w))) p))
(defn h [p w] ((grad (fn [p] (sum (* p ((grad (fn [p] (f p w))) p))))) p))
(repeat [i 2] [_ 0] (do (print (g [3.3 0.7 -0.2] [0.2 -0.4 1.0]) (h [3.3 0.7 -0.2] [0.2 -0.4 1.0])) 0)))";
  Outcome off = run(program, trace::JitMode::Off), on = run(program, trace::JitMode::Always);
  EXPECT_EQ(off.text, on.text);
  EXPECT_EQ(on.compiled["g"], 1);
  EXPECT_EQ(on.interpreted["h"], "a branch on a traced value is differentiated twice at <program>:1:23");
}

// A driver loop passes its state on and keeps nothing of it: the step writes the new state over the old one, however
// the loop is written.
TEST(Drivers, GiveUpTheStateTheyPassOn) {
  const std::string step = "(defn step [x c] [(+ x 1) {:k (at-set (get c :k) x : (span 0 1))}])\n";
  const char* drivers[] = {
      "(loop [i 0 x (ones [4 1]) c {:k (zeros [4 9])}] (if (= i 20) x (let [[x c] (step x c)] (recur (+ i 1) x c))))",
      "(reduce (fn [[x c] i] (step x c)) [(ones [4 1]) {:k (zeros [4 9])}] (range 20))",
      "(repeat [i 20] [s [(ones [4 1]) {:k (zeros [4 9])}]] (let [[x c] s] (step x c)))",
      "(while (< (sum (first s)) 80) [s [(ones [4 1]) {:k (zeros [4 9])}]] (let [[x c] s] (step x c)))",
  };
  runtime::g_profiling = true;
  for (const char* driver : drivers) {
    uint64_t before = runtime::buffer_times().hits;
    Outcome o = run(step + "(defn go [] " + driver + ")\n(do (go) nil)", trace::JitMode::Auto);
    EXPECT_EQ(o.error, "");
    EXPECT_GE(runtime::buffer_times().hits - before, 15u) << driver;
  }
  runtime::g_profiling = false;
}

// Only the first call of a signature runs interpreted: numbers change, the code stays.
TEST(ControlFlowVariants, DependOnPredicatesNotOnNumbers) {
  Outcome o =
      run("(defn f [x i] (if (< i 50) (* x i) x))\n(map (fn [i] (f [1 2] i)) (range 100))", trace::JitMode::Auto);
  EXPECT_EQ(o.compiled["f"], 2);
}

TEST(ControlFlowVariants, DoNotDependOnTheSizesOfGroups) {
  Outcome o =
      run("(defn f [x w counts] (grouped-matmul x w counts))\n(map (fn [i] (f (ones [9 2]) (ones [2 2 2]) [i (- 9 "
          "i)])) (range 10))",
          trace::JitMode::Auto);
  EXPECT_EQ(o.compiled["f"], 1);
}

}  // namespace
}  // namespace sheaf::eval
