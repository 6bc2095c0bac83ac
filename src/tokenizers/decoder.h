// Token ids back to text ("decoder"): a chain of rewrites of the list of token texts, which are then concatenated.
// Immutable.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "tokenizers/fields.h"

namespace sheaf::tokenizers {

class Decoder {
 public:
  using Texts = std::vector<std::string>;
  Decoder() = default;                     // joins with spaces
  explicit Decoder(const Json& document);  // the "decoder" of a tokenizer
  std::string apply(Texts tokens) const;

 private:
  std::vector<std::function<Texts(Texts)>> steps_;
  std::string separator_ = " ";
};

}  // namespace sheaf::tokenizers
