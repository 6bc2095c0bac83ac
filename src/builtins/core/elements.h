// Iterates over collections for map, reduce, for …, and stacks values to a tensor. Works on traced tensors too.
#pragma once
#include "builtins/core/numeric.h"
#include "value/dict.h"

namespace sheaf::builtins {

// Whether dicts may be iterated, in addition to lists, tuples and tensors.
enum class Walk : uint8_t { Sequences, Dicts };
// The type of an element of an integer tensor: a float, as in language §7, or the exact int, for `for` and `enumerate`.
enum class Ints : uint8_t { AsFloats, Exact };

// Rank-1 tensors yield elements, higher ranks sub-tensors of axis 0 with the same dtype, dicts their values in key
// order.
class Elements {
 public:
  // Throws `WHO: expected a list or a tensor, got TYPE`.
  Elements(Value source, std::string_view who, Walk walk = Walk::Sequences, Ints ints = Ints::AsFloats);
  int64_t size() const { return size_; }
  const Value& source() const { return source_; }
  Value at(int64_t i) const;
  std::vector<Value> all() const;

 private:
  Value source_;
  Ints ints_;
  int64_t size_ = 0;
};

// The number of steps when iterating over several collections: the length of the shortest. Arrays must have equal
// lengths.
int64_t common_length(const std::vector<Elements>& columns, std::string_view who);

// An empty list with the given capacity; throws if there is not enough memory.
std::vector<Value> empty_list(int64_t room);

// Stacks tensors of one shape on a new axis 0, promoted to one dtype. `parts` must not be empty.
Value stack_operands(const std::vector<Operand>& parts);
// Stacks leaf by leaf: numbers and tensors of one shape become a tensor, dicts with equal keys and lists of equal
// length are stacked inside, all nil stays nil; anything else becomes a list.
Value stack_trees(std::span<const Value> items);

// `Dict key must be a keyword or a string, got TYPE`
Name dict_key(const Value& v);
// Warns if keys such as layer2, layer10 are not in the order of their numbers.
void warn_numbered_keys(const DictObj& d);

}  // namespace sheaf::builtins
