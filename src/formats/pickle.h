// Python pickles, protocols 2 to 5, as data (built-ins specification §13.3). Never calls anything: the few globals that
// construct arrays and containers are recognised; any other global yields an opaque Object.
#pragma once
#include <string_view>

#include "formats/pickle_node.h"
#include "value/value.h"

namespace sheaf::formats {

Value parse_pickle(std::string_view bytes, Objects objects = Objects::Refuse);
// For pickles with external storages. `used`, if given, receives the number of bytes that belong to the pickle.
Value parse_pickle(std::string_view bytes, Objects objects, const pickle::PersistentLoad& load, size_t* used = nullptr);

}  // namespace sheaf::formats
