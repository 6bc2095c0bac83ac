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
  if (const char* options = std::getenv("SHEAF_CUDA"))
    set_test_options("SHEAF_CUDA", options, "least:N or plain:N", [](std::string_view, int64_t) { return false; });
  return cuda_device(number_of(name));
}

}  // namespace sheaf::runtime
