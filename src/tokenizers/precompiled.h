// SentencePiece's replacement table ("Precompiled" normalizers): a double-array trie over bytes, whose leaves refer to
// replacement texts. The table comes from a file, so every step through it is checked.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizers/aligned_text.h"

namespace sheaf::tokenizers {

class Precompiled {
 public:
  explicit Precompiled(std::string_view base64);
  AlignedText apply(AlignedView text) const;

 private:
  // The replacement of the shortest entry that is a prefix of `chars`.
  std::optional<std::string_view> find(std::string_view chars) const;
  std::vector<uint32_t> trie_;
  std::string texts_;
};

}  // namespace sheaf::tokenizers
