#include "tokenizers/aligned_text.h"

#include "support/error.h"
#include "tokenizers/characters.h"

namespace sheaf::tokenizers {
namespace {

// Calls f(start, number of bytes, whether it is a valid character) for each unit that is read as one character.
template <class F>
void for_each_read_char(std::string_view bytes, F&& f) {
  for (size_t at = 0; at < bytes.size();) {
    MeasuredChar c = measure_char(bytes.substr(at));
    f(at, c.num_bytes, c.is_whole);
    at += c.num_bytes;
  }
}

}  // namespace

void Rewriting::put_char(int32_t code, size_t at) {
  append_char(out_.text, code);
  if (out_.is_followed) out_.origins.resize(out_.text.size(), old_.origins[at]);
}

AlignedText prepended(std::string_view prefix, AlignedView text) {
  Rewriting out(text);
  out.put(prefix, 0);
  out.keep(0, text.text.size());
  return out.take();
}

AlignedText bytes_as_chars(AlignedView text) {
  Rewriting out(text);
  for (size_t at = 0; at < text.text.size(); ++at)
    out.put_char(char_of_byte(static_cast<uint8_t>(text.text[at])), at);
  return out.take();
}

AlignedText follow(std::string_view bytes) {
  if (bytes.size() > 0x7FFFFFFF) throw runtime_error("offsets into a text of more than 2 GB");
  AlignedText out;
  out.is_followed = true;
  out.text.reserve(bytes.size());
  out.origins.reserve(bytes.size());
  for_each_read_char(bytes, [&](size_t start, size_t count, bool is_whole) {
    out.text += is_whole ? bytes.substr(start, count) : kReplacementChar;
    out.origins.resize(out.text.size(), span_of(start, start + count));
  });
  return out;
}

CharOffsets::CharOffsets(std::string_view bytes) {
  chars_.reserve(bytes.size() + 1);
  for_each_read_char(bytes, [&](size_t start, size_t count, bool) {
    chars_.resize(start + count, static_cast<uint32_t>(bytes_.size()));
    bytes_.push_back(static_cast<uint32_t>(start));
  });
  chars_.push_back(static_cast<uint32_t>(bytes_.size()));
  bytes_.push_back(static_cast<uint32_t>(bytes.size()));
}

}  // namespace sheaf::tokenizers
