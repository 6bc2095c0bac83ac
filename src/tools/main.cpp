// The sheaf program: reads the command line and dispatches to a command, on a stack large enough for user code.
#include <fmt/format.h>
#include <malloc.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <optional>

#include "builtins/host/output.h"
#include "compiler/code_store.h"
#include "runtime/device.h"
#include "runtime/profiler.h"
#include "runtime/thread_pool.h"
#include "support/error.h"
#include "support/large_stack.h"
#include "tensor/tensor.h"
#include "tools/commands.h"
#include "tools/interrupt.h"
#include "tools/memory_limit.h"
#include "tools/terminal.h"

namespace sheaf::tools {
namespace {

// The name must be a known one. A requested CUDA device that does not exist is an error; for the others the original
// falls back to the CPU.
void choose_device(const Options& o) {
  if (o.device == "sim" || o.device.starts_with("cuda")) try {
      runtime::g_device = &runtime::open_device(o.device);
    } catch (const UserError& e) {
      throw UsageError(e.message);
    }
  if (o.max_device_memory && runtime::g_device) runtime::g_device->set_memory_limit(o.max_device_memory);
  if (o.device == "metal" || o.device == "vulkan")
    say(fmt::format("sheaf: {} is not available here, running on CPU", o.device));
}

int show(const std::string& text) {
  builtins::write_out(text);
  builtins::flush_out();
  return 0;
}

int run_command(const Options& o) {
  if (o.threads) runtime::set_num_threads(o.threads);
  std::optional<MemoryLimit> memory_limit;
  if (o.max_memory) {
    set_memory_limit(o.max_memory);
    memory_limit.emplace(o.max_memory);
  }
  choose_device(o);
  // -vv shows the compiler at work.
  if (o.verbosity < 2)
    compiler::set_code_folder(o.cache_dir.empty() ? compiler::default_code_folder()
                                                  : std::filesystem::path(o.cache_dir));
  InterruptHandler interrupts;
  if (!o.emit.empty()) return run_emit(o);
  switch (o.mode) {
    case Mode::Help: return show(usage_text());
    case Mode::Version: return show("Sheaf " SHEAF_VERSION "\n");
    case Mode::Repl: return run_repl(o);
    case Mode::File:
    case Mode::Eval: return run_program(o);
    case Mode::InitAi: return run_init_ai(o);
    case Mode::New: return run_new(o);
    case Mode::Format: return run_format(o);
    case Mode::Check: return run_check(o);
    case Mode::Test: return run_tests(o);
    case Mode::Doc: return run_doc(o);
    case Mode::Explain: return run_explain(o);
    case Mode::Cache: return run_cache(o);
    case Mode::Devices: return run_devices(o);
  }
  return 1;
}

int run(const std::vector<std::string>& words) {
  try {
    return run_command(parse_command_line(words));
  } catch (const UsageError& e) {
    say(fmt::format("sheaf: {}", e.what()));
    if (std::string_view(e.what()).starts_with("unknown ")) say("Run 'sheaf --help' for the commands and options.");
  } catch (const UserError& e) {
    say_report(e);
  } catch (const std::exception& e) {
    say(fmt::format("internal error: {}", e.what()));
  }
  return 1;
}

// User code runs on a separate thread, whose heap glibc grows page by page, with a system call for each: a tenth of
// compile time. So heaps start with reserved space (address space, not memory). Setting this disables glibc's dynamic
// threshold for blocks that are mapped and unmapped individually; tensors are pooled anyway, and the compiler's arrays
// should not be mapped each time.
void prepare_heap() {
#ifdef __GLIBC__
  mallopt(M_TOP_PAD, 16 << 20);
  mallopt(M_MMAP_THRESHOLD, 4 << 20);
#endif
}

}  // namespace
}  // namespace sheaf::tools

int main(int argc, char** argv) {
  sheaf::tools::prepare_heap();   // before anything is allocated
  std::signal(SIGXFSZ, SIG_IGN);  // a file over its size limit (ulimit -f) is an error for its writer
  std::vector<std::string> words(argv + 1, argv + argc);
  int status = 1;
  try {
    sheaf::LargeStackThread([&] { status = sheaf::tools::run(words); });
  } catch (const sheaf::UserError& e) {
    sheaf::tools::say_report(e);
  }
  return status;
}
