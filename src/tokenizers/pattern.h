// Regular expressions of tokenizer files, run by PCRE2. They are written for Oniguruma; where the two differ (the
// meaning of \s and \w, nested sets, ^ and $ at every line) the pattern is rewritten. Immutable; any thread may match.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "tokenizers/characters.h"
#include "tokenizers/fields.h"

namespace sheaf::tokenizers {

// The patterns with which GPT-2, and Llama 3 and OLMo 2, split text.
extern const char* const kGpt2Pattern;
extern const char* const kLlama3Pattern;

class Pattern {
 public:
  struct Match {
    size_t start, end;
  };

  explicit Pattern(std::string_view regex);
  static Pattern literal(std::string_view text);

  // The first match at or after `from`.
  std::optional<Match> find(std::string_view text, size_t from) const;

 private:
  std::shared_ptr<const void> code_;
  bool compiled_ = false;  // to machine code
};

// The "pattern" member of a part of a document: {"Regex": …}, {"String": …}.
Pattern pattern_member(const Json& part, std::string_view where);

// Calls f(start, end, is_match) for the matches and the text between them, in order; nothing empty.
template <class F>
void for_each_segment(const Pattern& pattern, std::string_view text, F&& f) {
  size_t done = 0, from = 0;
  while (from <= text.size()) {
    auto m = pattern.find(text, from);
    if (!m) break;
    if (m->start > done) f(done, m->start, false);
    if (m->end > m->start) f(m->start, m->end, true);
    done = m->end;
    // An empty match still separates the text before and after it.
    from = m->end > m->start ? m->end : m->end + (m->end < text.size() ? char_bytes(text[m->end]) : 1);
  }
  if (done < text.size()) f(done, text.size(), false);
}

}  // namespace sheaf::tokenizers
