// General advice chosen by the words of a message, for errors whose thrower gave no specific hint.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sheaf::advice {

// A hint for `message`, or "".
std::string generic_hint(std::string_view message);
// The replacement for a name that users of other languages try first (np.square, square); "" for other names.
std::string habit_hint(std::string_view name);
// The name without its library prefix: zeros for jnp.zeros.
std::string_view unqualified(std::string_view name);
// The one of `names` of which `name` is probably a misspelling, or "".
std::string_view likely_name(std::string_view name, std::span<const std::string_view> names);
// Up to five of `names` that resemble `name`: misspellings first, then names that contain it or most of which it is.
std::vector<std::string_view> near_names(std::string_view name, std::span<const std::string_view> names);
std::string did_you_mean(std::string_view name);

}  // namespace sheaf::advice
