// The memory of one run of a plan: the addresses of its places. The same for every device; addresses are those of the
// device that runs the plan, and host code may dereference them only if that is the host.
#pragma once
#include <span>
#include <vector>

#include "runtime/plan.h"

namespace sheaf::runtime {

// The memory on which the steps of a plan run: contiguous inputs, the output buffers, scratch.
struct Memory {
  std::span<std::byte* const> inputs, results;
  std::byte* scratch;
  // The tensors of the inputs, and which of them are donated and may be written; empty if the caller does not know.
  std::span<const Tensor> owners = {};
  std::span<const uint8_t> given_up = {};
  Space* space = nullptr;  // none: the host
};

using Pointers = SmallVec<std::byte*, 16>;
std::byte* address(const Place& p, const Plan& plan, const Memory& memory);
Pointers pointers(const StepBase& step, const Plan& plan, const Memory& memory);

// A request to copy bytes to the host.
struct Fetch {
  const std::byte* from;  // in the run's memory space
  std::byte* to;
  size_t bytes;
};

// The address of a tensor's first element in a space, for reading.
std::byte* address_in(Space& space, const Tensor& t);

// Memory for an output of a run: that of a donated input in the same space, or fresh memory.
struct ResultBuffer {
  Ref<Buffer> buffer;
  int64_t offset_bytes = 0;
  bool donated = false;
};
std::vector<ResultBuffer> take_results(const Plan& plan, std::span<const Tensor> inputs,
                                       std::span<const uint8_t> given_up, Space& space);
std::vector<Tensor> outputs_of(const Plan& plan, std::span<const Tensor> inputs, std::span<const ResultBuffer> results);

}  // namespace sheaf::runtime
