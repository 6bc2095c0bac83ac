// Text to forms. Throws UserError (ErrorKind::Parse) with the hints of the language specification.
#pragma once
#include <string_view>
#include <vector>

#include "support/error.h"
#include "syntax/form.h"

namespace sheaf::syntax {

// Throws if a source is not UTF-8. The reader itself takes any bytes: an editor's buffer may hold half a character.
void check_encoding(uint32_t source);

// Reads every top-level form of a registered source.
std::vector<FormPtr> read_all(uint32_t source);

// The same for a text that need not be registered: with source 0 neither forms nor errors have a position.
std::vector<FormPtr> read_text(std::string_view text, uint32_t source);

// Every form that can be read, with every error on the way: an editor wants them all. After a bracket or a quote that
// is missing, reading goes on at the next line that begins with a parenthesis.
struct Reading {
  std::vector<FormPtr> forms;
  std::vector<FormPtr> unfinished;  // of forms with such an error only the head and the name: (defn f)
  std::vector<UserError> errors;
};
Reading read_recovering(uint32_t source);

// The bracketed top-level forms of a text whose brackets match, found without building anything.
struct FormExtent {
  uint32_t begin, end;  // byte offsets, half-open
};
std::vector<FormExtent> top_level_extents(std::string_view text);
// Reads one of them, with the positions it has in its source.
FormPtr read_extent(uint32_t source, FormExtent extent);

// How a prompt should treat a text typed so far: brackets still open (strings and comments respected), or complete
// (also when there are too many closers: reading it will report the error).
enum class Completeness { Complete, Open };
Completeness completeness(std::string_view text);

}  // namespace sheaf::syntax
