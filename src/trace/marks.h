// What a program says of sizes itself: one varies from call to call and is left open from the first trace on, or is
// worth code of its own and never left open. A mark on a tensor stays with this very tensor, not with what is computed
// from it; a mark on an argument inside a traced function holds for all its calls.
#pragma once
#include <optional>
#include <vector>

#include "value/value.h"

namespace sheaf::trace {

enum class SizeMark : uint8_t { Dynamic, Static };

// The same tensor (or traced value), marked.
Value mark_size(const Value& tensor, int axis, SizeMark mark);
std::optional<SizeMark> mark_of(const Tensor& t, int axis);

// A mark that a traced function put on one of its arguments.
struct ArgumentMark {
  size_t input;
  int axis;
  SizeMark mark;
};
// Thrown by a trace that was made for other sizes open than its marks ask for.
struct MarksFound {
  std::vector<ArgumentMark> marks;
};

}  // namespace sheaf::trace
