#include "tokenizers/precompiled.h"

#include <utf8proc.h>

#include <cstring>

#include "support/error.h"
#include "tokenizers/characters.h"

namespace sheaf::tokenizers {
namespace {

std::string decode_base64(std::string_view text) {
  std::string out;
  uint32_t bits = 0;
  int count = 0;
  while (text.ends_with('='))
    text.remove_suffix(1);
  for (char c : text) {
    int v = c >= 'A' && c <= 'Z'   ? c - 'A'
            : c >= 'a' && c <= 'z' ? c - 'a' + 26
            : c >= '0' && c <= '9' ? c - '0' + 52
            : c == '+'             ? 62
            : c == '/'             ? 63
                                   : -1;
    if (v < 0) throw runtime_error("the table of a Precompiled normalizer is not base64");
    bits = bits << 6 | static_cast<uint32_t>(v);
    if ((count += 6) < 8) continue;
    count -= 8;
    out += static_cast<char>(bits >> count & 0xFF);
  }
  return out;
}

// The end of the grapheme cluster that starts at `text`: one user-perceived character.
size_t grapheme_bytes(std::string_view text) {
  Char c = next_char(text);
  size_t n = c.num_bytes;
  utf8proc_int32_t state = 0;
  while (n < text.size()) {
    Char next = next_char(text.substr(n));
    if (utf8proc_grapheme_break_stateful(c.code, next.code, &state)) break;
    n += next.num_bytes;
    c = next;
  }
  return n;
}

}  // namespace

Precompiled::Precompiled(std::string_view base64) {
  std::string bytes = decode_base64(base64);
  uint32_t trie_bytes = 0;
  if (bytes.size() >= 4) std::memcpy(&trie_bytes, bytes.data(), 4);
  if (bytes.size() < 4 || trie_bytes % 4 != 0 || trie_bytes == 0 || trie_bytes > bytes.size() - 4)
    throw runtime_error("the table of a Precompiled normalizer is cut short");
  trie_.resize(trie_bytes / 4);
  std::memcpy(trie_.data(), bytes.data() + 4, trie_bytes);
  texts_ = to_valid_utf8(std::string_view(bytes).substr(4 + trie_bytes));
}

std::optional<std::string_view> Precompiled::find(std::string_view chars) const {
  // Darts-clone's units: an offset to the children, the incoming label, and whether a child is a leaf.
  auto offset = [](uint32_t unit) { return (unit >> 10) << ((unit & (1u << 9)) >> 6); };
  size_t at = offset(trie_[0]);
  for (char c : chars) {
    auto label = static_cast<unsigned char>(c);
    at ^= label;
    if (label == 0 || at >= trie_.size()) return {};
    uint32_t unit = trie_[at];
    if ((unit & (0x80000000u | 0xFF)) != label) return {};
    at ^= offset(unit);
    if ((unit >> 8 & 1) == 0) continue;
    if (at >= trie_.size()) return {};
    size_t start = trie_[at] & 0x7FFFFFFF;
    if (start >= texts_.size() || (static_cast<unsigned char>(texts_[start]) & 0xC0) == 0x80) return {};
    return std::string_view(texts_).substr(start, texts_.find('\0', start) - start);
  }
  return {};
}

AlignedText Precompiled::apply(AlignedView text) const {
  Rewriting out(text);
  // Assigns origins character by character; surplus new characters get the origin of the last replaced one.
  auto put = [&](std::string_view made, size_t at, size_t end) {
    for (; !made.empty(); made.remove_prefix(char_bytes(made[0]))) {
      out.put(made.substr(0, char_bytes(made[0])), at);
      if (size_t next = at + char_bytes(text.text[at]); next < end) at = next;
    }
  };
  for (size_t at = 0; at < text.text.size();) {
    std::string_view grapheme = text.text.substr(at, grapheme_bytes(text.text.substr(at)));
    size_t end = at + grapheme.size();
    // The library looks up whole clusters only if they are short.
    if (auto whole = grapheme.size() < 6 ? find(grapheme) : std::nullopt) {
      put(*whole, at, end);
      at = end;
    }
    while (at < end) {
      size_t next = at + char_bytes(text.text[at]);
      if (auto made = find(text.text.substr(at, next - at)))
        put(*made, at, next);
      else
        out.keep(at, next);
      at = next;
    }
  }
  return out.take();
}

}  // namespace sheaf::tokenizers
