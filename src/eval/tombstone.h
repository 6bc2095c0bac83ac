// The type of a moved-out parameter, packed into the payload of an unbound value, for error reports.
#pragma once
#include <string>

#include "value/value.h"

namespace sheaf::eval {

// An unbound value that records the type of `v`, as far as it fits.
Value tombstone_of(const Value& v);
// "f32[8x3]", "dict(4)"; "" if nothing is recorded.
std::string tombstone_text(const Value& v);

}  // namespace sheaf::eval
