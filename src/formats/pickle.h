// Python pickles, protocols 2 to 5, as data (built-ins specification §13.3). Nothing is ever called: the few globals
// that spell arrays and containers are recognised, every other one makes an object, which is no data.
#pragma once
#include <string_view>

#include "formats/pickle_node.h"
#include "value/value.h"

namespace sheaf::formats {

Value parse_pickle(std::string_view bytes, Objects objects = Objects::Refuse);
// For pickles with storages outside them. `used`, when given, becomes the number of bytes that belong to the pickle.
Value parse_pickle(std::string_view bytes, Objects objects, const pickle::PersistentLoad& load, size_t* used = nullptr);

}  // namespace sheaf::formats
