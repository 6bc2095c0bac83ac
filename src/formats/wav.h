// WAV sound.
#pragma once
#include <string>
#include <string_view>

#include "value/value.h"

namespace sheaf::formats {

bool is_wav(std::string_view bytes);
// {:rate n :samples x}: f32 from -1 to 1, [T], or [T, C] for several channels. Reads integers of 8 to 32 bits and
// floats.
Value parse_wav(std::string_view bytes);
// Writes such a dict: i16 samples unchanged, floats rounded to 16 bits.
std::string write_wav(const Value& v);

}  // namespace sheaf::formats
