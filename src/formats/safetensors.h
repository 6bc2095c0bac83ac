// The safetensors format (built-ins specification §13.2): named arrays behind a JSON header.
#pragma once
#include <string>
#include <string_view>

#include "value/value.h"

namespace sheaf::formats {

Value parse_safetensors(std::string_view bytes);
std::string write_safetensors(const Value& v);

}  // namespace sheaf::formats
