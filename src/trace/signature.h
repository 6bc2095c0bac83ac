// What compiled code is keyed on: the structure of the arguments, dtypes and sizes of tensors, text of strings and
// keywords, the code of functions. Numbers are leaves: their values are data.
#pragma once
#include <vector>

#include "value/value.h"

namespace sheaf::trace {

// Where the key holds the size of an axis.
struct SizeSlot {
  uint32_t word, leaf, axis;
};

struct Signature {
  std::vector<uint64_t> key;
  std::vector<const Value*> leaves;  // tensors and numbers, in order; pointers into the values walked
  std::vector<uint8_t> owned;        // for each leaf: nobody else can reach its memory, and it may be written
  bool traceable = true;             // false: holds something that cannot be an input
  bool has_tensor = false;
  int64_t num_elems = 0;                   // of all tensors
  std::vector<SizeSlot>* slots = nullptr;  // filled when given
  uint64_t hash() const { return hash_words(key); }
  static uint64_t hash_words(const std::vector<uint64_t>& words);
};

// Arguments nested deeper than this are not traced: the walks over them recurse.
inline constexpr int kMaxInputDepth = 1000;
// `owned`: the holder of `v` will not look at it again.
void add_to_signature(const Value& v, Signature& s, bool owned, int depth = 0);

// The same value with each leaf replaced by make(leaf), in the order of Signature::leaves.
template <class F>
Value replace_leaves(const Value& v, F& make);

}  // namespace sheaf::trace

#include "trace/signature_inl.h"
