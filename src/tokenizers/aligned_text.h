// Text that is rewritten step by step and optionally tracks, for each byte, the span of the original text that it
// stands for. Token offsets come from these spans; encoding to ids only does not pay for them.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sheaf::tokenizers {

// Bytes [start, end) of a text.
struct Span {
  uint32_t start = 0, end = 0;
  bool operator==(const Span&) const = default;
};
inline Span span_of(size_t start, size_t end) { return {static_cast<uint32_t>(start), static_cast<uint32_t>(end)}; }

// A part of an aligned text. Valid while that is.
struct AlignedView {
  std::string_view text;
  const Span* origins = nullptr;  // of each byte; nullptr: not tracked

  AlignedView part(size_t start, size_t count) const {
    return {text.substr(start, count), origins ? origins + start : nullptr};
  }
  AlignedView part(size_t start) const { return part(start, text.size() - start); }
};

struct AlignedText {
  std::string text;
  std::vector<Span> origins;  // one per byte if `is_followed`, else none
  bool is_followed = false;

  AlignedText() = default;
  explicit AlignedText(std::string plain) : text(std::move(plain)) {}
  explicit AlignedText(AlignedView v) : text(v.text), is_followed(v.origins) {
    if (is_followed) origins.assign(v.origins, v.origins + text.size());
  }
  AlignedView view() const { return {text, is_followed ? origins.data() : nullptr}; }
};

// Builds a new text from an old one, left to right.
class Rewriting {
 public:
  explicit Rewriting(AlignedView old) : old_(old) {
    out_.is_followed = old.origins;
    out_.text.reserve(old.text.size());
    if (out_.is_followed) out_.origins.reserve(old.text.size());
  }
  // Copies bytes [start, end) of the old text.
  void keep(size_t start, size_t end) {
    out_.text += old_.text.substr(start, end - start);
    if (out_.is_followed) out_.origins.insert(out_.origins.end(), old_.origins + start, old_.origins + end);
  }
  // Adds new bytes with the origin of byte `at` of the old text.
  void put(std::string_view bytes, size_t at) {
    out_.text += bytes;
    if (out_.is_followed) out_.origins.resize(out_.text.size(), old_.origins[at]);
  }
  void put_char(int32_t code, size_t at);
  AlignedText take() { return std::move(out_); }

 private:
  AlignedView old_;
  AlignedText out_;
};

// A non-empty text with a prefix, which gets the origin of its first character.
AlignedText prepended(std::string_view prefix, AlignedView text);

// Maps each byte to a character of the byte alphabet.
AlignedText bytes_as_chars(AlignedView text);

// The raw text as valid UTF-8 (see to_valid_utf8); the origin of each character is its bytes.
AlignedText follow(std::string_view bytes);

// Converts between byte offsets and character offsets of one text.
class CharOffsets {
 public:
  explicit CharOffsets(std::string_view bytes);
  uint32_t char_at(uint32_t byte) const { return chars_[byte]; }  // for a byte within a character: that character
  uint32_t byte_at(uint32_t character) const { return bytes_[character]; }

 private:
  std::vector<uint32_t> chars_;  // of each byte, and of the end
  std::vector<uint32_t> bytes_;  // of each character, and of the end
};

}  // namespace sheaf::tokenizers
