#include "ops/apply.h"

#include <algorithm>
#include <numeric>

#include "ops/complex.h"
#include "ops/rules.h"
#include "ops/update.h"

namespace sheaf::ops {

using graph::apply;
using graph::apply_all;
using graph::Attrs;

Operand apply1(std::string_view name, Operand x) { return apply(op(name), {std::move(x)}); }
Operand apply2(std::string_view name, Operand a, Operand b) { return apply(op(name), {std::move(a), std::move(b)}); }

Operand constant(DType dtype, double value) {
  Tensor t = empty_tensor(dtype, {});
  store_double(dtype, t.bytes_mut(), value);
  return t;
}

Operand constant_int(DType dtype, int64_t value) {
  Tensor t = empty_tensor(dtype, {});
  store_int(dtype, t.bytes_mut(), value);
  return t;
}

Operand full(const graph::TensorType& type, double value) {
  return broadcast_to(constant(type.dtype, value), type.sizes);
}
Operand zeros(const graph::TensorType& type) { return full(type, 0); }
Operand iota(Size n, DType dtype) {
  if (is_complex(dtype)) return cast(iota(n, DType::F32), dtype);
  return apply(op("iota"), {}, {{"dtype", dtype}, {"sizes", Sizes{n}}});
}

Operand cast(Operand x, DType to) {
  if (x.dtype() == to) return x;
  // Scalars of the program meet arrays here all the time: no kernel for one element.
  if (!x.is_node() && x.rank() == 0 && !is_complex(x.dtype())) {
    const Tensor& from = x.value();
    Tensor t = empty_tensor(to, {});
    if (is_float(from.dtype))
      store_double(to, t.bytes_mut(), element_as_double(from, 0));
    else
      store_int(to, t.bytes_mut(), element_as_int(from, 0));
    return t;
  }
  if (is_complex(to)) return complex_of(cast(std::move(x), DType::F32), constant(DType::F32, 0));
  return apply(op("cast"), {std::move(x)}, {{"dtype", to}});
}
Operand where(Operand condition, Operand a, Operand b) {
  return apply(op("where"), {std::move(condition), std::move(a), std::move(b)});
}
Operand less(Operand a, Operand b) { return apply2("lt", std::move(a), std::move(b)); }
Operand less_equal(Operand a, Operand b) { return apply2("le", std::move(a), std::move(b)); }
Operand equal(Operand a, Operand b) { return apply2("eq", std::move(a), std::move(b)); }

Operand reduce(std::string_view name, Operand x, const std::vector<int>& axes, bool keepdims) {
  Sizes a;
  for (int i : axes)
    a.push_back(Size(i));
  return apply(op(name), {std::move(x)}, {{"axes", a}, {"keepdims", keepdims}});
}

Operand sum_all(Operand x) {
  std::vector<int> axes(x.rank());
  std::iota(axes.begin(), axes.end(), 0);
  return axes.empty() ? x : sum(std::move(x), axes);
}

Operand sum_to(Operand x, const Sizes& sizes) {
  if (x.sizes() == sizes) return x;
  int extra = x.rank() - static_cast<int>(sizes.size());
  std::vector<int> axes;
  for (int i = 0; i < x.rank(); ++i)
    if (i < extra || (sizes[i - extra] == Size(1) && !(x.size(i) == Size(1)))) axes.push_back(i);
  return reshape(axes.empty() ? x : sum(std::move(x), axes), sizes);
}

Operand reshape(Operand x, Sizes sizes) {
  if (x.sizes() == sizes) return x;
  return apply(op("reshape"), {std::move(x)}, {{"sizes", std::move(sizes)}});
}

Operand transpose(Operand x, const std::vector<int>& perm) {
  if (std::is_sorted(perm.begin(), perm.end())) return x;
  Sizes p;
  for (int i : perm)
    p.push_back(Size(i));
  return apply(op("transpose"), {std::move(x)}, {{"perm", p}});
}

Operand swap_last_two(Operand x) {
  std::vector<int> perm(x.rank());
  std::iota(perm.begin(), perm.end(), 0);
  std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
  return transpose(std::move(x), perm);
}

Operand broadcast_to(Operand x, Sizes sizes) {
  if (x.sizes() == sizes) return x;
  return apply(op("broadcast"), {std::move(x)}, {{"sizes", std::move(sizes)}});
}

Operand slice(Operand x, Sizes starts, Sizes sizes, Sizes steps) {
  return apply(op("slice"), {std::move(x)},
               {{"starts", std::move(starts)}, {"sizes", std::move(sizes)}, {"steps", std::move(steps)}});
}

Operand slice_add(Operand x, Operand updates, Sizes starts, Sizes steps) {
  Sizes sizes = updates.sizes();
  return apply(op("slice_add"), {std::move(x), std::move(updates)},
               {{"starts", std::move(starts)}, {"sizes", std::move(sizes)}, {"steps", std::move(steps)}});
}

Operand slice_axis(Operand x, int axis, Size start, Size size, int64_t step) {
  Sizes starts(x.rank(), Size(0)), sizes = x.sizes(), steps(x.rank(), Size(1));
  starts[axis] = start;
  sizes[axis] = size;
  steps[axis] = Size(step);
  return slice(std::move(x), starts, sizes, steps);
}

Operand flip(Operand x, int axis) {
  Size n = x.size(axis);
  return slice_axis(std::move(x), axis, n - Size(1), n, -1);
}

Operand pad(Operand x, Sizes lo, Sizes hi, Sizes interior, double value) {
  auto all_zero = [](const Sizes& s) { return std::all_of(s.begin(), s.end(), [](Size v) { return v == Size(0); }); };
  if (all_zero(lo) && all_zero(hi) && all_zero(interior)) return x;
  return apply(op("pad"), {std::move(x)}, {{"lo", lo}, {"hi", hi}, {"interior", interior}, {"value", value}});
}

Operand concat(std::vector<Operand> parts, int axis) {
  if (parts.size() == 1) return parts[0];
  // Many parts are joined in steps: a kernel has a loop for each of its parts, and equal groups share one kernel.
  constexpr size_t kGroup = 64;
  while (parts.size() > kGroup) {
    std::vector<Operand> groups;
    for (size_t i = 0; i < parts.size(); i += kGroup)
      groups.push_back(concat({parts.begin() + i, parts.begin() + std::min(i + kGroup, parts.size())}, axis));
    parts = std::move(groups);
  }
  return apply(op("concat"), std::move(parts), {{"axis", int64_t{axis}}});
}

Operand squeeze_axis(Operand x, int axis) {
  Sizes s = x.sizes();
  s.erase(s.begin() + axis);
  return reshape(std::move(x), s);
}

Operand expand_axis(Operand x, int axis) {
  Sizes s = x.sizes();
  s.insert(s.begin() + axis, Size(1));
  return reshape(std::move(x), s);
}

namespace {

// x as [outer, n, inner] around an axis.
Sizes around(const Sizes& s, int axis) {
  Size outer = 1, inner = 1;
  for (int i = 0; i < static_cast<int>(s.size()); ++i)
    if (i != axis) (i < axis ? outer : inner) = (i < axis ? outer : inner) * s[i];
  return {outer, s[axis], inner};
}

Attrs index_attrs(std::string who, bool wrap, Update how = Update::Add) {
  return {{"who", std::move(who)}, {"wrap", wrap}, {"how", static_cast<int64_t>(how)}};
}

}  // namespace

Operand take(Operand x, Operand index, int axis, std::string who, bool wrap) {
  Sizes s = x.sizes(), out(s.begin(), s.begin() + axis), idx = index.sizes();
  for (Size d : idx)
    out.push_back(d);
  for (size_t i = axis + 1; i < s.size(); ++i)
    out.push_back(s[i]);
  Operand flat = reshape(std::move(index), {num_elems(idx)});
  return reshape(apply(op("take"), {reshape(std::move(x), around(s, axis)), flat}, index_attrs(std::move(who), wrap)),
                 out);
}

Operand update_rows(Operand x, Operand index, Operand updates, int axis, Update how, std::string who, bool wrap) {
  Sizes s = x.sizes(), u = updates.sizes();
  return reshape(
      apply(op("scatter"),
            {reshape(std::move(x), around(s, axis)), std::move(index), reshape(std::move(updates), around(u, axis))},
            index_attrs(std::move(who), wrap, how)),
      s);
}

Operand take_along(Operand x, Operand index, int axis, std::string who, bool wrap) {
  Sizes s = x.sizes(), idx = index.sizes();
  return reshape(
      apply(op("take_along"), {reshape(std::move(x), around(s, axis)), reshape(std::move(index), around(idx, axis))},
            index_attrs(std::move(who), wrap)),
      idx);
}

Operand update_along(Operand x, Operand index, Operand updates, int axis, Update how, std::string who, bool wrap) {
  Sizes s = x.sizes(), idx = index.sizes();
  return reshape(apply(op("put_along"),
                       {reshape(std::move(x), around(s, axis)), reshape(std::move(index), around(idx, axis)),
                        reshape(std::move(updates), around(idx, axis))},
                       index_attrs(std::move(who), wrap, how)),
                 s);
}

Operand scatter(Operand x, Operand index, Operand updates, int axis, bool set, std::string who, bool wrap) {
  return update_rows(std::move(x), std::move(index), std::move(updates), axis, set ? Update::Set : Update::Add,
                     std::move(who), wrap);
}

Operand put_along(Operand x, Operand index, Operand updates, int axis, std::string who, bool wrap) {
  return update_along(std::move(x), std::move(index), std::move(updates), axis, Update::Add, std::move(who), wrap);
}

Operand dynamic_slice(Operand x, Operand starts, Sizes sizes) {
  if (sizes.empty()) return x;
  return apply(op("dynamic_slice"), {std::move(x), std::move(starts)}, {{"sizes", std::move(sizes)}});
}

Operand update_slice(Operand x, Operand updates, Operand starts) {
  if (x.rank() == 0) return updates;
  return apply(op("update_slice"), {std::move(x), std::move(updates), std::move(starts)});
}

Operand dot(Operand a, Operand b) { return apply2("dot", std::move(a), std::move(b)); }
Operand wide_dot(Operand a, Operand b) { return apply2("wide_dot", std::move(a), std::move(b)); }

namespace {

// Rows along the last axis.
Sorted in_order(const graph::OpDef& which, Operand x, int axis, graph::Attrs attrs) {
  std::vector<int> perm(x.rank()), back(x.rank());
  std::iota(perm.begin(), perm.end(), 0);
  perm.erase(perm.begin() + axis);
  perm.push_back(axis);
  for (int i = 0; i < x.rank(); ++i)
    back[perm[i]] = i;
  Operand moved = transpose(std::move(x), perm);
  Sizes s = moved.sizes();
  Size n = s.back();
  Size rows = 1;
  for (size_t i = 0; i + 1 < s.size(); ++i)
    rows = rows * s[i];
  auto out = apply_all(which, {reshape(moved, {rows, n})}, std::move(attrs));
  s.back() = out[0].size(1);
  return {transpose(reshape(out[0], s), back), transpose(reshape(out[1], s), back)};
}

}  // namespace

Sorted sort(Operand x, int axis, bool descending) {
  return in_order(op("sort"), std::move(x), axis, {{"descending", descending}});
}
Sorted top(Operand x, int axis, int64_t count) { return in_order(op("top"), std::move(x), axis, {{"count", count}}); }

Operand cumulate(Operand x, int axis, int64_t what) {
  Sizes s = x.sizes();
  return reshape(apply(op("cumulate"), {reshape(std::move(x), around(s, axis))}, {{"what", what}}), s);
}

}  // namespace sheaf::ops
