#include <fmt/format.h>

#include <charconv>
#include <cstdlib>

#include "runtime/device_cuda.h"
#include "support/error.h"

namespace sheaf::runtime {
namespace {

int number_of(std::string_view name) {
  int number = 0;
  if (const size_t colon = name.find(':'); colon != std::string_view::npos)
    std::from_chars(name.data() + colon + 1, name.data() + name.size(), number);
  return number;
}

}  // namespace

Device& open_device(std::string_view name) {
  if (name == "sim") {
    const char* options = std::getenv("SHEAF_SIM");
    return simulated_device(options ? options : "");
  }
  INVARIANT(name.starts_with("cuda"), "no device is called " << name);
  if (const char* options = std::getenv("SHEAF_CUDA")) {
    constexpr std::string_view kLeast = "least:";
    const std::string_view text = options;
    int64_t least = 0;
    const char* const end = text.data() + text.size();
    if (!text.starts_with(kLeast) ||
        std::from_chars(text.data() + kLeast.size(), end, least) != std::from_chars_result{end, {}})
      throw runtime_error(fmt::format("SHEAF_CUDA: expected least:N, got '{}'", text));
    set_least_for_device(least);
  }
  return cuda_device(number_of(name));
}

}  // namespace sheaf::runtime
