// Tokens that are looked for in the text itself before anything else ("added_tokens": end of text, masks, chat marks).
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
  std::string text;   // as it is written in the file
  std::string shown;  // as it is decoded: the form it is looked for in
  int32_t id;
  bool is_special;                 // left out by decoding
  bool single_word;                // only between characters that are not part of words
  bool strips_left, strips_right;  // takes the adjacent white space
  bool is_normalized;              // looked for in the normalised text, as its own normal form
};

class AddedTokens {
 public:
  AddedTokens() = default;
  // The "added_tokens" of a tokenizer.
  AddedTokens(const Json& document, const Normalizer& normalizer);

  // Cuts `text` at the tokens of one kind: f(part, nullptr) for what is between them, f(part, token) for them.
  template <class F>
  void cut(std::string_view text, bool normalized, F&& f) const;

  const AddedToken* find(int32_t id) const {
    auto it = by_id_.find(id);
    return it == by_id_.end() ? nullptr : &tokens_[it->second];
  }
  const std::vector<AddedToken>& all() const { return tokens_; }

 private:
  // The first match at or after `from`; of those that start there, the longest. nullptr: none.
  const AddedToken* search(const ByteTrie& trie, std::string_view text, size_t from, size_t& start, size_t& end) const;
  // The span a match takes with its white space; false when it stands inside a word and may not.
  static bool adjust(const AddedToken& t, std::string_view text, size_t done, size_t& start, size_t& end);
  std::vector<AddedToken> tokens_;
  std::unordered_map<int32_t, size_t> by_id_;
  ByteTrie plain_, normalized_;  // text to place in tokens_
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
