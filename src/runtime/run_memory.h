// The memory of one run of a plan: where each of its places is. The same for every device; addresses are those of the
// device that runs the plan, and host code follows them on the host only.
#pragma once
#include <span>
#include <vector>

#include "runtime/plan.h"

namespace sheaf::runtime {

// What the steps of a plan run on: contiguous inputs, the output buffers, scratch.
struct Memory {
  std::span<std::byte* const> inputs, results;
  std::byte* scratch;
  // What the inputs belong to, and which of them may be written; empty where the caller does not know.
  std::span<const Tensor> owners = {};
  std::span<const uint8_t> given_up = {};
  Space* space = nullptr;  // none: the host
};

using Pointers = SmallVec<std::byte*, 16>;
std::byte* address(const Place& p, const Plan& plan, const Memory& memory);
Pointers pointers(const StepBase& step, const Plan& plan, const Memory& memory);

// Bytes that the host asks for.
struct Fetch {
  const std::byte* from;  // where the run's memory is
  std::byte* to;
  size_t bytes;
};

// Where a tensor's elements begin in a space, for reading.
std::byte* address_in(Space& space, const Tensor& t);

// Memory for the outputs of a run: of an input that is given up and lives there, or fresh.
struct ResultBuffer {
  Ref<Buffer> buffer;
  int64_t offset_bytes = 0;
  bool donated = false;
};
std::vector<ResultBuffer> take_results(const Plan& plan, std::span<const Tensor> inputs,
                                       std::span<const uint8_t> given_up, Space& space);
std::vector<Tensor> outputs_of(const Plan& plan, std::span<const Tensor> inputs, std::span<const ResultBuffer> results);

}  // namespace sheaf::runtime
