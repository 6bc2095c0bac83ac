// Tokens that are matched in the raw text before all other stages ("added_tokens": end of text, masks, chat marks).
// Immutable.
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tokenizers/byte_trie.h"
#include "tokenizers/fields.h"
#include "tokenizers/normalizer.h"

namespace sheaf::tokenizers {

struct AddedToken {
  std::string text;   // as written in the file
  std::string shown;  // as decoded: the form that is matched
  int32_t id;
  bool is_special;                 // omitted when decoding
  bool single_word;                // only between characters that are not part of a word
  bool strips_left, strips_right;  // also consumes the adjacent white space
  bool is_normalized;              // matched in the normalized text, in its own normal form
};

class AddedTokens {
 public:
  AddedTokens() = default;
  // The "added_tokens" of a tokenizer.
  AddedTokens(const Json& document, const Normalizer& normalizer);

  // Splits `text` at the tokens of one kind: calls f(part, nullptr) for the text between them, f(part, token) for
  // tokens.
  template <class F>
  void cut(std::string_view text, bool normalized, F&& f) const;

  const AddedToken* find(int32_t id) const {
    auto it = by_id_.find(id);
    return it == by_id_.end() ? nullptr : &tokens_[it->second];
  }
  const std::vector<AddedToken>& all() const { return tokens_; }

 private:
  // The first match at or after `from`, the longest of those that start there. Returns nullptr if there is none.
  const AddedToken* search(const ByteTrie& trie, std::string_view text, size_t from, size_t& start, size_t& end) const;
  // The span of a match with its white space; returns false if it is inside a word and may not be.
  static bool adjust(const AddedToken& t, std::string_view text, size_t done, size_t& start, size_t& end);
  std::vector<AddedToken> tokens_;
  std::unordered_map<int32_t, size_t> by_id_;
  ByteTrie plain_, normalized_;  // text to index into tokens_
};

template <class F>
void AddedTokens::cut(std::string_view text, bool normalized, F&& f) const {
  const ByteTrie& trie = normalized ? normalized_ : plain_;
  size_t done = 0, from = 0, start, end;
  while (!trie.empty()) {
    const AddedToken* t = search(trie, text, from, start, end);
    if (!t) break;
    from = end;
    if (!adjust(*t, text, done, start, end)) continue;
    if (done < start) f(text.substr(done, start - done), nullptr);
    f(text.substr(start, end - start), t);
    done = end;
  }
  if (done < text.size()) f(text.substr(done), nullptr);
}

}  // namespace sheaf::tokenizers
