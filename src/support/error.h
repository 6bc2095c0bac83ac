// The two kinds of failure. A UserError is about the program being run and carries its position; a failed INVARIANT is
// a bug of ours.
#pragma once
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/source.h"

namespace sheaf {

enum class ErrorKind : uint8_t { Parse, Compile, Runtime, Autodiff, Io };
const char* name_of(ErrorKind kind);  // "parse", "compile", "runtime", "autodiff", "io"

// A call of a user function that was active when an error was raised.
struct StackEntry {
  std::string function;   // "head"
  std::string arguments;  // "x: f32[8x3]", may be empty
  Span call;              // the call form
};

// `message` is the first line(s) in the specification's words, without hints; `hints` print as "  = hint: …", `notes`
// as "  = …". The first code that knows position and stack fills them in.
struct UserError : std::exception {
  ErrorKind kind;
  std::string message;
  Span span;
  std::vector<std::string> notes;
  std::vector<std::string> hints;
  std::vector<StackEntry> stack;     // innermost first
  std::string label;                 // printed after the carets
  bool blames_caller = false;        // about the arguments of the running function: report the call, not the function
  std::shared_ptr<const void> data;  // a language value attached by (error msg data)

  UserError(ErrorKind kind, std::string message, Span span = {})
      : kind(kind), message(std::move(message)), span(span) {}
  const char* what() const noexcept override { return message.c_str(); }
  UserError&& hint(std::string h) && {
    hints.push_back(std::move(h));
    return std::move(*this);
  }
};

inline UserError runtime_error(std::string message) { return {ErrorKind::Runtime, std::move(message)}; }
// An error about the caller's arguments, found inside the function: the report points at the call.
inline UserError caller_error(std::string message) {
  UserError e = runtime_error(std::move(message));
  e.blames_caller = true;
  return e;
}

// "FILE:LINE: runtime error: MSG"
std::string one_line(const UserError& e);

[[noreturn]] void invariant_failed(const char* condition, const char* file, int line, const std::string& detail);

// INVARIANT(cond) or INVARIANT(cond, "streamed " << detail).
#define INVARIANT(cond, ...)                                                      \
  do {                                                                            \
    if (!(cond)) [[unlikely]] {                                                   \
      std::ostringstream invariant_out_;                                          \
      __VA_OPT__(invariant_out_ << __VA_ARGS__;)                                  \
      ::sheaf::invariant_failed(#cond, __FILE__, __LINE__, invariant_out_.str()); \
    }                                                                             \
  } while (0)

}  // namespace sheaf
