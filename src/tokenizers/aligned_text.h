// Text that is rewritten step by step and may know, byte for byte, which part of the text at the start each byte stands
// for. Tokens get their offsets from that; who wants ids only does not pay for it.
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
  const Span* origins = nullptr;  // of each byte; nullptr: not followed

  AlignedView part(size_t start, size_t count) const {
    return {text.substr(start, count), origins ? origins + start : nullptr};
  }
  AlignedView part(size_t start) const { return part(start, text.size() - start); }
};

struct AlignedText {
  std::string text;
  std::vector<Span> origins;  // one of each byte if `is_followed`, else none
  bool is_followed = false;

  AlignedText() = default;
  explicit AlignedText(std::string plain) : text(std::move(plain)) {}
  explicit AlignedText(AlignedView v) : text(v.text), is_followed(v.origins) {
    if (is_followed) origins.assign(v.origins, v.origins + text.size());
  }
  AlignedView view() const { return {text, is_followed ? origins.data() : nullptr}; }
};

// A new text made from an old one, left to right.
class Rewriting {
 public:
  explicit Rewriting(AlignedView old) : old_(old) {
    out_.is_followed = old.origins;
    out_.text.reserve(old.text.size());
    if (out_.is_followed) out_.origins.reserve(old.text.size());
  }
  // Bytes [start, end) of the old text as they are.
  void keep(size_t start, size_t end) {
    out_.text += old_.text.substr(start, end - start);
    if (out_.is_followed) out_.origins.insert(out_.origins.end(), old_.origins + start, old_.origins + end);
  }
  // New bytes that stand for what byte `at` of the old text stands for.
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

// A text that is not empty with a prefix that stands for what its first character stands for.
AlignedText prepended(std::string_view prefix, AlignedView text);

// Each byte as a character of the byte alphabet.
AlignedText bytes_as_chars(AlignedView text);

// A text as it comes, as valid UTF-8 (see to_valid_utf8); each character stands for its bytes.
AlignedText follow(std::string_view bytes);

// Offsets in bytes and in characters of the same text.
class CharOffsets {
 public:
  explicit CharOffsets(std::string_view bytes);
  uint32_t char_at(uint32_t byte) const { return chars_[byte]; }  // of a byte within a character: that character
  uint32_t byte_at(uint32_t character) const { return bytes_[character]; }

 private:
  std::vector<uint32_t> chars_;  // of each byte, and of the end
  std::vector<uint32_t> bytes_;  // of each character, and of the end
};

}  // namespace sheaf::tokenizers
