// Output effects of traced code: print, guard and similar functions become nodes that call back in program order.
#pragma once
#include <functional>
#include <vector>

#include "value/value.h"

namespace sheaf::trace {

// Records a call of `run`, which will get the arguments with the values that their traced leaves have at that time.
void record_host_call(const std::vector<Value>& args, std::function<void(std::vector<Value>)> run);

// When compiled code fails, the interpreter runs the whole call again, and output already shown must not appear twice.
// Every output is counted; returns true if this one was shown before.
bool is_repeated_output();
// The number of outputs of this thread so far.
uint64_t outputs_made();
// Rewinds the count to `since`: while alive, the outputs shown after that point count as repeated.
class RepeatedOutputs {
 public:
  explicit RepeatedOutputs(uint64_t since);
  ~RepeatedOutputs();
  RepeatedOutputs(const RepeatedOutputs&) = delete;

 private:
  uint64_t before_;
};

}  // namespace sheaf::trace
