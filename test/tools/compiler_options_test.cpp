// Options that show the compiler's work or control it.
#include <gtest/gtest.h>

#include "run_sheaf.h"

namespace sheaf::tools {
namespace {

const char* kTrain = R"((defn hidden [x w] (tanh (@ x w)))
(defn loss [w x] (mean (** (hidden x w) 2)))
(defn step [w x] (let [[l g] ((value-and-grad (fn [q] (loss q x))) w)] (- w (* 0.1 g))))
(def x (reshape (* 0.1 (arange 60)) [10 6]))
(def w (repeat [i 5] [w (ones [6 4])] (step w x)))
(print (sum w)))";

TEST(CompilerOptions, FullgraphMakesAFallbackAnError) {
  Sandbox s;
  s.write("good.shf", kTrain);
  EXPECT_EQ(s.run("--fullgraph good.shf").status, 0) << s.run("--fullgraph good.shf").err;
  s.write("bad.shf",
          "(def seen (atom 0))\n(defn f [x]\n  (swap! seen (fn [n] (+ n 1)))\n  (* x 2.0))\n(def a (f [1.0 "
          "2.0]))\n(def b (f [1.0 2.0]))\n(print (sum b))");
  Result plain = s.run("bad.shf");
  EXPECT_EQ(plain.status, 0) << plain.err;
  Result r = s.run("--fullgraph bad.shf");
  EXPECT_EQ(r.status, 1);
  EXPECT_TRUE(contains(r.err, "--fullgraph: f is not compiled")) << r.err;
  EXPECT_TRUE(contains(r.err, "bad.shf:3:")) << r.err;
}

TEST(CompilerOptions, AutotuneMeasuresOnceAndChangesNoBit) {
  Sandbox s;
  s.write("p.shf",
          "(defn f [a b] (@ a (tr b)))\n(def a (reshape (sin (arange 12800)) [100 128]))\n(print (sum (* (f a a) (f a "
          "a))) (f (ones [40 30]) (ones [20 30])))");
  std::string plain = s.run("p.shf").out;
  Result first = s.run("--max-autotune p.shf"), second = s.run("--max-autotune p.shf");
  EXPECT_TRUE(contains(first.err, "Autotune: 2 products, 2 measured now, 0 known")) << first.err;
  EXPECT_TRUE(contains(first.err, "f32 100x128x100 128,1 1,128:  ")) << first.err;
  EXPECT_TRUE(contains(second.err, "Autotune: 2 products, 0 measured now, 2 known")) << second.err;
  EXPECT_EQ(first.out, plain);
  EXPECT_EQ(second.out, plain);
  // Of a truncated or overwritten file, the intact entries are used.
  for (const auto& e : fs::directory_iterator(s.dir() / ".cache/sheaf"))
    if (e.path().extension() == ".lines")
      s.write(fs::relative(e.path(), s.dir()),
              "f32 100x128x100 128,1 1,128\tunpacked-a\tunpacked-b=0.1\nnonsense\nf32 40x30x2");
  Result damaged = s.run("--max-autotune p.shf");
  EXPECT_TRUE(contains(damaged.err, "2 measured now, 0 known")) << damaged.err;
  EXPECT_EQ(damaged.out, plain);
  s.run("cache clear");
  EXPECT_TRUE(contains(s.run("--max-autotune p.shf").err, "2 measured now, 0 known"));
}

TEST(CompilerOptions, WhatALossTellsBesidesCompilesWithIt) {
  Sandbox s;
  s.write(
      "aux.shf",
      "(defn f [p] ((value-and-grad (fn [p] (list (sum (** p 2)) {:top (max p) :all (top_k p 2)})) :has-aux true) p))\n"
      "(f [1 2 3])\n(f [1 2 3])\n(print (f [1 2 4]))");
  Result r = s.run("--fullgraph aux.shf");
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_EQ(r.out, s.run("--jit=off aux.shf").out);
}

TEST(CompilerOptions, ASizeStaysOpenBesideANumberThatIsGiven) {
  Sandbox s;
  s.write("heads.shf",
          "(defn split [x heads] (swapaxes (reshape x [(shape x 0) (shape x 1) heads -1]) 1 2))\n"
          "(doseq [t '[5 6 7 8 9 10 11 12]] (print (sum (split (random-normal (random-key 0) [1 t 16]) 4))))\n"
          "(doseq [heads '[2 8 4 2]] (print (shape (split (ones [1 20 16]) heads))))");
  Result r = s.run("explain heads.shf");
  EXPECT_TRUE(contains(r.out + r.err, "12 calls  compiled (2 variants)")) << r.out << r.err;
  EXPECT_EQ(s.run("heads.shf").out, s.run("--jit=off heads.shf").out);
}

TEST(CompilerOptions, DisableKnowsEveryPass) {
  Sandbox s;
  s.write("p.shf", kTrain);
  std::string expected = s.run("p.shf").out;
  Result unknown = s.run("--disable=frob p.shf");
  EXPECT_EQ(unknown.status, 1);
  for (const char* pass : {"raise-attention", "share", "hoist-products", "orient-dots", "join-parts", "sink-slices",
                           "fuse", "recompute", "keep", "follow", "precede", "place", "in-place", "reuse-scratch",
                           "repack", "chunk", "specialize", "tile", "expand-math"}) {
    EXPECT_TRUE(contains(unknown.err, pass)) << unknown.err;
    for (const char* backend : {"auto", "native"}) {
      Result r = s.run(std::string("--jit=always --backend=") + backend + " --disable=" + pass + " p.shf");
      EXPECT_EQ(r.out, expected) << pass << " " << backend << r.err;
    }
  }
  EXPECT_EQ(s.run("--jit=always --disable=fuse,share,keep p.shf").out, expected);
}

TEST(CompilerOptions, DumpAfterShowsWhatAPassLeaves) {
  Sandbox s;
  s.write("p.shf", "(defn f [x] (+ (exp x) (exp x)))\n(print (sum (f (range 100))))");
  Result plain = s.run("--jit=always p.shf"), r = s.run("--jit=always --dump-after=share,fuse,chunk p.shf");
  EXPECT_EQ(r.out, plain.out);
  EXPECT_TRUE(contains(r.err, "; after share\ngraph(")) << r.err;
  EXPECT_TRUE(contains(r.err, "group map { cast exp add! }")) << r.err;
  EXPECT_TRUE(contains(r.err, "; after chunk\nkernel @")) << r.err;
  Result unknown = s.run("--dump-after=frob p.shf"), silent = s.run("--dump-after=place p.shf");
  EXPECT_EQ(unknown.status, 1);
  EXPECT_TRUE(contains(unknown.err, "--dump-after: there is no pass 'frob'")) << unknown.err;
  EXPECT_EQ(silent.status, 1);
  EXPECT_TRUE(contains(silent.err, "--emit=plan")) << silent.err;
}

// Threads share the columns, the blocks of rows or the lanes of a block, by the sizes; one reduction may need another
// of the same columns.
TEST(CompilerOptions, ReductionsOfColumnsKeepTheirBits) {
  Sandbox s;
  s.write("p.shf", R"((defn total [x] (sum x :axis 0))
(defn squares [x] (let [m (mean x :axis 0)] (sum (* (- x m) (- x m)) :axis 0)))
(defn several [x y] [(sum (* x y) :axis 0) (product x :axis 0) (max x :axis 0)])
(defn middle [x] (sum x :axis 1))
(for [[r cs] [[1 [1 17 2049]] [33 [3 64 8193]] [256 [16 257 2048 4100]] [300 [1 100 2049 9000]] [2049 [1 15 64 1024]]
    [4097 [2 33 300]] [40000 [5]]]]
  (for [c cs]
    (let [x (random-normal (random-key (+ r c)) [r c])]
      (do (total x) (squares x) (several x (* x 2.0)) (total (cast x :bf16)) (squares (cast x :f64))
          (middle (reshape x [1 r c])) nil))))
(for [r [300 4100]] (middle (random-normal (random-key r) [3 r 70])))
(print "done")
)");
  for (const char* threads : {"1", "2", "5"}) {
    Result r = s.run(std::string("--check --jit=always --backend=native --threads ") + threads + " p.shf");
    EXPECT_TRUE(contains(r.out, "done")) << r.out.substr(0, 500) << r.err;
  }
}

TEST(CompilerOptions, CheckRunsBesideTheBlockExecutor) {
  Sandbox s;
  s.write("p.shf", kTrain);
  Result r = s.run("--check --jit=always --backend=native p.shf");
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_EQ(r.out, s.run("p.shf").out);
  // Host calls run once.
  EXPECT_EQ(s.run("--check --jit=always -c '(do (defn f [x] (print (sum x)) (* x 2.0)) (print (f [1.0 2.0])))'").out,
            "3.0\n[2. 4.]\n");
}

TEST(CompilerOptions, EmitShowsEveryStage) {
  Sandbox s;
  s.write("p.shf", "(defn f [x] (sum (* (tanh x) 2.0)))\n(print (f (ones [4 5])))");
  EXPECT_TRUE(contains(s.run("--emit=fused p.shf").out, "group ")) << s.run("--emit=fused p.shf").err;
  EXPECT_TRUE(contains(s.run("--emit=fused p.shf").out, "p.shf:1:"));
  Result plan = s.run("--emit=plan p.shf");
  EXPECT_TRUE(contains(plan.out, "plan: ") && contains(plan.out, "(input 0:80")) << plan.out;
  EXPECT_TRUE(contains(plan.out, " -> output 0:4)")) << plan.out;
  s.write("product.shf", "(defn f [a b] (@ a b))\n(print (sum (f (ones [300 40]) (ones [40 30]))))");
  plan = s.run("--emit=plan product.shf");
  EXPECT_TRUE(contains(plan.out, "dot [1, 300, 40]") && contains(plan.out, "\n    by ")) << plan.out;
  Result llvm = s.run("--emit=llvm p.shf");
  if (contains(llvm.out, "no LLVM")) GTEST_SKIP() << "built without LLVM";
  EXPECT_TRUE(contains(llvm.out, "define ")) << llvm.out;
  EXPECT_TRUE(contains(s.run("--emit=asm p.shf").out, "ret"));
}

TEST(CompilerOptions, PerfHintsNameUpcastsAndFallbacks) {
  Sandbox s;
  s.write("p.shf", "(defn f [x y] (+ (cast x :bf16) y))\n(print (sum (f (ones [8 8]) (ones [8 8]))))");
  Result r = s.run("--perf-hints --jit=always p.shf");
  EXPECT_TRUE(contains(r.err, "Performance hints:")) << r.err;
  EXPECT_TRUE(contains(r.err, "p.shf:1:15: bf16 [8, 8] becomes f32")) << r.err;
  EXPECT_TRUE(
      contains(s.run("--perf-hints --jit=always -c '(do (defn f [x] (* x 2.0)) (f [1.0]))'").err, "hints: none"));
}

TEST(CompilerOptions, BlameTellsFunctionsInCompiledCodeApart) {
  Sandbox s;
  s.write("p.shf", kTrain);
  Result r = s.run("--blame --jit=always p.shf");
  EXPECT_TRUE(contains(r.err, "Compiled code:")) << r.err;
  EXPECT_TRUE(contains(r.err, "hidden  ")) << r.err;
  EXPECT_TRUE(contains(r.err, "p.shf:1:")) << r.err;
}

TEST(CompilerOptions, ExplainSaysWhatWasCompiledForWhat) {
  Sandbox s;
  s.write("p.shf",
          "(defn f [x] (* x 2.0))\n(f (ones [3 4]))\n(f (ones [3 4]))\n(f (cast (ones [3 4]) :bf16))\n(f (cast (ones "
          "[3 4]) :bf16))\n");
  Result r = s.run("explain p.shf");
  EXPECT_TRUE(contains(r.out, "compiled for f32[3 4]")) << r.out;
  EXPECT_TRUE(contains(r.out, "recompiled for bf16[3 4]  (other types or sizes)")) << r.out;
}

}  // namespace
}  // namespace sheaf::tools
