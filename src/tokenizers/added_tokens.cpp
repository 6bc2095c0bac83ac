#include "tokenizers/added_tokens.h"

#include "tokenizers/characters.h"

namespace sheaf::tokenizers {
namespace {

int32_t last_char(std::string_view s) {
  size_t at = s.size() - 1;
  while (at > 0 && (static_cast<unsigned char>(s[at]) & 0xC0) == 0x80)
    --at;
  return next_char(s.substr(at)).code;
}

}  // namespace

AddedTokens::AddedTokens(const Json& document, const Normalizer& normalizer) {
  constexpr std::string_view where = "an added token";
  if (!document.is_array()) throw runtime_error("\"added_tokens\" is not a list");
  for (const Json& j : document) {
    AddedToken t;
    t.text = text_member(j, "content", where);
    t.id = count_of(member(j, "id", where), fmt::format("the id of the added token '{}'", t.text));
    t.is_special = bool_member(j, "special", where, false);
    t.single_word = bool_member(j, "single_word", where, false);
    t.strips_left = bool_member(j, "lstrip", where, false);
    t.strips_right = bool_member(j, "rstrip", where, false);
    t.is_normalized = bool_member(j, "normalized", where, !t.is_special);
    if (t.text.empty()) continue;
    auto place = static_cast<int32_t>(tokens_.size());
    t.shown = t.is_normalized ? normalizer.apply(t.text) : t.text;
    (t.is_normalized ? normalized_ : plain_).insert(t.shown, place);
    auto [same, fresh] = by_id_.try_emplace(t.id, tokens_.size());
    if (!fresh && tokens_[same->second].text != t.text)
      throw runtime_error(
          fmt::format("the added tokens '{}' and '{}' have the same id, {}", tokens_[same->second].text, t.text, t.id));
    same->second = tokens_.size();  // the last one wins
    tokens_.push_back(std::move(t));
  }
}

const AddedToken* AddedTokens::search(const ByteTrie& trie, std::string_view text, size_t from, size_t& start,
                                      size_t& end) const {
  for (size_t at = from; at < text.size(); ++at) {
    if (!trie.may_start(text[at])) continue;
    int32_t found = ByteTrie::kNone;
    trie.for_each_prefix(text.substr(at), [&](size_t n, int32_t place) {
      found = place;
      end = at + n;
    });
    if (found == ByteTrie::kNone) continue;
    start = at;
    return &tokens_[static_cast<size_t>(found)];
  }
  return nullptr;
}

bool AddedTokens::adjust(const AddedToken& t, std::string_view text, size_t done, size_t& start, size_t& end) {
  if (t.single_word) {
    if (start > 0 && is_word_char(last_char(text.substr(0, start)))) return false;
    if (end < text.size() && is_word_char(next_char(text.substr(end)).code)) return false;
  }
  if (t.strips_left) {
    while (start > done && is_white_space(last_char(text.substr(0, start)))) {
      --start;
      while (start > 0 && (static_cast<unsigned char>(text[start]) & 0xC0) == 0x80)
        --start;
    }
  }
  if (t.strips_right) {
    while (end < text.size() && is_white_space(next_char(text.substr(end)).code))
      end += char_bytes(text[end]);
  }
  return true;
}

}  // namespace sheaf::tokenizers
