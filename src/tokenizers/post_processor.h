// What is put around the ids of a text or of a pair of texts ("post_processor"). Immutable.
#pragma once
#include <functional>

#include "tokenizers/encoding.h"
#include "tokenizers/vocabulary.h"

namespace sheaf::tokenizers {

class PostProcessor {
 public:
  PostProcessor() = default;                     // puts one text after the other
  explicit PostProcessor(const Json& document);  // the "post_processor" of a tokenizer

  // How many special tokens it puts around a text, or a pair.
  size_t num_special(bool is_pair) const;
  int32_t largest_id() const;  // of its special tokens; Vocabulary::kNone: there are none

  // White space at the ends of tokens is left out of their offsets where the document says so. `text_of_id` gives the
  // token as the vocabulary writes it.
  void trim_offsets(Encoding& e, const std::function<std::string_view(int32_t id)>& text_of_id) const;

  // Rows of whole inputs from the rows of the texts: of each the text as it was cut, then what was cut off it. The
  // result begins with both texts; each other combination follows. `special`: with special tokens.
  std::vector<Encoding> join(std::vector<Encoding> first, std::vector<Encoding>* second, bool special) const;

 private:
  // A special token (its ids), or the place of a text.
  struct Part {
    int32_t sequence;  // Encoding::kNone: a special token
    int32_t type;
    Ids ids;
  };
  using Parts = std::vector<Part>;
  struct Template {
    Parts single, pair;
  };
  // Of the white space that belongs to a token.
  struct Trimming {
    bool adds_prefix_space;
  };
  void add(const Json& document);
  Parts read_template(const Json& document, const char* key) const;

  std::vector<Template> templates_;  // a later one goes around what the ones before made
  std::vector<Trimming> trimmings_;
  bool types_are_zero_ = false;  // RoBERTa has no segments
};

}  // namespace sheaf::tokenizers
