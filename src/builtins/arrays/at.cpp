// NumPy's indexing: at, at-set, at-add, span. An index list is worked out in two stages: first everything that is a
// strided view (ints, spans, :, ..., new axes), then the index tensors, broadcast together, as one gather or scatter.
#include <fmt/format.h>

#include <algorithm>

#include "builtins/arrays/arrays.h"
#include "builtins/arrays/families.h"
#include "ops/update.h"
#include "trace/size_values.h"
#include "value/print.h"

namespace sheaf::builtins {
namespace {

using ops::operator+;
using ops::operator*;
using trace::is_numeric;
using trace::kind_of;
using trace::operand_of;

// (span a b step): what a:b:step is in NumPy; nil for a part left out.
struct SpanObj final : Object {
  Value start, stop, step;
};

Value span(Call& c) {
  auto* s = new SpanObj;
  Value v = Value::object(Tag::Opaque, s);
  Value* parts[] = {&s->start, &s->stop, &s->step};
  for (size_t i = 0; i < c.size(); ++i) {
    if (!c[i].is_nil() && !is_numeric(c[i]))
      throw runtime_error(fmt::format("span: expected a number or nil, got {}", short_text(c[i])));
    *parts[i] = c[i];
  }
  return v;
}

const SpanObj* as_span(const Value& v) {
  return v.tag() == Tag::Opaque ? dynamic_cast<const SpanObj*>(v.object()) : nullptr;
}
bool is_colon(const Value& v) { return v.is_keyword() && v.as_keyword().str().empty(); }

// One axis of the view.
struct Axis {
  enum class Kind : uint8_t { Kept, Dropped, New } kind;
  Operand index;  // index tensor along this axis, if any
};

struct Plan {
  std::string_view who;
  Region box;              // the view, per axis of x
  std::vector<Axis> axes;  // what the view's axes become, new ones included
  bool whole = true;       // the view is all of x
  size_t dots =
      0;  // the axes before ..., which parts the index tensors on its two sides even where it stands for no axis

  bool has_index() const {
    return std::any_of(axes.begin(), axes.end(), [](const Axis& a) { return static_cast<bool>(a.index); });
  }
};

class Planner {
 public:
  Planner(const Operand& x, std::span<const Value> written, std::string_view who) : x_(x) {
    plan_.who = who;
    // A list of booleans, which is what [true false] makes, is a mask.
    std::vector<Value> indices(written.begin(), written.end());
    for (Value& v : indices)
      if (v.is_seq() && is_mask(v)) v = tensor_value(array_operand(v, who, DType::Bool));
    int used = 0, dots = 0;
    for (const Value& v : indices) {
      used += v.is_nil() || v.tag() == Tag::Marker ? 0 : is_mask(v) ? std::max(operand_of(v).rank(), 1) : 1;
      dots += v.tag() == Tag::Marker;
      // An index tensor with axes makes the int indices part of the same gather.
      gather_ints_ |= v.is_seq() || (is_tensor_value(v) && operand_of(v).rank() > 0);
    }
    if (used > x.rank()) throw runtime_error(fmt::format("{}: {} indices for a {}D tensor", who, used, x.rank()));
    if (dots > 1) throw runtime_error(fmt::format("{}: ... may appear once", who));
    for (const Value& v : indices) {
      if (v.tag() == Tag::Marker) {
        plan_.dots = plan_.axes.size();
        for (int i = used; i < x.rank(); ++i)
          keep();
      } else {
        add(v);
      }
    }
    while (axis_ < x.rank())
      keep();
  }
  Plan take() { return std::move(plan_); }

 private:
  void view(Size start, Size size, int64_t step, Axis axis) {
    plan_.whole &= start == Size(0) && size == x_.size(axis_) && step == 1;
    plan_.box.starts.push_back(start);
    plan_.box.sizes.push_back(size);
    plan_.box.steps.push_back(step);
    plan_.axes.push_back(std::move(axis));
    ++axis_;
  }
  void keep() { view(0, x_.size(axis_), 1, {Axis::Kind::Kept, {}}); }
  void gather(Operand index) { view(0, x_.size(axis_), 1, {Axis::Kind::Kept, std::move(index)}); }

  void add_span(const SpanObj& s) {
    Size n = x_.size(axis_);
    int64_t step = s.step.is_nil() ? 1 : to_index(s.step, "span");
    if (step == 0) throw runtime_error("span: the step must not be 0");
    Size lowest = step < 0 ? -1 : 0, highest = step < 0 ? n - Size(1) : n;
    auto end = [&](const Value& v, Size missing) {
      if (v.is_nil()) return missing;
      Size i = to_size(v, "span");
      if (i < Size(0)) i = i + n;
      return i < lowest ? lowest : highest < i ? highest : i;
    };
    Size start = end(s.start, step < 0 ? n - Size(1) : Size(0)), stop = end(s.stop, step < 0 ? Size(-1) : n);
    Size length = step < 0 ? start - stop : stop - start, stride = step < 0 ? Size(step) * Size(-1) : Size(step);
    Size count = length <= Size(0) ? Size(0) : floor_div(length - Size(1), stride) + Size(1);
    view(count == Size(0) ? Size(0) : start, count, step, {Axis::Kind::Kept, {}});
  }

  void add(const Value& v) {
    if (v.is_nil()) {
      plan_.axes.push_back({Axis::Kind::New, {}});
    } else if (is_colon(v)) {
      keep();
    } else if (const SpanObj* s = as_span(v)) {
      add_span(*s);
    } else if (is_mask(v)) {
      add_mask(v);
    } else if (v.is_seq()) {
      gather(index_operand(tensor_value(array_operand(v, plan_.who, DType::I64)), plan_.who));
    } else if (!is_numeric(v)) {
      throw runtime_error(
          fmt::format("{}: expected an index, a span, :, ... or nil, got {}", plan_.who, short_text(v)));
    } else if (kind_of(v) != Kind::Tensor && (is_known(v) || trace::size_value(v)) && !gather_ints_) {
      view(resolve_index(v, x_.size(axis_)), 1, 1, {Axis::Kind::Dropped, {}});
    } else {
      gather(index_operand(v, plan_.who));
    }
  }

  void add_mask(const Value& v) {
    Operand mask = operand_of(v);
    for (int i = 0; i < mask.rank(); ++i)
      if (!(mask.size(i) == x_.size(axis_ + i)))
        throw runtime_error(fmt::format("{}: the mask has shape {}, the tensor {}", plan_.who, shape_text(mask.sizes()),
                                        shape_text(x_.sizes())));
    if (mask.rank() == 0) throw runtime_error(fmt::format("{}: a 0-d mask selects nothing", plan_.who));
    for (Tensor& positions : nonzero_positions(trace::concrete(v).as_tensor(), DType::I64))
      gather(std::move(positions));
  }

  const Operand& x_;
  Plan plan_;
  int axis_ = 0;
  bool gather_ints_ = false;
};

// Stage one: the view, with int axes gone and new axes in.
Sizes view_sizes(const Plan& p) {
  Sizes out;
  size_t axis = 0;
  for (const Axis& a : p.axes) {
    if (a.kind == Axis::Kind::New)
      out.push_back(1);
    else if (Size n = p.box.sizes[axis++]; a.kind == Axis::Kind::Kept)
      out.push_back(n);
  }
  return out;
}

Operand view_of(const Operand& x, const Plan& p) {
  return ops::reshape(p.whole ? x : ops::slice(x, p.box.starts, p.box.sizes, p.box.steps), view_sizes(p));
}

// x with the view replaced by `v`, which has the view's shape.
Operand put_view(const Operand& x, const Operand& v, const Plan& p) {
  Operand region = ops::reshape(v, p.box.sizes);
  if (p.whole) return region;
  bool plain = std::all_of(p.box.steps.begin(), p.box.steps.end(), [](Size s) { return s == Size(1); });
  if (plain) {
    return ops::update_slice(x, region, trace::sizes_operand(p.box.starts, DType::I64, false));
  }
  // Spread the region out to x's places, and take it where it covers x.
  Sizes lo, hi, between;
  for (int i = 0; i < x.rank(); ++i) {
    int64_t step = p.box.steps[i].value(), start = p.box.starts[i].value(), n = p.box.sizes[i].value(),
            size = x.size(i).value();
    if (step < 0) {
      region = ops::flip(region, i);
      start += step * std::max<int64_t>(n - 1, 0);
      step = -step;
    }
    lo.push_back(n == 0 ? 0 : start);
    hi.push_back(n == 0 ? size : size - start - (n - 1) * step - 1);
    between.push_back(step - 1);
  }
  Operand covered = ops::pad(ops::full({DType::Bool, region.sizes()}, 1), lo, hi, between);
  return ops::where(covered, ops::pad(region, lo, hi, between), x);
}

// Stage two: the view with the gathered axes adjacent and merged into one, and one index for it.
struct Gather {
  Operand index;          // i64, any rank
  int axis = 0;           // the merged axis
  std::vector<int> perm;  // order of the view's axes before merging
  Sizes moved, merged;    // sizes after permuting, and after merging
};

Gather plan_gather(const Plan& p, const Operand& view) {
  std::vector<int> places;
  std::vector<Operand> indices;
  int place = 0;
  size_t before_dots = 0;
  for (size_t i = 0; i < p.axes.size(); ++i) {
    const Axis& a = p.axes[i];
    if (a.kind == Axis::Kind::Dropped) continue;
    if (a.index) {
      places.push_back(place);
      indices.push_back(a.index);
      before_dots += i < p.dots;
    }
    ++place;
  }
  int count = static_cast<int>(places.size());
  bool parted = before_dots > 0 && before_dots < places.size();
  bool together = !parted && places.back() - places.front() == count - 1;
  Gather g;
  g.axis = together ? places.front() : 0;
  for (int i = 0; i < view.rank(); ++i) {
    if (static_cast<int>(g.perm.size()) == g.axis) g.perm.insert(g.perm.end(), places.begin(), places.end());
    if (std::find(places.begin(), places.end(), i) == places.end()) g.perm.push_back(i);
  }
  if (static_cast<int>(g.perm.size()) == g.axis) g.perm.insert(g.perm.end(), places.begin(), places.end());
  for (int i : g.perm)
    g.moved.push_back(view.size(i));
  for (int i = 0; i < view.rank(); ++i) {
    if (i <= g.axis || i >= g.axis + count)
      g.merged.push_back(g.moved[i]);
    else
      g.merged.back() = g.merged.back() * g.moved[i];
  }
  if (count == 1) {
    g.index = indices[0];
    return g;
  }
  // Each index is checked and made non-negative by looking itself up; then they combine like digits.
  for (int k = 0; k < count; ++k) {
    Size n = view.size(places[k]);
    Operand digit = ops::take(ops::iota(n, DType::I64), indices[k], 0, std::string(p.who), true);
    g.index = k == 0 ? digit : g.index * trace::sizes_operand({n}, DType::I64, true) + digit;
  }
  return g;
}

Operand merged_view(const Operand& view, const Gather& g) {
  return ops::reshape(ops::transpose(view, g.perm), g.merged);
}

Operand gather_view(const Operand& view, const Plan& p) {
  Gather g = plan_gather(p, view);
  return ops::take(merged_view(view, g), g.index, g.axis, std::string(p.who), true);
}

Operand scatter_view(const Operand& view, const Operand& v, const Plan& p, ops::Update how) {
  Gather g = plan_gather(p, view);
  Sizes wide, flat;  // the shape of what is written, with the index's axes and with one for all of them
  for (int i = 0; i < static_cast<int>(g.merged.size()); ++i) {
    if (i != g.axis)
      wide.push_back(g.merged[i]);
    else
      for (Size s : g.index.sizes())
        wide.push_back(s);
    flat.push_back(i == g.axis ? num_elems(g.index.sizes()) : g.merged[i]);
  }
  Operand y = ops::update_rows(merged_view(view, g), ops::reshape(g.index, {num_elems(g.index.sizes())}),
                               ops::reshape(stretch(v, wide), flat), g.axis, how, std::string(p.who), true);
  std::vector<int> back(g.perm.size());
  for (size_t i = 0; i < g.perm.size(); ++i)
    back[g.perm[i]] = static_cast<int>(i);
  return ops::transpose(ops::reshape(y, g.moved), back);
}

Value at(Call& c) { return items_at(tensor_operand(c[0], "at"), std::span<const Value>(c.args).subspan(1), "at"); }

// What stands where v meets x.
Operand met(const Operand& x, const Operand& v, ops::Update how) {
  switch (how) {
    case ops::Update::Add: return x + v;
    case ops::Update::Max: return ops::apply2("maximum", x, v);
    case ops::Update::Min: return ops::apply2("minimum", x, v);
    case ops::Update::Multiply: return x * v;
    case ops::Update::Set: break;
  }
  return v;
}

// A scalar written through a mask needs no positions, so the mask may be traced.
Value write_masked(const Operand& x, const Operand& mask, const Operand& v, ops::Update how) {
  Sizes s = mask.sizes();
  for (int i = mask.rank(); i < x.rank(); ++i)
    s.push_back(1);
  return tensor_value(ops::where(ops::reshape(mask, s), met(x, v, how), x));
}

template <const char* kWho, ops::Update kHow>
Value write(Call& c) {
  Operand x = tensor_operand(c[0], kWho);
  Operand v = in_dtype(num(c[1]), x.dtype());
  std::span<const Value> indices = std::span<const Value>(c.args).subspan(2);
  if (indices.size() == 1 && !indices[0].is_seq() && is_mask(indices[0]) && v.rank() == 0 &&
      operand_of(indices[0]).rank() <= x.rank())
    return write_masked(x, operand_of(indices[0]), v, kHow);
  Plan p = Planner(x, indices, kWho).take();
  if (p.has_index()) {
    Operand y = scatter_view(view_of(x, p), v, p, kHow);
    return tensor_value(put_view(x, y, p));
  }
  Operand y = stretch(v, view_sizes(p));
  if (kHow != ops::Update::Set) y = met(view_of(x, p), y, kHow);
  if (!y.is_node() && can_write_region(c[0], p.box)) {
    x = Operand();  // gives up our share, so that the argument can be the only one
    return write_region(std::move(c[0]), ops::reshape(y, p.box.sizes), p.box);
  }
  return tensor_value(put_view(x, y, p));
}

constexpr char kAtSet[] = "at-set", kAtAdd[] = "at-add", kAtMax[] = "at-max", kAtMin[] = "at-min", kAtMul[] = "at-mul";
constexpr std::string_view kIndexing = "Indexing";

const BuiltinDef kBuiltins[] = {
    {"at",
     kIndexing,
     "(at x i …)",
     "NumPy's x[i, …]: an index per axis, which may be an int, a span, : for all, ... for the axes between, nil for a "
     "new axis, a tensor of indices, or a bool mask.",
     {{"(at [[1 2] [3 4]] : 1)", "[2. 4.]"},
      {"(at [1 2 3 4 5] (span 0 5 2))", "[1. 3. 5.]"},
      {"(at [1 5 2 7] (> [1 5 2 7] 3))", "[5. 7.]"}},
     1,
     -1,
     at},
    {"at-set",
     kIndexing,
     "(at-set x v i …)",
     "x with v (broadcast) in the places (at x i …) reads. Done in place when nothing else refers to x.",
     {{"(at-set [1 2 3] 9 1)", "[1. 9. 3.]"}, {"(at-set [[1 2] [3 4]] [8 9] : 0)", "[[8. 2.]\n [9. 4.]]"}},
     2,
     -1,
     write<kAtSet, ops::Update::Set>},
    {"at-add",
     kIndexing,
     "(at-add x v i …)",
     "x with v (broadcast) added in the places (at x i …) reads; repeated indices add up.",
     {{"(at-add [1 2 3] 10 1)", "[ 1. 12.  3.]"}},
     2,
     -1,
     write<kAtAdd, ops::Update::Add>},
    {"at-max",
     kIndexing,
     "(at-max x v i …)",
     "x with the larger of v (broadcast) and what is there in the places (at x i …) reads. Every element that equals "
     "the "
     "maximum has its gradient.",
     {{"(at-max [1 2 3] [5 0] [0 2])", "[5. 2. 3.]"}},
     2,
     -1,
     write<kAtMax, ops::Update::Max>},
    {"at-min",
     kIndexing,
     "(at-min x v i …)",
     "x with the smaller of v (broadcast) and what is there in the places (at x i …) reads, as at-max.",
     {{"(at-min [1 2 3] 2 (span 1 3))", "[1. 2. 2.]"}},
     2,
     -1,
     write<kAtMin, ops::Update::Min>},
    {"at-mul",
     kIndexing,
     "(at-mul x v i …)",
     "x multiplied by v (broadcast) in the places (at x i …) reads; repeated indices multiply several times.",
     {{"(at-mul [1 2 3] 10 [1 1])", "[  1. 200.   3.]"}},
     2,
     -1,
     write<kAtMul, ops::Update::Multiply>},
    {"span",
     kIndexing,
     "(span start stop [step])",
     "NumPy's start:stop:step, for at; nil for a part left out, negative positions count from the end.",
     {{"(at [1 2 3 4 5] (span 1 3))", "[2. 3.]"}, {"(at [1 2 3] (span nil nil -1))", "[3. 2. 1.]"}},
     1,
     3,
     span},
};

}  // namespace

Value items_at(const Operand& x, std::span<const Value> indices, std::string_view who) {
  Plan p = Planner(x, indices, who).take();
  Operand y = view_of(x, p);
  if (p.has_index()) y = gather_view(y, p);
  return y.rank() == 0 ? element_value(y) : tensor_value(y);
}

std::span<const BuiltinDef> at_builtins() { return kBuiltins; }

}  // namespace sheaf::builtins
