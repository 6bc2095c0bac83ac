// Toolchain specification §1: selection, flags, streams, exit status.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "run_sheaf.h"

namespace sheaf::tools {
namespace {

TEST(CommandLine, HelpAndVersionWinAnywhere) {
  Sandbox s;
  Result r = s.run("--version");
  EXPECT_EQ(r.out, "Sheaf 2.2.0\n");
  EXPECT_EQ(r.status, 0);
  r = s.run("nothing.shf --blame --help");
  EXPECT_TRUE(contains(r.out, "Usage:"));
  EXPECT_EQ(r.status, 0);
  EXPECT_EQ(r.err, "");
  for (const char* flag : {"--help", "--version"}) {
    r = s.run(std::string("--version; ('" SHEAF_BINARY "' ") + flag + " >/dev/full)");
    EXPECT_EQ(r.status, 1);
    EXPECT_TRUE(contains(r.err, "error: cannot write to standard output: No space left on device")) << r.err;
  }
}

TEST(CommandLine, RunsFilesAndExpressions) {
  Sandbox s;
  s.write("a.shf", "(print \"hi\") (+ 1 2)");
  s.write("script", "(* 6 7)");
  EXPECT_EQ(s.run("a.shf").out, "hi\n3\n");
  EXPECT_EQ(s.run("script").out, "42\n");
  EXPECT_EQ(s.run("-v a.shf -v").out, "hi\n3\n");
  EXPECT_EQ(s.run("-c '(+ 19' 23 ')'").out, "42\n");
  EXPECT_EQ(s.run("-c -5").out, "-5\n");
  EXPECT_EQ(s.run("-c '(+ 1' -v '2)'").out, "3\n");
  EXPECT_EQ(s.run("a.shf -c '(print 9)'").out, "hi\n3\n");
}

TEST(CommandLine, RunsWhatAPipeHolds) {
  Sandbox s;
  EXPECT_EQ(s.run("/dev/stdin", "(print \"hi\")\n(+ 1\n 2)").out, "hi\n3\n");
  Result r = s.run("--version >/dev/null; (echo '(* 6 7) (+ 1 \"a\")' | '" SHEAF_BINARY "' /dev/stdin)");
  EXPECT_TRUE(contains(r.err, " --> /dev/stdin:1:9\n")) << r.err;
  EXPECT_EQ(s.run("--version >/dev/null; (echo '(* 6 7)' | '" SHEAF_BINARY "' /dev/stdin)").out, "42\n");
}

// A program that does not call (interrupted?) ends like any interrupted program: 128 + the number of the signal.
TEST(CommandLine, ControlCEndsAProgram) {
  Sandbox s;
  Result r = s.run("--version; timeout --preserve-status -s INT 1 '" SHEAF_BINARY "' -c '(while true [x 0] (+ x 1))'");
  EXPECT_EQ(r.status, 130);
  EXPECT_TRUE(contains(r.err, "error: Interrupted")) << r.err;
  // Also inside a function of the library.
  r = s.run("--version; timeout --preserve-status -s INT 1 '" SHEAF_BINARY
            "' -c '(while true [x 0] (do (nested {:a.b.c.d.e.f.g.h 1}) x))'");
  EXPECT_EQ(r.status, 130);
  EXPECT_TRUE(contains(r.err, "error: Interrupted")) << r.err;
  // Also a program that continues after every error.
  r = s.run("--version; timeout --preserve-status -k 20 -s INT 1 '" SHEAF_BINARY
            "' -c '(while true [x 0] (try (repeat [i 100000] [a x] (+ a i)) (catch e 1)))'");
  EXPECT_EQ(r.status, 130);
}

// Also a program that waits for input or for a future, so that nothing polls the request.
TEST(CommandLine, ControlCEndsAProgramThatWaits) {
  Sandbox s;
  for (const char* name : {"pipe", "open"})
    ASSERT_EQ(mkfifo((s.dir() / name).c_str(), 0600), 0);
  for (const char* program :
       {"-c '(read-line)'", "/dev/stdin", "-c '(io \"read\" \"/dev/stdin\")'",
        "-c '(try (io \"read\" \"open\") (catch e 1))'", "open", "", "-c '(do (future (while true [i 0] (+ i 1))) 1)'",
        "-c '(def f (future (while true [i 0] (+ i 1))))'"}) {
    Result r = s.run(std::string("--version; (timeout --preserve-status -k 20 -s INT 0.7 '" SHEAF_BINARY "' ") +
                     program + " <>pipe)");
    EXPECT_EQ(r.status, 130) << program << "\n" << r.out << r.err;
    EXPECT_TRUE(!*program || contains(r.err, "error: Interrupted")) << program << "\n" << r.err;
  }
}

TEST(CommandLine, CodeOfAnotherCompilerIsNotUsed) {
  Sandbox s;
  s.write("a.shf", "(+ 1 2)");
  s.write("module.json", R"({"module_name": "a", "vmfb": "module.vmfb", "functions": {}})");
  EXPECT_EQ(s.run("a.shf").err, "");
  s.write("module.vmfb", "");
  Result r = s.run("a.shf");
  EXPECT_EQ(r.out, "3\n");
  EXPECT_EQ(r.err, "warning: 'module.vmfb' does not match this program and is not used\n");
}

// A file that may not grow further is an error that names it, and the old one stays.
TEST(CommandLine, LimitOfFileSizes) {
  Sandbox s;
  ASSERT_EQ(s.run("-c '(io \"save\" \"a.safetensors\" {:w [1 2 3]})'").status, 0);
  Result r = s.run("--version; (ulimit -f 100; '" SHEAF_BINARY
                   "' -c '(io \"save\" \"a.safetensors\" {:w (zeros [1000000])})')");
  EXPECT_EQ(r.status, 1);
  EXPECT_TRUE(contains(r.err, "error: io save 'a.safetensors': File too large")) << r.err;
  EXPECT_EQ(s.run("-c '(get (io \"load\" \"a.safetensors\") :w)'").out, "[1. 2. 3.]\n");
  EXPECT_EQ(s.run("--version >.names; ls -A >.names; grep -c part .names").out, "0\n");
}

TEST(CommandLine, ModulesUnderAnotherName) {
  Sandbox s;
  s.write("lib.shf", "(def k 10) (print \"never\") (defn scaled [x] (* x k))");
  s.write("other.shf", "(use lib) (defn twice [x] (scaled (* 2 x)))");
  s.write("main.shf", "(use other) (use lib :as l) (print (l/scaled 3) l/k (twice 1))");
  Result r = s.run("main.shf");
  EXPECT_EQ(r.out, "30 10 20\n");
  EXPECT_EQ(r.err, "");
}

// Under an alias a module's names are separate from those of others and of the program.
TEST(CommandLine, ModulesWithTheSameNames) {
  Sandbox s;
  s.write("a.shf",
          "(def rate 2) (defn init [] (list \"a\" rate)) (defn relu [x] \"own\") (defn only-a [x] (relu x))\n"
          "(defn- twice [x] `(* 2 ~x)) (defmacro doubled [x] `(list rate ~(twice x)))");
  s.write("b.shf", "(use c) (def rate 3) (defn init [] (list \"b\" rate (shared)))");
  s.write("c.shf", "(defn shared [] 7)");
  s.write("user.shf", "(use a :as m) (use b) (defn both [] (list (m/init) (init)))");
  auto out = [&](const std::string& program) {
    s.write("main.shf", program);
    Result r = s.run("main.shf");
    return r.out + r.err;
  };
  EXPECT_EQ(out("(use a :as a) (use b :as b) (print (a/init) (b/init) a/rate b/rate (map a/only-a (list 1)))"),
            "['a', 2] ['b', 3, 7] 2 3 ['own']\n");
  EXPECT_EQ(out("(use a :as a) (def rate 9) (defn init [] (list rate (a/init))) (print (init))"), "[9, ['a', 2]]\n");
  // Macros and their helpers have the module's meaning; the library's names stay the library's; others need no alias.
  EXPECT_EQ(out("(use a :as a) (print (a/doubled 4) (relu -1) (only-a 1))"), "[2, 8] 0.0 own\n");
  EXPECT_EQ(out("(use a :as a) (use b) (print (init) (a/init))"), "['b', 3, 7] ['a', 2]\n");
  EXPECT_EQ(out("(use user) (print (both) (init))"), "[['a', 2], ['b', 3, 7]] ['b', 3, 7]\n");
  EXPECT_EQ(out("(use a :as a) (use a) (print (init) (a/init))"), "['a', 2] ['a', 2]\n");
  EXPECT_EQ(out("(use a :as a :only [only-a]) (defn init [] 1) (print (init) (a/init) (only-a 1))"),
            "1 ['a', 2] own\n");
  EXPECT_EQ(out("(use nn :as n) (use linalg :as l) (print (n/relu -3.0) (l/det [[2 0] [0 3]]))"), "0.0 6.0\n");
  EXPECT_TRUE(contains(out("(use a :as a) (use b :as b) (init)"), "Unknown function: init\n"));
  EXPECT_TRUE(contains(out("(use a :as a) (a/nothing 1)"), "Unknown function: a/nothing\n"));
  EXPECT_TRUE(contains(out("(use a :as a) a/twice"), "Undefined symbol: a/twice\n"));
  EXPECT_TRUE(contains(out("(use a) (use b)"), "'rate' is already defined."));
}

TEST(CommandLine, ModulesInPart) {
  Sandbox s;
  s.write("deep.shf", "(defn depth [] 7)");
  s.write("lib.shf",
          "(use deep) (def k 10) (defn relu [x] (* x k)) (defn helper [x] (relu (+ x (depth)))) (defn init [x] (helper "
          "x))\n"
          "(defmacro twice [e] `(+ (helper ~e) (helper ~e))) (defmacro other [e] e)");
  // The other names are free for the file itself, mean the library's, or nothing.
  s.write("main.shf",
          "(use lib :only [init twice]) (defn before [] (list (helper 1) k)) (defn helper [x] (- x)) (def k 1)\n"
          "(defmacro other [e] `(list ~e ~e)) (print (init 1) (twice 1) (before) (relu -3) (other 5))");
  Result r = s.run("main.shf");
  EXPECT_EQ(r.out, "80 160 [-1, 1] 0.0 [5, 5]\n");
  EXPECT_EQ(r.err, "");
  for (const char* name : {"helper", "depth", "other"}) {
    s.write("main.shf", std::string("(use lib :only [init])\n(print (") + name + " 1))");
    r = s.run("main.shf");
    EXPECT_TRUE(contains(r.err, std::string("error: Unknown function: ") + name + "\n")) << r.err;
    EXPECT_TRUE(contains(r.err, "main.shf:2:8")) << r.err;
  }
  EXPECT_TRUE(contains(s.run("-c '(use lib :only [init]) k'").err,
                       "k is defined in another file, but private there or left out here by :only."));
  EXPECT_TRUE(contains(s.run("-c '(use lib :only [inti]) 1'").err, "use: module 'lib' defines no inti"));
  EXPECT_TRUE(contains(s.run("-c '(use lib :only init) 1'").err, "use: :only takes a vector of names"));
  // By its alias, or by another use, everything is there.
  EXPECT_EQ(s.run("-c '(use lib :as l :only [init]) (list l/k (l/helper 1))'").out, "[10, 80]\n");
  EXPECT_EQ(s.run("-c '(use lib :only [init]) (use lib :only [k]) (use deep) (list k (depth) (init 1))'").out,
            "[10, 7, 80]\n");
  EXPECT_EQ(s.run("-c '(use lib :only [init]) (use lib) (list k (helper 1))'").out, "[10, 80]\n");
}

TEST(CommandLine, PrivateFunctionsMayComeLater) {
  Sandbox s;
  s.write("lib.shf", "(defn f [x] (map step x)) (defn g [x] (step x)) (defn- step [x] (+ x 1))");
  EXPECT_EQ(s.run("-c '(use lib) (defn step [x] (* x 100)) (list (f (list 1 2)) (g 1) (step 1))'").out,
            "[[2, 3], 2, 100]\n");
}

TEST(CommandLine, ModulePathsWithoutAFile) {
  Sandbox s;
  fs::create_directory(s.dir() / "sub");
  s.write("sub/deep.shf", "(use ./helper) (defn deep [x] (helper (* x 2)))");
  s.write("sub/helper.shf", "(defn helper [x] (+ x 0.5))");
  EXPECT_EQ(s.run("-c '(use sub/deep) (deep 4)'").out, "8.5\n");
  EXPECT_EQ(s.run("", "(use sub/deep)\n(deep 4)\n").out, "=> 8.5\n");
}

TEST(CommandLine, ModulesHideBuiltinsAboveTheirUse) {
  Sandbox s;
  s.write("a.shf", "(use b) (defn std [x] (str \"std \" x)) (defn cond [x] (str \"cond \" x))");
  s.write("b.shf", "(use a) (defn for [x] (str \"for \" x)) (def norm 7)");
  s.write("main.shf", "(defn go [x] [(std x) (cond x) (for x) norm]) (use a) (print (go 1))");
  EXPECT_EQ(s.run("main.shf").out, "['std 1', 'cond 1', 'for 1', 7]\n");
  s.write("early.shf", "(print 1) (print k) (use b) (def k 5)");
  Result r = s.run("early.shf");
  EXPECT_EQ(r.out, "");
  EXPECT_TRUE(contains(r.err, "Undefined symbol: k")) << r.err;
}

TEST(CommandLine, ModulesOnlyDefine) {
  Sandbox s;
  s.write("lib.shf",
          "(defmacro value [n v] `(do (def ~n ~v) (print \"never\")))\n(value a 5) (do (def b 6) (print \"never\")) "
          "(let [x 1] (print \"never\"))");
  s.write("main.shf", "(print \"first\") (use lib) (print a b)");
  Result r = s.run("main.shf");
  EXPECT_EQ(r.out, "first\n5 6\n");
  EXPECT_EQ(r.err, "");
}

TEST(CommandLine, SilentValues) {
  Sandbox s;
  EXPECT_EQ(s.run("-c nil").out, "");
  EXPECT_EQ(s.run("-c '[]'").out, "");
  EXPECT_EQ(s.run("-c '(list nil nil)'").out, "");
  EXPECT_EQ(s.run("-c '(list nil 1)'").out, "[nil, 1]\n");
}

TEST(CommandLine, Errors) {
  Sandbox s;
  Result r = s.run("frobnicate");
  EXPECT_EQ(r.status, 1);
  EXPECT_TRUE(contains(r.err, "sheaf: unknown command 'frobnicate'\n"));
  EXPECT_TRUE(contains(r.err, "--help"));
  EXPECT_EQ(r.out, "");
  r = s.run("missing.shf");
  EXPECT_EQ(r.status, 1);
  EXPECT_EQ(r.err, "sheaf: cannot read 'missing.shf': No such file or directory\n");
  r = s.run("--device");
  EXPECT_EQ(r.status, 1);
  EXPECT_EQ(r.err, "sheaf: --device requires an argument\n");
  EXPECT_EQ(s.run("--frob x.shf").status, 1);
  EXPECT_EQ(s.run("-c").status, 1);
  r = s.run("--device cuda:999 -c 1");
  EXPECT_EQ(r.status, 1);
  EXPECT_TRUE(r.err.starts_with("sheaf: --device cuda:999: there is no working CUDA device: ")) << r.err;
  EXPECT_EQ(s.run("--device cpu -c 1").out, "1\n");
  EXPECT_EQ(s.run("--device metal -c 1").out, "1\n");
  for (const char* name : {"toaster", "gpu", "CPU", "cpu:0", "cuda:", "cuda:x", "cuda:-1"}) {
    r = s.run(std::string("-c 1 --device ") + name);
    EXPECT_EQ(r.status, 1) << name;
    EXPECT_EQ(r.out, "");
    EXPECT_EQ(r.err, std::string("sheaf: --device: there is no device '") + name +
                         "'; the devices are cpu, cuda (or cuda:N for the one of that number), metal, vulkan, sim\n");
  }
  r = s.run("-c '(car 1)'");
  EXPECT_EQ(r.status, 1);
  EXPECT_EQ(r.out, "");
  EXPECT_TRUE(r.err.starts_with("error: Unknown function: car\n --> <eval>:1:1\n"));
  EXPECT_TRUE(r.err.ends_with("\n\n"));
  EXPECT_FALSE(contains(r.err, "\033["));
}

// An option states its arguments, for every command.
TEST(CommandLine, ValuesOfOptions) {
  Sandbox s;
  auto said = [&](const std::string& words) {
    Result r = s.run(words + " -c 1");
    EXPECT_EQ(r.status, 1) << words;
    EXPECT_EQ(r.out, "") << words;
    return r.err;
  };
  EXPECT_EQ(said("--jit=of"), "sheaf: --jit: expected one of on, off, always, got 'of'\n");
  EXPECT_EQ(said("--dynamic yes"), "sheaf: --dynamic: expected one of auto, off, all, got 'yes'\n");
  EXPECT_EQ(said("--backend=gpu"), "sheaf: --backend: expected one of auto, block, native, got 'gpu'\n");
  EXPECT_EQ(said("--emit=x"),
            "sheaf: --emit: expected one of forms, core, graph, grad, fused, plan, loop, llvm, asm, gpu, got 'x'\n");
  for (const char* n : {"0", "-1", "two", "1.5", "99999"})
    EXPECT_EQ(said(std::string("--threads ") + n),
              std::string("sheaf: --threads: expected a number from 1 to 4096, got '") + n + "'\n");
  for (const char* n : {"0", "-1G", "1X", "G", "nan"})
    EXPECT_EQ(said(std::string("--max-memory ") + n),
              std::string("sheaf: --max-memory: expected a size such as 8G, got '") + n + "'\n");
  EXPECT_EQ(said("--trace-level 4"), "sheaf: --trace-level: expected a number from 1 to 3, got '4'\n");
  EXPECT_TRUE(contains(said("--disable=fusion"), "there is no pass 'fusion'; the passes are:"));
  EXPECT_EQ(said("--trace-out no/such/folder/t"),
            "sheaf: cannot write 'no/such/folder/t': No such file or directory\n");
  for (const char* flag : {"--jit", "--device", "--cache-dir", "--disable", "--dump-after", "--trace-out", "--guard"})
    EXPECT_EQ(said(std::string(flag) + "="), std::string("sheaf: ") + flag + " requires an argument\n");
  EXPECT_TRUE(contains(said("--blame=3"), "unknown option '--blame=3'"));
  EXPECT_TRUE(contains(said("--profile"), "unknown option '--profile'; did you mean --jit-profile or --mem-profile?"));
  EXPECT_TRUE(contains(said("--thread=2 x.shf"), "; did you mean --threads?"));
  EXPECT_TRUE(contains(s.run("chek x").err, "unknown command 'chek'; did you mean check?"));
  EXPECT_TRUE(contains(said("--zork"), "unknown option '--zork'\n"));
  s.write("o.shf", "(print (options {:steps 3 :check false}))");
  EXPECT_TRUE(contains(s.run("o.shf --stepz 4").err, "did you mean --steps?"));
  EXPECT_EQ(s.run("o.shf --steps 4 -- --check").out, "{:check true, :steps 4}\n");
  s.write("a.shf", "(deftest t (is true))");
  EXPECT_EQ(s.run("test a.shf --only u").err, "sheaf: test: no test has 'u' in its name\n");
  EXPECT_EQ(s.run("test a.shf --only").err, "sheaf: --only requires an argument\n");
}

TEST(CommandLine, ProgramArguments) {
  Sandbox s;
  s.write("a.shf", "(args)");
  EXPECT_EQ(s.run("a.shf one --two -3 --blame --mem-profile").out, "['one', '--two', '-3']\n");
  EXPECT_EQ(s.run("a.shf one -- --blame --help").out, "['one', '--blame', '--help']\n");
  EXPECT_EQ(s.run("-c '(args)' -- x y").out, "['x', 'y']\n");
}

TEST(CommandLine, ExitStatusOfTheProgram) {
  Sandbox s;
  Result r = s.run("-c '(do (print 1) (exit 7))'");
  EXPECT_EQ(r.status, 7);
  EXPECT_EQ(r.out, "1\n");
}

TEST(CommandLine, MemoryLimit) {
  Sandbox s;
  Result r = s.run("--max-memory 1M -c \"(sum (zeros '[1000 1000]))\"");
  EXPECT_EQ(r.status, 1);
  EXPECT_TRUE(r.err.starts_with("error: "));
  EXPECT_EQ(s.run("--max-memory 1G --threads 1 -c \"(sum (ones '[10]))\"").out, "10.0\n");
  EXPECT_EQ(s.run("--max-memory lots -c 1").status, 1);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // sanitizers hold memory themselves
// Lists are no tensors.
TEST(CommandLine, MemoryLimitSeesAllThatTheProcessHolds) {
  Sandbox s;
  s.write("b.shf", "(loop [kept (list)] (recur (append kept (list 1 2 3 4 5 6 7 8))))");
  Result r = s.run("--max-memory 50M b.shf");
  EXPECT_EQ(r.status, 1);
  EXPECT_TRUE(contains(r.err, "out of memory: the program holds ") && contains(r.err, " MB of 50 allowed")) << r.err;
}

// The largest memory of a run, in KB.
size_t peak_kb(Sandbox& s, const std::string& options) {
  Result r = s.run("--mem-profile " + options);
  EXPECT_EQ(r.status, 0) << r.err;
  size_t at = r.err.find("  peak ");
  EXPECT_NE(at, std::string::npos) << r.err;
  double n = std::stod(r.err.substr(r.err.find('|', at) + 1));
  return static_cast<size_t>(n * 1024);  // less than 1 GB, or the unit makes the number too small to fail
}

// A size that never recurs leaves nothing behind: neither blocks of memory, nor code, nor kernels.
TEST(Memory, SizesThatGrowDoNotMakeTheProcessGrow) {
  Sandbox s;
  s.write("f.shf",
          "(defn f [x] (sum (* (tanh x) (+ x 1))))\n"
          "(print (reduce + 0 (map (fn [n] (f (cast (range (* 50 n)) :f32))) (range 1 4001))))");
  s.write("r.shf", "(doseq [n (range 1 1001)] (random-normal (random-key 0) [(* 50 n)]))");
  const size_t interpreted = peak_kb(s, "--jit=off f.shf");
  EXPECT_LT(interpreted, size_t{97} << 10);
  EXPECT_LT(peak_kb(s, "f.shf"), interpreted * 3 / 2);
  EXPECT_LT(peak_kb(s, "--jit=off r.shf"), size_t{97} << 10);
}
#endif

TEST(CommandLine, Emit) {
  Sandbox s;
  s.write("a.shf", "(defn f [x]   (+ x\n 1)) (f 2)");
  EXPECT_EQ(s.run("--emit=forms a.shf").out, "(defn f [x] (+ x 1))\n(f 2)\n");
  EXPECT_TRUE(contains(s.run("--emit=core a.shf").out, "(call-global f\n  2)"));
  EXPECT_EQ(s.run("--emit=graph a.shf").status, 1);
  EXPECT_EQ(s.run("--emit=poetry a.shf").status, 1);
  s.write("b.shf", "(defn f [x] (+ x 1)) (print (args)) (f [1 2])");
  EXPECT_TRUE(s.run("--emit=graph b.shf -- one two").out.starts_with("['one', 'two']\n; f\n"));
}

TEST(DeepRecursion, EndsInAnError) {
  Sandbox s;
  for (const char* program :
       {"(defn f [x] (map f [x])) (f 1)", "(defn f [x] (sort [1 2] :key f)) (f 1)",
        "(defn f [a x] (reduce f 0 [1 2])) (f 1 2)", "(defn f [x] (+ 1 (f x))) (f 1)",
        "(await (future (do (defn f [x] (map f [x])) (f 1))))", "(defn f [x] ((vmap f) [1 2])) (f 1.0)"}) {
    s.write("a.shf", program);
    Result r = s.run("a.shf");
    EXPECT_EQ(r.status, 1) << program;
    EXPECT_TRUE(contains(r.err, "recursion too deep")) << program << r.err.substr(0, 300);
  }
}

TEST(DeepRecursion, EndsBeforeItHoldsAllMemory) {
  Sandbox s;
  s.write("a.shf", "(defn f [n kept] (do (f (+ n 1) (append kept n)) kept))\n(f 0 [])");
  Result r = s.run("--max-memory=300M a.shf");
  EXPECT_EQ(r.status, 1);
  EXPECT_TRUE(contains(r.err, "calls are active and hold 0.")) << r.err.substr(0, 300);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // sanitizers need address space themselves
TEST(DeepRecursion, WithLittleAddressSpace) {
  Sandbox s;
  s.write("a.shf", "(defn f [x] (tanh (* x x))) (print (sum (f (ones [100 100])))) (defn g [x] (map g [x])) (g 1)");
  rlimit before;
  getrlimit(RLIMIT_AS, &before);
  rlimit limited{rlim_t{400} << 20, before.rlim_max};
  setrlimit(RLIMIT_AS, &limited);
  Result r = s.run("a.shf");
  setrlimit(RLIMIT_AS, &before);
  EXPECT_EQ(r.out, "7615.939\n") << r.err;
  EXPECT_EQ(r.status, 1);
  EXPECT_TRUE(contains(r.err, "error: recursion too deep") || contains(r.err, "error: out of memory"))
      << r.err.substr(0, 300);
}
#endif

TEST(DeepRecursion, DeepDataIsPrintedAndFreed) {
  Sandbox s;
  Result r = s.run("-c \"(def x (repeat [i 1000000] [acc nil] (list acc))) (print (> (len (str x)) 1000))\"");
  EXPECT_EQ(r.out, "true\n");
  EXPECT_EQ(r.status, 0);
}

}  // namespace
}  // namespace sheaf::tools
