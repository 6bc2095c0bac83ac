// The identity of compiled code: the function and the purpose it is compiled for (FunctionKey), and the arguments'
// structure, dtypes, sizes, strings, keywords and function codes (CallKey). Numbers are leaves: their values are data.
// Keys are compared field by field; hashes only serve lookup.
#pragma once
#include <vector>

#include "runtime/target.h"
#include "support/small_vec.h"
#include "value/tree.h"

namespace sheaf::trace {

// The result of the compiled function: its value, or a gradient.
struct Purpose {
  enum Kind : uint8_t { Call, Gradient };
  Kind kind = Call;
  DType contractions = DType::F32;  // the dtype in which f32 products are computed (`mixed`)
  // Of a gradient: what it returns besides, and the arguments it is taken with respect to.
  bool value = false, has_aux = false, single = false;
  SmallVec<int64_t, 4> argnums;
  friend bool operator==(const Purpose&, const Purpose&) = default;
};

struct FunctionKey {
  uint64_t code = 0;  // FunctionObj::code_number
  Purpose purpose;
  friend bool operator==(const FunctionKey&, const FunctionKey&) = default;
};

// The structure of the arguments without sizes and values of leaves. Code with open sizes may serve all calls of a
// form.
struct CallForm {
  // Depth first: for a container its kind, number of parts and keys; strings; codes of functions; for each leaf its
  // kind, dtype and rank.
  SmallVec<uint64_t, 24> words;
  runtime::TargetId target = runtime::TargetId::Cpu;  // where the leaves live and the code will run
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

// The leaf and axis of an element of CallKey::sizes.
struct SizeSlot {
  uint32_t leaf, axis;
};

struct Signature {
  CallKey key;
  SmallVec<const Value*, 16> leaves;  // tensors and numbers, in order; pointers into the arguments
  SmallVec<uint8_t, 16> owned;        // by leaf: no other reference to its memory exists, so it may be overwritten
  bool traceable = true;              // false: contains something that cannot be an input
  bool has_tensor = false;
  int64_t num_elems = 0;      // of all tensors
  bool is_on_device = false;  // of any of them
  // One for each element of key.sizes.
  std::vector<SizeSlot> slots() const;
};

// Arguments nested deeper than this are not traced: walking them, at every call, recurses.
inline constexpr int kMaxInputDepth = 1000;
// `owned`: the holder of `v` will not read it again.
void add_to_signature(const Value& v, Signature& s, bool owned, int depth = 0);

// Copies the value with each leaf replaced by make(leaf), in the order of Signature::leaves.
template <class F>
Value replace_leaves(const Value& v, F& make) {
  return map_leaves(v, [&](const Value& x) { return x.is_number() || x.is_tensor() ? make(x) : x; }, Nodes::Closures);
}

}  // namespace sheaf::trace
