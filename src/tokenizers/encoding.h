// What a text became: a row of token ids and what is known about each token. Rows are cut to a length, joined with
// others and with special tokens, and padded.
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
  Ids types;                 // segment of a pair, as the post-processor numbers them
  Ids sequences;             // which text a token comes from: 0, 1; kNone: none, it was put there
  bool is_followed = false;  // has the two columns below; empty otherwise
  Spans offsets;             // in the text; nothing for special tokens
  Ids words;                 // number of the piece of the text; kNone for special tokens
  // Padding is at one end.
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
  size_t stride = 0;      // tokens that a part has in common with the one before it
  Strategy strategy = Strategy::LongestFirst;
  Side side = Side::Right;  // where tokens are cut off
};

struct Padding {
  std::optional<size_t> length;  // nullopt: of the longest row
  size_t multiple = 1;           // lengths are rounded up to multiples
  Side side = Side::Right;
  int32_t id = 0, type = 0;
  std::string token = "[PAD]";
};

// The "truncation" and "padding" of a tokenizer.
Truncation read_truncation(const Json& document);
Padding read_padding(const Json& document);

// The first of the results is the row itself, the others are what was cut off it, in order. `first` and `second` are
// such rows after the call.
void truncate(std::vector<Encoding>& first, std::vector<Encoding>* second, const Truncation& t);

// Rows as long as `p` says, or as they are where they are longer.
void pad(std::span<Encoding> rows, const Padding& p);

}  // namespace sheaf::tokenizers
