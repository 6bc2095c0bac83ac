// `sheaf check`: reports every error of programs without running them.
#include <fmt/format.h>

#include "advice/report.h"
#include "builtins/host/output.h"
#include "eval/session.h"
#include "formats/json.h"
#include "tools/commands.h"
#include "tools/read_file.h"
#include "value/dict.h"

namespace sheaf::tools {
namespace {

Value position(const LineCol& at) {
  return make_dict({{Name("line"), Value::integer(at.line)}, {Name("column"), Value::integer(at.column)}});
}

// One error as a line of JSON, for an editor.
std::string json_line(const UserError& e) {
  std::string hints;
  for (const std::string& h : e.hints)
    hints += (hints.empty() ? "" : " ") + h;
  LineCol begin = start_of(e.span);
  Value line = make_dict({{Name("file"), Value::string(source_name(e.span.source))},
                          {Name("line"), Value::integer(begin.line)},
                          {Name("column"), Value::integer(begin.column)},
                          {Name("end"), position(end_of(e.span))},
                          {Name("severity"), Value::string("error")},
                          {Name("message"), Value::string(e.message)},
                          {Name("hint"), Value::string(hints)}});
  return formats::write_json(line, {.tagged = false}) + "\n";
}

}  // namespace

int run_check(const Options& o) {
  ProgramList programs = ProgramList::of(o.words, "check", "--json");
  const bool json = programs.flag;
  size_t count = 0;
  bool all_readable = programs.for_each_readable([&](const std::string& f) {
    eval::Session session;
    std::vector<UserError> errors =
        f == kStdin ? session.check(add_source("<stdin>", read_stdin(), SourceKind::Eval)) : session.check_file(f);
    for (const UserError& e : errors)
      builtins::write_out(json ? json_line(e) : advice::report(e));
    count += errors.size();
  });
  if (!json && count > 0)
    builtins::write_out(fmt::format("{} error{} in {} file{}\n", count, count == 1 ? "" : "s", programs.files.size(),
                                    programs.files.size() == 1 ? "" : "s"));
  builtins::flush_out();
  return count > 0 || !all_readable ? 1 : 0;
}

}  // namespace sheaf::tools
