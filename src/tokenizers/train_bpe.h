// Trains a byte-level BPE on text, with the same tokens as the tokenizers library.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace sheaf::tokenizers {

struct BpeTraining {
  size_t vocabulary_size = 1024;     // special tokens and the 256 bytes included
  size_t min_count = 1;              // of a pair that is merged
  std::vector<std::string> special;  // get the first ids
  std::string pattern;               // splits text into words
};

// Returns the document of the tokenizer. Words never span two texts.
std::string train_bpe(std::vector<std::string_view> texts, const BpeTraining& options);

}  // namespace sheaf::tokenizers
