#include <gtest/gtest.h>

#include "run_sheaf.h"

namespace sheaf::tools {
namespace {

TEST(InitAi, WritesOnceAndAsks) {
  Sandbox s;
  Result r = s.run("init-ai");
  EXPECT_EQ(r.status, 0);
  std::string text = s.read("sheaf-context.md");
  EXPECT_TRUE(contains(text, "(relu x)"));
  EXPECT_TRUE(contains(r.err, std::to_string(text.size()) + " bytes"));
  s.write("sheaf-context.md", "mine");
  r = s.run("init-ai", "n\n");
  EXPECT_EQ(r.status, 0);
  EXPECT_EQ(r.err, "sheaf-context.md already exists: overwrite? [y/N] Aborted.\n");
  EXPECT_EQ(s.read("sheaf-context.md"), "mine");
  s.run("init-ai", "y\n");
  EXPECT_EQ(s.read("sheaf-context.md"), text);
}

TEST(Format, InPlaceAndCheck) {
  Sandbox s;
  s.write("a.shf", "(defn f [x]\n(+ x   1))\n");
  Result r = s.run("fmt --check a.shf");
  EXPECT_EQ(r.status, 1);
  EXPECT_EQ(r.out, "would format a.shf\n");
  EXPECT_EQ(s.run("fmt a.shf").status, 0);
  EXPECT_EQ(s.read("a.shf"), "(defn f [x]\n  (+ x 1))\n");
  r = s.run("fmt --check a.shf");
  EXPECT_EQ(r.status, 0);
  EXPECT_EQ(r.out, "");
  s.write("bad.shf", "(+ 1");
  r = s.run("fmt bad.shf a.shf");
  EXPECT_EQ(r.status, 1);
  EXPECT_TRUE(contains(r.err, "Unclosed"));
  EXPECT_EQ(s.read("bad.shf"), "(+ 1");
  EXPECT_EQ(s.run("fmt").status, 1);
}

TEST(Tests, CountsAndStatus) {
  Sandbox s;
  s.write("a.shf", "(defn sq [x] (* x x))\n(deftest squares (is (= (sq 3) 9)))\n(deftest wrong (is (= (sq 3) 8)))\n");
  s.write("b.shf", "(deftest fine (throws (error \"x\")))\n");
  Result r = s.run("test a.shf b.shf");
  EXPECT_EQ(r.status, 1);
  EXPECT_TRUE(r.out.starts_with("ok   squares ("));
  EXPECT_TRUE(contains(r.out, "\nFAIL wrong\n"));
  EXPECT_TRUE(r.out.ends_with("2 passed, 1 failed\n"));
  EXPECT_TRUE(contains(r.err, "a.shf:3:16"));
  r = s.run("test b.shf");
  EXPECT_EQ(r.status, 0);
  EXPECT_TRUE(r.out.ends_with("1 passed, 0 failed\n"));
  s.write("train.shf", "(print \"an hour of training\")\n");
  EXPECT_TRUE(s.run("test .").out.ends_with("2 passed, 1 failed\n"));
  EXPECT_FALSE(contains(s.run("test .").out, "an hour"));
  EXPECT_TRUE(s.run("test . --only fine").out.ends_with("1 passed, 0 failed\n"));
  EXPECT_EQ(s.run("test none.shf").status, 1);
}

TEST(Doc, Entries) {
  Sandbox s;
  Result r = s.run("doc relu");
  EXPECT_TRUE(r.out.starts_with("\n  relu\n  ----\n"));
  EXPECT_TRUE(contains(r.out, "(relu [-1 2])"));
  r = s.run("doc no-such-name");
  EXPECT_EQ(r.status, 1);
  EXPECT_EQ(r.err, "No help found for 'no-such-name'.\n");
  r = s.run("doc np.concatenate");
  EXPECT_EQ(r.status, 1);
  EXPECT_EQ(r.err,
            "No help found for 'np.concatenate'.\n"
            "  = hint: Use (concat a b :axis k); (stack a b) makes a new axis.\n"
            "  = names like it: concat\n");
}

TEST(Doc, Pages) {
  Sandbox s;
  EXPECT_EQ(s.run("doc --write ref").status, 0);
  EXPECT_TRUE(contains(s.read("ref/special-forms.md"), "## let\n"));
  EXPECT_TRUE(contains(s.read("ref/README.md"), "(special-forms.md)"));
}

TEST(Doc, ExamplesHold) {
  Sandbox s;
  Result r = s.run("doc --check");
  EXPECT_EQ(r.status, 0) << r.out;
}

// A project of every kind: its tests pass, it trains, and starting it again continues.
TEST(New, ProjectsRun) {
  for (std::string kind : {"mlp", "gpt", "cnn", "rnn"}) {
    Sandbox s;
    EXPECT_EQ(s.run("new " + kind + " demo").status, 0);
    Result tests = s.run("test demo/test.shf");
    EXPECT_EQ(tests.status, 0) << kind << tests.out << tests.err;
    s.run("--version; (cd demo; for n in 12 15; do '" SHEAF_BINARY
          "' train.shf --steps $n >>out.txt 2>&1; echo $? >>status.txt; done)");
    EXPECT_EQ(s.read("demo/status.txt"), "0\n0\n") << kind << s.read("demo/out.txt");
    EXPECT_TRUE(fs::exists(s.dir() / "demo/run/step-00000015.safetensors")) << kind;
    EXPECT_TRUE(contains(s.read("demo/README.md"), "# demo\n"));
    EXPECT_EQ(s.run("new " + kind + " demo").status, 1);
  }
  Sandbox s;
  EXPECT_TRUE(contains(s.run("new tree x").err, "the kinds are mlp|gpt|cnn|rnn"));
}

TEST(Explain, ListsFunctions) {
  Sandbox s;
  s.write("a.shf", "(defn f [x] x) (f 1) (relu 2)");
  Result r = s.run("explain a.shf");
  EXPECT_TRUE(contains(r.out, "interpreted")) << r.out;
  EXPECT_TRUE(contains(r.out, "not compiled: scalar-only args")) << r.out;
  s.write("b.shf", "(defn zz [x] (sum x)) (print (zz (relu [1 2])))");
  r = s.run("explain b.shf");
  EXPECT_LT(r.out.find("  zz "), r.out.find("  relu ")) << r.out;  // the program's own first
  EXPECT_TRUE(contains(r.out, "not compiled: called once")) << r.out;
  EXPECT_TRUE(contains(r.out, "b.shf:1:1")) << r.out;
  EXPECT_EQ(s.run("explain").status, 1);
}

// Gradients, clipping, weight decay and a schedule are one program, which serves every step.
TEST(Explain, ATrainingStepIsCompiledOnce) {
  for (std::string opt :
       {"(adamw {:lr (cosine-schedule {:lr 0.1 :warmup 10 :total 60}) :clip 1.0 :mask (fn [leaf] (> (ndim leaf) 1))})",
        "(sgd {:lr (one-cycle-schedule {:lr 0.1 :total 60}) :momentum 0.9 :nesterov true})",
        "(ema 0.9 (chain (clip-norm 1.0) (lion {:lr (linear-schedule {:lr 0.1 :warmup 10 :total 60})})))",
        "(adafactor {:lr (inverse-sqrt-schedule {:lr 0.1 :warmup 10})})"}) {
    Sandbox s;
    s.write("a.shf",
            "(defn step [opt p s x]\n"
            "  (let [[l g] ((value-and-grad (mixed :bf16 (fn [p] (mse-loss (dense x p) 1.0)))) p)]\n"
            "    ((get opt :step) p g s)))\n"
            "(let [opt " +
                opt +
                " p (dense-init 1 4 2) x (random-normal 2 [8 4])]\n"
                "  (repeat [i 60] [st (list p ((get opt :init) p))] (step opt (first st) (second st) x)))\n");
    Result r = s.run("explain a.shf");
    EXPECT_TRUE(contains(r.out, "60 calls  compiled (1 variant)")) << r.out << r.err;
  }
}

// No argument is a tensor, but the data are: compiled from the call after the first one that met them. Without data it
// stays interpreted.
TEST(Explain, ALossOfNumbersOverGlobalData) {
  Sandbox s;
  s.write("a.shf",
          "(def X (arange 8))\n"
          "(defn fit [loss] (repeat [i 50] [p {:w 0.0 :b 0.0}] (sgd-step p (second ((value-and-grad loss) p)) 0.01)))\n"
          "(print (fit (fn [p] (mean (** (- (+ (* (get p :w) X) (get p :b)) (* 2 X)) 2)))))\n");
  s.write("b.shf", "(repeat [i 50] [x 3.0] (- x (* 0.1 (second ((value-and-grad (fn [x] (* x x))) x)))))\n");
  Result a = s.run("explain a.shf"), b = s.run("explain b.shf");
  EXPECT_TRUE(contains(a.out, "compiled (1 variant)")) << a.out << a.err;
  EXPECT_FALSE(contains(b.out, "compiled (")) << b.out;
  EXPECT_EQ(s.run("a.shf").out, s.run("--jit=off a.shf").out);
}

}  // namespace
}  // namespace sheaf::tools
