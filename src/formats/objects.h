// What becomes of pickled instances of classes that are no tensor, number, text or container.
#pragma once
#include <cstdint>

namespace sheaf::formats {

// An error that names class and key, as torch.load(weights_only=True) has it, or nil.
enum class Objects : uint8_t { Refuse, Skip };

}  // namespace sheaf::formats
