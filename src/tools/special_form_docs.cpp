// The texts of :help and the reference for the special forms. Tests run the examples.
#include "tools/reference.h"

namespace sheaf::tools {
namespace {

DocEntry form(const char* name, const char* signature, const char* text, std::vector<DocExample> examples) {
  return {name, "special form", "Special forms", signature, text, std::move(examples)};
}

DocExample gives(const char* code, const char* result) { return {code, "=>", result}; }
DocExample fails(const char* code, const char* message) { return {code, "!!", message}; }

}  // namespace

const std::vector<DocEntry>& special_form_docs() {
  static const auto* docs = new std::vector<DocEntry>{
      {"pi",
       "constant",
       "Creation",
       "pi",
       "The ratio of a circle's circumference to its diameter, a float with all its digits. A program may give the "
       "name "
       "another meaning.",
       {gives("(cos pi)", "-1.0")}},
      {"e",
       "constant",
       "Creation",
       "e",
       "The base of natural logarithms, a float with all its digits. A program may give the name another meaning.",
       {gives("(* 2 e)", "5.4365635")}},
      form("def", "(def name [doc] value)",
           "Evaluates the value once and binds it to a global name. Its value is the value.",
           {gives("(def rate 0.5) (* rate 4)", "2.0")}),
      form("defn", "(defn name [doc] [param …] body …)",
           "Defines a function. Parameters are names, vector or dict patterns, or annotated names (x [B T]), whose "
           "shapes are checked; & rest collects "
           "what is left, & [y] is a parameter that may be left out (nil), & {:keys […] :or {…}} takes options. Direct "
           "calls check the number of arguments and may name them.",
           {gives("(defn area [w h] (* w h)) (area 3 4)", "12"),
            gives("(defn area [w h] (* w h)) (area :h 4 :w 3)", "12"),
            gives("(defn power [x & {:keys [n] :or {n 2}}] (** x n)) (power 2 :n 3)", "8.0")}),
      form("defn-", "(defn- name [doc] [param …] body …)",
           "Like defn, but only the file it is written in can see the name.",
           {gives("(defn- twice [x] (* 2 x)) (twice 4)", "8")}),
      form("defmacro", "(defmacro name [doc] [param … & rest] template)",
           "Defines a macro: calls of the name are replaced by the template, with ~param standing for the unevaluated "
           "argument and ~@rest for a list of "
           "them. A parameter [a b] takes an argument written as a vector or list apart.",
           {gives("(defmacro twice [e] `(do ~e ~e)) (twice (print \"hi\"))", "hi\nhi"),
            gives("(defmacro dot-of [& pairs] `(+ ~@(map (fn [[a b]] `(* ~a ~b)) pairs))) (dot-of [2 10] [3 100])",
                  "320")}),
      form("fn", "(fn [name] [param …] body …)",
           "An anonymous function. It remembers the names around it. #(+ % 1) is short for (fn [x] (+ x 1)).",
           {gives("((fn [x] (* x x)) 7)", "49"), gives("(map #(+ % 100) '[1 2])", "[101, 102]")}),
      form("let", "(let [pattern value …] body …)",
           "Binds names for the body, one after the other. Patterns take vectors [a b & rest] and dicts {:keys [a b]} "
           "apart.",
           {gives("(let [a 2 b (* a 10)] (+ a b))", "22"), gives("(let [[x y] '[3 4]] (* x y))", "12"),
            gives("(let [{:keys [lr]} {:lr 0.5}] lr)", "0.5")}),
      form("if", "(if condition then [else])",
           "Chooses by truth: false, nil and zero are false, everything else is true.",
           {gives("(if (> 2 1) \"yes\" \"no\")", "yes"), gives("(str (if false 1))", "nil")}),
      form("do", "(do e …)", "Evaluates the forms in order; the value of the last.",
           {gives("(do (print \"one\") 2)", "one\n2")}),
      form("case", "(case target key result … [default])", "The result beside the first key equal to the target.",
           {gives("(case (mod 7 4) 0 \"none\" 3 \"three\" \"other\")", "three")}),
      form("while", "(while condition [acc init] body)",
           "Replaces acc by the body's value as long as the condition holds; the last acc. acc may be a pattern.",
           {gives("(while (< (* n n) 50) [n 1] (+ n 1))", "8")}),
      form("repeat", "(repeat [i n] [acc init] body)",
           "Runs the body n times with i from 0, each time replacing acc by its value; the last acc. acc may be a "
           "pattern.",
           {gives("(repeat [i 5] [acc 0] (+ acc i))", "10"),
            gives("(repeat [i 5] [[a b] '[0 1]] (list b (+ a b)))", "[5, 8]")}),
      form("loop", "(loop [name value …] body …)",
           "Binds names and runs the body; recur starts it again with new values.",
           {gives("(loop [a 48 b 36] (if (= b 0) a (recur b (mod a b))))", "12")}),
      form("recur", "(recur value …)", "Starts the enclosing loop, or function, again with new values. Uses no stack.",
           {gives("(loop [i 0 acc []] (if (= i 3) acc (recur (+ i 1) (append acc i))))", "[0, 1, 2]")}),
      form("for", "(for [x xs … :when c :let [name value]] body)",
           "The list of the body's values for all combinations.",
           {gives("(for [i '[1 2] j '[10 20]] (+ i j))", "[11, 21, 12, 22]"),
            gives("(for [i (range 5) :when (> i 2)] (* i i))", "[9, 16]")}),
      form("doseq", "(doseq [x xs …] body …)", "Runs the body for all combinations, for its effects; nil.",
           {gives("(doseq [w '[\"a\" \"b\"]] (print w))", "a\nb")}),
      form("->", "(-> x step …)", "Threads a value through steps as their first argument.",
           {gives("(-> 5 (- 2) (* 10))", "30")}),
      form("->>", "(->> x step …)", "Threads a value through steps as their last argument.",
           {gives("(->> '[1 2 3] (filter (fn [x] (> x 1))) (map inc))", "[3, 4]")}),
      form("as->", "(as-> init name step …)", "Threads a value through steps that say by name where it goes.",
           {gives("(as-> 5 x (- x 2) (- 10 x))", "7")}),
      form("quote", "(quote x) or 'x",
           "The form itself as data: vectors and lists are lists, symbols strings, ints stay ints.",
           {gives("'[1 two :three]", "[1, 'two', :three]")}),
      form("with-params", "(with-params [dict] body …) or [dict :key]",
           "Free names of the body that mean nothing else are fields of the dict.",
           {gives("(let [layer {:gain 3.0 :off [1 2]}] (with-params [layer] (+ (* gain 2.0) off)))", "[7. 8.]")}),
      form("guard", "(guard :no-nan e), (guard :range [lo hi] e), (guard :shape [d …] e)",
           "Checks a value and gives it back; the program stops when the check fails.",
           {gives("(guard :range [0 1] 0.5)", "0.5"), gives("(guard :shape [2] [3 4])", "[3. 4.]")}),
      form("use", "(use module [:as alias] [:only [name …]])",
           "Loads a module: NAME.shf beside the file, in $SHEAF_LIB, in the library or in the current directory. Its "
           "definitions become visible, with :only just those. With :as a they are a/name, and two modules, or a "
           "module and the program, may define the same names. (use strict) turns warnings into errors.",
           {gives("(use nn) (relu -1)", "0.0")}),
      form("try", "(try e … (catch err e …))",
           "Evaluates the forms; if one raises an error, the catch clause with err bound to {:message :kind :at "
           ":stack}.",
           {gives("(try (error \"no luck\") (catch e (:message e)))", "no luck")}),
      form("value-and-grad", "(value-and-grad f [:argnums …] [:has-aux])",
           "The function that returns [value gradient] of f, whose value must be a scalar.",
           {gives("((value-and-grad (fn [x] (* x x))) 3.0)", "[9.0, 6.0]")}),
      form("get-in", "(get-in tree path [default])", "The value at a path of keys and indices.",
           {gives("(get-in {:a {:b 5}} [:a :b])", "5")}),
      form("spy", "(spy e)", "Prints the source, shape and statistics of a value and gives it back.",
           {gives("(spy (+ 1 2))", "(+ 1 2) = 3\n3")}),
      form("tap", "(tap :name e)", "Gives e back; tools may look at it under its name.",
           {gives("(tap :hidden (* 2 3))", "6")}),
      form("time-it", "(time-it e …)", "Prints how long the forms took; the value of the last.",
           {{"(time-it (sum (range 1000)))", "", ""}}),
      form("future", "(future e …)", "Evaluates the forms on another thread; await gives their value.",
           {gives("(await (future (+ 1 2)))", "3")}),
      form("deftest", "(deftest name e …)", "A test for `sheaf test`: it fails when a form raises an error.",
           {{"(deftest sums (is (= (+ 1 2) 3)))", "", ""}}),
      form("is", "(is e)",
           "True when e is; otherwise an error that shows e and its value. Of a comparison it shows both operands and "
           "how "
           "they differ: the worst element, the first place in a tree, where two strings part.",
           {gives("(is (< 1 2))", "true"),
            fails("(is (= 1 2))", "is: (= 1 2) gave false\n  left:  1\n  right: 2\n  difference: -1")}),
      form("throws", "(throws e …)", "True when the forms raise an error; otherwise an error.",
           {gives("(throws (error \"x\"))", "true")}),
  };
  return *docs;
}

}  // namespace sheaf::tools
