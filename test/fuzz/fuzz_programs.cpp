// Random programs through the evaluator.
// Usage: fuzz_programs [--programs N] [--seed S] [--kind typed|wild|mutated] [--corpus FOLDER] [--show] [--every-op N]
// With --every-op N it fails unless each op of the table was applied N times.
// Trial i uses the seed S + i, so a failure is replayed by --seed THAT --programs 1.
//   typed    well-typed scalar functions: (f x) is the value part of ((value-and-grad f) x) bit for bit, interpreted
//   and
//            compiled runs agree,
//            in f64 the gradient agrees with central differences where the function is smooth, forward mode with
//            reverse mode, checkpoint with the plain function, and vmap with one call after the other;
//   wild     every built-in with arguments of any type: no crash, no internal error, interpreted and compiled runs
//   agree; mutated  changed texts of the corpus: the same, and no tensor memory is left behind.
#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "compiler/pipeline.h"
#include "fuzz/harness.h"
#include "fuzz/typed_programs.h"
#include "fuzz/wild_programs.h"
#include "ops/table.h"
#include "support/large_stack.h"
#include "tensor/tensor.h"

namespace {

using namespace fuzz;

constexpr int64_t kFuel = 200'000;
constexpr size_t kMemoryBytes = size_t{256} << 20;

// False when some op of the table was applied less than n times; prints which.
bool all_ops_at_least(int64_t n) {
  bool ok = true;
  for (const auto* op : sheaf::ops::all_ops()) {
    // Created by the tracer itself, never applied.
    bool traced = op->name == "input" || op->name == "leaf" || op->name == "sizes" || op->name == "custom" ||
                  op->kind == sheaf::graph::OpKind::Host;
    // Products of `mixed` and the largest of a row: no program here uses them, ops_test compares them.
    bool elsewhere = op->name.starts_with("wide_") || op->name == "top";
    if (traced || elsewhere || applied(*op) >= n) continue;
    std::printf("%s was applied %lld times\n", std::string(op->name).c_str(), static_cast<long long>(applied(*op)));
    ok = false;
  }
  return ok;
}

bool g_show = false;
int g_values = 0, g_errors = 0, g_smooth = 0;

// Runs it interpreted and compiled; returns the first outcome. Fails on internal errors and on different results.
Outcome run_twice(uint64_t seed, const std::string& program) {
  set_current(seed, program);
  if (g_show) std::printf("%s\n", program.c_str());
  Outcome a = run(program, kFuel, false);
  (a.kind == Outcome::Value ? g_values : g_errors)++;
  if (a.kind == Outcome::Internal) fail(seed, program, "internal error: " + a.text);
  Outcome b = run(program, kFuel, true);
  // The memory in use and the end of the fuel differ between runs; an endless program may run into either limit.
  auto both_speak_of = [&](std::initializer_list<const char*> limits) {
    auto speaks = [&](const Outcome& o) {
      return o.kind == Outcome::Error && std::any_of(limits.begin(), limits.end(), [&](const char* l) {
               return o.text.find(l) != std::string::npos;
             });
    };
    return speaks(a) && speaks(b);
  };
  if (both_speak_of({"out of memory"}) || both_speak_of({"used up its fuel", "recursion too deep"})) return a;
  auto same = [&] { return a.kind == b.kind && a.text == b.text && a.output == b.output; };
  if (!same()) {
    // The one pass that may round differently.
    sheaf::compiler::switch_pass("raise-attention", false);
    b = run(program, kFuel, true);
    sheaf::compiler::switch_pass("raise-attention", true);
  }
  if (!same())
    fail(seed, program,
         fmt::format("interpreted and compiled runs differ:\n{}{}\n{}{}", a.output, a.text, b.output, b.text));
  if (g_show) std::printf("=> %s\n", a.text.c_str());
  return a;
}

// Six numbers printed by the program below, or nothing.
bool read_numbers(const std::string& text, double* out, int count) {
  const char* at = text.c_str();
  for (int i = 0; i < count; ++i) {
    char* end;
    out[i] = std::strtod(at, &end);
    if (end == at) return false;
    at = end;
  }
  return true;
}

// The transforms against each other. Finite values only: NaN compares with nothing.
void check_transforms(uint64_t seed, const TypedProgram& p) {
  std::string program = fmt::format(
      "{}\n(let [x (cast {} :f64)\n      y (cast {} :f64)\n      xs (stack (list x y))\n      near (fn [a b] (allclose "
      "a b :rtol 1e-7 :atol 1e-7))\n"
      "      g (grad f)\n      rows (stack (list (g x) (g y)))\n      both (stack (list (cast (f x) :f64) (cast (f y) "
      ":f64)))]\n"
      "  (if (or (any (isnan rows)) (any (isinf rows)) (any (isnan both)) (any (isinf both)))\n    (print "
      "\"skipped\")\n"
      "    (do (print \"vmap\" (near ((vmap (fn [r] (cast (f r) :f64))) xs) both))\n        (print \"vmap grad\" (near "
      "((vmap g) xs) rows))\n"
      "        (print \"checkpoint\" (near ((grad (checkpoint f)) x) (g x)))\n"
      "        (print \"jvp\" (near (second (jvp f (list x) (list y))) (sum (* (g x) y)))))))",
      p.function, p.argument, p.direction);
  set_current(seed, program);
  Outcome o = run(program, kFuel, true);
  if (o.kind != Outcome::Value)
    fail(seed, program, o.text);
  else if (o.output.find("false") != std::string::npos)
    fail(seed, program, "transforms disagree:\n" + o.output);
}

void typed_trial(uint64_t seed) {
  Rng rng(seed);
  TypedProgram p = typed_program(rng);
  check_transforms(seed, p);
  // Interpreted, (f x) runs op by op and value-and-grad on a tape; compiled, both are traced: all bits must agree.
  std::string program = fmt::format(
      "{}\n(let [x {}\n      [v g] ((value-and-grad f) x)]\n  (print (equal? (float (f x)) (float v)))\n  (list v g))",
      p.function, p.argument);
  Outcome first = run_twice(seed, program);
  if (first.kind != Outcome::Value) return fail(seed, program, first.text);
  if (first.output != "true\n") fail(seed, program, "the value of value-and-grad is not the value of the function");

  program = fmt::format(
      "{}\n(let [x (cast {} :f64)\n      d (cast {} :f64)\n      g (second ((value-and-grad f) x))\n"
      "      slope (fn [h] (/ (- (f (+ x (* h d))) (f (- x (* h d)))) (* 2 h)))]\n"
      "  (print (sum (* g d)))\n  (print (slope 0.0009765625))\n  (print (slope 0.00048828125))\n  (print (slope "
      "0.000244140625))\n  (print (sum (abs g))))",
      p.function, p.argument, p.direction);
  set_current(seed, program);
  Outcome second = run(program, kFuel, true);
  if (second.kind != Outcome::Value) return fail(seed, program, second.text);
  double n[5];
  if (!read_numbers(second.output, n, 5)) return;  // infinite or not a number
  // Where the function is smooth, halving the step divides the error of the difference by four. Only the differences
  // decide that: if a loop amplifies without bound, the gradient is large and no step is small enough to show it.
  double e1 = n[1] - n[2], e2 = n[2] - n[3], smooth = 1 + std::fabs(n[3]), scale = smooth + n[4];
  if (std::fabs(e2) > 1e-6 * smooth || std::fabs(e1 - 4 * e2) > 1e-8 * smooth) return;
  ++g_smooth;
  double better = n[3] - e2 / 3;
  if (std::fabs(better - n[0]) > 1e-6 * scale)
    fail(seed, program, "gradient differs from central differences:\n" + second.output);
}

void wild_trial(uint64_t seed) {
  Rng rng(seed);
  std::string program = wild_program(rng);
  run_twice(seed, program);
}

void mutated_trial(uint64_t seed, const std::vector<std::string>& corpus) {
  Rng rng(seed);
  std::string program = mutated(rng, corpus);
  if (touches_world(program)) return;
  size_t before = sheaf::memory_stats().live_bytes;
  run_twice(seed, program);
  // An atom can hold a function that holds the atom.
  if (sheaf::memory_stats().live_bytes <= before || program.find("atom") != std::string::npos) return;
  // Constants of the library may be made at their first use; a leak comes every time.
  before = sheaf::memory_stats().live_bytes;
  run(program, kFuel, true);
  size_t after = sheaf::memory_stats().live_bytes;
  if (after > before) fail(seed, program, fmt::format("{} bytes of tensors left behind", after - before));
}

struct Options {
  uint64_t seed = 1;
  int programs = 1000;
  int64_t every_op = 0;
  std::string kind, corpus = CORPUS_DIR;
};

bool run_trials(const Options& o) {
  CrashHandlers handlers;
  sheaf::set_memory_limit(kMemoryBytes);
  silence_warnings();
  run("1", kFuel, true);  // allocates everything that lives as long as the process before memory is counted
  std::vector<std::string> corpus = read_corpus(o.corpus);
  for (int i = 0; i < o.programs; ++i) {
    uint64_t s = o.seed + static_cast<uint64_t>(i);
    if (o.kind.empty() || o.kind == "typed") typed_trial(s);
    if (o.kind.empty() || o.kind == "wild") wild_trial(s);
    if (o.kind.empty() || o.kind == "mutated") mutated_trial(s, corpus);
    if (failures() >= 20) break;
  }
  std::printf("%d programs from seed %llu: %d values, %d errors, %d gradients compared, %d failures\n", o.programs,
              static_cast<unsigned long long>(o.seed), g_values, g_errors, g_smooth, failures());
  return failures() == 0 && (o.every_op == 0 || all_ops_at_least(o.every_op));
}

}  // namespace

int main(int argc, char** argv) {
  Options o;
  for (int i = 1; i < argc; ++i) {
    std::string_view option = argv[i];
    if (option == "--show")
      g_show = true;
    else if (i + 1 == argc)
      return std::fprintf(stderr, "fuzz_programs: %s needs a value\n", argv[i]), 2;
    else if (option == "--seed")
      o.seed = std::strtoull(argv[++i], nullptr, 10);
    else if (option == "--programs")
      o.programs = std::atoi(argv[++i]);
    else if (option == "--kind")
      o.kind = argv[++i];
    else if (option == "--every-op")
      o.every_op = std::atoi(argv[++i]);
    else if (option == "--corpus")
      o.corpus = argv[++i];
    else
      return std::fprintf(stderr, "fuzz_programs: unknown option %s\n", argv[i]), 2;
  }
  bool clean = false;
  sheaf::LargeStackThread thread([&] { clean = run_trials(o); });  // as the program itself runs what users write
  thread.join();
  return clean ? 0 : 1;
}
