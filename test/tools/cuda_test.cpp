// Whole programs with --device cuda, on fake libraries for the driver, NVRTC and cuBLASLt (fake_cuda): the output of
// the CPU, to the letter, and errors that say what is missing. Tests that need a real GPU are in test/codegen/gpu.
#include <gtest/gtest.h>

#include "run_sheaf.h"

namespace sheaf::tools {
namespace {

class Cuda : public ::testing::Test {
 protected:
  void SetUp() override {
    setenv("SHEAF_CUDA_PATH", FAKE_CUDA_DIR, 1);
    setenv("FAKE_NVRTC_LOG", (s_.dir() / "compiled").c_str(), 1);
    setenv("FAKE_CUBLASLT_LOG", (s_.dir() / "multiplied").c_str(), 1);
  }
  void TearDown() override {
    for (const char* name : {"SHEAF_CUDA_PATH", "FAKE_NVRTC_LOG", "FAKE_NVRTC_FAULT", "FAKE_CUDA_BYTES",
                             "FAKE_CUDA_SEED", "SHEAF_CUDA", "FAKE_CUBLASLT_LOG", "FAKE_CUBLASLT_FAULT"})
      unsetenv(name);
  }
  void expect_output_of_cpu(const std::string& program, const std::string& options = "") {
    s_.write("p.shf", program);
    const Result cpu = s_.run(options + " p.shf"), cuda = s_.run(options + " --device cuda p.shf");
    EXPECT_EQ(cuda.out, cpu.out) << cuda.err;
    EXPECT_EQ(cuda.err, cpu.err);
    EXPECT_EQ(cuda.status, cpu.status);
  }
  Sandbox s_;
};

// Trains a little, with branches, a loop and output inside of what is compiled; then what stays on the device.
constexpr const char* kTraining =
    "(def w0 {:a (* 0.01 (random-normal (random-key 1) [64 256])) :b (zeros [256])})\n"
    "(def x (random-normal (random-key 2) [64 64]))\n"
    "(defn loss [w] (mean (** (- (relu (+ (@ x (get w :a)) (get w :b))) 1) 2)))\n"
    "(defn step [w i]\n"
    "  (let [[l g] ((value-and-grad loss) w)]\n"
    "    (when (= 0 (mod i 2)) (println i l))\n"
    "    (tree-map (fn [p d] (- p (* (if (> l 0.5) 0.5 0.1) d))) w g)))\n"
    "(def w (reduce step w0 (range 4)))\n"
    "(print (loss w) (sum (get w :a)) (nth (get w :b) 7))\n";

TEST_F(Cuda, GivesTheOutputOfTheCpu) {
  expect_output_of_cpu(kTraining);
  s_.write("p.shf", std::string(kTraining) + "(print (device-of (get w :a)) (device-of (get w0 :b)))\n");
  const Result r = s_.run("--device cuda p.shf");
  EXPECT_TRUE(r.out.ends_with(":cuda:0 :cpu\n")) << r.out << r.err;
}

// Submitted work runs late, and graphs run in any order that their edges allow.
TEST_F(Cuda, GraphsGiveTheOutputOfTheCpu) {
  for (const char* seed : {"1", "2", "3"}) {
    setenv("FAKE_CUDA_SEED", seed, 1);
    setenv("SHEAF_CUDA", "plain:0", 1);
    expect_output_of_cpu(kTraining);
    setenv("SHEAF_CUDA", "least:1,plain:0", 1);
    expect_output_of_cpu(
        "(defn step [s x] [(+ (* s 0.5) x) (* s x)])\n"
        "(defn f [xs] (scan step [1 2] xs))\n"
        "(def t (reshape (arange 12) [6 2]))\n"
        "(print (f t)) (print (f (* t 2)))\n"
        "(defn grow [x] (loop [x x] (if (< (sum x) 100) (recur (+ x (sort x))) x)))\n"
        "(print (grow [3 1 2])) (print (grow [1 2 4]))\n");
  }
}

// Launches of one kernel over several arrays become one over a table, also where an array is small and not aligned.
TEST_F(Cuda, LaunchesOfOneKernelBecomeOne) {
  const std::string program =
      "(defn f [xs] (tree-map (fn [x] (+ (* x 2) 1)) xs))\n"
      "(def xs (map (fn [n] (arange (* 1.0 n))) [300 40 1000]))\n"
      "(print (map sum (f xs)) (map sum (f (f xs))))\n";
  for (const char* seed : {"1", "2"}) {
    setenv("FAKE_CUDA_SEED", seed, 1);
    setenv("SHEAF_CUDA", "least:1,plain:0", 1);
    expect_output_of_cpu(program);
  }
  s_.write("p.shf", program);
  EXPECT_NE(s_.run("--device cuda --emit=plan p.shf").out.find("3 x mul+add"), std::string::npos);
  EXPECT_EQ(s_.run("--device cuda --disable=tables --emit=plan p.shf").out.find("3 x mul+add"), std::string::npos);
}

TEST_F(Cuda, PartsOfArraysAreWrittenThere) {
  setenv("SHEAF_CUDA", "least:1", 1);
  expect_output_of_cpu(
      "(def x (reshape (arange 12) [3 4]))\n"
      "(def y (* x 2))\n"
      "(print (at-set y 7 1 (span 0 3)) (at-add y 1 : 2) (index-update y 2 [9 8 7 6]) y)\n"
      "(print (index-update y 3 0))\n");
  s_.write("p.shf", "(def y (* (ones [4]) 2))\n(print (device-of (at-set y 7 1)) (device-of (index-update y 1 3)))\n");
  EXPECT_EQ(s_.run("--device cuda p.shf").out, ":cuda:0 :cuda:0\n");
}

TEST_F(Cuda, TheFirstLaunchThatDiffersIsNamed) {
  s_.write("p.shf", kTraining);
  const Result r = s_.run("--device cuda --check p.shf");
  EXPECT_EQ(r.out, s_.run("p.shf").out) << r.err;
  setenv("FAKE_NVRTC_FAULT", "__fmul_rn=__fadd_rn", 1);
  const Result wrong = s_.run("--device cuda --check --cache-dir other p.shf");
  EXPECT_NE(wrong.status, 0);
  EXPECT_TRUE(contains(wrong.err, "--check: ")) << wrong.err;
  EXPECT_TRUE(contains(wrong.err, " on cuda:0 and ")) << wrong.err;
}

TEST_F(Cuda, ProfilesShowTheDevice) {
  s_.write("p.shf", kTraining);
  const Result r = s_.run("--device cuda --jit-profile --mem-profile p.shf");
  EXPECT_EQ(r.out, s_.run("p.shf").out);
  EXPECT_TRUE(contains(r.err, "GB/s")) << r.err;
  EXPECT_TRUE(contains(r.err, "\n  Memory of cuda:0: peak ")) << r.err;
}

TEST_F(Cuda, StoredKernelsNeedNoCompiler) {
  s_.write("p.shf", kTraining);
  const Result first = s_.run("--device cuda p.shf");
  EXPECT_GT(s_.read("compiled").size(), 0u);
  fs::remove(s_.dir() / "compiled");
  EXPECT_EQ(s_.run("--device cuda p.shf").out, first.out);
  EXPECT_EQ(s_.read("compiled"), "");
}

// Attention, forward and back, and a routine that runs on the host between copies.
TEST_F(Cuda, Routines) {
  setenv("SHEAF_CUDA", "least:1", 1);
  expect_output_of_cpu(
      "(def q (random-normal (random-key 0) [1 2 20 8]))\n"
      "(print (sum (first ((grad (fn [q k v] (sum (attention q k v :causal true))) :argnums [0 1 2]) q q q))))\n"
      "(def a (random-normal (random-key 1) [6 6]))\n"
      "(print (sort (reshape a [36])) (cumsum (get a 0)) (solve a (get a 1)))\n"
      "(print (sort (flip (get a 2) 0)))\n");
  EXPECT_TRUE(
      contains(s_.run("--device cuda --emit=plan p.shf").out, "    on the host: solve has no form for a GPU\n"));
}

// Each function runs launch by launch, then as a graph.
TEST_F(Cuda, RowsWeightsAndExpertsStayThere) {
  for (const char* options : {"least:1", "least:1,plain:0"}) {
    setenv("SHEAF_CUDA", options, 1);
    expect_output_of_cpu(
        "(defn rows [x] [(sort x) (argsort x) (cumsum x :axis 1) (cumprod x) (first (top_k x 4))\n"
        "                (searchsorted (sort (get x 0)) x)])\n"
        "(defn weighed [x q8 q4] [(@ x q8) (@ (get x [0]) q4)])\n"
        "(defn experts [x w counts] (grouped-matmul x w counts))\n"
        "(def x (random-normal (random-key 1) [3 70]))\n"
        "(def y (random-normal (random-key 3) [9 64]))\n"
        "(def q8 (quantize (random-normal (random-key 4) [64 10]) :q8))\n"
        "(def q4 (quantize (random-normal (random-key 5) [64 10]) :q4))\n"
        "(def v (random-normal (random-key 6) [3 64 7]))\n"
        "(print (rows x) (rows x))\n"
        "(print (weighed y q8 q4) (weighed y q8 q4))\n"
        "(print (experts y v [5 0 4]) (experts y v [1 2 3]))\n"
        "(print (sum ((grad (fn [v] (sum (** (experts y v [5 1 2]) 2)))) v)))\n");
  }
  EXPECT_FALSE(contains(s_.run("--device cuda --emit=plan p.shf").out, "on the host"));
}

// bf16 has the bits of the CPU without matrix units, and with them a result near that.
TEST_F(Cuda, NarrowProductsAndAttention) {
  setenv("SHEAF_CUDA", "least:1", 1);
  const std::string operands =
      "(def a (cast (random-normal (random-key 1) [40 70]) :bf16))\n"
      "(def b (cast (random-normal (random-key 2) [70 50]) :bf16))\n"
      "(def q (cast (random-normal (random-key 3) [1 2 33 8]) :bf16))\n"
      "(def y (@ a b))\n"
      "(def z (attention q q q :causal true))\n";
  expect_output_of_cpu(operands + "(print y (get (@ (get a [0]) b) 0) z)\n", "--disable=matrix-units");
  s_.write("near.shf", operands +
                           "(defn f32 [x] (cast x :f32))\n"
                           "(defn near [x exact] (< (sum (** (- (f32 x) exact) 2)) (* 1.6e-5 (sum (** exact 2)))))\n"
                           "(print (near y (@ (f32 a) (f32 b)))\n"
                           "       (near z (attention (f32 q) (f32 q) (f32 q) :causal true)))\n");
  const Result r = s_.run("--device cuda near.shf");
  EXPECT_EQ(r.out, "true true\n") << r.err;
}

// Large enough for the library, called three times: by itself, and twice in a graph. The lines of `c` begin anywhere.
constexpr const char* kLargeProduct =
    "(defn numbers [key shape] (cast (random-normal (random-key key) shape) :bf16))\n"
    "(def a (numbers 1 [1024 128]))\n"
    "(def b (numbers 2 [128 1024]))\n"
    "(def c (numbers 3 [1024 131]))\n"
    "(def d (numbers 4 [131 1024]))\n"
    "(defn f32 [x] (cast x :f32))\n"
    "(defn near [x exact] (< (sum (** (- (f32 x) exact) 2)) (* 1.6e-5 (sum (** exact 2)))))\n"
    "(defn f [a b] (relu (@ a b)))\n"
    "(defn check [a b]\n"
    "  (let [exact (with-device :cpu (fn [] (relu (@ (f32 a) (f32 b)))))]\n"
    "    (print (near (f a b) exact) (near (f a (* 2 b)) (* 2 exact)) (near (f a b) exact))))\n";

TEST_F(Cuda, LargeNarrowProductsRunInTheLibrary) {
  s_.write("p.shf", std::string(kLargeProduct) + "(check a b)\n(check c d)\n");
  const Result r = s_.run("--device cuda p.shf");
  EXPECT_EQ(r.out, "true true true\ntrue true true\n") << r.err;
  const std::string multiplied = s_.read("multiplied");
  EXPECT_TRUE(contains(multiplied, "1024 x 1024 x 128\n")) << multiplied;
  EXPECT_FALSE(contains(multiplied, "131")) << "an odd number of terms, of a result that is rounded";
  EXPECT_TRUE(contains(s_.run("--device cuda --emit=plan p.shf").out, "\n    by library: ")) << r.err;
}

// A factor of 131 columns that only products read is made in lines of 136.
TEST_F(Cuda, LinesOfNarrowFactorsAreAligned) {
  s_.write("p.shf", std::string(kLargeProduct) +
                        "(defn h [x w] [(@ (relu x) w) (@ (tr (relu x)) x)])\n"
                        "(defn near-both [] (let [x (f32 c) w (f32 d) [y z] (h c d)]\n"
                        "  (with-device :cpu (fn [] [(near y (@ (relu x) w)) (near z (@ (tr (relu x)) x))]))))\n"
                        "(print (near-both) (near-both))\n");
  const Result r = s_.run("--device cuda --emit=plan p.shf");
  EXPECT_TRUE(contains(r.out, "[true, true] [true, true]\n")) << r.out << r.err;
  EXPECT_TRUE(contains(r.out, "> scratch+0:" + std::to_string((1023 * 136 + 131) * 2) + ")")) << r.out;
}

// 1029 columns are computed as 1032, where those who read them find them; an output is copied.
TEST_F(Cuda, ResultsAreInLinesOfTheLibrary) {
  s_.write("p.shf",
           std::string(kLargeProduct) +
               "(def u (numbers 5 [1024 256]))\n"
               "(def v (numbers 6 [256 1029]))\n"
               "(defn g [u v] (let [y (reshape (@ u v) [4 256 1029])] [(relu y) (sum (f32 y) :axis 2)]))\n"
               "(defn exact [] (with-device :cpu (fn [] (g (f32 u) (f32 v)))))\n"
               "(defn near-all [] (map near (g u v) (exact)))\n"
               "(print (near-all) (near-all) (near (@ u v) (with-device :cpu (fn [] (@ (f32 u) (f32 v))))))\n");
  const Result r = s_.run("--device cuda --emit=plan p.shf");
  EXPECT_TRUE(contains(r.out, "[true, true] [true, true] true\n") || contains(r.out, "(true true) (true true) true\n"))
      << r.out << r.err;
  EXPECT_TRUE(contains(s_.read("multiplied"), "1024 x 1032 x 256\n")) << s_.read("multiplied");
  EXPECT_TRUE(contains(r.out, "> scratch+0:" + std::to_string(1024 * 1032 * 2) + ")")) << r.out;
}

TEST_F(Cuda, WithoutTheLibraryTheTemplatesMultiply) {
  s_.write("p.shf", std::string(kLargeProduct) + "(print (f a b))\n");
  const Result disabled = s_.run("--device cuda --disable=library-products --emit=plan p.shf");
  EXPECT_TRUE(contains(disabled.out, "\n    by matrix-units: ")) << disabled.out << disabled.err;
  setenv("FAKE_CUBLASLT_FAULT", "none", 1);
  EXPECT_EQ(s_.run("--device cuda --emit=plan p.shf").out, disabled.out) << "it has no algorithm";
  // A library without the needed functions counts as missing.
  const fs::path old = s_.dir() / "old";
  fs::create_directory(old);
  for (const char* library : {"libcuda.so.1", "libnvrtc.so.13"})
    fs::create_symlink(fs::path(FAKE_CUDA_DIR) / library, old / library);
  fs::create_symlink(fs::path(FAKE_CUDA_DIR) / "libnvrtc.so.13", old / "libcublasLt.so.13");
  setenv("SHEAF_CUDA_PATH", old.c_str(), 1);
  unsetenv("FAKE_CUBLASLT_FAULT");
  EXPECT_EQ(s_.run("--device cuda --emit=plan p.shf").out, disabled.out);
  const Result devices = s_.run("devices");
  EXPECT_TRUE(contains(devices.out, "libcublasLt.so.13 has no function cublasLtGetVersion: it is too old\n"))
      << devices.out;
  EXPECT_EQ(s_.read("multiplied"), "");
}

TEST_F(Cuda, ALibraryThatFailsIsNamed) {
  setenv("FAKE_CUBLASLT_FAULT", "fails", 1);
  s_.write("p.shf", std::string(kLargeProduct) + "(print (f a b))\n");
  const Result r = s_.run("--device cuda p.shf");
  EXPECT_NE(r.status, 0);
  EXPECT_TRUE(
      contains(r.err, "cublasLtMatmul: CUBLAS_STATUS_EXECUTION_FAILED, for bf16 to bf16, 1 x 1024 x 1024 x 128"))
      << r.err;
}

TEST_F(Cuda, FailedChecksAreReportedAsOnTheCpu) {
  setenv("SHEAF_CUDA", "least:1", 1);
  expect_output_of_cpu(
      "(def t (zeros [5 3]))\n"
      "(defn f [t i] (sum (embedding i t)))\n"
      "(print (f t (cast [1 2] :i64)))\n"
      "(print (f t (cast [1 9] :i64)))\n");
}

// The call that fails is made again on its arguments, whose memory it has been given: the index is told from them.
TEST_F(Cuda, ArgumentsSurviveAFailedCheck) {
  const std::string program =
      "(def table (ones [5 1]))\n"
      "(defn f [s] (+ s (sum (embedding (cast s :i64) table))))\n"
      "(print (loop [s [1] k 0] (if (< k 9) (recur (f s) (+ k 1)) s)))\n";
  for (const char* options : {"least:1", "least:1,plain:0"}) {
    setenv("SHEAF_CUDA", options, 1);
    expect_output_of_cpu(program);
  }
  const Result cpu = s_.run("p.shf");
  setenv("FAKE_NVRTC_FAULT", "if (*failed) return;=", 1);
  EXPECT_NE(s_.run("--device cuda --cache-dir other p.shf").err, cpu.err);
}

TEST_F(Cuda, MemoryThatRunsOut) {
  setenv("FAKE_CUDA_BYTES", "70000000", 1);
  const Result r = s_.run("--device cuda -c '(sum (ones [100 1000 1000]))'");
  EXPECT_EQ(r.status, 1);
  EXPECT_TRUE(contains(r.err, "error: out of memory: the device cuda:0 has no 400000000 bytes, with ")) << r.err;
}

TEST_F(Cuda, MemoryIsLimited) {
  const std::string program = " --device cuda -c '(sum (ones [1000 1000]))'";
  EXPECT_EQ(s_.run("--max-device-memory 8M" + program).status, 0);
  const Result r = s_.run("--max-device-memory 3M" + program);
  EXPECT_EQ(r.status, 1);
  EXPECT_TRUE(contains(r.err, "error: out of memory: the device cuda:0 has no 4000000 bytes, with ")) << r.err;
}

TEST_F(Cuda, WhatIsMissingIsNamed) {
  Result r = s_.run("devices");
  EXPECT_TRUE(contains(r.out, "\ncuda:0   Fake GPU, sm_90, 1 GiB\n")) << r.out;
  EXPECT_TRUE(contains(r.out, "libnvrtc.so.13, NVRTC 13.0\n")) << r.out;
  EXPECT_TRUE(contains(r.out, "libcuda.so.1, CUDA 13.0\n")) << r.out;
  EXPECT_TRUE(contains(r.out, "libcublasLt.so.13, cuBLASLt 13.1.2\n")) << r.out;
  r = s_.run("--device cuda:3 -c 1");
  EXPECT_EQ(r.status, 1);
  EXPECT_EQ(r.err, "sheaf: --device cuda:3: there is no working CUDA device: there are 1 GPUs, from number 0 on\n");
  setenv("SHEAF_CUDA", "most:1", 1);
  r = s_.run("--device cuda -c 1");
  EXPECT_EQ(r.err, "sheaf: SHEAF_CUDA: expected least:N or plain:N, got 'most:1'\n");
}

}  // namespace
}  // namespace sheaf::tools
