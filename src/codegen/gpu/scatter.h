// Loops that change elements at places that data decides, in the order of the loop: adding up the gradient of a table,
// say. Iterations that meet at one element must keep their order, all others are independent.
#pragma once
#include <optional>
#include <span>
#include <vector>

#include "loop/ir.h"

namespace sheaf::codegen::gpu {

struct Scatter {
  const loop::Stmt* loop;              // the serial one, whose body is values and one store
  const loop::Stmt* store;             // its offset is `factor * place` and what does not change in the loop
  loop::ValueId place;                 // equal offsets have equal places
  loop::ValueId old = loop::kNoValue;  // the load of the element that is stored; none where it is overwritten
};

// The body of a nest, where it is values and such a loop.
std::optional<Scatter> scatter_of(const loop::Kernel& k, const std::vector<const loop::Stmt*>& nest,
                                  std::span<const int64_t> sizes);

}  // namespace sheaf::codegen::gpu
