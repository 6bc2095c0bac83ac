// Converts exceptions to errors, and reads errors.
#include <fmt/format.h>

#include "advice/report.h"
#include "builtins/host/guard.h"
#include "builtins/host/process.h"
#include "embed/handle.h"
#include "support/error.h"

namespace sheaf::embed {
namespace {

// The error for exhausted memory; never freed.
sheaf_error& no_memory() {
  static sheaf_error e{"memory", "out of memory", "", "error: out of memory\n\n"};
  return e;
}

sheaf_error* plain_error(const char* kind, const std::string& message) {
  return new sheaf_error{kind, message, "", fmt::format("error: {}\n\n", message)};
}

sheaf_error* user_error(const UserError& e) {
  auto* out = new sheaf_error{name_of(e.kind), e.message, "", advice::report(e)};
  if (!e.span) return out;
  LineCol at = start_of(e.span);
  out->file = source_name(e.span.source);
  out->line = static_cast<int>(at.line);
  out->column = static_cast<int>(at.column);
  return out;
}

sheaf_error* error_in_flight() {
  try {
    throw;
  } catch (const UserError& e) {
    return user_error(e);
  } catch (const builtins::GuardBreach& b) {
    UserError e = b.where;
    e.message = fmt::format("guard breached: {}: {}", b.check, b.message);
    return user_error(e);
  } catch (const builtins::ExitRequest& e) {
    sheaf_error* out = plain_error("exit", fmt::format("the program ended itself with (exit {})", e.code));
    out->exit_code = e.code;
    return out;
  } catch (const HostError& e) {
    return plain_error("argument", e.message);
  } catch (const std::bad_alloc&) {
    return &no_memory();
  } catch (const std::exception& e) {
    return plain_error("internal", e.what());
  }
}

}  // namespace

sheaf_error* caught(const std::function<void()>& f) noexcept {
  try {
    f();
    return nullptr;
  } catch (...) {
    try {
      return error_in_flight();
    } catch (...) {  // describing the error failed too
      return &no_memory();
    }
  }
}

}  // namespace sheaf::embed

const char* sheaf_error_kind(const sheaf_error* e) { return e->kind.c_str(); }
const char* sheaf_error_message(const sheaf_error* e) { return e->message.c_str(); }
const char* sheaf_error_file(const sheaf_error* e) { return e->file.c_str(); }
int sheaf_error_line(const sheaf_error* e) { return e->line; }
int sheaf_error_column(const sheaf_error* e) { return e->column; }
const char* sheaf_error_report(const sheaf_error* e) { return e->report.c_str(); }
int sheaf_error_exit_code(const sheaf_error* e) { return e->exit_code; }
void sheaf_error_free(sheaf_error* e) {
  if (e != &sheaf::embed::no_memory()) delete e;
}
