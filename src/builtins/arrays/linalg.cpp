// Products of matrices and their like. Operands are brought to `dot` by views; a matrix shared by a batch sees the
// batch as more rows.
#include <fmt/format.h>

#include "builtins/arrays/arrays.h"
#include "builtins/arrays/attend.h"
#include "builtins/arrays/einsum.h"
#include "builtins/arrays/families.h"
#include "builtins/arrays/mixed.h"
#include "builtins/arrays/quantize.h"
#include "builtins/core/numeric.h"
#include "ops/complex.h"
#include "value/equal.h"

namespace sheaf::builtins {
namespace {

// The first line is fixed by the specification; the second says which sizes disagree.
UserError mismatch(const Operand& a, const Operand& b, const std::string& why) {
  return runtime_error(
      fmt::format("shape mismatch: expected {}, got {}\n  @: {}", shape_text(a.sizes()), shape_text(b.sizes()), why));
}

std::string rows_text(const Operand& x, const char* axis, Size n) {
  return x.rank() == 1 ? fmt::format("{} element{}", n.str(), n == Size(1) ? "" : "s")
                       : fmt::format("{} {}{}", n.str(), axis, n == Size(1) ? "" : "s");
}

// The contracted axes have different sizes; a transposition that would make them fit is worth a hint.
UserError inner_mismatch(const Operand& a, const Operand& b) {
  Size columns = a.size(-1), rows = b.size(b.rank() == 1 ? 0 : -2);
  std::string left = rows_text(a, "column", columns), right = rows_text(b, "row", rows);
  UserError e = mismatch(a, b,
                         fmt::format("the inner sizes differ: left {} has {}, right {} has {}", shape_text(a.sizes()),
                                     left, shape_text(b.sizes()), right));
  e.label = fmt::format("{} against {}", left, a.rank() == 1 && b.rank() == 1 ? rows.str() : right);
  if (b.rank() >= 2 && b.size(-1) == columns)
    e.hints.push_back(fmt::format("with the last two axes of the right operand swapped it would fit: {}",
                                  b.rank() == 2 ? "(@ a (tr b))" : "(@ a (swapaxes b -1 -2))"));
  else if (a.rank() >= 2 && a.size(-2) == rows)
    e.hints.push_back(fmt::format("with the last two axes of the left operand swapped it would fit: {}",
                                  a.rank() == 2 ? "(@ (tr a) b)" : "(@ (swapaxes a -1 -2) b)"));
  return e;
}

UserError batch_mismatch(const Operand& a, const Operand& b, Size left, Size right) {
  UserError e = mismatch(a, b,
                         fmt::format("the batch axes differ: left {} holds {} matrices, right {} holds {}",
                                     shape_text(a.sizes()), left.str(), shape_text(b.sizes()), right.str()));
  e.label = fmt::format("{} matrices against {}", left.str(), right.str());
  return std::move(e).hint(
      "the batch axes of two batched operands must have the same number of elements; see broadcast-to and einsum");
}

Operand batched_product(const Operand& a, const Operand& b) {
  Sizes as = a.sizes(), bs = b.sizes();
  const Sizes& longer = as.size() >= bs.size() ? as : bs;
  Sizes out(longer.begin(), longer.end() - 2);
  Size m = as[as.size() - 2], k = as.back(), n = bs.back(), batch = num_elems(out);
  out.push_back(m);
  out.push_back(n);
  if (b.rank() == 2)
    return ops::reshape(mixed_dot(ops::reshape(a, {1, batch * m, k}), ops::reshape(b, {1, k, n})), out);
  if (a.rank() == 2)
    return ops::reshape(mixed_dot(ops::broadcast_to(a, {batch, m, k}), ops::reshape(b, {batch, k, n})), out);
  Sizes shorter = as.size() < bs.size() ? Sizes(as.begin(), as.end() - 2) : Sizes(bs.begin(), bs.end() - 2);
  if (!(num_elems(shorter) == batch))
    throw batch_mismatch(a, b, num_elems(Sizes(as.begin(), as.end() - 2)), num_elems(Sizes(bs.begin(), bs.end() - 2)));
  return ops::reshape(mixed_dot(ops::reshape(a, {batch, m, k}), ops::reshape(b, {batch, k, n})), out);
}

// A contraction of i32 to a number gives a float, which has no 32 bits to keep to: it is carried out in i64.
DType number_dtype(DType d) { return d == DType::I32 ? DType::I64 : d; }

// What a contraction in `d` gave, where number_dtype(d) was used for a number.
Value contracted(const Operand& y, DType d) {
  if (y.rank() > 0) return tensor_value(y);
  return d == DType::I32 ? float_value(y) : element_value(y);
}

Value product(Call& c) {
  if (c.size() != 2)
    throw runtime_error(fmt::format("@ requires 2 arguments, got {}", c.size()))
        .hint("is a parenthesis misplaced? The form is (@ a b), e.g. (+ (@ x w) b)");
  if (is_quantized(c[1])) return quantized_product(c[0], c[1]);
  auto [x, y] = nums(c[0], c[1]);
  DType d = contraction_dtype(x.x.dtype(), y.x.dtype());
  DType work = x.x.rank() == 1 && y.x.rank() == 1 ? number_dtype(d) : d;
  Operand a = ops::cast(x.x, work), b = ops::cast(y.x, work);
  int ra = a.rank(), rb = b.rank();
  if (ra == 0 || rb == 0 || (ra == 1 && rb > 2) || (rb == 1 && ra > 2))
    throw runtime_error(fmt::format("@ not supported for {}D x {}D", ra, rb));
  if (!(a.size(ra - 1) == b.size(rb == 1 ? 0 : rb - 2))) throw inner_mismatch(a, b);
  // A vector is a matrix of one row or one column, and the axis goes again afterwards.
  if (ra == 1) a = ops::expand_axis(a, 0);
  if (rb == 1) b = ops::expand_axis(b, 1);
  Operand y2 = batched_product(a, b);
  if (rb == 1) y2 = ops::squeeze_axis(y2, y2.rank() - 1);
  if (ra == 1) y2 = ops::squeeze_axis(y2, 0);
  return contracted(y2, d);
}

// Rows of x [M, K] in groups by a matrix of w [G, K, N] for each.
Value grouped_product(Call& c) {
  auto [xn, wn] = nums(c[0], c[1]);
  DType d = float_dtype(contraction_dtype(xn.x.dtype(), wn.x.dtype()));
  Operand x = ops::cast(xn.x, d), w = ops::cast(wn.x, d), counts = index_operand(c[2], "grouped-matmul");
  auto refuse = [&](std::string why) {
    UserError e = runtime_error(fmt::format("grouped-matmul: x is {}, w {}, counts {}", shape_text(x.sizes()),
                                            shape_text(w.sizes()), shape_text(counts.sizes())));
    e.label = std::move(why);
    throw std::move(e).hint(
        "x is [rows k], w [groups k n], and counts [groups] says how many rows of x each group has");
  };
  if (x.rank() != 2 || w.rank() != 3 || counts.rank() != 1) refuse("they have 2, 3 and 1 axes");
  if (!(x.size(1) == w.size(1)))
    refuse(fmt::format("x has {} columns, the matrices of w have {} rows", x.size(1).str(), w.size(1).str()));
  if (!(w.size(0) == counts.size(0)))
    refuse(fmt::format("w has {} matrices, there are {} counts", w.size(0).str(), counts.size(0).str()));
  auto alone = [](const Operand& a) { return ops::expand_axis(a, 0); };
  Operand y = mixed_product(alone(x), alone(w), [&](Operand a, Operand b, bool wide) {
    return graph::apply(ops::op(wide ? "wide_grouped_dot" : "grouped_dot"), {a, b, alone(counts)});
  });
  return tensor_value(ops::squeeze_axis(y, 0));
}

Value einsum_call(Call& c) {
  if (c.size() == 0 || (c.size() == 1 && c[0].is_string()))
    throw runtime_error(fmt::format("einsum: expected 3 arguments (subscript, a, b), got {}", c.size()));
  if (!c[0].is_string()) throw runtime_error("einsum: first argument must be a subscript string");
  std::vector<Num> in;
  for (size_t i = 1; i < c.size(); ++i)
    in.push_back(num(c[i]));
  std::optional<DType> d;
  for (const Num& n : in)
    if (!n.is_scalar()) d = contraction_dtype(d.value_or(n.x.dtype()), n.x.dtype());
  for (const Num& n : in)
    if (n.is_scalar()) d = d ? common_dtype({ops::constant(*d, 0), Kind::Tensor}, n) : DType::F32;
  if (d == DType::I8) d = DType::I32;
  const std::string& subscript = c[0].as_string();
  bool to_number = subscript.find_last_not_of(' ') == subscript.find("->") + 1;
  std::vector<Operand> operands;
  for (const Num& n : in)
    operands.push_back(converted(n, to_number ? number_dtype(*d) : *d));
  return contracted(einsum(subscript, std::move(operands)), *d);
}

Value outer(Call& c) {
  auto [x, y] = nums(c[0], c[1]);
  DType d = common_dtype(x, y);
  Operand a = ops::reshape(converted(x, d), {num_elems(x.x.sizes()), 1}),
          b = ops::reshape(converted(y, d), {1, num_elems(y.x.sizes())});
  return tensor_value(ops::mul(a, b));
}

// An op on [batch, m, n] on the matrices in the last two axes of a tensor; its outputs begin with the same axes.
template <const char* kOp>
Value decompose(Call& c) {
  Operand x = array_operand(c[0], kOp);
  ops::check_real(x, kOp);
  DType d = is_float(x.dtype()) ? x.dtype() : DType::F32;
  Sizes sizes = x.sizes(), lead(sizes.begin(), sizes.end() - 2);
  Operand all = ops::reshape(ops::cast(x, d == DType::F64 ? d : DType::F32),
                             {num_elems(lead), sizes[sizes.size() - 2], sizes.back()});
  std::vector<Value> out;
  for (Operand& y : graph::apply_all(ops::op(kOp), {all}, {})) {
    Sizes whole = lead;
    for (int axis = 1; axis < y.rank(); ++axis)
      whole.push_back(y.size(axis));
    Operand result = ops::reshape(y, whole);
    if (is_float(result.dtype())) result = ops::cast(result, d);
    out.push_back(result.rank() == 0 ? element_value(result) : tensor_value(result));
  }
  return Value::list(std::move(out));
}
constexpr char kEigh[] = "eigh", kSvd[] = "svd", kEigvalsh[] = "eigvalsh", kSvdvals[] = "svdvals", kDet[] = "det",
               kSlogdet[] = "slogdet", kLu[] = "lu", kQr[] = "qr", kCholesky[] = "cholesky";

// Matrices in the last two axes, and others with as many rows; the axes before them broadcast.
Value solve_with(Call& c, const char* op, const graph::Attrs& attrs) {
  auto [a, b] = nums(c[0], c[1]);
  ops::check_real(a.x, op);
  ops::check_real(b.x, op);
  DType d = float_dtype(common_dtype(a, b)), wide = d == DType::F64 ? d : DType::F32;
  auto lead_of = [](const Sizes& s) { return Sizes(s.begin(), s.end() - 2); };
  const Sizes lead = ops::broadcast_sizes(lead_of(a.x.sizes()), lead_of(b.x.sizes()));
  auto whole = [&](const Operand& x) {
    Sizes sizes = lead;
    for (int axis = x.rank() - 2; axis < x.rank(); ++axis)
      sizes.push_back(x.size(axis));
    return sizes;
  };
  auto all = [&](const Operand& x) {
    return ops::reshape(ops::broadcast_to(ops::cast(x, wide), whole(x)),
                        {num_elems(lead), x.size(x.rank() - 2), x.size(x.rank() - 1)});
  };
  Operand x = graph::apply(ops::op(op), {all(a.x), all(b.x)}, attrs);
  return tensor_value(ops::cast(ops::reshape(x, whole(b.x)), d));
}
Value solve(Call& c) { return solve_with(c, "solve", {}); }
Value solve_triangular(Call& c) {
  return solve_with(c, "solve_triangular",
                    {{"upper", truthy(c[2])}, {"transposed", truthy(c[3])}, {"unit", truthy(c[4])}});
}

const BuiltinDef kBuiltins[] = {
    {"@",
     "Linear algebra",
     "(@ a b)",
     "Product of vectors, matrices, or batches of matrices: the last axis of a with the second to last of b (the only "
     "one of a vector). Two vectors "
     "give a number. The leading axes of the operand with more axes are the batch, for every element of which a matrix "
     "is used again.",
     {{"(@ [1 2 3] [4 5 6])", "32.0"},
      {"(@ [[1 2] [3 4]] [1 1])", "[3. 7.]"},
      {"(shape (@ (ones [5 2 3]) (ones [3 4])))", "[5. 2. 4.]"}},
     0,
     -1,
     product},
    {"grouped-matmul",
     "Linear algebra",
     "(grouped-matmul x w counts)",
     "Rows of x [rows k] stand in groups, one after the other; counts says how many each group has, which may be none "
     "and may differ from call to call. Every row by the matrix "
     "of its group, of w [groups k n]: what @ gives for each group. Rows after the last group give zeros.",
     {{"(grouped-matmul [[1 2] [3 4] [5 6]] [[[1] [1]] [[10] [0]]] [2 1])", "[[ 3.]\n [ 7.]\n [50.]]"},
      {"(grouped-matmul (ones [3 2]) (ones [2 2 2]) [0 2])", "[[2. 2.]\n [2. 2.]\n [0. 0.]]"}},
     3,
     3,
     grouped_product},
    {"einsum",
     "Linear algebra",
     "(einsum \"ab,bc->ac\" x y …)",
     "Sum of products by index letters, for any number of operands. A letter that the output does not name is summed "
     "over; a letter twice in one operand "
     "takes its diagonal; ... stands for leading axes, aligned at the right. A result without axes is a number.",
     {{"(einsum \"ab,bc->ac\" [[1 2] [3 4]] [[5 6] [7 8]])", "[[19. 22.]\n [43. 50.]]"},
      {"(einsum \"ii->\" [[1 2] [3 4]])", "5.0"},
      {"(einsum \"i,ij,j->\" [1 2] [[1 2] [3 4]] [1 1])", "17.0"}},
     0,
     -1,
     einsum_call},
    {"outer",
     "Linear algebra",
     "(outer a b)",
     "Every element of a times every element of b, both flattened: a matrix.",
     {{"(outer [1 2] [3 4 5])", "[[3. 4.  5.]\n [6. 8. 10.]]"}},
     2,
     2,
     outer},
    {"%attention", "", "", "", {}, 8, 8, attend},
    {"%eigh", "", "", "", {}, 1, 1, decompose<kEigh>},
    {"%svd", "", "", "", {}, 1, 1, decompose<kSvd>},
    {"%eigvalsh", "", "", "", {}, 1, 1, decompose<kEigvalsh>},
    {"%svdvals", "", "", "", {}, 1, 1, decompose<kSvdvals>},
    {"%det", "", "", "", {}, 1, 1, decompose<kDet>},
    {"%slogdet", "", "", "", {}, 1, 1, decompose<kSlogdet>},
    {"%lu", "", "", "", {}, 1, 1, decompose<kLu>},
    {"%qr", "", "", "", {}, 1, 1, decompose<kQr>},
    {"%cholesky", "", "", "", {}, 1, 1, decompose<kCholesky>},
    {"%solve", "", "", "", {}, 2, 2, solve},
    {"%solve-triangular", "", "", "", {}, 5, 5, solve_triangular},
    {"%with-contractions", "", "", "", {}, 3, 3, with_contractions},
};

}  // namespace

std::span<const BuiltinDef> linalg_builtins() { return kBuiltins; }

}  // namespace sheaf::builtins
