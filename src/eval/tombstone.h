// What a moved-out parameter leaves behind, for error reports: its type, packed into the payload of an unbound value.
#pragma once
#include <string>

#include "value/value.h"

namespace sheaf::eval {

// An unbound value that remembers what `v` was, as far as it fits.
Value tombstone_of(const Value& v);
// "f32[8x3]", "dict(4)"; "" when nothing is known.
std::string tombstone_text(const Value& v);

}  // namespace sheaf::eval
