// Ops whose result depends on the order of a whole row: sorting, searching and running values.
#include <fmt/format.h>

#include <cmath>

#include "loop/builder.h"
#include "ops/apply.h"
#include "ops/complex.h"
#include "ops/lower_ctx.h"
#include "ops/rules.h"
#include "ops/table.h"
#include "routines/sort/args.h"

namespace sheaf::ops {
namespace {

using graph::differentiable;
using graph::kAnyReal;
using graph::LowerCtx;
using graph::OpKind;
using graph::VjpCtx;
using graph::zero_derivative;

std::vector<TensorType> infer_sort(const InferCtx& c) { return {c.inputs[0], {DType::I32, c.inputs[0].sizes}}; }

std::vector<TensorType> infer_top(const InferCtx& c) {
  Sizes sizes{c.inputs[0].sizes[0], Size(c.attrs.integer("count"))};
  return {{c.inputs[0].dtype, sizes}, {DType::I32, sizes}};
}

// [rows, n], contiguous.
void lower_in_order(LowerCtx& c, bool descending) {
  const auto& x = c.in[0];
  c.b.call({x.buffer, c.out[0].buffer, c.out[1].buffer},
           routines::SortArgs<loop::CallArg>{x.dtype, x.sizes[0], x.sizes[1], descending, c.out[0].sizes[1]});
}
void lower_sort(LowerCtx& c) { lower_in_order(c, c.attrs.flag("descending")); }
void lower_top(LowerCtx& c) { lower_in_order(c, true); }

// What went to a place comes back from there.
void vjp_sort(VjpCtx& c) {
  if (!c.has_dy(0)) return;
  auto rows = [](Operand o) { return reshape(o, {o.size(0), o.size(1), 1}); };
  Operand g = put_along(zeros({c.dy().dtype(), rows(c.x(0)).sizes()}), rows(cast(c.y(1), DType::I64)), rows(c.dy(0)), 1,
                        "sort", false);
  c.grad(0, reshape(g, c.x(0).sizes()));
}

// [outer, n, inner], contiguous.
void lower_cumulate(LowerCtx& c) {
  const auto& x = c.in[0];
  c.b.call({x.buffer, c.out[0].buffer},
           routines::CumulateArgs<loop::CallArg>{x.dtype, x.sizes[0], x.sizes[1], x.sizes[2],
                                                 static_cast<routines::Running>(c.attrs.integer("what"))});
}

Operand running_sum_from_the_end(Operand g) { return flip(cumulate(flip(std::move(g), 1), 1, 0), 1); }

// Elements along axis 1 moved by `by` places; `fill` comes in. A last axis of 1 would be a loop of one turn.
Operand moved_back(const Operand& x, int64_t by, double fill) {
  Size n = x.size(1), kept = max(n - Size(by), Size(0));
  if (x.size(2) != Size(1)) return pad(slice_axis(x, 1, 0, kept), {0, n - kept, 0}, {0, 0, 0}, {0, 0, 0}, fill);
  Operand rows = reshape(x, {x.size(0), n});
  return reshape(pad(slice_axis(rows, 1, 0, kept), {0, n - kept}, {0, 0}, {0, 0}, fill), x.sizes());
}

Operand recurrence(const Operand& factors, const Operand& terms, bool backward) {
  return graph::apply(op("recurrence"), {factors, terms}, {{"backward", backward}});
}

void lower_recurrence(LowerCtx& c) {
  const auto& x = c.in[0];
  c.b.call(
      {x.buffer, c.in[1].buffer, c.out[0].buffer},
      routines::RecurrenceArgs<loop::CallArg>{x.dtype, x.sizes[0], x.sizes[1], x.sizes[2], c.attrs.flag("backward")});
}

// With F the factors below the diagonal, s = (I - F)^-1 terms; backward it is the transposed matrix. So the adjoint of
// the terms is the other recurrence, and that of a factor the adjoint of what it is added to times what it multiplies.
void vjp_recurrence(VjpCtx& c) {
  bool backward = c.attrs().flag("backward");
  Operand terms = recurrence(c.x(0), c.dy(), !backward);
  if (c.needs(0)) c.grad(0, backward ? moved_back(terms, 1, 0) * c.y() : moved_back(c.y(), 1, 0) * terms);
  c.grad(1, terms);
}

// d y_j / d x_i is the product of the other factors up to j. So the adjoint is e_i s_i, with e_i the product before i
// and s_i = dy_i + x_{i+1} s_{i+1}. Nothing is divided: it holds where factors are zero, and so do its own derivatives.
Operand running_product_adjoint(const Operand& x, const Operand& y, const Operand& dy) {
  return moved_back(y, 1, 1) * recurrence(x, dy, true);
}

void vjp_cumulate(VjpCtx& c) {
  switch (c.attrs().integer("what")) {
    case 0: c.grad(0, running_sum_from_the_end(c.dy())); return;
    case 1: c.grad(0, running_product_adjoint(c.x(0), c.y(), c.dy())); return;
    default: {
      // Running extremum: the adjoint of a plateau goes to the element that started it. Plateaus are counted in ints
      // and added up in f32 at least: a bf16 has no 257, and would round at each of the terms.
      Operand y = c.y(), x = c.x(0);
      DType sum = compute_type(x.dtype());
      bool largest = c.attrs().integer("what") == 2;
      Operand before = moved_back(y, 1, largest ? -HUGE_VAL : HUGE_VAL);
      Operand starts = largest ? less(before, x) : less(x, before), count = cumulate(cast(starts, DType::I64), 1, 0),
              group = count - like(count, 1);
      Operand total = put_along(zeros({sum, x.sizes()}), group, cast(c.dy(), sum), 1, "cummax", false);
      Operand back = cast(take_along(total, group, 1, "cummax", false), x.dtype());
      c.grad(0, where(starts, back, like(x, 0)));
    }
  }
}

// Either one sorted vector for all of x, or a row of `sorted` for each row of x.
std::vector<TensorType> infer_search(const InferCtx& c) {
  const Sizes &sorted = c.inputs[0].sizes, &x = c.inputs[1].sizes;
  bool fits = sorted.size() == 1 || (sorted.size() > 1 && sorted.size() == x.size());
  for (size_t i = 0; fits && i + 1 < sorted.size(); ++i)
    fits = sorted[i] == x[i];
  if (!fits)
    throw runtime_error(fmt::format("searchsorted: sorted is {}, x is {}", shape_text(sorted), shape_text(x)))
        .hint("sorted is a vector, or has the same leading sizes as x");
  return {{DType::I32, x}};
}

// Contiguous.
void lower_search(LowerCtx& c) {
  const auto &sorted = c.in[0], &x = c.in[1];
  auto product = [&](auto begin, auto end) {
    loop::ValueId n = c.b.i64(1);
    for (; begin != end; ++begin)
      n = c.b.mul(n, *begin);
    return n;
  };
  size_t leading = sorted.sizes.size() - 1;
  c.b.call({sorted.buffer, x.buffer, c.out[0].buffer},
           routines::SearchArgs<loop::CallArg>{x.dtype, product(x.sizes.begin(), x.sizes.begin() + leading),
                                               sorted.sizes.back(), product(x.sizes.begin() + leading, x.sizes.end()),
                                               c.attrs.flag("right")});
}

std::vector<Operand> batch_search(BatchCtx& c) {
  if (!c.batched[0] && c.inputs[0].rank() == 1) return {graph::apply(c.op, c.inputs, c.attrs)};
  stretch_to_batch(c);
  Operand sorted = c.inputs[0], x = c.inputs[1];
  if (sorted.rank() > 2) return {graph::apply(c.op, c.inputs, c.attrs)};
  Size count = 1;
  for (int i = 1; i < x.rank(); ++i)
    count = count * x.size(i);
  return {reshape(graph::apply(c.op, {sorted, reshape(x, {x.size(0), count})}, c.attrs), x.sizes())};
}

std::vector<Operand> batch_sort(BatchCtx& c) {
  Operand x = c.inputs[0];
  auto out = graph::apply_all(c.op, {reshape(x, {x.size(0) * x.size(1), x.size(2)})}, c.attrs);
  for (Operand& o : out)
    o = reshape(o, {x.size(0), x.size(1), o.size(1)});
  return out;
}

std::vector<Operand> batch_cumulate(BatchCtx& c) {
  stretch_to_batch(c);
  Sizes s = c.inputs[0].sizes();
  for (Operand& x : c.inputs)
    x = reshape(x, {s[0] * s[1], s[2], s[3]});
  return {reshape(graph::apply(c.op, c.inputs, c.attrs), s)};
}

std::vector<TestCase> sort_cases(DType) {
  std::vector<TestCase> out;
  for (bool down : {false, true})
    for (Dims s : {Dims{1, 1}, Dims{3, 5}, Dims{2, 0}, Dims{0, 3}, Dims{2, 131}})
      out.push_back({.attrs = {{"descending", down}}, .inputs = {{s}}, .apart = true});
  return out;
}
std::vector<TestCase> top_cases(DType) {
  std::vector<TestCase> out;
  for (auto [s, count] :
       {std::pair<Dims, int64_t>{{1, 1}, 1}, {{3, 5}, 2}, {{2, 0}, 0}, {{0, 3}, 2}, {{2, 131}, 7}, {{2, 131}, 100}})
    out.push_back({.attrs = {{"count", count}}, .inputs = {{s}}, .apart = true});
  return out;
}
// Sums, products (of numbers near one, and with zeros among them), maxima and minima.
std::vector<TestCase> cumulate_cases(DType) {
  std::vector<TestCase> out;
  for (int64_t what : {0, 1, 2, 3})
    for (const Dims& s : {Dims{1, 1, 1}, Dims{2, 5, 3}, Dims{2, 0, 3}, Dims{0, 2, 1}, Dims{1, 37, 1}, Dims{1, 2, 1}}) {
      TestInput x{s};
      if (what == 1) x.lo = 0.7, x.hi = 1.4;
      out.push_back({.attrs = {{"what", what}}, .inputs = {x}, .apart = what >= 2, .zeros = what == 1});
    }
  return out;
}

std::vector<TestCase> recurrence_cases(DType) {
  std::vector<TestCase> out;
  for (bool backward : {false, true})
    for (const Dims& s : {Dims{1, 1, 1}, Dims{2, 5, 3}, Dims{2, 0, 3}, Dims{0, 2, 1}, Dims{9, 37, 1}, Dims{1, 2, 1}})
      out.push_back({.attrs = {{"backward", backward}}, .inputs = {{s, TestInput::Uniform, -0.9, 0.9}, {s}}});
  return out;
}

std::vector<TestCase> search_cases(DType) {
  std::vector<TestCase> out;
  for (bool right : {false, true})
    for (auto [sorted, x] : {std::pair<Dims, Dims>{{1}, {}},
                             {{7}, {2, 5}},
                             {{0}, {3}},
                             {{4}, {0, 2}},
                             {{3, 5}, {3, 2}},
                             {{2, 1, 131}, {2, 1, 9}},
                             {{0, 3}, {0, 2}}})
      out.push_back({.attrs = {{"right", right}}, .inputs = {{sorted}, {x}}, .apart = true});
  return out;
}

const OpDef kOps[] = {
    {.name = "sort",
     .kind = OpKind::Ordered,
     .doc = "Each row in order, stable, NaN last; also where each element came from (i32).",
     .dtypes = kAnyReal,
     .infer = infer_sort,
     .vjp = differentiable(vjp_sort),
     .batch = batch_sort,
     .lower = lower_sort,
     .cases = {.list = sort_cases}},
    {.name = "top",
     .kind = OpKind::Ordered,
     .doc = "The first `count` of each row in descending order, NaN last; also where each came from (i32).",
     .dtypes = kAnyReal,
     .infer = infer_top,
     .vjp = differentiable(vjp_sort),
     .batch = batch_sort,
     .lower = lower_top,
     .cases = {.list = top_cases}},
    {.name = "cumulate",
     .kind = OpKind::Ordered,
     .doc = "Running sum, product, maximum or minimum along axis 1.",
     .dtypes = kAnyReal,
     .infer = infer_same,
     .vjp = differentiable(vjp_cumulate),
     .batch = batch_cumulate,
     .complex = complex_cumulate,
     .lower = lower_cumulate,
     .cases = {.list = cumulate_cases}},
    {.name = "recurrence",
     .kind = OpKind::Ordered,
     .doc = "(factors, terms): s_i = terms_i + factors_i s_{i-1} along axis 1; or, `backward`, its adjoint.",
     .dtypes = graph::kFloats,
     .infer = infer_same,
     .vjp = differentiable(vjp_recurrence),
     .batch = batch_cumulate,
     .lower = lower_recurrence,
     .cases = {.list = recurrence_cases}},
    {.name = "search_sorted",
     .kind = OpKind::Ordered,
     .signature = "(searchsorted sorted x [:right])",
     .doc =
         "Where the elements of x would be inserted into a sorted vector to keep it sorted, as i32: before those equal "
         "to them, or after them with `:right`. NaN comes last. `sorted` may also have a row for each row of x.",
     .examples = {{"(searchsorted [10 20 30] [5 20 99])", "[0 1 3]"},
                  {"(searchsorted [10 20 30] 20 :right)", "2"},
                  {"(searchsorted [[1 2] [3 4]] [[2] [2]])", "[[1]\n [0]]"}},
     .category = "Sorting and running totals",
     .arguments = graph::Arguments::Arrays,
     .dtypes = kAnyReal,
     .infer = infer_search,
     .vjp = zero_derivative("positions are whole numbers"),
     .batch = batch_search,
     .lower = lower_search,
     .cases = {.list = search_cases}},
};

}  // namespace

std::span<const OpDef> ordered_ops() { return kOps; }

}  // namespace sheaf::ops
