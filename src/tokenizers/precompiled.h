// SentencePiece's table of replacements ("Precompiled" normalizers): a double-array trie over bytes and the texts its
// leaves name. The table comes from a file; every step through it is checked.
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
  // The replacement of the shortest entry that `chars` starts with.
  std::optional<std::string_view> find(std::string_view chars) const;
  std::vector<uint32_t> trie_;
  std::string texts_;
};

}  // namespace sheaf::tokenizers
