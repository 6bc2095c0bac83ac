// The observers of a running program: of its calls, the profiles reported at exit, and the report of the exception that
// ends it.
#pragma once
#include <memory>

#include "eval/globals.h"
#include "tools/command_line.h"
#include "tools/memory_profile.h"
#include "tools/profiler.h"
#include "tools/trace_observer.h"

namespace sheaf::tools {

class Watch {
 public:
  // Installs the observers that the options request. Must come before the Session: prelude functions are compiled for
  // it. Throws UsageError.
  explicit Watch(const Options& options);
  ~Watch();

  // Throws UserError if --trace or --guard name an unknown function. For a program that has been analysed.
  void check_names(const eval::Globals& globals) const;
  void checkpoint(const char* name);
  // For a catch (...) block: reports the current exception and returns the exit status. An ExitRequest is reported only
  // by its status.
  int report_exception() const;
  // Prints the profiles, once, at exit.
  void report_profiles();

 private:
  void report_breach(const builtins::GuardBreach& b) const;

  const Options& options_;
  std::unique_ptr<TraceObserver> trace_;
  std::unique_ptr<Profiler> profiler_;
  std::unique_ptr<eval::CallObserver> both_;
  std::unique_ptr<MemoryProfile> memory_;
};

// True for results that are not shown: nil, and lists of only nil.
bool is_silent(const Value& v);

}  // namespace sheaf::tools
