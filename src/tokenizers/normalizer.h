// The first stage after the added tokens: rewrites a text before it is split. Immutable.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "tokenizers/aligned_text.h"
#include "tokenizers/fields.h"

namespace sheaf::tokenizers {

class Normalizer {
 public:
  Normalizer() = default;                     // changes nothing
  explicit Normalizer(const Json& document);  // the "normalizer" of a tokenizer
  bool is_identity() const { return steps_.empty(); }
  AlignedText apply(AlignedText text) const;
  std::string apply(std::string text) const { return apply(AlignedText(std::move(text))).text; }

 private:
  std::vector<std::function<AlignedText(AlignedText)>> steps_;
};

}  // namespace sheaf::tokenizers
