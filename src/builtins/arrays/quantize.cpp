// Divides the rows of a matrix [K, N] (the contracted axis) into groups, with a scale per group and column: scales are
// f32 [groups, N]. Values use the layout of routines/quantized/args.h, :q8 as i8 and :q4 as u8, with eight (four) rows
// of a column interleaved if the group size allows it. Quantized weights are tensors in a dict, saved, traced and moved
// like any others.
#include "builtins/arrays/quantize.h"

#include <fmt/format.h>

#include <numeric>

#include "builtins/arrays/families.h"
#include "ops/quantized.h"
#include "runtime/target.h"
#include "value/print.h"

namespace sheaf::builtins {
namespace {

// Up to this many rows of x, weights are read in stored form: widening them first would write, and read again, several
// times as much memory. With more rows the faster float product makes up for that, unless byte products are fast.
constexpr int64_t kFewRows = 16;

bool reads_as_stored(const Size& rows) {
  return runtime::host_target().multiplies_bytes() || (rows.is_const() && rows.value() <= kFewRows);
}

struct Weights {
  Operand values, scales;
  Size rows() const {
    return values.size(0) * values.size(2) * values.size(4) * Size(values.dtype() == DType::U8 ? 2 : 1);
  }
  Size columns() const { return scales.size(1); }
};

Weights weights_of(const Value& v) {
  const DictObj& d = v.as_dict();
  const Value *values = d.find(Name("values")), *scales = d.find(Name("scales"));
  if (!values || !scales || !is_tensor_value(*values) || !is_tensor_value(*scales))
    throw runtime_error("@: the dict is not what quantize gives");
  Weights w{num(*values).x, num(*scales).x};
  bool ok =
      w.values.rank() == 5 && w.scales.rank() == 2 && (w.values.dtype() == DType::I8 || w.values.dtype() == DType::U8);
  if (!ok) throw runtime_error("@: the dict is not what quantize gives");
  return w;
}

Operand widened(const Weights& w) {
  return ops::reshape(
      ops::mul(ops::quantized_levels(w.values, w.columns(), w.scales.dtype()), ops::expand_axis(w.scales, 1)),
      {w.rows(), w.columns()});
}

// x [M, K]
Operand product(const Operand& x, const Weights& w) {
  Size m = x.size(0);
  auto alone = [](const Operand& t) { return ops::expand_axis(t, 0); };
  Operand y = reads_as_stored(m) ? ops::quantized_dot(alone(x), alone(w.values), alone(w.scales))
                                 : ops::dot(alone(x), alone(widened(w)));
  return ops::reshape(y, {m, w.columns()});
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
      if (e.key.str() != "group")
        throw runtime_error("quantize: unknown option :" + e.key.str() + ". Known options: :group");
      group = to_index(e.value, "quantize");
    }
  }
  if (t.rank() != 2) throw runtime_error("quantize: expected a matrix, got shape " + shape_text(t.sizes()));
  if (group < 2 || group % 2 != 0 || !(mod(t.size(0), Size(group)) == Size(0)))
    throw runtime_error(fmt::format("quantize: {} rows are not groups of {} (an even number)", t.size(0).str(), group));
  Operand x = ops::reshape(t, {floor_div(t.size(0), Size(group)), group, t.size(1)});
  Operand scale, values;
  auto nonzero = [](const Operand& s) {
    return ops::where(ops::equal(s, ops::like(s, 0)), ops::full({s.dtype(), s.sizes()}, 1), s);
  };
  if (kind == "q8") {
    scale = nonzero(ops::mul(ops::reduce("max", absolute(x), {1}, false), ops::like(x, 1.0 / 127)));
    values = ops::apply1("round", ops::div(x, ops::expand_axis(scale, 1)));
  } else {
    // The element of largest magnitude becomes -8, so that all sixteen levels are used.
    Operand hi = ops::reduce("max", x, {1}, false), lo = ops::reduce("min", x, {1}, false);
    scale = nonzero(ops::mul(ops::where(ops::less(ops::neg(lo), hi), hi, lo), ops::like(x, -1.0 / 8)));
    Operand level = ops::add(ops::apply1("round", ops::div(x, ops::expand_axis(scale, 1))), ops::like(x, 8));
    level = ops::apply2("minimum", ops::apply2("maximum", level, ops::like(x, 0)), ops::like(x, 15));
    Operand low = ops::slice_axis(level, 1, 0, group / 2), high = ops::slice_axis(level, 1, group / 2, group / 2);
    values = ops::add(low, ops::mul(high, ops::like(x, 16)));
  }
  int64_t deep = kind == "q4" ? std::gcd(4, group / 2) : std::gcd(8, group);
  values = ops::quantized_tiles(values, deep, kind == "q4" ? DType::U8 : DType::I8);
  if (c[0].is_tensor()) release_converted(c[0].as_tensor());
  return make_dict({{Name("quantized"), Value::keyword(Name(kind))},
                    {Name("scales"), tensor_value(scale)},
                    {Name("values"), tensor_value(values)}});
}

Value dequantize(Call& c) {
  if (!is_quantized(c[0])) throw runtime_error("dequantize: expected what quantize gives, got " + short_text(c[0]));
  return tensor_value(widened(weights_of(c[0])));
}

const BuiltinDef kBuiltins[] = {
    {"quantize",
     "Linear algebra",
     "(quantize w kind [options])",
     "A matrix [K, N] in 8 bits (:q8) or 4 bits (:q4) an element, with one scale for each {:group 32} rows of a "
     "column: a dict that @ takes in place of the matrix "
     "on its right.",
     {{"(@ [[1 1]] (quantize [[1 2] [127 127]] :q8 {:group 2}))", "[[128. 129.]]"},
      {"(get (quantize (ones [32 4]) :q4) :quantized)", ":q4"}},
     2,
     3,
     quantize},
    {"dequantize",
     "Linear algebra",
     "(dequantize q)",
     "The matrix that a quantized one stands for.",
     {{"(dequantize (quantize [[8 -8] [-4 4]] :q4 {:group 2}))", "[[ 8. -8.]\n [-4.  4.]]"}},
     1,
     1,
     dequantize},
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
  DType computed = result == DType::F64 ? DType::F64 : DType::F32;
  x = ops::cast(x, computed);
  w.scales = ops::cast(w.scales, computed);
  if (x.rank() == 0) throw runtime_error("@ not supported for 0D x 2D");
  Size k = w.rows();
  if (!(x.size(x.rank() - 1) == k))
    throw runtime_error(
        fmt::format("shape mismatch: expected {0}, got a quantized [{1}, {2}]\n"
                    "  @: the inner sizes differ: left {0} has {3} columns, right has {1} rows",
                    shape_text(x.sizes()), k.str(), w.columns().str(), x.size(x.rank() - 1).str()));
  Sizes out = x.sizes();
  out.pop_back();
  Size m = num_elems(out);
  out.push_back(w.columns());
  return tensor_value(ops::cast(ops::reshape(product(ops::reshape(x, {m, k}), w), out), result));
}

std::span<const BuiltinDef> quantize_builtins() { return kBuiltins; }

}  // namespace sheaf::builtins
