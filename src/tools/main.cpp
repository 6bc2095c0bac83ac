// The sheaf program.
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "builtins/guard.h"
#include "builtins/host.h"
#include "builtins/output.h"
#include "eval/session.h"
#include "runtime/profiler.h"
#include "value/print.h"

namespace sheaf::tools {
namespace {

bool is_silent(const Value& v) {
  if (v.is_nil()) return true;
  if (!v.is_list()) return false;
  for (const Value& x : v.items())
    if (!x.is_nil()) return false;
  return true;
}

int run(int argc, char** argv) {
  eval::Session session;
  try {
    Value v;
    if (argc >= 3 && std::strcmp(argv[1], "-c") == 0) v = session.run_text(argv[2]);
    else if (argc >= 2) v = session.run_file(argv[1]);
    if (!is_silent(v)) builtins::write_out(render(v) + "\n");
    builtins::flush_out();
    return 0;
  } catch (const UserError& e) {
    builtins::flush_out();
    std::fputs(report(e).c_str(), stderr);
    return 1;
  } catch (const builtins::GuardBreach& b) {
    builtins::flush_out();
    std::fprintf(stderr, "\033[91m/!\\ Guard Breached: %s\033[0m\n%s\n", b.check.c_str(), b.message.c_str());
    return 1;
  } catch (const builtins::ExitRequest& e) {
    builtins::flush_out();
    return e.code;
  }
}

}  // namespace
}  // namespace sheaf::tools

int main(int argc, char** argv) {
  sheaf::runtime::g_profiling = std::getenv("SHEAF_PROFILE") != nullptr;
  int rc = sheaf::tools::run(argc, argv);
  if (sheaf::runtime::g_profiling)
    for (const auto& t : sheaf::runtime::kernel_times()) std::fprintf(stderr, "%10.3f ms %6lu  %s\n", t.ns / 1e6, t.calls, t.name.c_str());
  return rc;
}
