// Memory of the values of a graph while its plan is built: which memory each value has, its layout, and the steps
// during which it is alive. Once all steps are known, place() decides which values share memory: outputs written over
// the inputs that they replace, and scratch.
#pragma once
#include <vector>

#include "memory/layout.h"
#include "runtime/plan.h"

namespace sheaf::memory {

// A materialized value: its memory and its layout there.
struct Stored {
  int memory = -1;
  int64_t offset = 0;  // elements
  Dims sizes, strides;
  DType dtype = DType::F32;
  Layout layout() const { return {sizes, strides}; }
  bool is_contiguous() const;
};

// An array that a step reads or writes. An array that a step updates in place is listed twice.
struct StepArray {
  Stored array;
  bool written = false;
};

// Which kinds of sharing are allowed (--disable turns them off by name), and the alignment of scratch.
struct Sharing {
  bool in_place = true;       // an output or scratch array may overwrite the input or scratch that it replaces
  bool reuse_scratch = true;  // scratch arrays that are not alive at the same time may overlap
  int64_t alignment_bytes = 64;
};

class Storage {
 public:
  explicit Storage(runtime::Plan& plan) : plan_(plan) {}

  Stored input(int index, DType dtype, const Dims& sizes);
  Stored constant(const Tensor& t);
  // New memory. It is alive from the first step that has it among its arrays to the last.
  Stored fresh(DType dtype, const Dims& sizes);

  // Adds a step. `arrays`: one for each of its buffers, in order; each is alive during the whole step.
  void add(runtime::Step step, const std::vector<StepArray>& arrays);
  // Marks an array that no step ever writes (it is not materialized), so that it takes no memory.
  void drop(const Stored& s);
  // States that the next step reads each element of `in` before it writes the same element of `out`, and reads `in`
  // nowhere else: `out` may take the memory of `in`.
  void may_write_over(const Stored& in, const Stored& out);

  // True if `s` is the whole of its memory in row-major order, and that memory is no input, constant or output yet.
  bool is_own(const Stored& s) const;
  void output(const Stored& s);
  // Assigns all addresses. Call after the last step and output.
  void place(const Sharing& sharing);

 private:
  using Place = runtime::Place;
  struct Memory {
    Place::Kind kind = Place::Scratch;
    int index = -1;  // Input, Constant, Output
    int64_t bytes = 0;
    int first = -1, last = -1;  // steps; -1: none
    bool returned = false, dropped = false;
  };
  struct Use {
    int memory;
    int64_t offset_bytes;
    int64_t first_byte, bytes;  // the range that the step reads or writes
    bool written;
  };
  struct Overwrite {
    int step, in, out;  // memories
  };
  int next_step() const { return static_cast<int>(plan_.steps.size()); }
  int add(Memory m);
  void choose_donations();
  void merge_scratch(std::vector<int>& same);

  runtime::Plan& plan_;
  std::vector<Memory> memories_;
  std::vector<Use> uses_;  // one for each buffer of each launch of each step
  std::vector<Overwrite> overwrites_;
  int last_check_ = -1;  // step
};

}  // namespace sheaf::memory
