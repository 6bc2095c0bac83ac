#include "codegen/gpu/program.h"

#include <fmt/format.h>

#include <algorithm>

#include "codegen/gpu/attention.h"
#include "codegen/gpu/attention_units.h"
#include "codegen/gpu/contract.h"
#include "codegen/gpu/contract_tiles.h"
#include "codegen/gpu/matrix_units.h"
#include "codegen/gpu/ranges.h"
#include "support/error.h"

namespace sheaf::codegen::gpu {

std::vector<int64_t> call_arguments(const loop::Kernel& k, const loop::Stmt& call, std::span<const int64_t> sizes) {
  std::vector<int64_t> out;
  for (loop::ValueId a : call.arguments) {
    std::optional<int64_t> x = evaluate(k, a, sizes);
    INVARIANT(x, call.routine << " is called with data");
    out.push_back(*x);
  }
  return out;
}

namespace {

// A call of a routine by a template; nothing where none computes it.
std::vector<Launch> launches_of(const loop::Kernel& k, const loop::Stmt& call, std::span<const int64_t> sizes,
                                const std::string& name, Helpers& helpers, Facilities facilities) {
  const std::vector<int64_t> arguments = call_arguments(k, call, sizes);
  std::vector<Launch> out;
  auto try_template = [&]<class Args>(std::type_identity<Args>, auto emit) {
    if (call.routine != Args::kRoutine) return;
    const auto args = routines::unpack<Args>(arguments);
    if (has_template(args)) out = emit(args);
  };
  try_template(std::type_identity<routines::GemmArgs<>>(), [&](const auto& a) {
    return facilities.matrix_units && suits_matrix_units(a)
               ? emit_unit_contract(a, unit_tiling_of(a), call.buffers, name, helpers, facilities.aligned)
           : facilities.copies && suits_tiles(a)
               ? emit_tiles(a, tile_shape_of(a), call.buffers, name, helpers, facilities.aligned)
               : emit_contract(a, tiling_of(a), call.buffers, name, helpers);
  });
  try_template(std::type_identity<routines::AttentionArgs<>>(), [&](const auto& a) {
    return facilities.matrix_units && suits_matrix_units(a)
               ? emit_unit_attention(a, call.buffers, name, helpers, facilities.aligned)
               : emit_attention(a, call.buffers, name, helpers);
  });
  try_template(std::type_identity<routines::AttentionVjpArgs<>>(), [&](const auto& a) {
    return facilities.matrix_units && suits_matrix_units(a)
               ? emit_unit_attention_vjp(a, call.buffers, name, helpers, facilities.aligned)
               : emit_attention_vjp(a, call.buffers, name, helpers);
  });
  try_template(std::type_identity<routines::SumTotalsArgs<>>(),
               [&](const auto& a) { return emit_sum_totals(a, call.buffers, name, helpers); });
  return out;
}

}  // namespace

Program make_program(const loop::Kernel& k, std::span<const int64_t> sizes, const std::string& prefix, Helpers& helpers,
                     Facilities facilities) {
  Program out;
  if (calls_inside_loops(k)) {
    out.steps.emplace_back(HostCall{nullptr, k.name});
    return out;
  }
  for (const Part& part : split(k)) {
    if (const loop::Stmt* call = part.call()) {
      const std::string name = fmt::format("{}_{}", prefix, out.steps.size());
      std::vector<Launch> launches = launches_of(k, *call, sizes, name, helpers, facilities);
      if (!launches.empty()) {
        for (Launch& l : launches)
          out.steps.emplace_back(std::move(l));
        continue;
      }
      out.steps.emplace_back(HostCall{call, call->routine});
      continue;
    }
    for (const Schedule& s : schedule(k, part, sizes, facilities.aligned))
      out.steps.emplace_back(emit(k, part, s, sizes, fmt::format("{}_{}", prefix, out.steps.size()), helpers));
  }
  return out;
}

// Every kernel, of a template or not, begins with its name and its parameters.
void guard(Launch& l) {
  constexpr std::string_view kEnd = ") {\n";
  const size_t end = l.text.find(kEnd, l.text.find(l.name + "("));
  INVARIANT(end != std::string::npos, "a kernel without a head:\n" << l.text);
  l.text.replace(end, kEnd.size(), ", const int* failed) {\n  if (*failed) return;\n");
  l.parameters.push_back({Parameter::Failed});
}

std::string program_text(const Program& p, const Helpers& helpers) {
  std::string out = helpers.text();
  for (const auto& step : p.steps) {
    if (auto* call = std::get_if<HostCall>(&step))
      out += fmt::format("// {} runs on the host\n\n", call->routine);
    else
      out += std::get<Launch>(step).text + "\n";
  }
  return out;
}

}  // namespace sheaf::codegen::gpu
