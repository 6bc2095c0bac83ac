// Collections one item after another, as map, reduce, for … walk them, and the way back: values stacked into a tensor.
// Works on traced tensors too.
#pragma once
#include "builtins/core/numeric.h"
#include "value/dict.h"

namespace sheaf::builtins {

// What may be walked besides lists, tuples and tensors.
enum class Walk : uint8_t { Sequences, Dicts };
// How an element of an integer tensor comes out: as language §7 has it (a float), or exactly, for `for` and
// `enumerate`.
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

// How far a walk through several collections at once goes: to the end of the shortest. Arrays have to be of one length.
int64_t common_length(const std::vector<Elements>& columns, std::string_view who);

// With room for so many; throws when there is no memory for them.
std::vector<Value> empty_list(int64_t room);

// Tensors of one shape on a new axis 0, promoted to one dtype. `parts` is not empty.
Value stack_operands(const std::vector<Operand>& parts);
// Stacks leaf by leaf: numbers and tensors of one shape become a tensor, dicts with the same keys and lists of one
// length are stacked inside, all nil stays nil; anything else is kept as a list.
Value stack_trees(std::span<const Value> items);

// `Dict key must be a keyword or a string, got TYPE`
Name dict_key(const Value& v);
// Warns when keys such as layer2, layer10 come in an order that is not that of their numbers.
void warn_numbered_keys(const DictObj& d);

}  // namespace sheaf::builtins
