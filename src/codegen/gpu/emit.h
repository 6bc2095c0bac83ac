// Prints the text of a launch: one kernel of the device's language. Deterministic: equal parts with equal schedules are
// equal text. Names say where values come from: b a buffer, s a size, i a loop variable, r the result of a reduction, v
// a value, in the order of the kernel.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "codegen/gpu/helpers.h"
#include "codegen/gpu/schedule.h"
#include "runtime/device_code.h"

namespace sheaf::codegen::gpu {

using Parameter = runtime::KernelParameter;
// A number that the text takes as an int, or as a long long.
inline Parameter number(int64_t x, bool narrow) { return {Parameter::Value, 0, narrow, x}; }

struct EmittedLaunch {
  std::string name;
  Schedule schedule;
  std::vector<Parameter> parameters;
  int64_t workspace_bytes = 0;
  std::string text;
};

// Expects: elementary functions are expanded (passes/loop/expand_math.h). The text serves every launch whose sizes give
// the same schedule but for the number of blocks, and the same text.
EmittedLaunch emit(const loop::Kernel& k, const Part& part, const Schedule& s, std::span<const int64_t> sizes,
                   std::string name, Helpers& helpers);

}  // namespace sheaf::codegen::gpu
