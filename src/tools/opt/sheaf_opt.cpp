// sheaf-opt: reads graphs and kernels as text, runs passes by name, prints the result. A pass is debugged without the
// front end: what `sheaf --emit=graph` and `--emit=loop` print is accepted here. Passes are those of
// compiler/pipeline.h.
//   sheaf-opt [--pass=NAME]… [FILE]      (standard input without a file)
//   sheaf-opt --device --pass=NAME [FILE]  passes as for a device that waits for memory
//   sheaf-opt --gpu=SIZE,… [FILE]        kernels as text for a GPU, at these sizes
#include <fmt/format.h>

#include <cstdio>
#include <fstream>
#include <iostream>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "advice/report.h"
#include "compiler/compile.h"
#include "compiler/inspect.h"
#include "compiler/pipeline.h"
#include "graph/text.h"
#include "graph/verify.h"
#include "loop/text.h"
#include "ops/apply.h"
#include "ops/table.h"
#include "passes/graph/keep_rounded.h"
#include "runtime/device.h"
#include "trace/traced.h"
#include "transforms/batch.h"
#include "transforms/vjp.h"

namespace sheaf::tools {
namespace {

using graph::Graph;
using graph::Node;
using graph::Operand;

constexpr int64_t kBatch = 5;  // a size that examples rarely have

const graph::OpDef* find_op(std::string_view name) {
  for (const graph::OpDef* d : ops::all_ops())
    if (d->name == name) return d;
  return nullptr;
}

Ref<Node> input(graph::TensorType type) {
  return make_ref<Node>(&ops::op("input"), graph::Attrs(), std::vector<Operand>(),
                        std::vector<graph::TensorType>{std::move(type)});
}

// The adjoints of all float inputs; those of the outputs are further inputs.
Graph gradient(const Graph& g) {
  Graph out{g.inputs, {}};
  std::vector<Operand> dy, wrt;
  for (const Operand& y : g.outputs) {
    out.inputs.push_back(input(y.type()));
    dy.push_back(Operand(out.inputs.back(), 0));
  }
  for (const auto& n : g.inputs)
    if (is_inexact(n->types[0].dtype)) wrt.push_back(Operand(n, 0));
  std::vector<Operand> adjoints = transforms::vjp(g.outputs, dy, wrt, true);
  for (size_t i = 0; i < wrt.size(); ++i)
    out.outputs.push_back(adjoints[i] ? adjoints[i] : ops::zeros(wrt[i].type()));
  return out;
}

// Every input with a leading axis of kBatch.
Graph batched(const Graph& g) {
  Graph out;
  std::vector<transforms::Batched> inputs;
  for (const auto& n : g.inputs) {
    graph::TensorType t{n->types[0].dtype, {Size(kBatch)}};
    for (Size d : n->types[0].sizes)
      t.sizes.push_back(d);
    out.inputs.push_back(input(std::move(t)));
    inputs.push_back({Operand(out.inputs.back(), 0), true});
  }
  try {
    for (transforms::Batched& b : transforms::batch_graph(g, inputs, Size(kBatch)))
      out.outputs.push_back(std::move(b.value));
  } catch (const transforms::NotBatchable& e) {
    throw runtime_error(fmt::format("{} has no batching rule: {}", e.op->name, e.op->batch.reason));
  }
  return out;
}

// With rounded inputs and outputs, as the JIT compiles it.
Graph with_rounded(const Graph& g) {
  auto kept = passes::keep_rounded(g);
  return kept ? std::move(kept->graph) : g;
}

std::string kernels_text(const Graph& g) {
  std::string out;
  compiler::g_kernel_listener = [&](const loop::Kernel& k) { out += loop::print(k); };
  compiler::compile(g, compiler::cpu_backend());
  compiler::g_kernel_listener = nullptr;
  return out;
}

[[noreturn]] void unknown_pass(std::string_view name, std::string_view others) {
  std::string list;
  for (const compiler::PassInfo& p : compiler::all_passes())
    list += fmt::format(" {}", p.name);
  throw runtime_error(
      fmt::format("no pass '{}' for this kind of text; there are {} and those of the pipeline:{}", name, others, list));
}

std::string run_passes(Graph g, const std::vector<std::string>& passes, const runtime::Target& target) {
  compiler::Ir ir = std::move(g);
  for (const std::string& p : passes) {
    auto* graph = std::get_if<Graph>(&ir);
    if (graph && p == "vjp")
      *graph = gradient(*graph);
    else if (graph && p == "batch")
      *graph = batched(*graph);
    else if (graph && p == "keep-rounded")
      *graph = with_rounded(*graph);
    else if (graph && p == "lower")
      return kernels_text(*graph);
    else if (p != "verify" && !compiler::run_pass(p, ir, target))
      unknown_pass(p, "verify, vjp, batch, keep-rounded, lower");
    if (auto* now = std::get_if<Graph>(&ir)) graph::verify(*now);
  }
  if (auto* graph = std::get_if<Graph>(&ir)) return graph::print(*graph);
  const auto& fused = std::get<compiler::FusedGraph>(ir);
  return graph::print(fused.graph) + graph::print(fused.groups);
}

std::string run_passes(loop::Kernel k, const std::vector<std::string>& passes, const runtime::Target& target) {
  compiler::Ir ir = std::move(k);
  auto& kernel = std::get<loop::Kernel>(ir);
  loop::verify(kernel);
  for (const std::string& p : passes) {
    if (p != "verify" && !compiler::run_pass(p, ir, target)) unknown_pass(p, "verify");
    loop::verify(kernel);
  }
  return loop::print(kernel);
}

std::string read_all(const std::string& path) {
  std::stringstream text;
  if (path.empty()) {
    text << std::cin.rdbuf();
  } else {
    std::ifstream in(path, std::ios::binary);
    if (!in) throw runtime_error(fmt::format("cannot read '{}'", path));
    text << in.rdbuf();
  }
  return text.str();
}

std::vector<int64_t> numbers(std::string_view list) {
  std::vector<int64_t> out;
  std::istringstream in{std::string(list)};
  for (std::string word; std::getline(in, word, ',');)
    out.push_back(std::stoll(word));
  return out;
}

std::string gpu_text(const loop::Kernel& k, const std::vector<int64_t>& sizes) {
  loop::verify(k);
  if (sizes.size() != static_cast<size_t>(k.num_sizes))
    throw runtime_error(fmt::format("--gpu: {} has {} sizes, got {}", k.name, k.num_sizes, sizes.size()));
  return compiler::gpu_text(k, sizes);
}

int run(int argc, char** argv) {
  std::vector<std::string> passes;
  std::optional<std::vector<int64_t>> gpu;
  std::string path;
  runtime::Target target = compiler::cpu_backend().target();
  for (int i = 1; i < argc; ++i) {
    std::string_view word = argv[i];
    if (word.starts_with("--pass="))
      passes.emplace_back(word.substr(7));
    else if (word.starts_with("--gpu="))
      gpu = numbers(word.substr(6));
    else if (word == "--device")
      target.max_recomputed_ops = runtime::kRecomputedOps;
    else if (word.starts_with("-"))
      throw runtime_error(
          fmt::format("unknown option '{}'; usage: sheaf-opt [--device] [--pass=NAME]… [--gpu=SIZE,…] [FILE]", word));
    else
      path = word;
  }
  trace::install();
  Scanner s(add_source(path.empty() ? "<stdin>" : path, read_all(path), SourceKind::File));
  while (!s.at_end()) {
    bool is_kernel = s.next_is("kernel");
    std::string text = is_kernel && gpu ? gpu_text(loop::parse(s), *gpu)
                       : is_kernel      ? run_passes(loop::parse(s), passes, target)
                                        : run_passes(graph::parse(s, find_op), passes, target);
    std::fputs(text.c_str(), stdout);
  }
  return 0;
}

}  // namespace
}  // namespace sheaf::tools

int main(int argc, char** argv) {
  try {
    return sheaf::tools::run(argc, argv);
  } catch (const sheaf::UserError& e) {
    std::fputs(("sheaf-opt: " + sheaf::advice::report(e)).c_str(), stderr);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "sheaf-opt: internal error: %s\n", e.what());
  }
  return 1;
}
