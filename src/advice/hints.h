// General advice by the wording of a message, for errors whose thrower had nothing more specific to say.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sheaf::advice {

// A hint for `message`, or "" when none applies.
std::string generic_hint(std::string_view message);
// What to use instead of a name that users of other languages try first (np.square, square); "" for other names.
std::string habit_hint(std::string_view name);
// The name without its library prefix: zeros for jnp.zeros.
std::string_view unqualified(std::string_view name);
// The one of `names` that `name` is probably a slip for, or "".
std::string_view likely_name(std::string_view name, std::span<const std::string_view> names);
// Up to five of `names` that look like `name`: slips first, then those that contain it or are most of it.
std::vector<std::string_view> near_names(std::string_view name, std::span<const std::string_view> names);
std::string did_you_mean(std::string_view name);

}  // namespace sheaf::advice
