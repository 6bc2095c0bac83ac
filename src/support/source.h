// Source texts and positions in them. Sources are registered once and live until the process ends, so a Span is three
// numbers and can be kept anywhere. Thread-safe.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace sheaf {

struct Span {
  uint32_t source = 0;  // 0: no position
  uint32_t begin = 0;   // byte offsets into the source's text, half-open
  uint32_t end = 0;
  explicit operator bool() const { return source != 0; }
  friend bool operator==(const Span&, const Span&) = default;
};

struct LineCol {
  uint32_t line = 0;    // 1-based
  uint32_t column = 0;  // 1-based, in code points
};

enum class SourceKind : uint8_t { File, Eval, Repl, Prelude };

// Registers a text under the name shown in messages ("/abs/path.shf", "<eval>", "<repl>", "nn.shf"); returns its id.
uint32_t add_source(std::string name, std::string text, SourceKind kind);
const std::string& source_name(uint32_t source);
const std::string& source_text(uint32_t source);
SourceKind source_kind(uint32_t source);

LineCol start_of(const Span& span);
// The position after the span's last character.
inline LineCol end_of(const Span& span) { return start_of({span.source, span.end, span.end}); }
// The text of a 1-based line, without its newline; empty past the end.
std::string_view source_line(uint32_t source, uint32_t line);
uint32_t source_line_count(uint32_t source);
inline std::string_view text_of(const Span& s) {
  return s ? std::string_view(source_text(s.source)).substr(s.begin, s.end - s.begin) : std::string_view();
}
// "FILE:LINE:COLUMN", or "" without a position.
std::string place(const Span& span);

}  // namespace sheaf
