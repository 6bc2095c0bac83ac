// The plan of a compiled graph, as data: steps in order, the constants, and where each value lives. A plan is immutable
// once it is built: any number of threads may run it at once. Kernels are code for one device; everything else is
// independent of the device, whose runner executes the plan (runner.h).
#pragma once
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "runtime/fusion.h"
#include "runtime/kernel.h"
#include "support/source.h"
#include "tensor/tensor.h"

namespace sheaf::runtime {

struct Plan;

// Where a value lives during a run.
struct Place {
  enum Kind : uint8_t { Input, Constant, Scratch, Output } kind = Scratch;
  int index = 0;       // Input, Constant, Output: number
  int64_t offset = 0;  // in bytes, from the start of the input's data, the constant's data, the scratch or the output
};

// A range of bytes that a step reads or writes: `bytes` of them from `place` on, including gaps between elements.
struct Access {
  Place place;
  int64_t bytes = 0;
  // The value that they hold, as a number that the plan's builder chose. Memory is reused: a place holds different
  // values over time, and the number tells which of them is meant (verify.h).
  int value = -1;
};

// The fields that all steps have.
struct StepBase {
  std::string name;                   // "add+exp+sum f32 [768 128]", for the profiler
  std::vector<Place> buffers;         // the arguments of its code
  std::vector<Access> reads, writes;  // its accesses; an array that is updated in place is in both
  bool checks = false;                // it may fail: the run ends, and the call is made again in another way
  int label = -1;                     // for messages: the builder's name for the step
  Span span;                          // the source form of its (last) node
  int64_t flops = 0;                  // of contractions, a multiply-add counted as two; 0: not known
  int64_t bytes = 0;                  // least memory traffic: every element of every array once
};

// One call of a kernel.
struct Launch : StepBase {
  std::shared_ptr<const Code> kernel;
  std::shared_ptr<const PackedForm> packed;  // or none
  std::vector<int64_t> sizes;
  bool is_copy = false;  // copies buffer 0 to buffer 1 elementwise: a no-op if both are the same memory
};

// A launch that computes the left operand of a product: all of it, or any range of rows. Its first size is the number
// of rows. It has no checks.
struct PrologueLaunch {
  Launch launch;
  std::vector<int64_t> row_steps;  // bytes from one row to the next, of each buffer
  int factor = 0;                  // the buffer that is the operand
  bool materialized = false;       // the operand has memory of its own, to which all of its rows are written
};

// A launch that reads the result of a product: all of it, or any tile. Its first two sizes are the numbers of rows and
// columns. It has no checks.
struct EpilogueLaunch {
  Launch launch;
  std::vector<int64_t> steps;  // bytes from one row and from one column to the next, of each buffer
  int64_t columns = 0;         // of the product
  int64_t unit = 0;            // if not 0, the launch sees the product as flat blocks of `unit` elements, a row each
};

// A product fused with a prologue, an epilogue or both: the product calls them for the rows that it is about to read
// and for the tiles that it has completed. Running the launches one after the other gives the same result.
struct ProductStep {
  std::string name;  // of the whole step, for the profiler
  int64_t bytes = 0;
  std::vector<PrologueLaunch> prologue;  // at most one
  Launch product;
  std::shared_ptr<const Code> form;      // the fused form of the product
  std::vector<EpilogueLaunch> epilogue;  // at most one
};

// Copies memory: buffer 2 i to buffer 2 i + 1, `size_bytes` each.
struct CopyStep : StepBase {
  int64_t size_bytes = 0;
};

// Calls back into the program with copies of the step's buffers.
struct HostStep : StepBase {
  struct Argument {
    DType dtype;
    Dims sizes;
  };
  std::shared_ptr<const std::function<void(std::span<const Tensor>)>> call;
  std::vector<Argument> arguments;
};

// Buffers of steps with nested plans: `num_inputs` inputs, the outputs, one scratch buffer for everything inside. A
// nested plan takes contiguous inputs and writes each output to a separate buffer.

// Runs `body` once.
struct CallStep : StepBase {
  std::shared_ptr<const Plan> body;
  size_t num_inputs = 0, num_outputs = 0;
};

// Runs `yes` if buffer 0, one byte, is not 0, else `no`. Both take the other inputs.
struct CondStep : StepBase {
  std::shared_ptr<const Plan> yes, no;
  size_t num_inputs = 0, num_outputs = 0;
};

// The layout of several values in one block of memory, in order, each aligned.
struct Room {
  std::vector<int64_t> sizes, offsets;  // bytes
  int64_t total = 0;
};
// Bytes at the beginning of a loop's scratch: the iteration number, or the result of the test.
inline constexpr int64_t kLoopHeader = 64;

// Runs `body` for `turns` iterations. It takes the iteration number (i64), the carries, a row of each x and the other
// inputs, and returns the carries and a row of each y. Inputs: carries, xs, others. Outputs: the last carries, ys.
struct ScanStep : StepBase {
  std::shared_ptr<const Plan> body;
  int64_t turns = 0;
  bool reverse = false;  // from the last row to the first
  size_t num_inputs = 0;
  Room carries;
  std::vector<int64_t> x_bytes, y_bytes;  // of a row
};

// Runs `body` while `test` is true: both take the carries and the other inputs. The outputs are the last carries.
// With `reverse` (the gradient), the carries of each iteration are saved, and `reverse` runs for each iteration, from
// the last to the first: it takes the iteration's carries, the other inputs and the adjoints, and returns adjoints. The
// initial adjoints are further inputs, and the last ones are the outputs.
struct WhileStep : StepBase {
  std::shared_ptr<const Plan> test, body, reverse;
  size_t num_inputs = 0;  // without adjoints
  Room carries, adjoints;
};

using Step = std::variant<Launch, ProductStep, CopyStep, HostStep, CallStep, CondStep, ScanStep, WhileStep>;

// Type, layout and place of an output.
struct OutputSpec {
  DType dtype;
  Dims sizes, strides;
  // Written by a step into fresh memory (Output), or a view of an input or constant.
  Place place;
  int value = -1;  // see Access::value
};

// Memory for outputs. `donor`: the input whose memory it may take over if the caller donates it, or -1.
struct OutputBuffer {
  int64_t bytes;
  int donor;
};

// Observes the run times of a plan, to decide when compiling better code would pay. Thread-safe.
class RunWatcher {
 public:
  virtual ~RunWatcher() = default;
  // The weight of the run that begins now (a sample may stand for several runs); 0: it need not be timed.
  virtual int weight() const = 0;
  virtual void after_run(const Plan& plan, int64_t elapsed_ns, int weight) = 0;
};

struct Plan {
  std::vector<Step> steps;
  std::vector<Tensor> constants;
  std::vector<OutputSpec> outputs;
  std::vector<OutputBuffer> output_buffers;
  size_t scratch_bytes = 0;
  std::shared_ptr<RunWatcher> watcher;  // or none
};

// Calls f for the launches of a step, in the order of unfused execution; not for those of nested plans.
template <class S, class F>
void each_launch(S& step, F f) {
  if (auto* launch = std::get_if<Launch>(&step)) return f(*launch);
  auto* p = std::get_if<ProductStep>(&step);
  if (!p) return;
  for (auto& prologue : p->prologue)
    f(prologue.launch);
  f(p->product);
  for (auto& epilogue : p->epilogue)
    f(epilogue.launch);
}
// The same for all steps of a plan.
template <class F>
void each_launch(const Plan& plan, F f) {
  for (const Step& s : plan.steps)
    each_launch(s, f);
}
// The number of steps, where a product step counts all of its launches.
size_t num_launches(const Plan& plan);

// Calls f for every StepBase of a step: its launches, or the step itself.
template <class S, class F>
void each_base(S& step, F f) {
  std::visit(
      [&](auto& s) {
        if constexpr (requires { s.buffers; })
          f(s);
        else
          each_launch(step, f);
      },
      step);
}

// "input 0", "scratch+64".
std::string text_of(const Place& p);
// The name of a step, or of all launches that it consists of.
const std::string& name_of(const Step& step);

}  // namespace sheaf::runtime
