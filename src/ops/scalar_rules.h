// The scalar computation of an op: one operation of the loop IR, or a formula of several.
#pragma once
#include "graph/op_def.h"
#include "loop/builder.h"
#include "scalar/math/elementary.h"

namespace sheaf::ops {

template <loop::Op kOp>
uint32_t scalar_unary(graph::ScalarCtx& c) {
  return c.b.unary(kOp, c.x[0]);
}
template <loop::Op kOp>
uint32_t scalar_binary(graph::ScalarCtx& c) {
  return c.b.binary(kOp, c.x[0], c.x[1]);
}

// A formula F has `template <class B, class T> static math::Scalar<B, T> of(math::Scalar<B, T> x)`, written once for
// the elements of a kernel and for plain numbers. `call` applies an elementary function in it: for a kernel it emits
// one operation of the IR, for a number it computes the value.
namespace math = scalar::math;

template <loop::Op kOp, class T>
math::Scalar<loop::Builder, T> call(math::Scalar<loop::Builder, T> x) {
  return {*x.b, x.b->unary(kOp, x.v)};
}
template <loop::Op kOp, class T>
math::Scalar<loop::Builder, T> call(math::Scalar<loop::Builder, T> x, math::Scalar<loop::Builder, T> y) {
  return {*x.b, x.b->binary(kOp, x.v, y.v)};
}
template <loop::Op kOp, class T>
math::Scalar<scalar::NativeBuilder, T> call(math::Scalar<scalar::NativeBuilder, T> x) {
  return scalar::expand<kOp>(x, x);
}
template <loop::Op kOp, class T>
math::Scalar<scalar::NativeBuilder, T> call(math::Scalar<scalar::NativeBuilder, T> x,
                                            math::Scalar<scalar::NativeBuilder, T> y) {
  return scalar::expand<kOp>(x, y);
}

template <class F>
uint32_t scalar_formula(graph::ScalarCtx& c) {
  if (c.type == DType::F64) return F::of(math::Scalar<loop::Builder, double>(c.b, c.x[0])).v;
  return F::of(math::Scalar<loop::Builder, float>(c.b, c.x[0])).v;
}
// The same for a function of two elements.
template <class F>
uint32_t scalar_formula2(graph::ScalarCtx& c) {
  if (c.type == DType::F64)
    return F::of(math::Scalar<loop::Builder, double>(c.b, c.x[0]), math::Scalar<loop::Builder, double>(c.b, c.x[1])).v;
  return F::of(math::Scalar<loop::Builder, float>(c.b, c.x[0]), math::Scalar<loop::Builder, float>(c.b, c.x[1])).v;
}
// Applies a formula for double to elements of any float type.
template <class F>
struct InDouble {
  template <class B, class T>
  static math::Scalar<B, T> of(math::Scalar<B, T> x) {
    if constexpr (std::is_same_v<T, double>)
      return F::of(x);
    else
      return math::to<T>(F::of(math::to<double>(x)));
  }
};

template <class F>
double formula_f64(double x) {
  scalar::NativeBuilder b;
  return F::of(math::Scalar<scalar::NativeBuilder, double>(b, x)).v;
}

}  // namespace sheaf::ops
