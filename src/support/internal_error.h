// Thrown by a failed INVARIANT. Only the owner of a top-level run catches it and reports `internal error: …`.
#pragma once
#include <stdexcept>

namespace sheaf {

struct InternalError : std::logic_error {
  using std::logic_error::logic_error;
};

}  // namespace sheaf
