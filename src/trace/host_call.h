// Output effects of traced code: print, guard and their like become nodes that call back when their turn comes.
#pragma once
#include <functional>
#include <vector>

#include "value/value.h"

namespace sheaf::trace {

// Records a call of `run`, which will get the arguments with the values that their traced leaves have then.
void record_host_call(const std::vector<Value>& args, std::function<void(std::vector<Value>)> run);

// Compiled code that fails is left to the interpreter, which runs the whole call again: output that was made already
// must not come twice. Every output is counted; true means that this one was seen before.
bool is_repeated_output();
// Outputs made by this thread so far.
uint64_t outputs_made();
// Goes back to where `since` outputs had been made: while alive, those made from there on are repetitions.
class RepeatedOutputs {
 public:
  explicit RepeatedOutputs(uint64_t since);
  ~RepeatedOutputs();
  RepeatedOutputs(const RepeatedOutputs&) = delete;

 private:
  uint64_t before_;
};

}  // namespace sheaf::trace
