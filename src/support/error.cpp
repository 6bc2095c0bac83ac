#include "support/error.h"

#include <fmt/format.h>

#include "support/internal_error.h"

namespace sheaf {

const char* name_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::Parse: return "parse";
    case ErrorKind::Compile: return "compile";
    case ErrorKind::Runtime: return "runtime";
    case ErrorKind::Autodiff: return "autodiff";
    case ErrorKind::Io: return "io";
  }
  return "unknown";
}

std::string one_line(const UserError& e) {
  std::string text = fmt::format("{} error: {}", name_of(e.kind), e.message);
  // A failed file operation has no interesting position in the program.
  if (!e.span || e.kind == ErrorKind::Io) return text;
  return fmt::format("{}:{}: {}", source_name(e.span.source), start_of(e.span).line, text);
}

void invariant_failed(const char* condition, const char* file, int line, const std::string& detail) {
  throw InternalError(fmt::format("{}:{}: {} is false{}{}", file, line, condition, detail.empty() ? "" : ": ", detail));
}

}  // namespace sheaf
