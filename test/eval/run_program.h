// Runs a program: its value, and how often its functions were compiled.
#pragma once
#include <map>
#include <string>

#include "eval/session.h"
#include "trace/jit.h"
#include "value/print.h"

namespace sheaf {

struct Outcome {
  std::string value;
  std::map<std::string, int> compiled;  // by function
};

inline Outcome run(const std::string& program, trace::JitMode mode) {
  Outcome out;
  trace::set_jit_mode(mode);
  trace::set_jit_listener(
      [&](const trace::JitEvent& e) { out.compiled[e.function] += e.outcome == trace::JitOutcome::Compiled; });
  eval::Session session;
  out.value = render(session.run_text(program));
  trace::set_jit_listener(nullptr);
  trace::set_jit_mode(trace::JitMode::Auto);
  return out;
}

}  // namespace sheaf
