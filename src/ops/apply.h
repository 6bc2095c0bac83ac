// Functions that apply ops, for rules, transforms and builtins. Operands of one elementwise call must have the same
// dtype (builtins promote first); shapes broadcast.
#pragma once
#include <vector>

#include "graph/engine.h"
#include "ops/table.h"

namespace sheaf::ops {

using graph::Operand;

Operand apply1(std::string_view name, Operand x);
Operand apply2(std::string_view name, Operand a, Operand b);

inline Operand add(Operand a, Operand b) { return apply2("add", std::move(a), std::move(b)); }
inline Operand sub(Operand a, Operand b) { return apply2("sub", std::move(a), std::move(b)); }
inline Operand mul(Operand a, Operand b) { return apply2("mul", std::move(a), std::move(b)); }
inline Operand div(Operand a, Operand b) { return apply2("div", std::move(a), std::move(b)); }
inline Operand neg(Operand a) { return apply1("neg", std::move(a)); }
inline Operand operator+(Operand a, Operand b) { return add(std::move(a), std::move(b)); }
inline Operand operator-(Operand a, Operand b) { return sub(std::move(a), std::move(b)); }
inline Operand operator*(Operand a, Operand b) { return mul(std::move(a), std::move(b)); }
inline Operand operator/(Operand a, Operand b) { return div(std::move(a), std::move(b)); }
inline Operand operator-(Operand a) { return neg(std::move(a)); }

// A 0-d constant of the given dtype.
Operand constant(DType dtype, double value);
Operand constant_int(DType dtype, int64_t value);
inline Operand like(const Operand& x, double value) { return constant(x.dtype(), value); }
Operand zeros(const graph::TensorType& type);
Operand full(const graph::TensorType& type, double value);
Operand iota(Size n, DType dtype);

// Complex numbers become bools alone: what drops imaginary parts says so (real_part).
Operand cast(Operand x, DType to);
Operand where(Operand condition, Operand a, Operand b);  // condition Bool
Operand less(Operand a, Operand b);
Operand less_equal(Operand a, Operand b);
Operand equal(Operand a, Operand b);

// Axes are non-negative and distinct.
Operand reduce(std::string_view name, Operand x, const std::vector<int>& axes, bool keepdims);
inline Operand sum(Operand x, const std::vector<int>& axes, bool keepdims = false) {
  return reduce("sum", std::move(x), axes, keepdims);
}
Operand sum_all(Operand x);
// Sums an adjoint of a broadcast shape back to `type`'s sizes.
Operand sum_to(Operand x, const Sizes& sizes);

Operand reshape(Operand x, Sizes sizes);
Operand transpose(Operand x, const std::vector<int>& perm);
Operand swap_last_two(Operand x);
Operand broadcast_to(Operand x, Sizes sizes);
Operand slice(Operand x, Sizes starts, Sizes sizes, Sizes steps);
// x with `updates` added to the elements that slice(x, starts, sizes of updates, steps) names; steps are positive.
Operand slice_add(Operand x, Operand updates, Sizes starts, Sizes steps);
Operand slice_axis(Operand x, int axis, Size start, Size size, int64_t step = 1);
Operand flip(Operand x, int axis);
// Zero padding; `interior` zeros between neighbours.
Operand pad(Operand x, Sizes lo, Sizes hi, Sizes interior, double value = 0);
Operand concat(std::vector<Operand> parts, int axis);
Operand squeeze_axis(Operand x, int axis);
Operand expand_axis(Operand x, int axis);

// Rows of axis `axis` at `index` (i64, any rank): sizes x[:axis] + index + x[axis+1:]. `who` words the range error;
// negative entries count from the end if `wrap`.
// `who` reports an index that is out of range; kInRange says that none can be.
inline constexpr const char* kInRange = "";
Operand take(Operand x, Operand index, int axis, std::string who, bool wrap);
// x with `updates` added to (or, with `set`, put in) the rows named by `index` (rank 1, i64) of axis `axis`.
Operand scatter(Operand x, Operand index, Operand updates, int axis, bool set, std::string who, bool wrap);
// index has x's rank and sizes except along `axis`.
Operand take_along(Operand x, Operand index, int axis, std::string who, bool wrap);
Operand put_along(Operand x, Operand index, Operand updates, int axis, std::string who, bool wrap);
// starts: i64[rank]; clamped so that the window fits.
Operand dynamic_slice(Operand x, Operand starts, Sizes sizes);
Operand update_slice(Operand x, Operand updates, Operand starts);

// [B, M, K] x [B, K, N] -> [B, M, N]
Operand dot(Operand a, Operand b);
Operand wide_dot(Operand a, Operand b);  // of bf16 or f16, giving f32

struct Sorted {
  Operand values, indices;  // indices i32
};
Sorted sort(Operand x, int axis, bool descending);
Sorted top(Operand x, int axis, int64_t count);       // the first so many of the descending order
Operand cumulate(Operand x, int axis, int64_t what);  // 0 sum, 1 product, 2 maximum

}  // namespace sheaf::ops
