// Whole programs on the simulated device: the output of the CPU, to the letter, and errors where memory runs out.
#include <gtest/gtest.h>

#include "run_sheaf.h"

namespace sheaf::tools {
namespace {

// Trains a little, with branches, a loop and output inside of what is compiled.
constexpr const char* kProgram =
    "(def w0 {:a (* 0.01 (random-normal (random-key 1) [64 256])) :b (zeros [256])})\n"
    "(def x (random-normal (random-key 2) [128 64]))\n"
    "(defn loss [w] (mean (** (- (relu (+ (@ x (get w :a)) (get w :b))) 1) 2)))\n"
    "(defn step [w i]\n"
    "  (let [[l g] ((value-and-grad loss) w)]\n"
    "    (when (= 0 (mod i 5)) (println i l))\n"
    "    (tree-map (fn [p d] (- p (* (if (> l 0.5) 0.5 0.1) d))) w g)))\n"
    "(def w (reduce step w0 (range 12)))\n"
    "(print (loss w) (sum (get w :a)) (nth (get w :b) 7))\n"
    "(print (at (get w :a) 3 1))\n"
    "(print (map (fn [i] (nth (get w :b) i)) '[0 1 2]))\n";

TEST(Device, SimulatedGivesTheOutputOfTheCpu) {
  Sandbox s;
  s.write("p.shf", kProgram);
  const Result cpu = s.run("p.shf");
  EXPECT_EQ(cpu.status, 0) << cpu.err;
  for (const char* options : {"seed:1", "seed:2,least:1", "seed:3,least:100000", "seed:4,least:1,plain:0"}) {
    setenv("SHEAF_SIM", options, 1);
    for (const char* flags : {"--device sim", "--device sim --jit off"}) {
      const Result sim = s.run(std::string(flags) + " p.shf");
      EXPECT_EQ(sim.out, cpu.out) << options << " " << flags << sim.err;
    }
  }
  unsetenv("SHEAF_SIM");
}

TEST(Device, MemoryIsLimited) {
  Sandbox s;
  const Result r = s.run("--device sim --max-device-memory 30M -c '(sum (ones [10 1000 1000]))'");
  EXPECT_EQ(r.status, 1);
  EXPECT_TRUE(contains(r.err, "error: out of memory: the device sim has no 40000000 bytes, with ")) << r.err;
}

// Each array is read once; its copy gives way to those that come later.
TEST(Device, CopiesOfHostArraysGiveWay) {
  Sandbox s;
  s.write("p.shf",
          "(def xs (with-device :cpu (fn [] (map (fn [i] (* i (ones [1000 1000]))) (range 12)))))\n"
          "(defn total [x] (sum (+ x 1)))\n"
          "(print (reduce (fn [s x] (+ s (sum x) (total x))) 0 xs) (device-of (first xs)))\n");
  const std::string expected = s.run("p.shf").out;
  for (const char* flags : {"", " --jit off"}) {
    const Result r = s.run("--device sim --max-device-memory 30M" + std::string(flags) + " p.shf");
    EXPECT_EQ(r.out, expected) << r.err;
  }
}

// An array of 20 MB has room once: what is updated is not copied. One run, several, and too many for that.
TEST(Device, OwnedArraysAreUpdatedInPlace) {
  Sandbox s;
  s.write("p.shf",
          "(defn fill [x n] (reduce (fn [x i] (index-update x i (* 2 i))) x (range n)))\n"
          "(def x (fill (+ 1 (zeros [5000 1000])) 4))\n"
          "(print x (device-of x) (sum x))\n");
  const std::string large = "--device sim --max-device-memory 30M p.shf";
  Result r = s.run("--device sim p.shf");
  EXPECT_EQ(s.run(large).out, r.out);
  s.write("q.shf",
          "(def cache (reduce (fn [c t] (at-set c (* t (ones [2 4 8])) : : t)) (+ 0 (zeros [2 4 300 8])) (range 9)))\n"
          "(def shared cache)\n"
          "(def a (at-set cache 7 0 : (span 2 5)))\n"
          "(def b (at-set cache (random-normal (random-key 1) [2 4 300]) : : : 3))\n"
          "(def c (at-add cache 1 1 2 (span 1 9 2)))\n"
          "(print cache (sum shared) a (at a 0 2 3) b (sum b) c (at c 1 2 3))\n");
  for (const char* flags : {"--device sim q.shf", "--device sim --jit off q.shf"}) {
    r = s.run(flags);
    EXPECT_EQ(r.out, s.run("q.shf").out) << r.err;
  }
}

TEST(Device, SmallPartsAreRead) {
  Sandbox s;
  s.write("p.shf",
          "(def x (reshape (+ 1 (arange 800000)) [200 2 2000]))\n"
          "(print x (at x 17 1 5) (nth (nth x 199) 1) (sum (at x 3)))\n"
          "(print (str (transpose (at x : 1))))\n");
  const Result cpu = s.run("p.shf");
  EXPECT_EQ(cpu.status, 0) << cpu.err;
  EXPECT_EQ(s.run("--device sim p.shf").out, cpu.out);
}

TEST(Device, TheLargestFunctionIsNamed) {
  Sandbox s;
  s.write("p.shf",
          "(def x (+ 1 (zeros [5000000])))\n"
          "(defn spread [x] (let [y (sort (* x x))] (- (sum y) (max y))))\n"
          "(print (spread x))\n");
  const Result r = s.run("--device sim --max-device-memory 40M p.shf");
  EXPECT_EQ(r.status, 1);
  EXPECT_TRUE(contains(r.err, "p.shf:2:32 takes the most for itself: 60000000 bytes")) << r.err;
}

TEST(Device, ParametersStayOnTheDevice) {
  Sandbox s;
  s.write("p.shf", std::string(kProgram) + "(print (device-of (get w :a)) (device-of (get w0 :b)))\n");
  const Result r = s.run("--device sim p.shf");
  EXPECT_TRUE(r.out.ends_with(":sim :cpu\n")) << r.out << r.err;
}

// Whichever allocation fails: the call is made again in another way, or the program ends with an error of its own.
TEST(Device, OutOfMemoryAtEveryAllocation) {
  Sandbox s;
  s.write("p.shf", kProgram);
  const std::string expected = s.run("p.shf").out;
  int freed = 0;
  for (int n = 1; n <= 40; ++n) {
    setenv("SHEAF_SIM", ("oom:" + std::to_string(n)).c_str(), 1);
    const Result r = s.run("--device sim p.shf");
    EXPECT_TRUE(r.status == 0 || r.status == 1) << n << ": " << r.err;
    if (r.status == 0)
      EXPECT_EQ(r.out, expected) << n;
    else
      EXPECT_TRUE(contains(r.err, "error: out of memory: the device sim has no ")) << n << ": " << r.err;
    freed += r.status == 0;
  }
  EXPECT_GT(freed, 0) << "no idle memory was freed";
  unsetenv("SHEAF_SIM");
}

TEST(Device, DevicesAreListed) {
  Sandbox s;
  const Result r = s.run("devices");
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_TRUE(r.out.starts_with("cpu      ")) << r.out;
  EXPECT_TRUE(contains(r.out, "\ncuda")) << r.out;
  EXPECT_TRUE(r.out.ends_with("sim      simulated, for tests\n")) << r.out;
}

TEST(Device, OptionsOfTheSimulation) {
  Sandbox s;
  setenv("SHEAF_SIM", "speed:1", 1);
  const Result r = s.run("--device sim -c 1");
  unsetenv("SHEAF_SIM");
  EXPECT_EQ(r.status, 1);
  EXPECT_TRUE(contains(r.err, "SHEAF_SIM: expected seed:N, oom:N, least:N or plain:N, got 'speed:1'")) << r.err;
}

}  // namespace
}  // namespace sheaf::tools
