// Makes a byte-level BPE from text, token for token as the tokenizers library trains one.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace sheaf::tokenizers {

struct BpeTraining {
  size_t vocabulary_size = 1024;     // special tokens and the 256 bytes included
  size_t min_count = 1;              // of a pair that is merged
  std::vector<std::string> special;  // get the first ids
  std::string pattern;               // what splits text into words
};

// The document of the tokenizer. No word reaches from one text into the next.
std::string train_bpe(std::vector<std::string_view> texts, const BpeTraining& options);

}  // namespace sheaf::tokenizers
