// The commands to which main dispatches. Each returns the exit status; they run on the large stack.
#pragma once
#include "tools/command_line.h"

namespace sheaf::tools {

int run_program(const Options& options);  // a file or -c
int run_repl(const Options& options);
int run_init_ai(const Options& options);
int run_new(const Options& options);  // a project from a template
int run_format(const Options& options);
int run_check(const Options& options);
int run_tests(const Options& options);
int run_doc(const Options& options);
int run_explain(const Options& options);
int run_cache(const Options& options);
int run_devices(const Options& options);
// --emit: prints a compilation stage of the program instead of running it.
int run_emit(const Options& options);

}  // namespace sheaf::tools
