// What the array built-ins share: arrays from nested lists, options that name axes or dtypes, positions that may be
// traced.
#pragma once
#include "builtins/core/numeric.h"

namespace sheaf::builtins {

// True unless the value is traced and what it stands for is not known yet.
bool is_known(const Value& v);

// A number, a tensor, or a (nested) list of those as one array. A list of ints becomes `ints`, one of bools Bool,
// anything with a float F32, or F64 where ints do; tensors meet in their promoted dtype. Throws for empty, ragged and
// non-numeric lists.
Operand array_operand(const Value& v, std::string_view who, DType ints = DType::F32);
// A list (of lists …) of ints and floats, not empty, no tensors or bools.
bool is_numeric_list(const Value& v);
// Arrays of one shape on a new axis, promoted to one dtype. `parts` is not empty.
Operand stack_arrays(std::vector<Operand> parts, int axis, std::string_view who);
// Arrays one after the other along an axis, promoted to one dtype; checks the shapes.
Operand join_arrays(std::vector<Operand> parts, int axis, std::string_view who);

// x stretched to exactly these sizes; throws `Cannot broadcast shapes [2] and [3]`.
Operand stretch(const Operand& x, const Sizes& sizes);

// A tensor from a numeric value: int and float scalars become f32 arrays of rank 0.
Operand as_array(const Value& v, std::string_view who);

// `:dtype :bf16`, or the flag `:bf16` alone.
std::optional<DType> dtype_option(const Call& c, std::string_view who);
// `:axis` as an int or a list of ints: distinct, ascending, resolved. nullopt when absent or nil.
std::optional<std::vector<int>> axes_option(const Call& c, int rank);
// `:axis k`, else the positional argument `arg` if there is one, else `fallback`.
int one_axis(Call& c, size_t arg, int rank, int64_t fallback);

// The number of axes of a numeric value; 0 for scalars.
int rank_of(const Value& numeric);
// Those of the sizes that are known now.
Dims known_sizes(const Sizes& sizes);
// Throws when a tensor of these sizes cannot be. A stretched axis takes no memory, so nothing else would refuse it.
void check_known_size(const Sizes& sizes);
// A size as a number of the language.
Value int_value(Size s);
// Item `index` of an axis, without that axis. A known index is checked now (`index 9 out of bounds for length 4`), a
// traced one when the program runs.
Operand select_item(const Operand& x, int axis, const Value& index, std::string_view who);
// The part of x from `start` up to (not including) `end` along an axis.
Operand slice_range(const Operand& x, int axis, Size start, Size end);

// A bool tensor or a list of bools: as an index it picks where it is true.
bool is_mask(const Value& v);
// NumPy's x[i, …] for any indices that `at` takes.
Value items_at(const Operand& x, std::span<const Value> indices, std::string_view who);
// Where a tensor is not zero: one vector of positions (i32 or i64) per axis.
std::vector<Tensor> nonzero_positions(const Tensor& t, DType dtype);

// A strided box inside an array: where it starts, how long it is and how it steps, per axis.
struct Region {
  Sizes starts, sizes, steps;
};
// Whether write_region applies to x: a concrete tensor, on the host or, if the region consists of few contiguous runs,
// on a device.
bool can_write_region(const Value& x, const Region& region);
// x with `v` (concrete, the region's sizes, x's dtype) in the region. Written in place when `x` is the only reference
// to its data, so a cache that is updated every step is not copied.
Value write_region(Value x, const Operand& v, const Region& region);

}  // namespace sheaf::builtins
