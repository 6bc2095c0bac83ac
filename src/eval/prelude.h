// The library modules that are part of the program (lib/*.shf), in loading order.
#pragma once
#include <span>
#include <string_view>

namespace sheaf::eval {

struct PreludeModule {
  std::string_view name;  // "nn"
  std::string_view text;
};
std::span<const PreludeModule> prelude_modules();

}  // namespace sheaf::eval
