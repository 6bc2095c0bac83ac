// How to convert pickled instances of classes that are no tensor, number, text or container.
#pragma once
#include <cstdint>

namespace sheaf::formats {

// Refuse: an error that names class and key, like torch.load(weights_only=True). Skip: nil.
enum class Objects : uint8_t { Refuse, Skip };

}  // namespace sheaf::formats
