// Where the values of a graph live while its plan is built: which memory, how laid out, from which step to
// which. When all steps are known it decides what shares memory: outputs written over inputs they replace, and
// scratch.
#pragma once
#include <vector>

#include "memory/layout.h"
#include "runtime/plan.h"

namespace sheaf::memory {

// A materialised value: some memory and how it is laid out there.
struct Stored {
  int memory = -1;
  int64_t offset = 0;  // elements
  Dims sizes, strides;
  DType dtype = DType::F32;
  Layout layout() const { return {sizes, strides}; }
  bool is_contiguous() const;
};

// An array of a step: read, or written. One that a step updates in place is there twice.
struct StepArray {
  Stored array;
  bool written = false;
};

// What may share memory (--disable turns these off by name), and the alignment of scratch.
struct Sharing {
  bool in_place = true;       // an output over an input, or scratch over scratch, that it replaces
  bool reuse_scratch = true;  // scratch of launches that are not alive at the same time
  int64_t alignment_bytes = 64;
};

class Storage {
 public:
  explicit Storage(runtime::Plan& plan) : plan_(plan) {}

  Stored input(int index, DType dtype, const Dims& sizes);
  Stored constant(const Tensor& t);
  // New memory. It lives from the first step that has it among its arrays to the last.
  Stored fresh(DType dtype, const Dims& sizes);

  // Adds a step. `arrays`: one for each of its buffers, in order. All of them are in use during the whole step.
  void add(runtime::Step step, const std::vector<StepArray>& arrays);
  // Nothing is ever written to such an array.
  void drop(const Stored& s);
  // In the step that comes next each element of `in` is read before that of `out` at the same place is written, and
  // `in` is read nowhere else by it.
  void may_write_over(const Stored& in, const Stored& out);

  // A whole memory in row-major order that is neither an input, a constant nor an output already.
  bool is_own(const Stored& s) const;
  void output(const Stored& s);
  // After the last step and output.
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
    int64_t first_byte, bytes;  // that are read or written
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
