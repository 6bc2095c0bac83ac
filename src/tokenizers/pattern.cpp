#include "tokenizers/pattern.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <fmt/format.h>
#include <pcre2.h>

#include "support/error.h"

namespace sheaf::tokenizers {

const char* const kGpt2Pattern = R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
const char* const kLlama3Pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*)"
    R"(|\s*[\r\n]+|\s+(?!\S)|\s+)";

namespace {

// Sets as Unicode defines them. PCRE2's own \s also contains U+180E, and its \w lacks marks. Oniguruma also counts ² ³
// ¹ ¼ ½ ¾ as word characters.
constexpr std::string_view kSpaceSet =
    R"(\t-\r \x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000})";
constexpr std::string_view kWordSet = R"(\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\x{b2}\x{b3}\x{b9}\x{bc}-\x{be})";

std::string rewrite(std::string_view regex) {
  std::string out;
  int depth = 0;  // of brackets: a set within a positive set is a union, which is flattened
  for (size_t i = 0; i < regex.size(); ++i) {
    char c = regex[i];
    if (c == '\\' && i + 1 < regex.size()) {
      char e = regex[++i];
      std::string_view set = e == 's' || e == 'S'   ? kSpaceSet
                             : e == 'w' || e == 'W' ? kWordSet
                             : e == 'h' || e == 'H' ? "0-9a-fA-F"
                                                    : "";
      bool negated = e == 'S' || e == 'W' || e == 'H';
      if (set.empty() || (negated && depth > 0))
        out += {'\\', e};
      else if (depth > 0)
        out += set;
      else
        out += fmt::format("[{}{}]", negated ? "^" : "", set);
    } else if (c == '[' && depth == 0) {
      depth = 1;
      out += c;
      if (i + 1 < regex.size() && regex[i + 1] == '^') out += regex[++i];
      if (i + 1 < regex.size() && regex[i + 1] == ']') out += "\\", out += regex[++i];
    } else if (c == '[' && regex.substr(i, 2) == "[:") {
      size_t end = regex.find(":]", i);
      if (end == std::string_view::npos) throw runtime_error("a pattern has '[:' without ':]'");
      out += regex.substr(i, end + 2 - i);
      i = end + 1;
    } else if (c == '[') {
      if (regex.substr(i, 2) == "[^")
        throw runtime_error("a pattern has a negated set within a set, which is not supported");
      ++depth;
    } else if (c == ']' && depth > 0) {
      if (--depth == 0) out += c;
    } else if (depth > 0 && regex.substr(i, 2) == "&&") {
      throw runtime_error("a pattern has an intersection of sets (&&), which is not supported");
    } else {
      out += c;
    }
  }
  return out;
}

// Working memory of a match, one per thread.
pcre2_match_data* match_data() {
  struct Free {
    void operator()(pcre2_match_data* d) const { pcre2_match_data_free(d); }
  };
  thread_local std::unique_ptr<pcre2_match_data, Free> data(pcre2_match_data_create(1, nullptr));
  if (!data) throw runtime_error("out of memory");
  return data.get();
}

std::string message_of(int error) {
  PCRE2_UCHAR text[256];
  return pcre2_get_error_message(error, text, sizeof text) < 0 ? "error " + std::to_string(error)
                                                               : reinterpret_cast<char*>(text);
}

}  // namespace

Pattern::Pattern(std::string_view regex) {
  if (regex.size() > 65536) throw runtime_error(fmt::format("a pattern of {} bytes: more than 65536", regex.size()));
  std::string text = rewrite(regex);
  std::unique_ptr<pcre2_compile_context, void (*)(pcre2_compile_context*)> context(
      pcre2_compile_context_create(nullptr), pcre2_compile_context_free);
  pcre2_set_newline(context.get(), PCRE2_NEWLINE_LF);
  int error = 0;
  PCRE2_SIZE at = 0;
  pcre2_code* code =
      pcre2_compile(reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(),
                    PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C, &error, &at, context.get());
  if (!code)
    throw runtime_error(
        fmt::format("the pattern {} is not a regular expression: {}", std::string(regex), message_of(error)));
  compiled_ = pcre2_jit_compile(code, PCRE2_JIT_COMPLETE) == 0;
  code_ = std::shared_ptr<const void>(
      code, [](const void* p) { pcre2_code_free(static_cast<pcre2_code*>(const_cast<void*>(p))); });
}

Pattern Pattern::literal(std::string_view text) {
  std::string regex;
  for (char c : text) {
    if (static_cast<unsigned char>(c) < 0x80 && is_punctuation(c)) regex += '\\';
    regex += c;
  }
  return Pattern(regex);
}

Pattern pattern_member(const Json& part, std::string_view where) {
  const Json& pattern = member(part, "pattern", where);
  return find_member(pattern, "Regex") ? Pattern(text_member(pattern, "Regex", where))
                                       : Pattern::literal(text_member(pattern, "String", where));
}

std::optional<Pattern::Match> Pattern::find(std::string_view text, size_t from) const {
  auto* code = static_cast<const pcre2_code*>(code_.get());
  auto* subject = reinterpret_cast<PCRE2_SPTR>(text.data());
  pcre2_match_data* data = match_data();
  int found = compiled_ ? pcre2_jit_match(code, subject, text.size(), from, PCRE2_NO_UTF_CHECK, data, nullptr)
                        : PCRE2_ERROR_JIT_STACKLIMIT;
  if (found == PCRE2_ERROR_JIT_STACKLIMIT)
    found = pcre2_match(code, subject, text.size(), from, PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT, data, nullptr);
  if (found == PCRE2_ERROR_NOMATCH) return {};
  if (found < 0) throw runtime_error(fmt::format("a pattern of the tokenizer failed: {}", message_of(found)));
  const PCRE2_SIZE* span = pcre2_get_ovector_pointer(data);
  if (span[0] > span[1] || span[0] < from) throw runtime_error("a pattern of the tokenizer moves its start with \\K");
  return Match{span[0], span[1]};
}

}  // namespace sheaf::tokenizers
