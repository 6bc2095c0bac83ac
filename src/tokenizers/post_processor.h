// Adds special tokens around the ids of a text or of a pair of texts ("post_processor"). Immutable.
#pragma once
#include <functional>

#include "tokenizers/encoding.h"
#include "tokenizers/vocabulary.h"

namespace sheaf::tokenizers {

class PostProcessor {
 public:
  PostProcessor() = default;                     // concatenates the texts
  explicit PostProcessor(const Json& document);  // the "post_processor" of a tokenizer

  // The number of special tokens added to a text, or to a pair.
  size_t num_special(bool is_pair) const;
  int32_t largest_id() const;  // of its special tokens; Vocabulary::kNone if there are none

  // Excludes white space at the ends of tokens from their offsets, if the document requests that. `text_of_id` returns
  // the token's text in the vocabulary.
  void trim_offsets(Encoding& e, const std::function<std::string_view(int32_t id)>& text_of_id) const;

  // Joins the rows of the texts to complete inputs. Each list starts with the truncated text, followed by its cut-off
  // parts. The first result combines both texts; every other combination follows. `special`: with special tokens.
  std::vector<Encoding> join(std::vector<Encoding> first, std::vector<Encoding>* second, bool special) const;

 private:
  // A special token (its ids), or the position of a text.
  struct Part {
    int32_t sequence;  // Encoding::kNone: a special token
    int32_t type;
    Ids ids;
  };
  using Parts = std::vector<Part>;
  struct Template {
    Parts single, pair;
  };
  // Handling of the white space that belongs to a token.
  struct Trimming {
    bool adds_prefix_space;
  };
  void add(const Json& document);
  Parts read_template(const Json& document, const char* key) const;

  std::vector<Template> templates_;  // each is applied to the result of those before it
  std::vector<Trimming> trimmings_;
  bool types_are_zero_ = false;  // RoBERTa has no segments
};

}  // namespace sheaf::tokenizers
