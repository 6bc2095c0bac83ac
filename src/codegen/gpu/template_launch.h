// A launch of a template: its text with the words of the dialect and its own filled in.
#pragma once
#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "codegen/gpu/emit.h"

namespace sheaf::codegen::gpu {

// `words` are named arguments of fmt, beside {kernel}, {name}, {global}, {shared}, {thread}, {block}, {barrier},
// {warp_barrier} and {unroll}.
template <class... Words>
EmittedLaunch template_launch(std::string_view text, std::string name, const Schedule& schedule,
                              std::vector<Parameter> parameters, int64_t workspace_bytes, const Helpers& helpers,
                              const Words&... words) {
  const Dialect& d = helpers.dialect();
  EmittedLaunch l;
  l.text =
      fmt::format("// {}\n{}", print(schedule),
                  fmt::format(fmt::runtime(text), fmt::arg("kernel", d.kernel), fmt::arg("name", name),
                              fmt::arg("global", d.global), fmt::arg("shared", d.shared), fmt::arg("thread", d.thread),
                              fmt::arg("block", d.block), fmt::arg("barrier", d.block_barrier),
                              fmt::arg("warp_barrier", d.warp_barrier), fmt::arg("unroll", d.unroll), words...));
  l.name = std::move(name);
  l.schedule = schedule;
  l.parameters = std::move(parameters);
  l.workspace_bytes = workspace_bytes;
  return l;
}

}  // namespace sheaf::codegen::gpu
