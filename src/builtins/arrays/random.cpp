// Random numbers as functions of explicit keys, with the values of jax.random (threefry, partitionable).
#include "ops/random.h"

#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "builtins/arrays/arithmetic.h"
#include "builtins/arrays/families.h"
#include "builtins/core/numeric.h"
#include "builtins/core/warnings.h"
#include "ops/complex.h"
#include "value/print.h"

namespace sheaf::builtins {
namespace {

using ops::operator+;
using ops::operator-;
using ops::operator*;
using ops::operator/;
using trace::to_value;

Operand as_vector(const Operand& x) { return ops::reshape(x, {1}); }

// The halves of a 64-bit seed, an i64.
Operand key_of_seed(const Operand& seed) {
  if (!seed.is_node()) {
    auto s = static_cast<uint64_t>(element_as_int(seed.value(), 0));
    uint32_t halves[] = {static_cast<uint32_t>(s >> 32), static_cast<uint32_t>(s)};
    return tensor_of(DType::U32, {2}, halves);
  }
  Operand hi = ops::apply2("shift_right", seed, ops::constant_int(DType::I64, 32));
  Operand lo = ops::apply2("bit_and", seed, ops::constant_int(DType::I64, 0xffffffff));
  return ops::cast(ops::concat({as_vector(hi), as_vector(lo)}, 0), DType::U32);
}

Operand key_operand(const Value& v, std::string_view who) {
  if (trace::is_numeric(v)) {
    Operand o = trace::operand_of(v);
    if (trace::kind_of(v) == Kind::Int) return key_of_seed(ops::cast(o, DType::I64));
    if (is_tensor_value(v) && o.dtype() == DType::U32 && o.rank() == 1 && o.size(0) == Size(2)) return o;
  }
  throw runtime_error(fmt::format("{}: expected a key, got {}", who, short_text(v)))
      .hint("make one with (random-key seed) or (random-split key); an int n stands for (random-key n)");
}

Operand random_key(const Value& v) {
  if (!trace::is_numeric(v) || trace::operand_of(v).rank() != 0)
    throw runtime_error(fmt::format("random-key: expected a number, got {}", short_text(v)));
  return key_of_seed(whole_operand(v, "random-key"));
}

Operand split(const Operand& key, int64_t n) { return ops::threefry(key, ops::constant_int(DType::I64, 0), n); }

// One of the draws of ops/random.h in a shape.
Operand draw(std::string what, const Operand& key, const Sizes& shape, DType dtype) {
  return ops::reshape(ops::draw(std::move(what), ops::reshape(key, {1, 2}), num_elems(shape), dtype), shape);
}

DType float_option(const Call& c, std::string_view who) {
  const Value* v = c.option("dtype");
  DType d = v ? to_dtype(*v, who) : DType::F32;
  if (!is_float(d)) throw runtime_error(fmt::format("{}: expected a float dtype, got :{}", who, name_of(d)));
  return d;
}

Operand bound(const Value& v, DType d) { return converted(num(v), d); }

Value uniform(Call& c) {
  DType d = float_option(c, "random-uniform");
  Operand u = draw("uniform", key_operand(c[0], "random-uniform"), to_shape(c[1], "random-uniform"), d);
  const Value *lo = c.option("minval"), *hi = c.option("maxval");
  if (lo || hi) u = ops::between(u, lo ? bound(*lo, d) : ops::constant(d, 0), hi ? bound(*hi, d) : ops::constant(d, 1));
  return tensor_value(u);
}

Value normal(Call& c) {
  constexpr std::string_view who = "random-normal";
  const Operand key = key_operand(c[0], who);
  const Sizes shape = to_shape(c[1], who);
  const Value* option = c.option("dtype");
  if (!option || !is_complex(to_dtype(*option, who)))
    return tensor_value(draw("normal", key, shape, float_option(c, who)));
  // As in JAX: parts of variance 1/2 from keys of their own.
  const Operand keys = split(key, 2);
  auto part = [&](int64_t k) {
    Operand x = draw("normal", ops::slice_axis(keys, 0, k, 1), shape, DType::F32);
    return x / ops::like(x, std::numbers::sqrt2);
  };
  return tensor_value(ops::complex_of(part(0), part(1)));
}

// Bounds of the integers of a dtype; hi is one past the last.
std::pair<int64_t, int64_t> int_range(DType d) {
  switch (d) {
    case DType::I8: return {-128, 128};
    case DType::U8: return {0, 256};
    case DType::I16: return {-32768, 32768};
    case DType::U16: return {0, 65536};
    case DType::U32: return {0, int64_t{1} << 32};
    case DType::I64: return {INT64_MIN, INT64_MAX};
    default: return {INT32_MIN, int64_t{1} << 31};
  }
}

Value randint(Call& c) {
  constexpr std::string_view who = "random-randint";
  const Value* option = c.option("dtype");
  DType dtype = option ? to_dtype(*option, who) : DType::I32;
  if (!is_int(dtype)) throw runtime_error(fmt::format("{}: expected an int dtype, got :{}", who, name_of(dtype)));
  Operand key = key_operand(c[0], who);
  Sizes shape = to_shape(c[1], who);
  Operand lo = whole_operand(c[2], who), hi = whole_operand(c[3], who);
  if (lo.rank() == 0 && hi.rank() == 0 &&
      is_true(compare_values(Cmp::Le, to_value(hi, Kind::Int), to_value(lo, Kind::Int))))
    throw runtime_error("random-randint: high must be > low");
  auto [least, end] = int_range(dtype);
  auto clip = [](const Operand& x, int64_t a, int64_t b) {
    return ops::apply2("minimum", ops::apply2("maximum", x, ops::constant_int(DType::I64, a)),
                       ops::constant_int(DType::I64, b));
  };
  lo = clip(lo, least, end - 1);
  Operand span = ops::apply2("maximum", clip(hi, least, end) - lo, ops::constant_int(DType::I64, 1));
  if (dtype == DType::I64) span = clip(hi, least, end) - lo;  // wraps: an unsigned number
  // Two words for each number, under two keys: the remainder of twice the bits is nearly unbiased.
  DType words = dtype == DType::I64 ? DType::I64 : DType::U32;
  Sizes twice = shape;
  twice.insert(twice.begin(), Size(2));
  Operand bits = ops::reshape(ops::draw("bits", split(key, 2), num_elems(shape), words), twice);
  auto half = [&](int64_t i) { return ops::squeeze_axis(ops::slice_axis(bits, 0, i, 1), 0); };
  Operand offset = ops::offset_from_bits(half(0), half(1), ops::cast(span, words));
  DType sum = dtype == DType::I64 || dtype == DType::U32 ? dtype : DType::I32;
  return tensor_value(ops::cast(ops::cast(offset, sum) + ops::cast(lo, sum), dtype));
}

// A vector of numbers given as a tensor or a list.
Operand vector_operand(const Value& v, std::string_view who) {
  if (is_tensor_value(v)) return ops::reshape(trace::operand_of(v), {num_elems(trace::operand_of(v).sizes())});
  if (!v.is_seq() || v.items().empty())
    throw runtime_error(fmt::format("{}: expected a vector of numbers, got {}", who, short_text(v)));
  std::vector<Operand> parts;
  for (const Value& x : v.items())
    parts.push_back(as_vector(ops::cast(num(x).x, DType::F32)));
  return ops::concat(std::move(parts), 0);
}

// The last of n things to choose from. Where n is not known yet, compiled code checks it like an index; what fails
// there runs again interpreted, where the error below arises.
Operand last_choice(const Value& v) {
  Operand n = num(v).x;
  if (n.rank() != 0) throw runtime_error(fmt::format("choice: expected a number, got {}", short_text(v)));
  Operand last = whole_operand(v, "choice") - ops::constant_int(DType::I64, 1);
  if (!n.has_value())
    return last + ops::take(ops::iota(1, DType::I64), ops::apply2("minimum", last, ops::constant_int(DType::I64, 0)), 0,
                            "choice", false);
  if (element_as_int(n.value(), 0) < 1)
    throw runtime_error(fmt::format("choice: nothing to choose from, n is {}", element_as_int(n.value(), 0)));
  return last;
}

Value choice(Call& c) {
  Operand u = draw("uniform", key_operand(c[0], "choice"), {}, DType::F32);
  const Value* p = c.option("p");
  if (!p && c.size() > 2) p = &c[2];
  Operand at, last;
  if (p && !p->is_nil()) {
    // The first i with u < p0 + … + pi: as many sums as are not above u come before it.
    Operand weights = vector_operand(*p, "choice");
    if (weights.size(0) == Size(0))
      throw runtime_error(fmt::format("choice: nothing to choose from, the probabilities are {}", short_text(*p)));
    if (c[1].is_int() && weights.size(0).is_const() && c[1].as_int() != weights.size(0).value())
      warn(fmt::format("choice draws from the {} probabilities and ignores n, {}", weights.size(0).str(),
                       c[1].as_int()));
    Operand sums = ops::cumulate(ops::cast(weights, DType::F32), 0, 0);
    at = ops::sum_all(ops::cast(ops::less_equal(sums, u), DType::I64));
    last = ops::constant_int(DType::I64, sums.size(0).value() - 1);
  } else {
    last = last_choice(c[1]);
    at = ops::cast(u * ops::cast(num(c[1]).x, DType::F32), DType::I64);
  }
  return to_value(ops::apply2("minimum", at, last), Kind::Int);
}

Value fold_in(Call& c) {
  Operand data = whole_operand(c[1], "random-fold-in");
  if (data.rank() != 0) throw runtime_error(fmt::format("random-fold-in: expected a number, got {}", short_text(c[1])));
  Operand counter = ops::apply2("bit_and", data, ops::constant_int(DType::I64, 0xffffffff));
  return tensor_value(ops::reshape(ops::threefry(key_operand(c[0], "random-fold-in"), counter, 1), {2}));
}

// Where each element of a permutation of n comes from (i32): sorted by random words, as often as makes equal words
// harmless.
Operand permutation(Operand key, int64_t n) {
  Operand order;
  int rounds =
      static_cast<int>(std::ceil(3 * std::log(static_cast<double>(std::max<int64_t>(n, 1))) / std::log(4294967295.0)));
  for (int i = 0; i < rounds; ++i) {
    Operand keys = split(key, 2);
    key = ops::reshape(ops::slice_axis(keys, 0, 0, 1), {2});
    Operand words = ops::reshape(ops::draw("bits", ops::slice_axis(keys, 0, 1, 1), n, DType::U32), {n});
    Operand next = ops::sort(words, 0, false).indices;
    order = order ? ops::take(order, ops::cast(next, DType::I64), 0, ops::kInRange, false) : next;
  }
  return order ? order : ops::iota(n, DType::I32);
}

Value permute(Call& c) {
  constexpr std::string_view who = "random-permutation";
  Operand key = key_operand(c[0], who);
  if (c[1].is_list()) {
    Value order = trace::concrete(tensor_value(permutation(key, static_cast<int64_t>(c[1].items().size()))));
    std::vector<Value> items;
    for (size_t i = 0; i < c[1].items().size(); ++i)
      items.push_back(c[1].items()[element_as_int(order.as_tensor(), static_cast<int64_t>(i))]);
    return Value::list(std::move(items));
  }
  Num x = num(c[1]);
  if (x.x.rank() == 0) return tensor_value(permutation(key, to_count(c[1], who).value()));
  int axis = axis_option(c, x.x.rank()).value_or(0);
  Size n = x.x.size(axis);
  return tensor_value(ops::take(x.x, ops::cast(permutation(key, n.value()), DType::I64), axis, ops::kInRange, false));
}

Value bernoulli(Call& c) {
  constexpr std::string_view who = "random-bernoulli";
  Operand p = c.size() > 1 ? num(c[1]).x : ops::constant(DType::F32, 0.5);
  p = ops::cast(p, float_dtype(p.dtype()));
  Sizes shape = c.size() > 2 ? to_shape(c[2], who) : p.sizes();
  return tensor_value(ops::less(draw("uniform", key_operand(c[0], who), shape, p.dtype()), p));
}

// The largest of logits + Gumbel noise.
Value categorical(Call& c) {
  constexpr std::string_view who = "random-categorical";
  Operand key = key_operand(c[0], who),
          logits = is_tensor_value(c[1]) ? trace::operand_of(c[1]) : vector_operand(c[1], who);
  logits = ops::cast(logits, float_dtype(logits.dtype()));
  int rank = logits.rank();
  if (rank == 0)
    throw runtime_error(fmt::format("{}: expected logits of at least one axis, got {}", who, short_text(c[1])));
  int axis = axis_option(c, rank).value_or(rank - 1), extra = 0;
  Sizes sizes = logits.sizes();
  if (const Value* option = c.option("shape")) {
    // The shape of the result: its last axes are the batch axes of the logits.
    Sizes shape = to_shape(*option, who), batch = sizes;
    batch.erase(batch.begin() + axis);
    extra = static_cast<int>(shape.size()) - (rank - 1);
    if (extra < 0 || !(ops::broadcast_sizes(batch, shape) == shape))
      throw runtime_error(
          fmt::format("{}: :shape {} does not end in the batch axes {}", who, shape_text(shape), shape_text(batch)));
    Size classes = sizes[axis];
    sizes = shape;
    sizes.insert(sizes.begin() + extra + axis, classes);
  }
  Operand at = ops::reduce("argmax", draw("gumbel", key, sizes, logits.dtype()) + logits, {extra + axis}, false);
  return at.rank() == 0 ? to_value(ops::cast(at, DType::I64), Kind::Int) : tensor_value(at);
}

Value truncated_normal(Call& c) {
  constexpr std::string_view who = "random-truncated-normal";
  DType d = float_option(c, who);
  Operand lo = bound(c[1], d), hi = bound(c[2], d), root2 = ops::constant(d, std::numbers::sqrt2);
  Sizes shape = c.size() > 3 ? to_shape(c[3], who) : ops::broadcast_sizes(lo.sizes(), hi.sizes());
  Operand u = draw("uniform", key_operand(c[0], who), shape, d);
  Operand x =
      root2 * ops::apply1("erfinv", ops::between(u, ops::apply1("erf", lo / root2), ops::apply1("erf", hi / root2)));
  // Rounding must not reach the ends.
  return tensor_value(
      ops::apply2("minimum", ops::apply2("maximum", x, ops::next_after(lo, true)), ops::next_after(hi, false)));
}

Value split_call(Call& c) {
  int64_t n = c.size() > 1 ? to_count(c[1], "random-split").value() : 2;
  Operand keys = split(key_operand(c[0], "random-split"), n);
  std::vector<Value> out;
  for (int64_t i = 0; i < n; ++i)
    out.push_back(row_value(keys, i));
  return Value::list(std::move(out));
}

const BuiltinDef kBuiltins[] = {
    {"random-key",
     "Random numbers",
     "(random-key seed)",
     "A key: the two halves of the 64-bit seed as u32[2]. Wherever a key is expected, an int stands for its key.",
     {{"(random-key 42)", "[ 0 42]"}},
     1,
     1,
     [](Call& c) { return tensor_value(random_key(c[0])); }},
    {"random-split",
     "Random numbers",
     "(random-split key [n])",
     "A list of n (two) independent keys. A key should be used for one draw only.",
     {{"(random-split (random-key 42))", "[[1832780943  270669613], [  64467757 2916123636]]"}},
     1,
     2,
     split_call},
    {"random-fold-in",
     "Random numbers",
     "(random-fold-in key n)",
     "A new key from a key and a number, such as the count of a step.",
     {{"(random-fold-in (random-key 42) 1)", "[  64467757 2916123636]"}},
     2,
     2,
     fold_in},
    {"random-uniform",
     "Random numbers",
     "(random-uniform key shape [:minval a] [:maxval b] [:dtype d])",
     "Uniform numbers in [0, 1), or in [a, b).",
     {{"(random-uniform (random-key 42) [4])", "[0.48870957  0.6797972  0.6162715  0.5610161]"}},
     2,
     2,
     uniform,
     "minval maxval dtype="},
    {"random-normal",
     "Random numbers",
     "(random-normal key shape [:dtype d])",
     "Normal numbers of mean 0 and variance 1; of c64, parts of variance 1/2.",
     {{"(dims (random-normal (random-key 42) [2 3]))", "[2, 3]"}},
     2,
     2,
     normal,
     "dtype="},
    {"random-randint",
     "Random numbers",
     "(random-randint key shape low high [:dtype d])",
     "Integers from low to high - 1, i32 unless another dtype is asked for.",
     {{"(random-randint (random-key 42) [4] 0 10)", "[4 4 1 9]"}},
     4,
     4,
     randint,
     "dtype="},
    {"choice",
     "Random numbers",
     "(choice key n [:p probabilities])",
     "An int from 0 to n - 1, all equally likely; or a position in a vector of probabilities.",
     {{"(choice (random-key 42) 10)", "4"}, {"(choice (random-key 42) 3 :p [0.2 0.2 0.6])", "2"}},
     2,
     3,
     choice,
     "p"},
    {"random-permutation",
     "Random numbers",
     "(random-permutation key x [:axis k])",
     "The numbers 0 … n - 1 in random order for an int n; the rows of a tensor (axis 0, or k) or the items of a list.",
     {{"(random-permutation (random-key 42) 5)", "[4 2 3 0 1]"},
      {"(random-permutation (random-key 0) [10 20 30 40])", "[10. 20. 40. 30.]"}},
     2,
     2,
     permute,
     "axis"},
    {"random-bernoulli",
     "Random numbers",
     "(random-bernoulli key [p] [shape])",
     "True with probability p (one half), in the shape of p or the given one.",
     {{"(random-bernoulli (random-key 42) 0.6 [4])", "[true false false true]"}},
     1,
     3,
     bernoulli},
    {"random-categorical",
     "Random numbers",
     "(random-categorical key logits [:axis k] [:shape s])",
     "Class numbers with probabilities softmax(logits) along the last axis (or k): an int for a vector, else i32. "
     ":shape is the result's, and adds leading axes.",
     {{"(random-categorical (random-key 42) [0 -100 -100])", "0"}},
     2,
     2,
     categorical,
     "axis shape"},
    {"random-truncated-normal",
     "Random numbers",
     "(random-truncated-normal key low high [shape] [:dtype d])",
     "Normal numbers on condition that they lie between low and high.",
     {{"(let [x (random-truncated-normal (random-key 1) -1 2 [100])] (list (> (min x) -1) (< (max x) 2)))",
       "[true, true]"}},
     3,
     4,
     truncated_normal,
     "dtype="},
};

}  // namespace

std::span<const BuiltinDef> random_builtins() { return kBuiltins; }

}  // namespace sheaf::builtins
