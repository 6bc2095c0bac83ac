// The encoding of a text: a row of token ids with facts about each token. Rows are truncated, joined with others and
// with special tokens, and padded.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tokenizers/model.h"

namespace sheaf::tokenizers {

struct Encoding {
  static constexpr int32_t kNone = -1;
  Ids ids;
  Ids types;                 // segment of a pair, numbered by the post-processor
  Ids sequences;             // the text a token comes from: 0, 1; kNone: a special token
  bool is_followed = false;  // has the two columns below; else they are empty
  Spans offsets;             // in the text; empty for special tokens
  Ids words;                 // index of the piece within the text; kNone for special tokens
  // Padding is at one end only.
  size_t pad_left = 0, pad_right = 0;

  size_t size() const { return ids.size(); }
  bool is_padding(size_t i) const { return i < pad_left || i >= size() - pad_right; }
  void append(const Encoding& e);
  Encoding part(size_t start, size_t end) const;
};

enum class Side : uint8_t { Right, Left };

struct Truncation {
  enum class Strategy : uint8_t { LongestFirst, OnlyFirst, OnlySecond };
  size_t max_length = 0;  // with special tokens
  size_t stride = 0;      // tokens by which consecutive parts overlap
  Strategy strategy = Strategy::LongestFirst;
  Side side = Side::Right;  // the end at which tokens are cut off
};

struct Padding {
  std::optional<size_t> length;  // nullopt: that of the longest row
  size_t multiple = 1;           // lengths are rounded up to multiples
  Side side = Side::Right;
  int32_t id = 0, type = 0;
  std::string token = "[PAD]";
};

// The "truncation" and "padding" of a tokenizer.
Truncation read_truncation(const Json& document);
Padding read_padding(const Json& document);

// Each list starts with one row. Truncates it; the parts that were cut off follow it, in order, in `first` and
// `second`.
void truncate(std::vector<Encoding>& first, std::vector<Encoding>* second, const Truncation& t);

// Pads rows to the length that `p` requests; longer rows stay unchanged.
void pad(std::span<Encoding> rows, const Padding& p);

}  // namespace sheaf::tokenizers
