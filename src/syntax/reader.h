// Text to forms. Throws UserError (ErrorKind::Parse) with the hints of the language specification.
#pragma once
#include <string_view>
#include <vector>

#include "support/error.h"
#include "syntax/form.h"

namespace sheaf::syntax {

// Throws if a source is not UTF-8. The reader itself accepts any bytes: an editor's buffer may end inside a character.
void check_encoding(uint32_t source);

// Reads every top-level form of a registered source.
std::vector<FormPtr> read_all(uint32_t source);

// The same for a text that need not be registered: with source 0 forms and errors have no position.
std::vector<FormPtr> read_text(std::string_view text, uint32_t source);

// Every readable form, and every error: an editor wants them all. After a missing bracket or quote, reading resumes at
// the next line that begins with a parenthesis.
struct Reading {
  std::vector<FormPtr> forms;
  std::vector<FormPtr> unfinished;  // the head and name of each form with such an error: (defn f)
  std::vector<UserError> errors;
};
Reading read_recovering(uint32_t source);

// The bracketed top-level forms of a text with balanced brackets, found without building forms.
struct FormExtent {
  uint32_t begin, end;  // byte offsets, half-open
};
std::vector<FormExtent> top_level_extents(std::string_view text);
// Reads one of them, with its positions in the source.
FormPtr read_extent(uint32_t source, FormExtent extent);

// How a prompt should treat the text so far: with open brackets (outside strings and comments), or complete (also with
// surplus closers: the reader will report the error).
enum class Completeness { Complete, Open };
Completeness completeness(std::string_view text);

}  // namespace sheaf::syntax
