// The command line, as specified in toolchain specification §1, with our additions.
#pragma once
#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

#include "tools/guard_spec.h"

namespace sheaf::tools {

enum class Mode : uint8_t {
  Repl,
  File,
  Eval,
  InitAi,
  New,
  Format,
  Check,
  Test,
  Doc,
  Explain,
  Cache,
  Devices,
  Help,
  Version
};

struct Options {
  Mode mode = Mode::Repl;
  std::string target;              // the file, - for standard input, or the expression
  std::vector<std::string> words;  // of a subcommand; else the program's arguments

  int verbosity = 0;
  std::string device;  // "" chooses
  bool jit_profile = false, blame = false, mem_profile = false;

  bool trace = false;
  std::vector<std::string> traced;  // empty: all functions
  int trace_level = 2;              // 1: names and times; 2: values too; 3: also built-ins and lambdas
  std::string trace_out;            // a file for JSON lines
  std::vector<GuardSpec> guards;

  std::string emit;                              // forms, core, graph, grad, fused, plan, loop, llvm, asm, gpu
  int threads = 0;                               // 0: all of the machine's
  size_t max_memory = 0, max_device_memory = 0;  // bytes; 0: no limit
  // For the compiler.
  std::string jit, backend, dynamic, cache_dir;
  std::vector<std::string> disabled;  // passes
  std::vector<std::string> dumped;    // passes
  bool fullgraph = false, check = false, perf_hints = false, max_autotune = false;

  bool is_watched() const { return trace || !trace_out.empty() || !guards.empty(); }
};

// The message for the user, without the leading "sheaf: ".
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Throws UsageError.
Options parse_command_line(const std::vector<std::string>& words);

// The text of --help.
std::string usage_text();

}  // namespace sheaf::tools
