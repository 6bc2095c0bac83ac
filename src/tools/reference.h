// The reference: one entry per special form, built-in, library function and macro, collected from their tables and doc
// strings. Read by :help, :list, `sheaf doc`, init-ai and completion.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "eval/session.h"

namespace sheaf::tools {

struct DocExample {
  std::string code;
  std::string mark;  // "=>" the output, "~>" the output up to rounding, "!!" an error; "" none
  std::string result;
};

struct DocEntry {
  std::string name;
  std::string type;      // "special form", "built-in function", "library function", "macro", "function"
  std::string category;  // heading
  std::string signature;
  std::string text;
  std::vector<DocExample> examples;
};

// All entries that come with Sheaf, by category, then by name.
std::vector<DocEntry> reference_entries(eval::Session& session);
// The entry of a name; the user's own definition takes precedence.
std::optional<DocEntry> find_entry(eval::Session& session, const std::string& name);
// The text for a name without an entry: its replacement here, and similar names.
std::string no_entry_text(eval::Session& session, const std::string& name);
// The text that :help and `sheaf doc NAME` print.
std::string entry_text(const DocEntry& e);

// Splits a doc string into its text and its examples.
void parse_doc(const std::string& doc, DocEntry& out);

// `sheaf doc --check [NAME]`: runs the examples and reports wrong results. Returns the exit status.
int check_examples(const std::string& only);

// The table of special_form_docs.cpp.
const std::vector<DocEntry>& special_form_docs();

}  // namespace sheaf::tools
