// Splits a normalised text into the pieces that the model sees one at a time ("pre_tokenizer"). Pieces are handed on as
// they are found: nothing holds the list of them. Immutable.
#pragma once
#include <functional>
#include <memory>
#include <vector>

#include "tokenizers/aligned_text.h"
#include "tokenizers/fields.h"

namespace sheaf::tokenizers {

// `is_first`: the piece is where the whole text starts.
using Emit = std::function<void(AlignedView piece, bool is_first)>;

class SplitStep {
 public:
  virtual ~SplitStep() = default;
  // `text` is not empty; neither is any piece. Pieces live until `emit` returns.
  virtual void split(AlignedView text, bool is_first, const Emit& emit) const = 0;
};

class Splitter {
 public:
  Splitter() = default;                     // the whole text is one piece
  explicit Splitter(const Json& document);  // the "pre_tokenizer" of a tokenizer
  void split(AlignedView text, bool is_first, const Emit& emit) const { run(0, text, is_first, emit); }
  // The last step writes bytes as characters of the byte alphabet. It is left to the model, which then does it once for
  // each different piece; the pieces are plain text.
  bool leaves_bytes() const { return leaves_bytes_; }

 private:
  void run(size_t step, AlignedView text, bool is_first, const Emit& emit) const;
  std::vector<std::shared_ptr<const SplitStep>> steps_;
  bool leaves_bytes_ = false;
};

}  // namespace sheaf::tokenizers
