// `sheaf fmt`.
#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

#include "builtins/host/output.h"
#include "support/error.h"
#include "syntax/formatter.h"
#include "syntax/reader.h"
#include "tools/commands.h"
#include "tools/read_file.h"
#include "tools/terminal.h"

namespace sheaf::tools {
namespace {

enum class Outcome { Same, Changed, Failed };

Outcome format_file(const std::string& path, bool check) {
  if (!check_readable(path)) return Outcome::Failed;
  std::ifstream in(path, std::ios::binary);
  std::stringstream buffer;
  buffer << in.rdbuf();
  std::string text = buffer.str(), formatted;
  try {
    syntax::read_all(add_source(path, text, SourceKind::File));  // for errors with their place
    formatted = syntax::format_source(text);
  } catch (const UserError& e) {
    say_report(e);
    return Outcome::Failed;
  }
  if (formatted == text) return Outcome::Same;
  if (check) return Outcome::Changed;
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out << formatted;
  out.close();
  if (out) return Outcome::Changed;
  say(fmt::format("sheaf: cannot write '{}': {}", path, std::strerror(errno)));
  return Outcome::Failed;
}

}  // namespace

int run_format(const Options& o) {
  bool check = false;
  std::vector<std::string> files;
  for (const std::string& w : o.words) {
    if (w == "--check")
      check = true;
    else if (w.starts_with("--"))
      throw UsageError(fmt::format("fmt: unknown option '{}'. Known options: --check", w));
    else
      files.push_back(w);
  }
  if (files.empty()) throw UsageError("fmt requires at least one file");
  int status = 0;
  for (const std::string& f : files) {
    Outcome outcome = format_file(f, check);
    if (outcome == Outcome::Failed || (check && outcome == Outcome::Changed)) status = 1;
    if (outcome == Outcome::Changed)
      builtins::write_out(fmt::format("{} {}\n", check ? "would format" : "formatted", f));
  }
  builtins::flush_out();
  return status;
}

}  // namespace sheaf::tools
