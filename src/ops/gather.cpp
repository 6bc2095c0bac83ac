// Indexed reads and writes. Canonical shapes: x [outer, n, inner]; `take`/`scatter` index rows with idx [j]; the
// `_along` pair indexes single elements with idx [outer, j, inner]. Indices are i64; out of range is a reported check.
#include <fmt/format.h>

#include "loop/builder.h"
#include "ops/apply.h"
#include "ops/complex.h"
#include "ops/lower_ctx.h"
#include "ops/rules.h"
#include "ops/table.h"
#include "ops/update.h"

namespace sheaf::ops {
namespace {

using graph::CheckCtx;
using graph::differentiable;
using graph::kAnyType;
using graph::LowerCtx;
using graph::OpKind;
using graph::VjpCtx;

std::string who(const Attrs& a) { return a.get<std::string>("who"); }
bool wrap(const Attrs& a) { return a.flag("wrap"); }
Update how_of(const Attrs& a) { return static_cast<Update>(a.integer("how")); }

// The index, counted from the end if negative and allowed.
uint32_t from_start(LowerCtx& c, uint32_t raw, uint32_t n) {
  return wrap(c.attrs) ? c.b.select(c.b.lt(raw, c.b.i64(0)), c.b.add(raw, n), raw) : raw;
}
void check_index(LowerCtx& c, uint32_t raw, uint32_t n) {
  auto& b = c.b;
  uint32_t at = from_start(c, raw, n);
  b.check(b.and_(b.ge(at, b.i64(0)), b.lt(at, n)), 0, raw);
}
// Clamped so that no access is out of range.
uint32_t clamped_index(LowerCtx& c, uint32_t raw, uint32_t n) {
  auto& b = c.b;
  return b.max(b.min(from_start(c, raw, n), b.sub(n, b.i64(1))), b.i64(0));
}
uint32_t checked_index(LowerCtx& c, uint32_t raw, uint32_t n) {
  check_index(c, raw, n);
  return clamped_index(c, raw, n);
}

std::string range_text(const CheckCtx& c) {
  std::string name = who(c.attrs);
  Size n = c.inputs[0].sizes[1];
  if (c.payload == INT64_MIN) return fmt::format("{}: expected whole numbers as indices", name);
  if (name == "one-hot") return fmt::format("one-hot: index {} is out of bounds for {} classes", c.payload, n.str());
  if (name == "index-update")
    return fmt::format("index-update: index {} is out of bounds for axis 0 with size {}", c.payload, n.str());
  if (name == "get") return fmt::format("get: index {} is out of bounds for tensor with {} rows", c.payload, n.str());
  return fmt::format("{}: index {} is out of bounds for axis with size {}", name, c.payload, n.str());
}

std::vector<TensorType> infer_take(const InferCtx& c) {
  const Sizes& s = c.inputs[0].sizes;
  return {{c.inputs[0].dtype, {s[0], c.inputs[1].sizes[0], s[2]}}};
}
std::vector<TensorType> infer_take_along(const InferCtx& c) { return {{c.inputs[0].dtype, c.inputs[1].sizes}}; }

// Three nests, of which one runs. Of rows of several elements those of all outer blocks are one parallel loop, as a
// look-up in one table has a single outer block. Of rows of one element the index is the vector axis: of one block a
// loop that is split into chunks, of several a loop for each block.
void lower_take(LowerCtx& c) {
  auto& b = c.b;
  uint32_t zero = b.i64(0), one = b.i64(1), outer = c.out[0].sizes[0], rows = c.out[0].sizes[1],
           inner = c.out[0].sizes[2];
  auto row = [&](uint32_t j) { return checked_index(c, c.load(c.in[1], {j}), c.in[0].sizes[1]); };
  auto copy = [&](uint32_t o, uint32_t at, uint32_t j, uint32_t i) {
    c.store(c.out[0], {o, j, i}, c.load(c.in[0], {o, at, i}));
  };
  uint32_t single = b.eq(inner, one), single_block = b.and_(single, b.eq(outer, one));
  uint32_t elements[] = {b.select(single_block, rows, zero)};
  c.for_each(elements, [&](auto index) { copy(zero, row(index[0]), index[0], zero); });
  uint32_t blocks[] = {b.select(b.and_(single, b.gt(outer, one)), outer, zero), rows};
  c.for_each(blocks, [&](auto index) { copy(index[0], row(index[1]), index[1], zero); });
  uint32_t r = b.begin_loop(b.select(single, zero, b.mul(outer, rows)), loop::Mark::Parallel);
  uint32_t o = b.binary(loop::Op::FloorDiv, r, rows), j = b.sub(r, b.mul(o, rows)), at = row(j);
  uint32_t i = b.begin_loop(inner, loop::Mark::Vector);
  copy(o, at, j, i);
  b.end();
  b.end();
}

// The result starts as the first input; in place it already is.
void copy_input(LowerCtx& c) {
  if (c.in_place) return;
  c.for_each(c.in[0].sizes, [&](auto index) { c.store(c.out[0], index, c.load(c.in[0], index)); });
}

uint32_t stored_value(LowerCtx& c, std::span<const uint32_t> at) {
  return c.b.convert(c.b.load(c.out[0].buffer, c.offset(c.out[0], at)), compute_type(c.out[0].dtype));
}

uint32_t combine(LowerCtx& c, uint32_t old_value, uint32_t update) {
  bool is_bool = c.b.type_of(update) == DType::Bool;
  switch (how_of(c.attrs)) {
    case Update::Set: return update;
    case Update::Add: return is_bool ? c.b.or_(old_value, update) : c.b.add(old_value, update);
    case Update::Max: return is_bool ? c.b.or_(old_value, update) : c.b.binary(loop::Op::Max, old_value, update);
    case Update::Min: return is_bool ? c.b.and_(old_value, update) : c.b.binary(loop::Op::Min, old_value, update);
    case Update::Multiply: return is_bool ? c.b.and_(old_value, update) : c.b.mul(old_value, update);
  }
  return update;
}

// Rows in order of the index: the result does not depend on threads, and repeated rows add up in order. Columns are
// independent of each other.
void lower_scatter(LowerCtx& c) {
  auto& b = c.b;
  copy_input(c);
  uint32_t outer = c.in[2].sizes[0], rows = c.in[2].sizes[1], n = c.in[0].sizes[1];
  // A loop of its own: rows without elements have their indices checked too.
  uint32_t k = b.begin_loop(b.select(b.gt(outer, b.i64(0)), rows, b.i64(0)), loop::Mark::Vector);
  check_index(c, c.load(c.in[1], {k}), n);
  b.end();
  uint32_t o = b.begin_loop(outer, loop::Mark::Free);
  uint32_t i = b.begin_loop(c.in[2].sizes[2], loop::Mark::Vector);
  uint32_t j = b.begin_loop(rows, loop::Mark::Serial);
  uint32_t at = clamped_index(c, c.load(c.in[1], {j}), n);
  uint32_t to[] = {o, at, i};
  c.store(c.out[0], to, combine(c, stored_value(c, to), c.load(c.in[2], {o, j, i})));
  b.end();
  b.end();
  b.end();
}

// Two nests, of which one runs: along the last axis (inner 1) the index is the vector axis, else inner is.
void lower_take_along(LowerCtx& c) {
  auto& b = c.b;
  auto element = [&](uint32_t o, uint32_t j, uint32_t i) {
    uint32_t at = checked_index(c, c.load(c.in[1], {o, j, i}), c.in[0].sizes[1]);
    c.store(c.out[0], {o, j, i}, c.load(c.in[0], {o, at, i}));
  };
  uint32_t zero = b.i64(0), outer = c.out[0].sizes[0], n = c.out[0].sizes[1], inner = c.out[0].sizes[2];
  uint32_t along_last = b.eq(inner, b.i64(1));
  uint32_t last[] = {b.select(along_last, outer, zero), n}, other[] = {b.select(along_last, zero, outer), n, inner};
  c.for_each(last, [&](auto index) { element(index[0], index[1], zero); });
  c.for_each(other, [&](auto index) { element(index[0], index[1], index[2]); });
}

void lower_put_along(LowerCtx& c) {
  auto& b = c.b;
  copy_input(c);
  uint32_t o = b.begin_loop(c.in[2].sizes[0], loop::Mark::Parallel);  // each writes rows of its own
  uint32_t j = b.begin_loop(c.in[2].sizes[1], loop::Mark::Serial);
  uint32_t i = b.begin_loop(c.in[2].sizes[2], loop::Mark::Vector);
  uint32_t at = checked_index(c, c.load(c.in[1], {o, j, i}), c.in[0].sizes[1]);
  uint32_t to[] = {o, at, i};
  c.store(c.out[0], to, combine(c, stored_value(c, to), c.load(c.in[2], {o, j, i})));
  b.end();
  b.end();
  b.end();
}

std::vector<TensorType> infer_dynamic_slice(const InferCtx& c) { return {{c.inputs[0].dtype, c.attrs.sizes("sizes")}}; }

// Start of a window of `window` elements, moved so that it lies inside [0, n).
uint32_t clamped_start(LowerCtx& c, const LowerCtx::Array& starts, int axis, uint32_t n, uint32_t window) {
  auto& b = c.b;
  uint32_t s = c.load(starts, {b.i64(axis)});
  return b.max(b.min(s, b.sub(n, window)), b.i64(0));
}

void lower_dynamic_slice(LowerCtx& c) {
  auto& b = c.b;
  std::vector<uint32_t> start;
  for (int a = 0; a < c.in[0].rank(); ++a)
    start.push_back(clamped_start(c, c.in[1], a, c.in[0].sizes[a], c.out[0].sizes[a]));
  c.for_each(c.out[0].sizes, [&](auto index) {
    std::vector<uint32_t> from;
    for (size_t a = 0; a < index.size(); ++a)
      from.push_back(b.add(index[a], start[a]));
    c.store(c.out[0], index, c.load(c.in[0], from));
  });
}

void lower_update_slice(LowerCtx& c) {
  auto& b = c.b;
  copy_input(c);
  std::vector<uint32_t> start;
  for (int a = 0; a < c.in[0].rank(); ++a)
    start.push_back(clamped_start(c, c.in[2], a, c.in[0].sizes[a], c.in[1].sizes[a]));
  c.for_each(c.in[1].sizes, [&](auto index) {
    std::vector<uint32_t> to;
    for (size_t a = 0; a < index.size(); ++a)
      to.push_back(b.add(index[a], start[a]));
    c.store(c.out[0], to, c.load(c.in[1], index));
  });
}

// The pieces of a batched x [batch, outer, n, inner] seen as [batch * outer, n, inner].
Operand merge_batch(const Operand& x) { return reshape(x, {x.size(0) * x.size(1), x.size(2), x.size(3)}); }

std::vector<Operand> batch_take(BatchCtx& c) {
  if (!c.batched[1]) {
    Operand y = take(merge_batch(c.inputs[0]), c.inputs[1], 1, who(c.attrs), wrap(c.attrs));
    return {reshape(y, {c.batch, c.inputs[0].size(1), y.size(1), y.size(2)})};
  }
  if (!c.batched[0]) {  // every example reads the same x: one long index
    Size j = c.inputs[1].size(1);
    Operand y = take(c.inputs[0], reshape(c.inputs[1], {c.batch * j}), 1, who(c.attrs), wrap(c.attrs));
    return {transpose(reshape(y, {y.size(0), c.batch, j, y.size(2)}), {1, 0, 2, 3})};
  }
  Operand x = c.inputs[0];
  Size o = x.size(1), i = x.size(3), j = c.inputs[1].size(1);
  Operand idx = broadcast_to(reshape(c.inputs[1], {c.batch, 1, j, 1}), {c.batch, o, j, i});
  Operand y = take_along(merge_batch(x), merge_batch(idx), 1, who(c.attrs), wrap(c.attrs));
  return {reshape(y, {c.batch, o, j, i})};
}

// The adjoints of what is updated and of the updates. `gather` reads the places that the updates went to, `update` is
// the op itself. Of a maximum every element that equals it has the adjoint, as in reductions.
template <class Gather, class UpdateFn>
void vjp_update(VjpCtx& c, Gather gather, UpdateFn update) {
  Operand dy = c.dy(), zero = like(dy, 0), one = like(dy, 1);
  switch (how_of(c.attrs())) {
    case Update::Add:
    case Update::Set:
      if (c.needs(0)) c.grad(0, how_of(c.attrs()) == Update::Add ? dy : update(dy, zeros(c.x(2).type()), Update::Set));
      if (c.needs(2)) c.grad(2, gather(dy));
      return;
    case Update::Max:
    case Update::Min:
      if (c.needs(0)) c.grad(0, where(equal(c.x(0), c.y()), dy, zero));
      if (c.needs(2)) c.grad(2, where(equal(c.x(2), gather(c.y())), gather(dy), zero));
      return;
    case Update::Multiply: {
      // The product of all other factors: 0 if one of them is, else that of all factors but zeros, less its own.
      Operand x_is_zero = equal(c.x(0), zero), u_is_zero = equal(c.x(2), zero);
      Operand x = where(x_is_zero, one, c.x(0)), u = where(u_is_zero, one, c.x(2));
      DType d = dy.dtype();
      Operand product = update(x, u, Update::Multiply),
              num_zeros = update(cast(x_is_zero, d), cast(u_is_zero, d), Update::Add);
      auto others = [&](Operand is_zero, Operand factor, Operand all, Operand count) {
        return where(equal(count, cast(is_zero, d)), all / factor, zero);
      };
      if (c.needs(0)) c.grad(0, dy * others(x_is_zero, x, product, num_zeros));
      if (c.needs(2)) c.grad(2, gather(dy) * others(u_is_zero, u, gather(product), gather(num_zeros)));
    }
  }
}

void vjp_take_along(VjpCtx& c) {
  Operand index = c.x(1);
  Size n = c.x(0).size(1);
  constexpr int64_t kMostI32 = INT32_MAX;
  if (!(index.size(1) == Size(1)) || !n.is_const() || n.value() > kMostI32) {
    c.grad(0, put_along(zeros(c.x(0).type()), index, c.dy(), 1, who(c.attrs()), wrap(c.attrs())));
    return;
  }
  // One element of each row was read: a comparison with the position, which fuses with what comes before and after.
  Operand at = cast(index, DType::I32);
  if (wrap(c.attrs()))
    at = where(apply2("lt", at, full({DType::I32, {}}, 0)),
               add(at, full({DType::I32, {}}, static_cast<double>(n.value()))), at);
  Operand here = apply2("eq", reshape(iota(n, DType::I32), {Size(1), n, Size(1)}), at);
  c.grad(0, where(here, c.dy(), full({c.dy().dtype(), {}}, 0)));
}

// With one index for all examples the batch is more outer rows; with one each, elements are named one by one.
std::vector<Operand> batch_scatter(BatchCtx& c) {
  bool own_index = c.batched[1];
  Operand index = c.inputs[1];
  c.batched[1] = true;  // stays as it is
  stretch_to_batch(c);
  Size o = c.inputs[2].size(1), j = c.inputs[2].size(2), i = c.inputs[2].size(3);
  Operand x = merge_batch(c.inputs[0]), updates = merge_batch(c.inputs[2]);
  if (own_index) index = merge_batch(broadcast_to(reshape(index, {c.batch, 1, j, 1}), {c.batch, o, j, i}));
  Operand y = graph::apply(op(own_index ? "put_along" : "scatter"), {x, index, updates}, c.attrs);
  return {reshape(y, c.inputs[0].sizes())};
}

// The positions, in the flat array, of a window whose start is data: [W], or [batch, W] when the starts are batched.
Operand window_positions(const Operand& starts, bool batched, const Sizes& full, const Sizes& window) {
  Sizes lead = batched ? Sizes{starts.size(0)} : Sizes{};
  int rank = static_cast<int>(full.size());
  Operand at = constant_int(DType::I64, 0);
  Size stride = 1;
  for (int a = rank - 1; a >= 0; --a) {
    Sizes column = lead, along(rank, 1);
    for (int k = 0; k < rank; ++k)
      column.push_back(1);
    along[a] = window[a];
    auto number = [](Size s) { return constant_int(DType::I64, s.value()); };
    Operand start = reshape(slice_axis(starts, batched ? 1 : 0, a, 1), column);
    start = apply2("maximum", apply2("minimum", start, number(full[a] - window[a])), constant_int(DType::I64, 0));
    at = at + (start + reshape(iota(window[a], DType::I64), along)) * number(stride);
    stride = stride * full[a];
  }
  Sizes flat = lead;
  flat.push_back(num_elems(window));
  return reshape(at, flat);
}

Sizes without_batch(const Operand& x, bool batched) {
  Sizes s = x.sizes();
  if (batched) s.erase(s.begin());
  return s;
}

// As one long row: [1, n, 1], after the batch.
Operand as_row(const Operand& x, bool batched, Size batch) {
  Size n = num_elems(without_batch(x, batched));
  return reshape(x, batched ? Sizes{batch, 1, n, 1} : Sizes{1, n, 1});
}

Sizes with_batch(Size batch, Sizes s) {
  s.insert(s.begin(), batch);
  return s;
}

// Positions inside a window are never out of range.
Attrs window_attrs(Update how) {
  return {{"who", std::string("window")}, {"wrap", false}, {"how", static_cast<int64_t>(how)}};
}

std::vector<Operand> batch_dynamic_slice(BatchCtx& c) {
  const Sizes& window = c.attrs.sizes("sizes");
  Operand at = window_positions(c.inputs[1], c.batched[1], without_batch(c.inputs[0], c.batched[0]), window);
  Attrs attrs = window_attrs(Update::Add);
  BatchCtx rows{op("take"), attrs, {as_row(c.inputs[0], c.batched[0], c.batch), at}, c.batched, c.batch};
  return {reshape(batch_take(rows)[0], with_batch(c.batch, window))};
}

std::vector<Operand> batch_update_slice(BatchCtx& c) {
  Sizes full = without_batch(c.inputs[0], c.batched[0]), window = without_batch(c.inputs[1], c.batched[1]);
  Operand at = window_positions(c.inputs[2], c.batched[2], full, window);
  Attrs attrs = window_attrs(Update::Set);
  BatchCtx rows{op("scatter"),
                attrs,
                {as_row(c.inputs[0], c.batched[0], c.batch), at, as_row(c.inputs[1], c.batched[1], c.batch)},
                {c.batched[0], c.batched[2], c.batched[1]},
                c.batch};
  return {reshape(batch_scatter(rows)[0], with_batch(c.batch, full))};
}

struct TestRows {
  int64_t outer, n, inner, j;
};
Attrs test_attrs(Update how) {
  return {{"who", std::string("take")}, {"wrap", true}, {"how", static_cast<int64_t>(how)}};
}
constexpr Update kUpdates[] = {Update::Add, Update::Set, Update::Max, Update::Min, Update::Multiply};

// What is updated and the updates, with data that suits how they meet.
void add_data(TestCase& c, Update how, const Dims& x, TestInput index, const Dims& updates) {
  for (const Dims& sizes : {x, updates}) {
    TestInput data{sizes};
    if (how == Update::Multiply) data.lo = 0.7, data.hi = 1.4;
    c.inputs.push_back(data);
  }
  c.inputs.insert(c.inputs.begin() + 1, std::move(index));
  c.apart = how == Update::Max || how == Update::Min;
}

std::vector<TestCase> row_cases(bool updates) {
  std::vector<TestCase> out;
  for (Update how : kUpdates)
    for (TestRows s :
         {TestRows{1, 4, 1, 3}, {2, 5, 3, 4}, {2, 3, 1, 0}, {1, 1, 1, 2}, {0, 3, 2, 2}, {1, 3, 0, 2}, {2, 7, 131, 5}}) {
      if (!updates && how != Update::Add) continue;
      // Replacing the same row twice keeps the last one, whose gradient is that of a choice: rows are distinct then.
      bool set = how == Update::Set;
      if (set && s.j > s.n) continue;
      TestCase c{.attrs = test_attrs(how), .inputs = {}};
      add_data(c, how, {s.outer, s.n, s.inner},
               {{s.j}, set ? TestInput::Distinct : TestInput::Index, 0, static_cast<double>(s.n)},
               {s.outer, s.j, s.inner});
      if (!updates) c.inputs.pop_back();
      out.push_back(std::move(c));
    }
  return out;
}
std::vector<TestCase> take_cases(DType) { return row_cases(false); }
std::vector<TestCase> scatter_cases(DType) { return row_cases(true); }

std::vector<TestCase> along_cases(bool updates) {
  std::vector<TestCase> out;
  for (Update how : kUpdates)
    for (TestRows s : {TestRows{1, 4, 1, 3}, {2, 5, 3, 4}, {2, 3, 1, 0}, {1, 1, 1, 2}, {0, 3, 2, 2}, {2, 7, 131, 3}}) {
      if (how == Update::Set || (!updates && how != Update::Add)) continue;
      Dims at{s.outer, s.j, s.inner};
      TestCase c{.attrs = test_attrs(how), .inputs = {}};
      add_data(c, how, {s.outer, s.n, s.inner}, {at, TestInput::Uniform, 0, static_cast<double>(s.n), DType::I64}, at);
      if (!updates) c.inputs.pop_back();
      out.push_back(std::move(c));
    }
  return out;
}
std::vector<TestCase> take_along_cases(DType) { return along_cases(false); }
std::vector<TestCase> put_along_cases(DType) { return along_cases(true); }

std::vector<TestCase> window_cases(bool updates) {
  std::vector<TestCase> out;
  for (auto [x, window] : std::vector<std::pair<Dims, Dims>>{
           {{5}, {3}}, {{4, 5}, {2, 5}}, {{3, 2}, {1, 0}}, {{1}, {1}}, {{0, 2}, {0, 1}}, {{2, 3, 67}, {1, 2, 40}}}) {
    TestInput starts{{static_cast<int64_t>(x.size())}, TestInput::Uniform, -2, 7, DType::I64};  // some stick out
    if (updates)
      out.push_back({{}, {{x}, {window}, starts}});
    else
      out.push_back({{{"sizes", to_sizes(window)}}, {{x}, starts}});
  }
  return out;
}
std::vector<TestCase> dynamic_slice_cases(DType) { return window_cases(false); }
std::vector<TestCase> update_slice_cases(DType) { return window_cases(true); }

const OpDef kOps[] = {
    {.name = "take",
     .kind = OpKind::Gather,
     .doc = "Rows of axis 1 at the given indices.",
     .dtypes = kAnyType,
     .infer = infer_take,
     .vjp = differentiable([](VjpCtx& c) {
       // Rows are added to what a large table has received elsewhere, without an array of zeros and a sum.
       Operand so_far = c.take_adjoint(0);
       if (!so_far) so_far = zeros(c.x(0).type());
       c.grad(0, scatter(so_far, c.x(1), c.dy(), 1, false, who(c.attrs()), wrap(c.attrs())));
     }),
     .batch = batch_take,
     .lower = lower_take,
     .check_text = range_text,
     .cases = {.list = take_cases}},
    {.name = "scatter",
     .kind = OpKind::Update,
     .doc = "x with rows of axis 1 added to, or changed as `how` says.",
     .dtypes = kAnyType,
     .infer = infer_same,
     .vjp = differentiable([](VjpCtx& c) {
       vjp_update(
           c, [&c](Operand y) { return take(std::move(y), c.x(1), 1, who(c.attrs()), wrap(c.attrs())); },
           [&c](Operand x, Operand updates, Update how) {
             return update_rows(std::move(x), c.x(1), std::move(updates), 1, how, who(c.attrs()), wrap(c.attrs()));
           });
     }),
     .batch = batch_scatter,
     .complex = complex_update,
     .lower = lower_scatter,
     .check_text = range_text,
     .cases = {.list = scatter_cases}},
    {.name = "take_along",
     .kind = OpKind::Gather,
     .doc = "Elements along axis 1 at per-element indices.",
     .dtypes = kAnyType,
     .infer = infer_take_along,
     .vjp = differentiable(vjp_take_along),
     .batch = batch_first_axis,
     .lower = lower_take_along,
     .check_text = range_text,
     .cases = {.list = take_along_cases}},
    {.name = "put_along",
     .kind = OpKind::Update,
     .doc = "x with elements along axis 1 added to, or changed as `how` says, at per-element indices.",
     .dtypes = kAnyType,
     .infer = infer_same,
     .vjp = differentiable([](VjpCtx& c) {
       vjp_update(
           c, [&c](Operand y) { return take_along(std::move(y), c.x(1), 1, who(c.attrs()), wrap(c.attrs())); },
           [&c](Operand x, Operand updates, Update how) {
             return update_along(std::move(x), c.x(1), std::move(updates), 1, how, who(c.attrs()), wrap(c.attrs()));
           });
     }),
     .batch = batch_first_axis,
     .complex = complex_update,
     .lower = lower_put_along,
     .check_text = range_text,
     .cases = {.list = put_along_cases}},
    {.name = "dynamic_slice",
     .kind = OpKind::Gather,
     .doc = "A window whose start is data; moved inside if it sticks out.",
     .dtypes = kAnyType,
     .infer = infer_dynamic_slice,
     .vjp = differentiable([](VjpCtx& c) { c.grad(0, update_slice(zeros(c.x(0).type()), c.dy(), c.x(1))); }),
     .batch = batch_dynamic_slice,
     .lower = lower_dynamic_slice,
     .cases = {.list = dynamic_slice_cases}},
    {.name = "update_slice",
     .kind = OpKind::Update,
     .doc = "x with a window, whose start is data, replaced.",
     .dtypes = kAnyType,
     .infer = infer_same,
     .vjp = differentiable([](VjpCtx& c) {
       if (c.needs(0)) c.grad(0, update_slice(c.dy(), zeros(c.x(1).type()), c.x(2)));
       if (c.needs(1)) c.grad(1, dynamic_slice(c.dy(), c.x(2), c.x(1).sizes()));
     }),
     .batch = batch_update_slice,
     .lower = lower_update_slice,
     .cases = {.list = update_slice_cases}},
};

}  // namespace

std::span<const OpDef> gather_ops() { return kOps; }

}  // namespace sheaf::ops
