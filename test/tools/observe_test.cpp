// Toolchain specification §4: trace, guards, profiles.
#include <gtest/gtest.h>

#include <algorithm>
#include <regex>

#include "run_sheaf.h"

namespace sheaf::tools {
namespace {

bool matches(const std::string& text, const std::string& pattern) {
  return std::regex_search(text, std::regex(pattern));
}

struct Observe : testing::Test {
  Sandbox s;
  void SetUp() override { s.write("a.shf", "(defn sq [x] (* x x))\n(defn norm2 [v] (sum (sq v)))\n(norm2 [1 2 3])\n"); }
};

TEST_F(Observe, Trace) {
  Result r = s.run("--trace a.shf");  // the file is not a list of functions
  EXPECT_EQ(r.out, "14.0\n");
  EXPECT_TRUE(matches(r.err,
                      "^├─ \\[norm2\\] f32\\[3\\] \\[min:1.00e0 max:3.00e0\\] \\(12B\\)\n"
                      "│ ├─ \\[sq\\] f32\\[3\\] \\[min:1.00e0 max:3.00e0\\] \\(12B\\)\n"
                      "│ └─ <- f32\\[3\\] \\[min:1.00e0 max:9.00e0\\] \\(12B\\) \\([0-9.]+(μs|ms)\\)\n"
                      "└─ <- 14.000000 \\([0-9.]+(μs|ms)\\)\n$"))
      << r.err;
}

TEST_F(Observe, TraceOfSomeFunctions) {
  Result r = s.run("--trace sq a.shf");
  EXPECT_TRUE(r.err.starts_with("├─ [sq]")) << r.err;
  EXPECT_FALSE(contains(r.err, "norm2"));
  r = s.run("a.shf --trace --trace-level 1");
  EXPECT_TRUE(r.err.starts_with("├─ [norm2]\n│ ├─ [sq]\n│ └─ <- (")) << r.err;
}

TEST_F(Observe, TraceValues) {
  s.write("b.shf", "(defn f [a b c d e g h] nil) (f 7 0.5 \"" + std::string(60, 'x') + "\" '[1 2] {:b 1 :a 2} f :k)");
  Result r = s.run("--trace b.shf");
  EXPECT_TRUE(r.err.starts_with("├─ [f] 7, 0.500000, \"" + std::string(47, 'x') +
                                "...\", list(len:2), dict(keys:[\"a\", \"b\"]), fn/7, :k\n└─ <- nil ("))
      << r.err;
  s.write("c.shf", "(defn f [a b] a) (f nan -inf)");
  r = s.run("--trace c.shf");
  EXPECT_TRUE(r.err.starts_with("├─ [f] NaN, -inf\n└─ <- NaN (")) << r.err;
}

TEST_F(Observe, TraceOfAnErrorKeepsTheDepth) {
  s.write("b.shf", "(defn bad [] (error \"x\")) (defn ok [] 1) (try (bad) (catch e nil)) (ok)");
  Result r = s.run("--trace b.shf");
  EXPECT_TRUE(matches(r.err, "^├─ \\[bad\\]\n└─ <- error \\(.*\\)\n├─ \\[ok\\]\n└─ <- 1 \\(.*\\)\n$")) << r.err;
}

TEST_F(Observe, TraceFile) {
  Result r = s.run("--trace-out t.jsonl a.shf");
  EXPECT_EQ(r.err, "");
  std::string text = s.read("t.jsonl");
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 4);
  EXPECT_TRUE(contains(text, "\"event\":\"call\""));
}

TEST_F(Observe, Guards) {
  Result r = s.run("--guard norm2:range:0:10 a.shf");
  EXPECT_EQ(r.status, 1);
  EXPECT_EQ(r.out, "");
  EXPECT_TRUE(contains(r.err, "/!\\ Guard Breached: Range { lo: 0.0, hi: 10.0 }"));
  EXPECT_TRUE(contains(r.err, "Function: norm2\nValue range [1.40e1, 1.40e1] outside allowed [0.00e0, 1.00e1]\n --> "))
      << r.err;
  EXPECT_TRUE(contains(r.err, "\nBacktrace (last 4 operations):\n  ├─ [norm2]")) << r.err;
  EXPECT_TRUE(contains(r.err, "^^^")) << r.err;
  EXPECT_TRUE(r.err.ends_with("--- End of Backtrace ---\n"));
  EXPECT_EQ(s.run("--guard sq:shape:3 --guard no-nan --guard norm2:shape a.shf").out, "14.0\n");
  EXPECT_TRUE(contains(s.run("--guard sq:shape:3:4 a.shf").err, "Shape mismatch: expected [3, 4], got [3]"));
  EXPECT_EQ(s.run("--guard range:0:1 --trace relu a.shf").out, "14.0\n");  // only listed functions are checked
}

// Known before the program runs.
TEST_F(Observe, UnknownFunctions) {
  for (const char* flag : {"--guard nrom2:no-nan", "--trace nrom2", "--trace=nrom2"}) {
    Result r = s.run(std::string(flag) + " a.shf");
    EXPECT_EQ(r.status, 1) << flag;
    EXPECT_EQ(r.out, "");
    EXPECT_TRUE(contains(r.err, ": there is no function 'nrom2'\n")) << r.err;
    EXPECT_TRUE(contains(r.err, "norm2, sq")) << r.err;
  }
  EXPECT_TRUE(
      contains(s.run("--guard sum:no-nan a.shf").err, "--guard: 'sum' is a built-in, and functions are watched"));
  EXPECT_TRUE(contains(s.run("--trace sum a.shf").err, "--trace-level 3 shows the calls of built-ins too"));
  EXPECT_EQ(s.run("--trace sum --trace-level 3 a.shf").out, "14.0\n");
}

TEST_F(Observe, AGuardShowsWhereNanCameUp) {
  s.write(
      "nan.shf",
      "(defn step [x]\n  (let [y (log (- x 3))]\n    (+ y 1)))\n(defn outer [x] (* 2 (step x)))\n(outer [1 2 5])\n");
  Result r = s.run("--guard no-nan nan.shf");
  EXPECT_TRUE(contains(r.err, "nan.shf:2:11\n")) << r.err;
  EXPECT_TRUE(contains(r.err, "  |           ^^^^^^^^^^^^^ NaN came up here\n")) << r.err;
  EXPECT_TRUE(contains(r.err, "  = in step (x: f32[3]) at ")) << r.err;
}

TEST_F(Observe, InvalidGuards) {
  for (const char* spec : {"nan", "range:1", "f:range:a:b", ":no-nan", "range:2:1"}) {
    Result r = s.run(std::string("--guard ") + spec + " a.shf");
    EXPECT_EQ(r.status, 1) << spec;
    EXPECT_TRUE(r.err.starts_with(std::string("sheaf: invalid guard spec '") + spec + "': ")) << r.err;
  }
}

TEST_F(Observe, Blame) {
  s.write("b.shf",
          "(defn fib [n] (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2)))))\n(defn twice [f x] (map (fn [y] (f y)) [x "
          "x]))\n(twice fib 12)");
  Result r = s.run("--blame b.shf");
  EXPECT_EQ(r.out, "");  // the final value is not printed
  EXPECT_TRUE(matches(r.err, "^Profiler: [0-9.]+(μs|ms|s) wall\n"));
  EXPECT_TRUE(contains(r.err, "  Function                          Calls      Total       Self   Avg/call\n  " +
                                  std::string(72, '-') + "\n"));
  EXPECT_TRUE(matches(r.err, "  fib  +930 +[0-9.]+..?s"));
  EXPECT_TRUE(contains(r.err, "  Call tree:\n"));
  EXPECT_TRUE(contains(r.err, "[recursive]"));
  EXPECT_TRUE(contains(r.err, "── <lambda> ("));
  EXPECT_TRUE(contains(r.err, "── twice ("));
  EXPECT_EQ(s.run("--blame --mem-profile a.shf").out, "14.0\n");
}

TEST_F(Observe, MemoryAndJitProfiles) {
  Result r = s.run("--mem-profile --jit-profile a.shf");
  EXPECT_EQ(r.out, "14.0\n");
  for (const char* part : {"Memory profile:\n", "start ", "after init ", "after eval ", "peak ", "Tensors: peak",
                           "JIT profile: 0 dispatches"})
    EXPECT_TRUE(contains(r.err, part)) << part;
}

TEST_F(Observe, CompiledGradients) {
  s.write("g.shf", "(print ((value-and-grad (fn [x] (sum (* x x)))) [1 2]))");
  Result r = s.run("-v --mem-profile g.shf");
  EXPECT_EQ(r.out, "[5.0, [2. 4.]]\n");
  EXPECT_TRUE(r.err.starts_with("sheaf: running on CPU\njit: compiling value-and-grad [cpu]...\n")) << r.err;
  EXPECT_TRUE(matches(r.err, "after VAG compile .*\n  after VAG dispatch .*\n  after eval ")) << r.err;
  // Also of a function that runs interpreted, and of a function that takes a gradient.
  EXPECT_TRUE(matches(s.run("--mem-profile g.shf").err, "after init .*\n  after VAG dispatch .*\n  after eval "))
      << r.err;
  s.write("h.shf",
          "(defn loss [x y] (sum (* x y))) (defn step [x y] (- x (get ((value-and-grad (fn [p] (loss p y))) x) 1)))"
          "(def y [4 5]) (repeat [i 2] [x [1.0 2.0]] (step x y))");
  r = s.run("--mem-profile --jit=always h.shf");
  EXPECT_TRUE(matches(r.err, "after VAG compile .*\n  after VAG dispatch .*\n  after VAG dispatch .*\n  after eval "))
      << r.err;
}

// SHEAF_DEBUG_GRAD shows each function that is differentiated once, however it runs.
TEST_F(Observe, PassesOfGradients) {
  s.write("a.shf",
          "(defn loss [p x] (sum (tanh (* p x)))) (defn step [p x] (get ((value-and-grad (fn [p] (loss p x))) p) 1))"
          "(def x (arange 100)) (repeat [i 3] [p (zeros [100])] (+ p (step p x))) (print ((grad (fn [x] (sum (* x "
          "x)))) [1 2]))");
  setenv("SHEAF_DEBUG_GRAD", "1", 1);
  for (const char* mode : {"", "--jit=off ", "--jit=always "}) {
    Result r = s.run(std::string(mode) + "a.shf");
    EXPECT_EQ(r.out, "[2. 4.]\n");
    EXPECT_TRUE(matches(
        r.err,
        "^gradient of <lambda>: graph\\(v0: f32\\[100\\], [^]*= tanh\\([^]*= sub\\([^]*\n  return v[0-9]+, v[0-9]+\n}\n"
        "gradient of <lambda>: graph\\(v0: f32\\[2\\]\\) \\{\n  v1: f32\\[2\\] = mul\\(v0, v0\\)\n[^]*}\n$"))
        << mode << r.err;
  }
  unsetenv("SHEAF_DEBUG_GRAD");
}

TEST_F(Observe, SkippedFunctionsAndGraphs) {
  s.write("f.shf", "(defn f [n] (* n 2)) (defn g [x] (tanh x)) (f 3) (f 4) (g [1 2])");
  EXPECT_EQ(s.run("-v f.shf").err,
            "sheaf: running on CPU\njit: f skipped (scalar-only args)\njit: compiling g [cpu]...\n");
  EXPECT_TRUE(matches(s.run("-vv f.shf").err, "jit: compiling g .*\ngraph\\([^]*tanh")) << s.run("-vv f.shf").err;
  EXPECT_EQ(s.run("--fullgraph f.shf").status, 0);
  EXPECT_TRUE(contains(s.run("explain f.shf").out, "not compiled: scalar-only args"));
}

TEST_F(Observe, WarningsComeOncePerPlace) {
  Result r = s.run("-c \"(map (fn [x] x) (range 16777215 16777235))\"");
  EXPECT_EQ(r.err.find("warning:"), r.err.rfind("warning:")) << r.err;
}

TEST_F(Observe, ManyVariants) {
  std::string text = "(defn g [x] (exp x))\n(g [1 2])\n";
  for (int i = 0; i < 70; ++i) {
    std::string n = std::to_string(i);
    text += "(defn f" + n + " [x] (* x " + n + "))\n(f" + n + " [1 2])\n";
  }
  s.write("m.shf", text);
  Result r = s.run("--jit=always m.shf");
  EXPECT_TRUE(r.err.starts_with("WARN jit: 65 distinct VMFB modules loaded (variants: f0=1, f1=1, ")) << r.err;
  EXPECT_EQ(std::count(r.err.begin(), r.err.end(), '\n'), 1) << r.err;
  // A function that only selects from its arguments has no code.
  text = "";
  for (int i = 0; i < 70; ++i) {
    std::string n = std::to_string(i);
    text += "(defn f" + n + " [x] (get x " + n + "))\n(f" + n + " (list [1 2]";
    for (int k = 0; k < i; ++k)
      text += " [1 2]";
    text += "))\n";
  }
  s.write("p.shf", text);
  EXPECT_EQ(s.run("--jit=always p.shf").err, "");
}

}  // namespace
}  // namespace sheaf::tools
