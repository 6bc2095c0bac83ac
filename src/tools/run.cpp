// Running a file or an expression.
#include <fmt/format.h>

#include <filesystem>

#include "builtins/host/output.h"
#include "builtins/host/process.h"
#include "eval/session.h"
#include "support/interrupt.h"
#include "tools/commands.h"
#include "tools/read_file.h"
#include "tools/terminal.h"
#include "tools/watch.h"
#include "value/print.h"

namespace sheaf::tools {

namespace {

// Warns about code that another compiler produced ahead of time, next to the source.
void warn_about_artefact(const std::string& source) {
  std::filesystem::path code = std::filesystem::path(source).replace_filename("module.vmfb");
  std::error_code ec;
  if (std::filesystem::exists(code, ec) &&
      std::filesystem::exists(std::filesystem::path(code).replace_extension(".json"), ec))
    say(fmt::format("warning: '{}' does not match this program and is not used", code.string()));
}

void run_session(const Options& o, Watch& watch) {
  eval::Session session;
  watch.checkpoint("after init");
  session.on_analyzed = [&] { watch.check_names(session.globals()); };
  Value v = o.mode == Mode::Eval ? session.run_text(o.target)
            : o.target == kStdin ? session.run_text(read_stdin(), "<stdin>")
                                 : session.run_file(o.target);
  watch.checkpoint("after eval");
  bool hidden = o.blame && !o.mem_profile;
  if (!hidden && !is_silent(v)) builtins::write_out(render(v) + "\n");
  builtins::flush_out();
}

}  // namespace

int run_program(const Options& o) {
  if (o.mode == Mode::File && o.target != kStdin) {
    if (!check_readable(o.target)) return 1;
    warn_about_artefact(o.target);
  }
  builtins::set_program_args(o.words);
  Watch watch(o);
  int status = 0;
  try {
    run_session(o, watch);
    heed_interrupt();  // the end of the session has waited for futures
  } catch (...) {
    status = watch.report_exception();
  }
  watch.report_profiles();
  return status;
}

}  // namespace sheaf::tools
