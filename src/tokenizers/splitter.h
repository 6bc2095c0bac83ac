// Splits a normalized text into the pieces that the model encodes one at a time ("pre_tokenizer"). Pieces are passed on
// as they are found; no list of them is stored. Immutable.
#pragma once
#include <functional>
#include <memory>
#include <vector>

#include "tokenizers/aligned_text.h"
#include "tokenizers/fields.h"

namespace sheaf::tokenizers {

// `is_first`: the piece starts at the beginning of the whole text.
using Emit = std::function<void(AlignedView piece, bool is_first)>;

class SplitStep {
 public:
  virtual ~SplitStep() = default;
  // `text` is not empty; neither is any piece. Pieces are valid until `emit` returns.
  virtual void split(AlignedView text, bool is_first, const Emit& emit) const = 0;
};

class Splitter {
 public:
  Splitter() = default;                     // the whole text is one piece
  explicit Splitter(const Json& document);  // the "pre_tokenizer" of a tokenizer
  void split(AlignedView text, bool is_first, const Emit& emit) const { run(0, text, is_first, emit); }
  // The last step maps bytes to characters of the byte alphabet. It is left to the model, which does it once for each
  // distinct piece; the pieces are plain text.
  bool leaves_bytes() const { return leaves_bytes_; }

 private:
  void run(size_t step, AlignedView text, bool is_first, const Emit& emit) const;
  std::vector<std::shared_ptr<const SplitStep>> steps_;
  bool leaves_bytes_ = false;
};

}  // namespace sheaf::tokenizers
