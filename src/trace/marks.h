// Sizes that the program itself classifies: one varies between calls and is left open from the first trace on, or is
// worth separate code and never left open. A mark belongs to one tensor, not to results computed from it; a mark on an
// argument inside a traced function holds for all its calls.
#pragma once
#include <optional>
#include <vector>

#include "value/value.h"

namespace sheaf::trace {

enum class SizeMark : uint8_t { Dynamic, Static };

// The same tensor (or traced value), with the mark.
Value mark_size(const Value& tensor, int axis, SizeMark mark);
std::optional<SizeMark> mark_of(const Tensor& t, int axis);

// A mark that a traced function put on one of its arguments.
struct ArgumentMark {
  size_t input;
  int axis;
  SizeMark mark;
};
// Thrown by a trace whose open sizes contradict the marks it found.
struct MarksFound {
  std::vector<ArgumentMark> marks;
};

}  // namespace sheaf::trace
