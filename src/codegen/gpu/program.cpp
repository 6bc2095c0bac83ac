#include "codegen/gpu/program.h"

#include <fmt/format.h>

#include <algorithm>

#include "codegen/gpu/attention.h"
#include "codegen/gpu/attention_units.h"
#include "codegen/gpu/contract.h"
#include "codegen/gpu/grouped.h"
#include "codegen/gpu/products.h"
#include "codegen/gpu/quantized.h"
#include "codegen/gpu/ranges.h"
#include "codegen/gpu/running.h"
#include "codegen/gpu/sorting.h"
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
std::vector<ProgramStep> steps_of(const loop::Kernel& k, const loop::Stmt& call, std::span<const int64_t> sizes,
                                  const std::string& name, Helpers& helpers, const Facilities& facilities) {
  const std::vector<int64_t> arguments = call_arguments(k, call, sizes);
  std::vector<ProgramStep> out;
  auto try_template = [&]<class Args>(std::type_identity<Args>, auto emit) {
    if (call.routine != Args::kRoutine) return;
    const auto args = routines::unpack<Args>(arguments);
    if (!has_template(args)) return;
    auto steps = emit(args);
    std::move(steps.begin(), steps.end(), std::back_inserter(out));
  };
  try_template(std::type_identity<routines::GemmArgs<>>(),
               [&](const auto& a) { return emit_product(a, call.buffers, name, helpers, facilities); });
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
  try_template(std::type_identity<routines::CumulateArgs<>>(),
               [&](const auto& a) { return emit_cumulate(a, call.buffers, name, helpers); });
  try_template(std::type_identity<routines::RecurrenceArgs<>>(),
               [&](const auto& a) { return emit_recurrence(a, call.buffers, name, helpers); });
  try_template(std::type_identity<routines::SortArgs<>>(),
               [&](const auto& a) { return emit_sort(a, call.buffers, name, helpers); });
  try_template(std::type_identity<routines::SearchArgs<>>(),
               [&](const auto& a) { return emit_search(a, call.buffers, name, helpers); });
  try_template(std::type_identity<routines::GroupedArgs<>>(),
               [&](const auto& a) { return emit_grouped(a, call.buffers, name, helpers); });
  try_template(std::type_identity<routines::QuantizedArgs<>>(),
               [&](const auto& a) { return emit_quantized(a, call.buffers, name, helpers, facilities.aligned); });
  return out;
}

}  // namespace

EmittedProgram make_program(const loop::Kernel& k, std::span<const int64_t> sizes, const std::string& prefix,
                            Helpers& helpers, const Facilities& facilities) {
  EmittedProgram out;
  if (calls_inside_loops(k)) {
    out.steps.emplace_back(HostCall{nullptr, k.name});
    return out;
  }
  for (const Part& part : split(k)) {
    if (const loop::Stmt* call = part.call()) {
      const std::string name = fmt::format("{}_{}", prefix, out.steps.size());
      std::vector<ProgramStep> steps = steps_of(k, *call, sizes, name, helpers, facilities);
      if (steps.empty()) steps.emplace_back(HostCall{call, call->routine});
      std::move(steps.begin(), steps.end(), std::back_inserter(out.steps));
      continue;
    }
    for (const Schedule& s : schedule(k, part, sizes, facilities.aligned))
      out.steps.emplace_back(emit(k, part, s, sizes, fmt::format("{}_{}", prefix, out.steps.size()), helpers));
  }
  return out;
}

std::string algorithm_text(const loop::Kernel& k, std::span<const int64_t> sizes, const Facilities& facilities) {
  if (calls_inside_loops(k)) return "on the host: it calls a routine in a loop";
  if (k.body.empty()) return "";
  // Its kernel names values and calls the routine.
  const loop::Stmt& call = k.body.back();
  if (call.kind != loop::Stmt::Call) return "";
  if (call.routine == routines::GemmArgs<>::kRoutine) {
    const auto args = routines::unpack<routines::GemmArgs<>>(call_arguments(k, call, sizes));
    if (has_template(args)) {
      const ProductForm& form = product_form(args, facilities);
      return fmt::format("by {}: {}", form.name, form.why);
    }
  }
  Helpers unused(cuda());
  if (!steps_of(k, call, sizes, "k", unused, facilities).empty()) return "";
  return fmt::format("on the host: {} has no form for a GPU", call.routine);
}

// Every kernel, of a template or not, begins with its name and its parameters.
void guard(EmittedLaunch& l) {
  constexpr std::string_view kEnd = ") {\n";
  const size_t end = l.text.find(kEnd, l.text.find(l.name + "("));
  INVARIANT(end != std::string::npos, "a kernel without a head:\n" << l.text);
  l.text.replace(end, kEnd.size(), ", const int* failed) {\n  if (*failed) return;\n");
  l.parameters.push_back({Parameter::Failed});
}

std::string program_text(const EmittedProgram& p, const Helpers& helpers) {
  std::string out = helpers.text();
  for (const auto& step : p.steps) {
    if (auto* call = std::get_if<HostCall>(&step))
      out += fmt::format("// {} runs on the host\n\n", call->routine);
    else if (auto* product = std::get_if<LibraryCall>(&step))
      out += fmt::format("// a library multiplies {}\n\n", runtime::print(product->product));
    else
      out += std::get<EmittedLaunch>(step).text + "\n";
  }
  return out;
}

}  // namespace sheaf::codegen::gpu
