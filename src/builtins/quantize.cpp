// The rows of a matrix [K, N] (the axis a product sums over) are taken in groups. :q8 stores [groups, rows, N] i8, :q4
// [groups, rows / 2, N] u8, where the low half of a byte belongs to the first half of the group's rows. Scales are f32 [groups, N].
// Tensors in a dict: they are saved, traced and moved like any others.
#include "builtins/quantize.h"

#include <fmt/format.h>

#include "value/print.h"

namespace sheaf::builtins {
namespace {

// Up to this many rows of x the weights are read as they are stored: widening them first would write, and read again, four
// times as much memory as they take.
constexpr int64_t kFewRows = 4;

struct Weights {
  bool four_bits;
  Operand values, scales;
  Size groups() const { return values.size(0); }
  Size rows() const { return four_bits ? values.size(1) * Size(2) : values.size(1); }
  Size columns() const { return values.size(2); }
};

Weights weights_of(const Value& v) {
  const DictObj& d = v.as_dict();
  const Value *kind = d.find(Name("quantized")), *values = d.find(Name("values")), *scales = d.find(Name("scales"));
  if (!values || !scales || !is_tensor_value(*values) || !is_tensor_value(*scales)) throw runtime_error("@: the dict is not what quantize gives");
  Weights w{key_name(*kind).str() == "q4", num(*values).x, num(*scales).x};
  if (w.values.rank() != 3 || w.scales.rank() != 2) throw runtime_error("@: the dict is not what quantize gives");
  return w;
}

// The two halves of bytes, minus 8, as f32.
std::pair<Operand, Operand> halves(const Operand& bytes) {
  Operand v = ops::cast(bytes, DType::F32), high = ops::apply1("floor", ops::mul(v, ops::like(v, 1.0 / 16)));
  Operand low = ops::sub(v, ops::mul(high, ops::like(v, 16)));
  return {ops::sub(low, ops::like(v, 8)), ops::sub(high, ops::like(v, 8))};
}

// [groups, rows, N]
Operand levels(const Weights& w) {
  if (!w.four_bits) return ops::cast(w.values, DType::F32);
  auto [low, high] = halves(w.values);
  return ops::concat({low, high}, 1);
}

Operand widened(const Weights& w) {
  Operand y = ops::mul(levels(w), ops::expand_axis(w.scales, 1));
  return ops::reshape(y, {w.groups() * w.rows(), w.columns()});
}

// x [M, K] @ w without widening w: sums within groups, then over scaled groups.
Operand grouped_product(const Operand& x, const Weights& w) {
  Operand xs = ops::reshape(x, {x.size(0), w.groups(), w.rows(), 1});
  auto inner = [&](const Operand& part, const Operand& v) { return ops::sum(ops::mul(part, ops::expand_axis(v, 0)), {2}); };
  Operand sums;
  if (w.four_bits) {
    auto [low, high] = halves(w.values);
    Size half = w.values.size(1);
    sums = ops::add(inner(ops::slice_axis(xs, 2, 0, half), low), inner(ops::slice_axis(xs, 2, half, half), high));
  } else {
    sums = inner(xs, ops::cast(w.values, DType::F32));
  }
  return ops::sum(ops::mul(sums, ops::expand_axis(w.scales, 0)), {1});
}

Operand absolute(const Operand& x) { return ops::apply1("abs", x); }

Value quantize(Call& c) {
  Operand t = ops::cast(tensor_operand(c[0], "quantize"), DType::F32);
  std::string kind = is_key(c[1]) ? key_name(c[1]).str() : "";
  if (kind != "q8" && kind != "q4") throw runtime_error("quantize: expected :q8 or :q4, got " + short_text(c[1]));
  int64_t group = 32;
  if (c.size() > 2) {
    if (!c[2].is_dict()) throw runtime_error("quantize: expected a dict of options, got " + short_text(c[2]));
    for (const DictEntry& e : c[2].as_dict().entries()) {
      if (e.key.str() != "group") throw runtime_error("quantize: unknown option :" + e.key.str() + ". Known options: :group");
      group = to_index(e.value, "quantize");
    }
  }
  if (t.rank() != 2) throw runtime_error("quantize: expected a matrix, got shape " + shape_text(t.sizes()));
  if (group < 2 || group % 2 != 0 || !(mod(t.size(0), Size(group)) == Size(0)))
    throw runtime_error(fmt::format("quantize: {} rows are not groups of {} (an even number)", t.size(0).str(), group));
  Operand x = ops::reshape(t, {floor_div(t.size(0), Size(group)), group, t.size(1)});
  Operand scale, values;
  auto nonzero = [](const Operand& s) { return ops::where(ops::equal(s, ops::like(s, 0)), ops::full({s.dtype(), s.sizes()}, 1), s); };
  if (kind == "q8") {
    scale = nonzero(ops::mul(ops::reduce("max", absolute(x), {1}, false), ops::like(x, 1.0 / 127)));
    values = ops::cast(ops::apply1("round", ops::div(x, ops::expand_axis(scale, 1))), DType::I8);
  } else {
    // The largest element, with its sign, becomes -8: all sixteen levels are used.
    Operand hi = ops::reduce("max", x, {1}, false), lo = ops::reduce("min", x, {1}, false);
    scale = nonzero(ops::mul(ops::where(ops::less(ops::neg(lo), hi), hi, lo), ops::like(x, -1.0 / 8)));
    Operand level = ops::add(ops::apply1("round", ops::div(x, ops::expand_axis(scale, 1))), ops::like(x, 8));
    level = ops::apply2("minimum", ops::apply2("maximum", level, ops::like(x, 0)), ops::like(x, 15));
    Operand low = ops::slice_axis(level, 1, 0, group / 2), high = ops::slice_axis(level, 1, group / 2, group / 2);
    values = ops::cast(ops::add(low, ops::mul(high, ops::like(x, 16))), DType::U8);
  }
  return make_dict({{Name("quantized"), Value::keyword(Name(kind))}, {Name("scales"), tensor_value(scale)}, {Name("values"), tensor_value(values)}});
}

Value dequantize(Call& c) {
  if (!is_quantized(c[0])) throw runtime_error("dequantize: expected what quantize gives, got " + short_text(c[0]));
  return tensor_value(widened(weights_of(c[0])));
}

const BuiltinDef kBuiltins[] = {
    {"quantize", "Linear algebra", "(quantize w kind [options])",
     "A matrix [K, N] in 8 bits (:q8) or 4 bits (:q4) an element, with one scale for each {:group 32} rows of a column: a dict that @ takes in place of the matrix "
     "on its right.",
     {{"(@ [[1 1]] (quantize [[1 2] [127 127]] :q8 {:group 2}))", "[[128. 129.]]"}, {"(get (quantize (ones [32 4]) :q4) :quantized)", ":q4"}}, 2, 3, quantize},
    {"dequantize", "Linear algebra", "(dequantize q)", "The matrix that a quantized one stands for.",
     {{"(dequantize (quantize [[8 -8] [-4 4]] :q4 {:group 2}))", "[[ 8. -8.]\n [-4.  4.]]"}}, 1, 1, dequantize},
};

}  // namespace

bool is_quantized(const Value& v) {
  if (!v.is_dict()) return false;
  const Value* kind = v.as_dict().find(Name("quantized"));
  return kind && is_key(*kind);
}

Value quantized_product(const Value& left, const Value& right) {
  Weights w = weights_of(right);
  Operand x = tensor_operand(left, "@");
  DType result = float_dtype(x.dtype());
  x = ops::cast(x, DType::F32);
  if (x.rank() == 0) throw runtime_error("@ not supported for 0D x 2D");
  Size k = w.groups() * w.rows();
  if (!(x.size(x.rank() - 1) == k)) throw runtime_error(fmt::format("shape mismatch: expected {}, got a quantized [{}, {}]", shape_text(x.sizes()), k.str(), w.columns().str()));
  Sizes out = x.sizes();
  out.pop_back();
  Size m = num_elems(out);
  out.push_back(w.columns());
  Operand rows = ops::reshape(x, {m, k});
  bool few = m.is_const() && m.value() <= kFewRows;
  Operand y = few ? grouped_product(rows, w) : ops::reshape(ops::dot(ops::reshape(rows, {1, m, k}), ops::expand_axis(widened(w), 0)), {m, w.columns()});
  return tensor_value(ops::cast(ops::reshape(y, out), result));
}

std::span<const BuiltinDef> quantize_builtins() { return kBuiltins; }

}  // namespace sheaf::builtins
