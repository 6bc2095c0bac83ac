#include "compiler/inspect.h"

#include <fmt/format.h>

#include <set>

#include "codegen/gpu/program.h"
#include "compiler/tiered.h"
#include "graph/op_def.h"
#include "passes/loop/expand_math.h"
#include "passes/loop/hoist.h"
#include "passes/loop/specialize.h"

namespace sheaf::compiler {
namespace {

std::string accesses_text(const std::vector<runtime::Access>& accesses) {
  std::string out;
  for (const runtime::Access& a : accesses)
    out += fmt::format("{}{}:{}", out.empty() ? "" : ", ", runtime::text_of(a.place), a.bytes);
  return out;
}

std::string at(const Span& span) { return span ? "  ; " + place(span) : ""; }

std::string algorithm_text(const Backend& backend, const runtime::Launch& l) {
  const std::string text = backend.algorithm_text(l);
  return text.empty() ? "" : "    " + text + "\n";
}

}  // namespace

std::string plan_text(const runtime::Plan& plan, const Backend& backend) {
  std::string out = fmt::format("plan: {} launches, {} bytes of scratch, {} constants\n", num_launches(plan),
                                plan.scratch_bytes, plan.constants.size());
  for (size_t i = 0; i < plan.output_buffers.size(); ++i) {
    const auto& b = plan.output_buffers[i];
    out += fmt::format("  output {}: {} bytes{}\n", i, b.bytes,
                       b.donor >= 0 ? fmt::format(", may take over input {}", b.donor) : "");
  }
  auto add = [&](std::string_view kind, const std::string& name, const runtime::StepBase& s) {
    out +=
        fmt::format("  {}{} ({} -> {}){}\n", kind, name, accesses_text(s.reads), accesses_text(s.writes), at(s.span));
  };
  for (const runtime::Step& step : plan.steps) {
    if (auto* p = std::get_if<runtime::ProductStep>(&step)) {
      for (const auto& prologue : p->prologue)
        add("prologue: ", prologue.launch.name, prologue.launch);
      add("", p->name, p->product);
      out += algorithm_text(backend, p->product);
      for (const auto& epilogue : p->epilogue)
        add("epilogue: ", epilogue.launch.name, epilogue.launch);
      continue;
    }
    auto* launch = std::get_if<runtime::Launch>(&step);
    each_base(step, [&](const runtime::StepBase& s) { add(launch && launch->is_copy ? "copy: " : "", s.name, s); });
    if (launch) out += algorithm_text(backend, *launch);
  }
  return out;
}

std::string native_text(const runtime::Plan& plan, codegen::NativeText what) {
  std::string out;
  std::set<CodeKey> seen;
  each_launch(plan, [&](const runtime::Launch& l) {
    auto* k = dynamic_cast<const TieredKernel*>(l.kernel.get());
    if (!k || !k->is_compilable() || !seen.insert(k->key(l.sizes)).second) return;
    out += fmt::format("; {}{}\n{}\n", l.name, at(l.span), codegen::native_text(k->specialized(l.sizes), what));
  });
  return out;
}

std::string gpu_text(const loop::Kernel& k, std::span<const int64_t> sizes) {
  namespace gpu = codegen::gpu;
  const loop::Kernel ready =
      passes::expand_math(passes::hoist_invariants(passes::specialize(k, passes::StrideSizes(k).known(sizes)), sizes));
  gpu::Helpers helpers(gpu::cuda());
  const gpu::EmittedProgram p = gpu::make_program(ready, sizes, k.name, helpers, {true, true, runtime::g_matrix_units});
  return gpu::program_text(p, helpers);
}

std::string gpu_text(const runtime::Plan& plan) {
  std::string out;
  std::set<std::string> seen;
  each_launch(plan, [&](const runtime::Launch& l) {
    auto* k = dynamic_cast<const TieredKernel*>(l.kernel.get());
    if (!k) return;
    std::string text = gpu_text(k->kernel(), l.sizes);
    if (seen.insert(text).second) out += fmt::format("// {}{}\n{}", l.name, at(l.span), text);
  });
  return out;
}

std::vector<Hint> performance_hints(const graph::Graph& g, const runtime::Plan& plan) {
  std::vector<Hint> out;
  each_launch(plan, [&](const runtime::Launch& l) {
    if (l.is_copy)
      out.push_back({l.span,
                     fmt::format("{} is copied: the op reads it in an order that strides cannot give, or changes it "
                                 "while it is still needed",
                                 l.name),
                     0});
  });
  for (const graph::Node* n : live_nodes(g)) {
    if (!n->op->converts || n->inputs[0].rank() == 0) continue;
    DType from = n->inputs[0].type().dtype, to = n->types[0].dtype;
    int64_t grows = size_bytes(to) - size_bytes(from);
    // A cast that the program has written is no surprise.
    if (grows <= 0 || text_of(n->span).starts_with("(cast")) continue;
    int64_t bytes = grows * checked_num_elems(to_dims(n->types[0].sizes));
    out.push_back({n->span,
                   fmt::format("{} {} becomes {} without being asked to: it meets a wider operand", name_of(from),
                               shape_text(to_dims(n->types[0].sizes)), name_of(to)),
                   bytes});
  }
  return out;
}

}  // namespace sheaf::compiler
