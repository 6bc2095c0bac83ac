#include "ops/rules.h"

#include <fmt/format.h>

#include "ops/apply.h"

namespace sheaf::ops {

namespace {

// The sizes of the i-th axis from the end differ.
UserError broadcast_error(const Sizes& a, const Sizes& b, int i, Size x, Size y) {
  UserError e = runtime_error("Cannot broadcast shapes " + shape_text(a) + " and " + shape_text(b));
  e.label =
      fmt::format("{} differs: {} and {}", i == 0 ? "the last axis" : fmt::format("axis {}", -1 - i), x.str(), y.str());
  return e;
}

}  // namespace

Sizes broadcast_sizes(const Sizes& a, const Sizes& b) {
  Sizes out(std::max(a.size(), b.size()));
  for (size_t i = 0; i < out.size(); ++i) {
    Size x = i < a.size() ? a[a.size() - 1 - i] : Size(1);
    Size y = i < b.size() ? b[b.size() - 1 - i] : Size(1);
    Size& z = out[out.size() - 1 - i];
    if (x == y || y == Size(1))
      z = x;
    else if (x == Size(1))
      z = y;
    else
      throw broadcast_error(a, b, static_cast<int>(i), x, y);
  }
  return out;
}

namespace {

Sizes broadcast_all(const InferCtx& c) {
  Sizes s = c.inputs[0].sizes;
  for (size_t i = 1; i < c.inputs.size(); ++i)
    if (!(c.inputs[i].sizes == s)) s = broadcast_sizes(s, c.inputs[i].sizes);
  return s;
}

}  // namespace

std::vector<TensorType> infer_elementwise(const InferCtx& c) { return {{c.inputs[0].dtype, broadcast_all(c)}}; }
std::vector<TensorType> infer_predicate(const InferCtx& c) { return {{DType::Bool, broadcast_all(c)}}; }

std::vector<TensorType> infer_same(const InferCtx& c) { return {c.inputs[0]}; }

std::vector<int> int_list(const Attrs& attrs, std::string_view key) {
  std::vector<int> out;
  for (Size s : attrs.sizes(key))
    out.push_back(static_cast<int>(s.value()));
  return out;
}

void stretch_to_batch(BatchCtx& c) {
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    if (c.batched[i]) continue;
    Sizes s = c.inputs[i].sizes();
    s.insert(s.begin(), c.batch);
    c.inputs[i] = broadcast_to(c.inputs[i], std::move(s));
  }
}

std::vector<Operand> batch_elementwise(BatchCtx& c) {
  // Ranks are aligned at the right, so a batched operand of lower rank gets its missing axes after the batch axis.
  int rank = 0;
  for (size_t i = 0; i < c.inputs.size(); ++i)
    rank = std::max(rank, c.inputs[i].rank() - (c.batched[i] ? 1 : 0));
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    if (!c.batched[i] || c.inputs[i].rank() == rank + 1) continue;
    Sizes s = c.inputs[i].sizes();
    while (static_cast<int>(s.size()) < rank + 1)
      s.insert(s.begin() + 1, Size(1));
    c.inputs[i] = reshape(c.inputs[i], s);
  }
  return graph::apply_all(c.op, std::move(c.inputs), c.attrs);
}

std::vector<Operand> batch_first_axis(BatchCtx& c) {
  stretch_to_batch(c);
  Size inner = c.inputs[0].size(1);
  return apply_merged(c, inner);
}

std::vector<Operand> apply_merged(BatchCtx& c, Size inner) {
  for (Operand& x : c.inputs) {
    if (x.rank() == 0) continue;
    Sizes s = x.sizes();
    s.erase(s.begin());
    s[0] = c.batch * inner;
    x = reshape(x, s);
  }
  std::vector<Operand> out = graph::apply_all(c.op, std::move(c.inputs), c.attrs);
  for (Operand& y : out) {
    Sizes s = y.sizes();
    s[0] = inner;
    s.insert(s.begin(), c.batch);
    y = reshape(y, s);
  }
  return out;
}

int check_axis(int64_t axis, int rank) {
  int64_t a = axis < 0 ? axis + rank : axis;
  if (a < 0 || a >= rank) throw runtime_error(fmt::format("axis {} out of bounds for {}D tensor", axis, rank));
  return static_cast<int>(a);
}

}  // namespace sheaf::ops
