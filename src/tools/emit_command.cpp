// --emit: prints the compilation stages of a program.
#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "builtins/host/output.h"
#include "builtins/host/process.h"
#include "compiler/compile.h"
#include "compiler/inspect.h"
#include "compiler/pipeline.h"
#include "eval/code.h"
#include "eval/session.h"
#include "graph/fusion_group.h"
#include "loop/ir.h"
#include "syntax/printer.h"
#include "syntax/reader.h"
#include "tools/commands.h"
#include "tools/read_file.h"
#include "tools/terminal.h"
#include "tools/watch.h"
#include "trace/jit.h"

namespace sheaf::tools {
namespace {

uint32_t add_program(const Options& o) {
  if (o.mode == Mode::Eval) return add_source("<eval>", o.target, SourceKind::Eval);
  std::ifstream in(o.target, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return add_source(std::filesystem::weakly_canonical(o.target).string(), text.str(), SourceKind::File);
}

std::string core_of(const eval::Proto& p) { return eval::print_core(*p.body) + eval::print_code(p) + "\n"; }

std::string core_text(eval::Session& session, uint32_t source) {
  std::vector<syntax::FormPtr> forms = syntax::read_all(source);
  std::string out;
  for (const auto& p : session.analyze(forms))
    out += core_of(*p);
  // Functions are compiled into their cells, not into the code of their defining form.
  for (eval::Cell* c : session.globals().user_cells()) {
    if (c->broken) out += fmt::format("; {} does not compile: {}\n\n", c->name.str(), one_line(*c->broken));
    if (c->value.tag() != Tag::Function) continue;
    const eval::Proto& p = *static_cast<eval::Closure*>(c->value.object())->proto;
    out += fmt::format("; {}\n{}", c->name.str(), core_of(p));
  }
  return out;
}

// Graphs and kernels only exist once something is compiled: runs the program and prints them as they are created.
int run_and_show(const Options& o, uint32_t source) {
  int compiled = 0;
  bool graphs = o.emit == "graph" || o.emit == "grad";
  builtins::set_program_args(o.words);
  trace::set_jit_mode(trace::JitMode::Always);
  trace::g_describe_graphs = graphs;
  trace::set_jit_listener([&](const trace::JitEvent& e) {
    if (e.outcome != trace::JitOutcome::Compiled) return;
    ++compiled;
    if (graphs) builtins::write_out(fmt::format("; {}\n{}", e.function, e.graph));
  });
  if (o.emit == "loop")
    compiler::g_kernel_listener = [](const loop::Kernel& k) { builtins::write_out(loop::print(k)); };
  if (o.emit == "gpu") compiler::switch_pass("chunk", false);
  compiler::g_plan_listener = [&](const graph::Graph&, const std::vector<graph::FusionGroup>& groups,
                                  const runtime::Plan& plan, const compiler::Backend& backend) {
    if (o.emit == "fused") builtins::write_out(graph::print(groups) + "\n");
    if (o.emit == "plan") builtins::write_out(compiler::plan_text(plan, backend) + "\n");
    if (o.emit == "llvm") builtins::write_out(compiler::native_text(plan, codegen::NativeText::Ir));
    if (o.emit == "gpu") builtins::write_out(compiler::gpu_text(plan));
    if (o.emit == "asm") builtins::write_out(compiler::native_text(plan, codegen::NativeText::Assembly));
  };
  eval::Session().run(source);
  builtins::flush_out();
  if (compiled == 0) say(fmt::format("sheaf: --emit={}: nothing in this program is compiled", o.emit));
  return compiled ? 0 : 1;
}

}  // namespace

int run_emit(const Options& o) {
  if (o.mode != Mode::File && o.mode != Mode::Eval) throw UsageError("--emit requires a file or -c");
  if (o.mode == Mode::File && !check_readable(o.target)) return 1;
  Watch watch(o);
  try {
    uint32_t source = add_program(o);
    if (o.emit != "forms" && o.emit != "core") return run_and_show(o, source);
    std::string out;
    if (o.emit == "forms") {
      for (const syntax::FormPtr& f : syntax::read_all(source))
        out += syntax::pretty(*f) + "\n";
    } else {
      eval::Session session;
      out = core_text(session, source);
    }
    builtins::write_out(out);
    builtins::flush_out();
    return 0;
  } catch (...) {
    return watch.report_exception();
  }
}

}  // namespace sheaf::tools
