// A model encodes one piece of text to ids. Immutable; any thread may call it.
#pragma once
#include <memory>
#include <string_view>
#include <vector>

#include "tokenizers/aligned_text.h"
#include "tokenizers/fields.h"
#include "tokenizers/vocabulary.h"

namespace sheaf::tokenizers {

using Ids = std::vector<int32_t>;
using Spans = std::vector<Span>;

class Model {
 public:
  virtual ~Model() = default;
  // Appends the ids of a non-empty piece and, unless `spans` is nullptr, the span of the piece that each stands for;
  // both then have the same length.
  virtual void encode(std::string_view piece, Ids& out, Spans* spans) const = 0;
  const Vocabulary& vocabulary() const { return vocabulary_; }

 protected:
  // Appends the ids of "<0x41>" … for each byte; if one is missing, appends nothing and returns false.
  bool append_byte_tokens(std::string_view bytes, Ids& out) const;
  Vocabulary vocabulary_;
};

// The "model" of a tokenizer.
std::unique_ptr<const Model> make_model(const Json& document);

// One factory per type.
std::unique_ptr<const Model> make_bpe(const Json& document);
std::unique_ptr<const Model> make_word_piece(const Json& document);
std::unique_ptr<const Model> make_word_level(const Json& document);
std::unique_ptr<const Model> make_unigram(const Json& document);
// {"token": id, …}, the "vocab" of all models but Unigram.
Vocabulary read_vocabulary(const Json& document);

}  // namespace sheaf::tokenizers
