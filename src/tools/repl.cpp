#include "tools/commands.h"
namespace sheaf::tools { int run_repl(const Options&) { return 1; } int run_init_ai(const Options&) { return 1; } }
