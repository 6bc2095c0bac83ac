// Runs program texts for the fuzzers: in a fresh session, with little fuel and memory, and with handlers that print the
// program when the process crashes or hangs.
#pragma once
#include <csignal>
#include <random>
#include <string>
#include <vector>

#include "graph/op_def.h"
#include "value/value.h"

namespace fuzz {

class Rng {
 public:
  explicit Rng(uint64_t seed) : engine_(seed) {}
  int below(int n) { return static_cast<int>(engine_() % static_cast<uint64_t>(n)); }
  bool chance(double p) { return static_cast<double>(engine_() >> 11) * 0x1p-53 < p; }
  template <class T>
  const T& pick(const std::vector<T>& xs) {
    return xs[static_cast<size_t>(below(static_cast<int>(xs.size())))];
  }
  const char* pick(std::initializer_list<const char*> xs) { return xs.begin()[below(static_cast<int>(xs.size()))]; }

 private:
  std::mt19937_64 engine_;
};

struct Outcome {
  enum Kind { Value, Error, Internal } kind = Value;
  std::string output;  // what it printed
  std::string text;    // rendering of the value, or the message
  sheaf::Value value;
};

// The seed and program that the crash handlers print.
void set_current(uint64_t seed, const std::string& program);
// Installs them, on an alternate signal stack of the thread, while this lives; sanitizers have handlers of their own.
class CrashHandlers {
 public:
  CrashHandlers();
  ~CrashHandlers();
  CrashHandlers(const CrashHandlers&) = delete;
  CrashHandlers& operator=(const CrashHandlers&) = delete;

 private:
  stack_t before_{};
};
// Ends the process as hanging after this much processor time, or this much elapsed time; 0: never.
void limit_time(unsigned cpu_seconds, unsigned wall_seconds);
// Discards what programs write to stderr; the address or thread sanitizer reports to stdout.
void silence_warnings();

// Kind Internal: something other than an error of the language left the evaluator. `compiled`: functions are compiled
// at their first call, else never.
Outcome run(const std::string& program, int64_t fuel, bool compiled);

// Number of times an op was applied in all runs so far.
int64_t applied(const sheaf::graph::OpDef& op);

// Prints the seed and the program, and counts.
void fail(uint64_t seed, const std::string& program, const std::string& why);
int failures();

}  // namespace fuzz
