// A compiled graph: constants, a memory plan and a list of steps. Immutable; many threads may run one at
// once, each with scratch memory borrowed for the call.
#pragma once
#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "runtime/part.h"
#include "support/source.h"
#include "tensor/tensor.h"

namespace sheaf::runtime {

// A kernel of some back end.
class Kernel {
 public:
  virtual ~Kernel() = default;
  // The number of the failed check, or -1; `payload` belongs to it.
  virtual int run(std::span<std::byte* const> buffers, std::span<const int64_t> sizes, int64_t& payload) const = 0;
};

// How a launch runs with one of its operands in another order, for operands that are read again and again unchanged
// (weights of a model that generates): see packed.h.
class PackedForm {
 public:
  using Layout = std::array<int64_t, 4>;
  PackedForm(int operand, int64_t bytes, const Layout& layout) : operand(operand), bytes(bytes), layout(layout) {}
  virtual ~PackedForm() = default;
  virtual void pack(const std::byte* from, std::byte* to) const = 0;
  // `buffers` has the packed operand in its place.
  virtual void run(std::span<std::byte* const> buffers) const = 0;

  const int operand;    // of the launch's buffers
  const int64_t bytes;  // when packed
  const Layout layout;  // forms that pack in the same way have the same
};

// Where a value lives during a run.
struct Place {
  enum Kind : uint8_t { Input, Constant, Scratch, Output } kind = Scratch;
  int index = 0;       // Input, Constant, Output: which
  int64_t offset = 0;  // in bytes, from the start of the input's data, the constant's data, the scratch or the output
};

// One call of a kernel.
struct Launch {
  std::string name;  // "add+exp+sum f32 [768 128]", for the profiler
  std::shared_ptr<const Kernel> kernel;
  std::shared_ptr<const PackedForm> packed;  // or none
  std::vector<Place> buffers;
  std::vector<int64_t> sizes;
  int node = -1;         // for messages: index into Executable::labels
  Span span;             // the form its (last) node came from
  int64_t flops = 0;     // of contractions, a multiply-add counted as two; 0: not known
  int64_t bytes = 0;     // that must pass at least: every element of every array once
  bool is_copy = false;  // of buffer 0 to buffer 1, element for element: nothing to do where they are the same memory
};

// A launch that makes the first factor of a product, all of it or any rows. Its first size is their number. It has no
// checks.
struct Prologue {
  Launch launch;
  std::vector<int64_t> row_steps;  // bytes from one row to the next, of each buffer
  int factor = 0;                  // the buffer that is the factor
  bool materialized = false;       // the factor has memory, and all of its rows are written there
};

// A launch that reads the result of a product, all of it or any rows and columns. Its first two sizes are the numbers
// of rows and columns. It has no checks.
struct Epilogue {
  Launch launch;
  std::vector<int64_t> steps;  // bytes from one row and from one column to the next, of each buffer
  int64_t columns = 0;         // of the product
  int64_t unit = 0;            // if not 0, the launch sees the product as flat blocks of `unit` elements, a row each
};

// A product with a prologue, an epilogue or both, run as one: the product calls them for the rows that it is about to
// read and for the tiles that it has completed. Running the launches one after the other gives the same.
struct ProductStep {
  std::string name;  // of all, for the profiler
  int64_t bytes = 0;
  std::optional<Prologue> prologue;
  Launch product;
  std::shared_ptr<const PartwiseForm> form;  // how it runs with them
  std::optional<Epilogue> epilogue;
};

using Step = std::variant<Launch, ProductStep>;

// Calls f for the launches of a step, in the order in which they would run one by one.
template <class S, class F>
void each_launch(S& step, F f) {
  if (auto* launch = std::get_if<Launch>(&step)) return f(*launch);
  auto& p = std::get<ProductStep>(step);
  if (p.prologue) f(p.prologue->launch);
  f(p.product);
  if (p.epilogue) f(p.epilogue->launch);
}

struct OutputSpec {
  DType dtype;
  Dims sizes, strides;
  // Written by a launch into fresh memory (Output), or a view of an input or constant.
  Place place;
};

// A failed check, to be worded by the caller.
struct CheckFailure {
  int label;
  int site;
  int64_t payload;
};

// Memory for outputs. `donor`: the input whose memory it may take over when the caller gives that up, or -1.
struct OutputBuffer {
  int64_t bytes;
  int donor;
};

// What an executable runs on: contiguous inputs, the output buffers, scratch.
struct Memory {
  std::span<std::byte* const> inputs, results;
  std::byte* scratch;
  // What the inputs belong to, and which of them may be written; empty where the caller does not know.
  std::span<const Tensor> owners = {};
  std::span<const uint8_t> given_up = {};
};

struct Executable {
  std::vector<Step> steps;
  std::vector<Tensor> constants;
  std::vector<OutputSpec> outputs;
  std::vector<OutputBuffer> output_buffers;
  size_t scratch_bytes = 0;

  // Inputs must be contiguous and of the planned sizes. The memory of those flagged in `given_up` (empty: none) belongs
  // to nobody else and may be written. Throws CheckFailure, with all inputs as they were, or Stopped.
  std::vector<Tensor> run(std::span<const Tensor> inputs, std::span<const uint8_t> given_up = {}) const;
  // The steps alone, on memory of the caller's.
  void run_at(const Memory& memory) const;
  // The buffer behind such a place if its content stays as it is, or nullptr.
  const Buffer* unchanged(const Place& p, const Memory& memory) const;
  // One of them; throws CheckFailure.
  void run_step(const Step& step, const Memory& memory) const;
  std::byte* address(const Place& p, const Memory& memory) const;
  using Pointers = SmallVec<std::byte*, 16>;
  Pointers pointers(const Launch& l, const Memory& memory) const;

  // Calls f for every launch of every step.
  template <class F>
  void each_launch(F f) const {
    for (const Step& s : steps)
      runtime::each_launch(s, f);
  }
  size_t num_launches() const;

 private:
  void run_launch(const Launch& l, const Memory& memory) const;
  void run_product(const ProductStep& step, const Memory& memory) const;
};

// Set before anything runs: takes the place of running one step after the other.
extern void (*g_run_steps)(const Executable& executable, const Memory& memory);

// Asked between steps: true ends the run with Stopped. Set before anything runs.
extern bool (*g_stop_requested)();
struct Stopped {};

// Gives back the scratch memory that the calling thread keeps between runs.
void release_scratch();

}  // namespace sheaf::runtime
