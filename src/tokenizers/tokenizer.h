// Text to token ids and back. A Tokenizer is made from a document in the form of Hugging Face's tokenizer.json; other
// sources are brought into that form first. Immutable apart from its caches; any thread may use it.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "support/mutex.h"
#include "tokenizers/added_tokens.h"
#include "tokenizers/decoder.h"
#include "tokenizers/model.h"
#include "tokenizers/piece_cache.h"
#include "tokenizers/splitter.h"

namespace sheaf::tokenizers {

class Tokenizer {
 public:
  // Throws UserError that says what is wrong with the document.
  explicit Tokenizer(std::string document);

  // `special`: with the tokens that the document puts around a text (start, end). Bytes that are not UTF-8 count as
  // U+FFFD.
  Ids encode(std::string_view text, bool special) const;
  // `special`: with special tokens as text. An id that is not in the vocabulary is an error. The result is valid UTF-8.
  std::string decode(std::span<const int32_t> ids, bool special) const;

  size_t vocabulary_size() const { return vocabulary_size_; }  // added tokens included
  int32_t largest_id() const { return largest_id_; }           // that encode gives; kNone: there are no tokens
  int32_t id_of(std::string_view token) const;                 // Vocabulary::kNone: there is none
  const std::string* text_of(int32_t id) const;                // nullptr: there is none
  const std::string& document() const { return document_; }

 private:
  // What is put around a text: ids, and where the text goes.
  struct TemplatePart {
    bool is_text;
    Ids ids;
  };
  void read_templates(const Json& document);
  void encode_part(std::string_view text, bool is_first, PieceCache& cache, Ids& out) const;

  std::string document_;
  Normalizer normalizer_;
  AddedTokens added_;
  Splitter splitter_;
  std::unique_ptr<const Model> model_;
  std::vector<std::vector<TemplatePart>> templates_;
  Decoder decoder_;
  size_t vocabulary_size_ = 0;
  int32_t largest_id_ = Vocabulary::kNone;
  mutable Mutex mutex_;
  mutable std::vector<std::unique_ptr<PieceCache>> free_caches_ GUARDED_BY(mutex_);  // each call of encode takes one
};

}  // namespace sheaf::tokenizers
