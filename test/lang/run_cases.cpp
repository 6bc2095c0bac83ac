// Runs the programs of *.cases files (see FORMAT.md), each in a fresh session, and compares what they print.
// Usage: run_cases [--jit=off|auto|always] [--backend=auto|block|native] [--dynamic=auto|off|all] [--device=sim|cuda]
// [--cache=FOLDER]
// [--check-ir] [--only TEXT] FILE… With --check-ir every graph and kernel on the way is verified and must survive being
// printed and parsed.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "advice/report.h"
#include "builtins/host/guard.h"
#include "builtins/host/output.h"
#include "builtins/host/process.h"
#include "common/printed.h"
#include "compiler/code_store.h"
#include "compiler/compile.h"
#include "compiler/pipeline.h"
#include "compiler/tiered.h"
#include "eval/session.h"
#include "eval/vm.h"
#include "graph/text.h"
#include "graph/verify.h"
#include "loop/text.h"
#include "ops/table.h"
#include "runtime/device.h"
#include "trace/jit.h"
#include "value/print.h"

namespace {

using namespace sheaf;

struct Case {
  std::string title, program;
  int line = 0;
  std::vector<std::string> output;  // => and ~> lines
  std::vector<bool> approximate;    // parallel to output
  std::vector<std::string> error;   // !! lines
  std::string at;
  std::vector<std::string> hints, stderr_texts;
  double relative = 2e-6, absolute = 1e-7;  // how far the numbers of a ~> line may be off
};

std::vector<Case> read_cases(const char* path) {
  std::vector<Case> cases;
  std::ifstream in(path);
  std::string line;
  Case fresh;
  for (int number = 1; std::getline(in, line); ++number) {
    auto rest = [&](size_t n) { return line.size() > n ? line.substr(n) : std::string(); };
    if (line.starts_with(";;; tolerance "))
      std::sscanf(line.c_str(), ";;; tolerance %lf %lf", &fresh.relative, &fresh.absolute);
    if (line.starts_with(";;;")) continue;
    if (line.starts_with("--- ")) {
      cases.push_back(fresh);
      cases.back().title = rest(4);
      cases.back().line = number;
      continue;
    }
    if (cases.empty()) continue;
    Case& c = cases.back();
    if (line == "=>" || line.starts_with("=> ") || line.starts_with("~> ")) {
      c.approximate.push_back(line[0] == '~');
      c.output.push_back(rest(3));
    } else if (line.starts_with("!! "))
      c.error.push_back(rest(3));
    else if (line.starts_with("!at "))
      c.at = rest(4);
    else if (line.starts_with("!hint "))
      c.hints.push_back(rest(6));
    else if (line.starts_with("!err "))
      c.stderr_texts.push_back(rest(5));
    else
      c.program += line + "\n";
  }
  return cases;
}

// Standard error of one run, through a temporary file: warnings are written with stdio.
struct StderrCapture {
  int saved = dup(2);
  FILE* file = std::tmpfile();
  StderrCapture() {
    std::fflush(stderr);
    dup2(fileno(file), 2);
  }
  std::string finish() {
    std::fflush(stderr);
    dup2(saved, 2);
    close(saved);
    std::string text(static_cast<size_t>(std::ftell(file) < 0 ? 0 : lseek(fileno(file), 0, SEEK_END)), '\0');
    lseek(fileno(file), 0, SEEK_SET);
    ssize_t n = read(fileno(file), text.data(), text.size());
    text.resize(n < 0 ? 0 : static_cast<size_t>(n));
    std::fclose(file);
    return text;
  }
};

int g_graphs = 0, g_kernels = 0;

// Errors that cannot be thrown from within a compilation, where they would only abandon a trace.
std::string g_ir_failure;

uint32_t add_text(std::string text) { return add_source("<ir>", std::move(text), SourceKind::Eval); }

// Control nodes and host calls cannot be read back.
bool is_plain(const graph::Graph& g) {
  for (const graph::Node* n : graph::live_nodes(g))
    if (n->host || n->op->kind == graph::OpKind::Control) return false;
  return true;
}

void check_ir() {
  compiler::g_verify = true;
  compiler::g_graph_listener = [](const graph::Graph& g) {
    ++g_graphs;
    try {
      graph::verify(g);
      if (!is_plain(g)) return;
      Scanner s(add_text(graph::print(g)));
      graph::Graph again = graph::parse(s, [](std::string_view name) -> const graph::OpDef* { return &ops::op(name); });
      if (!graph::equal(g, again))
        g_ir_failure = "  graph changed by printing and parsing:\n" + graph::print(g) + graph::print(again);
    } catch (const std::exception& e) {
      g_ir_failure = fmt::format("  {}\n{}", e.what(), graph::print(g));
    }
  };
  compiler::g_kernel_listener = [](const loop::Kernel& k) {
    ++g_kernels;
    try {
      Scanner s(add_text(loop::print(k)));
      loop::Kernel again = loop::parse(s);
      loop::verify(again);
      if (!loop::equal(k, again))
        g_ir_failure = "  kernel changed by printing and parsing:\n" + loop::print(k) + loop::print(again);
    } catch (const std::exception& e) {
      g_ir_failure = fmt::format("  {}\n{}", e.what(), loop::print(k));
    }
  };
}

std::string run_case(const Case& c) {
  std::string out, error, at, failure;
  std::vector<std::string> hints;
  StderrCapture capture;
  builtins::set_capture(&out);
  eval::g_fuel = 20'000'000;
  try {
    eval::Session session;
    Value v = session.run_text(c.program);
    if (!is_silent(v)) out += render(v) + "\n";
  } catch (const UserError& e) {
    error = e.message;
    LineCol lc = start_of(e.span);
    at = fmt::format("{}:{}", lc.line, lc.column);
    hints = split_lines(advice::report(e));
  } catch (const builtins::GuardBreach& b) {
    error = "guard: " + b.check + ": " + b.message;
  } catch (const builtins::ExitRequest&) {
  } catch (const std::exception& e) {
    error = std::string("internal: ") + e.what();
  }
  builtins::set_capture(nullptr);
  std::string err = capture.finish();

  failure += std::exchange(g_ir_failure, "");
  std::vector<std::string> got = split_lines(out), got_error = split_lines(error);
  bool same = got.size() == c.output.size();
  for (size_t i = 0; same && i < got.size(); ++i) {
    auto trimmed = [](std::string s) {
      while (!s.empty() && s.back() == ' ')
        s.pop_back();
      return s;
    };
    same = trimmed(got[i]) == trimmed(c.output[i]) ||
           (c.approximate[i] && nearly_equal(got[i], c.output[i], c.relative, c.absolute));
  }
  if (!same) {
    failure += "  expected:\n";
    for (const auto& l : c.output)
      failure += "    " + l + "\n";
    failure += "  got:\n";
    for (const auto& l : got)
      failure += "    " + l + "\n";
  }
  if (got_error != c.error) {
    failure +=
        "  expected error: " + (c.error.empty() ? "(none)" : fmt::format("{}", fmt::join(c.error, "\n    "))) + "\n";
    failure += "  got error: " + (error.empty() ? "(none)" : error) + (at.empty() ? "" : " at " + at) + "\n";
  } else if (!c.at.empty() && c.at != at) {
    failure += "  expected at " + c.at + ", got " + at + "\n";
  }
  for (const auto& h : c.hints) {
    bool found = false;
    for (const auto& l : hints)
      found |= l.find(h) != std::string::npos;
    if (!found) failure += "  missing hint: " + h + "\n";
  }
  for (const auto& t : c.stderr_texts)
    if (err.find(t) == std::string::npos) failure += "  standard error lacks: " + t + "\n    it was: " + err + "\n";
  return failure;
}

}  // namespace

int main(int argc, char** argv) {
  std::string only;
  int passed = 0, failed = 0;
  for (int i = 1; i < argc; ++i) {
    if (std::strncmp(argv[i], "--jit=", 6) == 0) {
      std::string mode = argv[i] + 6;
      trace::set_jit_mode(mode == "off"      ? trace::JitMode::Off
                          : mode == "always" ? trace::JitMode::Always
                                             : trace::JitMode::Auto);
      continue;
    }
    if (std::strncmp(argv[i], "--backend=", 10) == 0) {
      std::string kind = argv[i] + 10;
      compiler::set_executor(kind == "block"    ? compiler::Executor::Block
                             : kind == "native" ? compiler::Executor::Native
                                                : compiler::Executor::Auto);
      continue;
    }
    if (std::strncmp(argv[i], "--dynamic=", 10) == 0) {
      std::string mode = argv[i] + 10;
      trace::set_dynamic_mode(mode == "off"   ? trace::DynamicMode::Off
                              : mode == "all" ? trace::DynamicMode::All
                                              : trace::DynamicMode::Auto);
      continue;
    }
    if (std::strncmp(argv[i], "--device=", 9) == 0) {
      runtime::g_device = &runtime::open_device(argv[i] + 9);
      continue;
    }
    if (std::strncmp(argv[i], "--cache=", 8) == 0) {
      compiler::set_code_folder(argv[i] + 8);
      continue;
    }
    if (std::strcmp(argv[i], "--check-ir") == 0) {
      check_ir();
      continue;
    }
    if (std::strcmp(argv[i], "--only") == 0 && i + 1 < argc) {
      only = argv[++i];
      continue;
    }
    if (argv[i][0] == '-') {
      std::fprintf(stderr, "unknown option %s\n", argv[i]);
      return 2;
    }
    for (const Case& c : read_cases(argv[i])) {
      if (!only.empty() && c.title.find(only) == std::string::npos) continue;
      std::string failure = run_case(c);
      if (failure.empty()) {
        ++passed;
        continue;
      }
      ++failed;
      std::printf("FAILED %s:%d %s\n%s%s\n", argv[i], c.line, c.title.c_str(), c.program.c_str(), failure.c_str());
      std::fflush(stdout);
    }
  }
  if (g_graphs) std::printf("%d graphs and %d kernels checked\n", g_graphs, g_kernels);
  std::printf("%d passed, %d failed\n", passed, failed);
  return failed ? 1 : 0;
}
