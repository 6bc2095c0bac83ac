// Where the values of a graph live while its executable is built: which memory, how laid out, from which launch to
// which. When all launches are known it decides what shares memory: outputs written over inputs they replace, and
// scratch.
#pragma once
#include <vector>

#include "memory/layout.h"
#include "runtime/executable.h"

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

// What may share memory. Turned off by name on the command line.
struct Sharing {
  bool in_place = true;       // outputs over inputs, and scratch over scratch, that they replace
  bool reuse_scratch = true;  // scratch of launches that are not alive at the same time
};

class Storage {
 public:
  explicit Storage(runtime::Executable& executable) : executable_(executable) {}

  Stored input(int index, DType dtype, const Dims& sizes);
  Stored constant(const Tensor& t);
  // New memory, first written by the next launch.
  Stored fresh(DType dtype, const Dims& sizes);

  // Adds a launch that reads and writes these arrays. `checks`: it may fail, and then the call is run again another
  // way.
  void launch(runtime::Launch l, const std::vector<Stored>& arrays, bool checks);
  // The launch that came last works on arrays while the one before it still reads these.
  void hold(const std::vector<Stored>& arrays);
  // Nothing is ever written to such an array.
  void drop(const Stored& s);
  // In the launch that comes next each element of `in` is read before that of `out` at the same place is written, and
  // `in` is read nowhere else by it.
  void may_write_over(const Stored& in, const Stored& out);

  // A whole memory in row-major order that is neither an input, a constant nor an output already.
  bool is_own(const Stored& s) const;
  void output(const Stored& s);
  // After the last launch and output.
  void place(const Sharing& sharing);

 private:
  using Place = runtime::Place;
  struct Memory {
    Place::Kind kind = Place::Scratch;
    int index = -1;  // Input, Constant, Output
    int64_t bytes = 0;
    int first = 0, last = 0;
    bool returned = false;
  };
  struct Use {
    int launch, slot, memory;
    int64_t offset_bytes;
  };
  struct Overwrite {
    int launch, in, out;  // memories
  };
  int next_launch() const { return static_cast<int>(executable_.launches.size()); }
  int add(Memory m);
  void choose_donations();
  void merge_scratch(std::vector<int>& same);

  runtime::Executable& executable_;
  std::vector<Memory> memories_;
  std::vector<Use> uses_;
  std::vector<Overwrite> overwrites_;
  int last_check_ = -1;  // launch
};

}  // namespace sheaf::memory
