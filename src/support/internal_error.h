// What a failed INVARIANT throws. Whoever owns a top-level run catches it and reports `internal error: …`; nothing else
// should.
#pragma once
#include <stdexcept>

namespace sheaf {

struct InternalError : std::logic_error {
  using std::logic_error::logic_error;
};

}  // namespace sheaf
