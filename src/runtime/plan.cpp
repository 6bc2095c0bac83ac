#include "runtime/plan.h"

#include <fmt/format.h>

namespace sheaf::runtime {

size_t num_launches(const Plan& plan) {
  size_t n = 0;
  for (const Step& s : plan.steps)
    each_base(s, [&](const StepBase&) { ++n; });
  return n;
}

const std::string& name_of(const Step& step) {
  return std::visit([](const auto& s) -> const std::string& { return s.name; }, step);
}

std::string text_of(const Place& p) {
  constexpr const char* kinds[] = {"input", "constant", "scratch", "output"};
  if (p.kind == Place::Scratch) return fmt::format("scratch+{}", p.offset);
  return fmt::format("{} {}{}", kinds[p.kind], p.index, p.offset ? fmt::format("+{}", p.offset) : "");
}

}  // namespace sheaf::runtime
