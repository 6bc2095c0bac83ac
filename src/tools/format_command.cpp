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

Outcome format_text(const std::string& name, const std::string& text, std::string& formatted) {
  try {
    syntax::read_all(add_source(name, text, SourceKind::File));  // for errors with positions
    formatted = syntax::format_source(text);
  } catch (const UserError& e) {
    say_report(e);
    return Outcome::Failed;
  }
  return formatted == text ? Outcome::Same : Outcome::Changed;
}

// Prints the formatted text to standard output. For an unreadable text it prints nothing: an editor keeps its buffer.
Outcome format_stdin(bool check) {
  std::string formatted;
  Outcome outcome = format_text("<stdin>", read_stdin(), formatted);
  if (outcome != Outcome::Failed && !check) builtins::write_out(formatted);
  return outcome;
}

Outcome format_file(const std::string& path, bool check) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream buffer;
  buffer << in.rdbuf();
  std::string formatted;
  Outcome outcome = format_text(path, buffer.str(), formatted);
  if (outcome != Outcome::Changed || check) return outcome;
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out << formatted;
  out.close();
  if (out) return Outcome::Changed;
  say(fmt::format("sheaf: cannot write '{}': {}", path, std::strerror(errno)));
  return Outcome::Failed;
}

}  // namespace

int run_format(const Options& o) {
  ProgramList programs = ProgramList::of(o.words, "fmt", "--check");
  const bool check = programs.flag;
  bool good = true;
  bool all_readable = programs.for_each_readable([&](const std::string& f) {
    Outcome outcome = f == kStdin ? format_stdin(check) : format_file(f, check);
    good &= outcome == Outcome::Same || (outcome == Outcome::Changed && !check);
    if (outcome == Outcome::Changed && (check || f != kStdin))
      builtins::write_out(fmt::format("{} {}\n", check ? "would format" : "formatted", f));
  });
  builtins::flush_out();
  return good && all_readable ? 0 : 1;
}

}  // namespace sheaf::tools
