// What identifies compiled code: the function and what it is compiled for (FunctionKey), and of the arguments their
// structure, dtypes and sizes, text of strings and keywords, code of functions (CallKey). Numbers are leaves: their
// values are data. Keys are compared field by field; hashes only find them.
#pragma once
#include <vector>

#include "runtime/target.h"
#include "support/small_vec.h"
#include "value/tree.h"

namespace sheaf::trace {

// What a function is compiled to give.
struct Purpose {
  enum Kind : uint8_t { Call, Gradient };
  Kind kind = Call;
  DType contractions = DType::F32;  // what f32 products are formed in (`mixed`)
  // Of a gradient: what it comes with, and by which arguments it is taken.
  bool value = false, has_aux = false, single = false;
  SmallVec<int64_t, 4> argnums;
  friend bool operator==(const Purpose&, const Purpose&) = default;
};

struct FunctionKey {
  uint64_t code = 0;  // FunctionObj::code_number
  Purpose purpose;
  friend bool operator==(const FunctionKey&, const FunctionKey&) = default;
};

// All of the arguments but sizes and the values of leaves. Calls of one form may be served by code with open sizes.
struct CallForm {
  // Depth first: containers with their number of parts and their keys, texts, code of functions, and for each leaf its
  // kind, dtype and rank.
  SmallVec<uint64_t, 24> words;
  runtime::TargetId target = runtime::TargetId::Cpu;  // where the leaves live, and the code is to run
  friend bool operator==(const CallForm&, const CallForm&) = default;
};

struct CallKey {
  CallForm form;
  SmallVec<int64_t, 24> sizes;  // of all tensors, one after the other
  friend bool operator==(const CallKey&, const CallKey&) = default;
};

struct KeyHash {
  size_t operator()(const FunctionKey& k) const;
  size_t operator()(const CallForm& k) const;
  size_t operator()(const CallKey& k) const;
};

// Which size of which leaf an element of CallKey::sizes is.
struct SizeSlot {
  uint32_t leaf, axis;
};

struct Signature {
  CallKey key;
  SmallVec<const Value*, 16> leaves;  // tensors and numbers, in order; pointers into the values walked
  SmallVec<uint8_t, 16> owned;        // for each leaf: nobody else can reach its memory, and it may be written
  bool traceable = true;              // false: holds something that cannot be an input
  bool has_tensor = false;
  int64_t num_elems = 0;      // of all tensors
  bool is_on_device = false;  // one of them
  // One for each element of key.sizes.
  std::vector<SizeSlot> slots() const;
};

// Arguments nested deeper than this are not traced: looking at them, at every call, recurses.
inline constexpr int kMaxInputDepth = 1000;
// `owned`: the holder of `v` will not look at it again.
void add_to_signature(const Value& v, Signature& s, bool owned, int depth = 0);

// The same value with each leaf replaced by make(leaf), in the order of Signature::leaves.
template <class F>
Value replace_leaves(const Value& v, F& make) {
  return map_leaves(v, [&](const Value& x) { return x.is_number() || x.is_tensor() ? make(x) : x; }, Nodes::Closures);
}

}  // namespace sheaf::trace
