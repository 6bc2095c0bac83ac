// Text to token ids and back. A Tokenizer is built from a document in the format of Hugging Face's tokenizer.json;
// other sources are first converted to it. Immutable except for its caches; any thread may use it.
#pragma once
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "support/mutex.h"
#include "tokenizers/added_tokens.h"
#include "tokenizers/decoder.h"
#include "tokenizers/encoding.h"
#include "tokenizers/model.h"
#include "tokenizers/piece_cache.h"
#include "tokenizers/post_processor.h"
#include "tokenizers/splitter.h"

namespace sheaf::tokenizers {

class Tokenizer {
 public:
  // Throws UserError that describes an error in the document.
  explicit Tokenizer(std::string document);

  // `special`: with the tokens that the document adds around a text (start, end). Bytes that are not UTF-8 count as
  // U+FFFD.
  Ids encode(std::string_view text, bool special) const;
  // Encodes a text, or a pair of texts, to rows without padding: the first row is the text cut by `truncation`; the
  // others, if `overflow`, are the parts that were cut off.
  struct Request {
    bool special = false;
    enum class Offsets : uint8_t { None, Bytes, Chars } offsets = Offsets::None;
    const Truncation* truncation = nullptr;  // nullptr: texts are not truncated
    bool overflow = false;
  };
  std::vector<Encoding> encode_rows(std::string_view text, const std::string_view* second,
                                    const Request& request) const;
  // From the document; nullopt: it has none.
  const std::optional<Truncation>& truncation() const { return truncation_; }
  const std::optional<Padding>& padding() const { return padding_; }

  // `special`: includes special tokens as text. An id that is not in the vocabulary is an error. The result is valid
  // UTF-8.
  std::string decode(std::span<const int32_t> ids, bool special) const;

  size_t vocabulary_size() const { return vocabulary_size_; }  // added tokens included
  int32_t largest_id() const { return largest_id_; }           // that encode returns; kNone: there are no tokens
  int32_t id_of(std::string_view token) const;                 // Vocabulary::kNone if there is none
  const std::string* text_of(int32_t id) const;                // nullptr if there is none
  const std::string& document() const { return document_; }

 private:
  // Calls f(part, its added token or nullptr, whether it starts the text) for the normalized parts between added
  // tokens, and for those tokens.
  template <class F>
  void for_each_part(AlignedView text, F&& f) const;
  // Encodes the text itself, without special tokens; offsets count characters.
  Ids encode_ids(std::string_view text) const;
  Encoding encode_followed(std::string_view text, const CharOffsets& chars) const;
  std::string_view written(int32_t id) const;  // as in the vocabulary
  // The ids of a piece from the splitter, and their spans in it unless `spans` is nullptr.
  void encode_piece(std::string_view piece, Ids& ids, Spans* spans) const;

  // For one call at a time: for ids only, and with spans.
  struct Caches {
    PieceCache ids, spans;
  };
  std::unique_ptr<Caches> take_caches() const;
  void give_back(std::unique_ptr<Caches> caches) const;

  std::string document_;
  Normalizer normalizer_;
  AddedTokens added_;
  Splitter splitter_;
  std::unique_ptr<const Model> model_;
  PostProcessor post_processor_;
  Decoder decoder_;
  std::optional<Truncation> truncation_;
  std::optional<Padding> padding_;
  size_t vocabulary_size_ = 0;
  int32_t largest_id_ = Vocabulary::kNone;
  mutable Mutex mutex_;
  mutable std::vector<std::unique_ptr<Caches>> free_caches_ GUARDED_BY(mutex_);  // each call of encode takes one
};

}  // namespace sheaf::tokenizers
