#include "builtins/arrays/attend.h"

#include <fmt/format.h>

#include <cmath>

#include "builtins/arrays/mixed.h"
#include "builtins/core/numeric.h"
#include "trace/size_values.h"
#include "value/print.h"

namespace sheaf::builtins {
namespace {

Sizes lead_of(const Operand& x) {
  Sizes s = x.sizes();
  return Sizes(s.begin(), s.end() - 2);
}

Sizes with(Sizes lead, Size a, Size b) {
  lead.push_back(a);
  lead.push_back(b);
  return lead;
}

Operand array(const Value& v, const char* name) {
  if (!is_tensor_value(v)) throw runtime_error(fmt::format("{} must be a tensor, got {}", name, type_name(v)));
  Operand x = trace::operand_of(v);
  if (x.rank() < 2)
    throw runtime_error(
        fmt::format("{} needs at least 2 axes (positions and features), got shape {}", name, shape_text(x.sizes())));
  return x;
}

[[noreturn]] void mismatch(const Operand& q, const Operand& k, const Operand& v, const std::string& why) {
  throw runtime_error(
      fmt::format("{}: q is {}, k {}, v {}", why, shape_text(q.sizes()), shape_text(k.sizes()), shape_text(v.sizes())));
}

// Converts an integer value to i64.
Operand whole(const Value& v, const char* option) {
  Num n = num(v);
  if (!(num_elems(n.x.sizes()) == Size(1)))
    throw runtime_error(fmt::format(":{} must be one number, got shape {}", option, shape_text(n.x.sizes())));
  return ops::reshape(whole_operand(v, option), {});
}

// x with the leading axes `lead`, as [B, H, …]: the last of them is the heads if there are two or more.
Operand canonical(const Operand& x, const Sizes& lead, Size heads) {
  Sizes s = x.sizes();
  Size a = s[s.size() - 2], b = s.back();
  Sizes own = lead;
  if (lead.size() >= 2) own.back() = heads;
  // The same batch in another shape is reshaped, as in `@`.
  Operand y = !(lead_of(x) == own) && num_elems(lead_of(x)) == num_elems(own) ? ops::reshape(x, with(own, a, b))
                                                                              : ops::broadcast_to(x, with(own, a, b));
  if (lead.size() == 2) return y;
  if (lead.size() < 2) return ops::reshape(y, {num_elems(own), 1, a, b});
  return ops::reshape(y, {floor_div(num_elems(own), heads), heads, a, b});
}

}  // namespace

Value attend(Call& c) {
  Operand q = array(c[0], "q"), k = array(c[1], "k"), v = array(c[2], "v");
  Size rows = q.size(-2), columns = k.size(-2), depth = q.size(-1), width = v.size(-1);
  if (!(depth == k.size(-1)))
    mismatch(q, k, v, fmt::format("q and k differ in their features, {} and {}", depth.str(), k.size(-1).str()));
  if (!(columns == v.size(-2)))
    mismatch(q, k, v, fmt::format("k and v differ in their positions, {} and {}", columns.str(), v.size(-2).str()));
  if (columns == Size(0)) mismatch(q, k, v, "there is nothing to attend to");

  Operand mask;
  if (!c[5].is_nil()) mask = num(c[5]).x;
  bool added = mask && mask.dtype() != DType::Bool;
  Num all{q, Kind::Tensor};
  for (const Operand& x : {k, v})
    all = {ops::constant(common_dtype(all, {x, Kind::Tensor}), 0), Kind::Tensor};
  if (added) all.x = ops::constant(common_dtype(all, num(c[5])), 0);
  DType result = float_dtype(all.x.dtype());
  DType dtype = result == DType::F32 ? mixed_dtype() : result;

  // Query heads that share a key head count once.
  Size heads = q.rank() >= 2 + 2 ? q.size(-3) : Size(1), groups = heads;
  Sizes k_lead = lead_of(k), v_lead = lead_of(v);
  if (q.rank() == 4 && k.rank() == 4 && v.rank() == 4 && !(k.size(1) == heads)) {
    groups = k.size(1);
    if (!(v.size(1) == groups) || groups == Size(0) || !(mod(heads, groups) == Size(0)))
      mismatch(q, k, v, "the number of query heads must be a multiple of the number of key heads");
    k_lead[1] = v_lead[1] = heads;
  }
  Sizes lead = lead_of(q);
  for (const Sizes& s : {k_lead, v_lead}) {
    if (num_elems(s) == num_elems(lead))
      lead = s.size() > lead.size() ? s : lead;
    else if (s.empty() || lead.empty())
      lead = s.empty() ? lead : s;
    else
      mismatch(q, k, v, "the axes in front differ");
  }
  if (mask) {
    Sizes scores = ops::broadcast_sizes(with(lead, rows, columns), mask.sizes());
    if (!(scores[scores.size() - 1] == columns) || !(scores[scores.size() - 2] == rows))
      throw runtime_error(fmt::format("a mask of shape {} does not fit scores {}", shape_text(mask.sizes()),
                                      shape_text(with(lead, rows, columns))));
    lead = Sizes(scores.begin(), scores.end() - 2);
    mask = ops::broadcast_to(added ? ops::cast(mask, dtype) : mask, scores);
  }
  if (lead.size() >= 2 && groups == heads) heads = groups = lead.back();
  if (lead.size() < 2) heads = groups = 1;

  DType compute = compute_type(dtype);
  Operand scale = ops::constant(compute, 1 / std::sqrt(static_cast<double>(depth.value())));
  if (!c[6].is_nil()) {
    Operand s = num(c[6]).x;
    if (num_elems(s.sizes()) == Size(1)) {
      scale = ops::reshape(converted(num(c[6]), compute), {});
    } else {
      if (!(s.size(-1) == Size(1)))
        throw runtime_error(
            fmt::format(":scale must be one number, or one for each row or head, got shape {}", shape_text(s.sizes())));
      q = ops::mul(ops::cast(q, dtype), ops::cast(s, dtype));
      scale = ops::constant(compute, 1);
    }
  }
  Operand offset = c[7].is_nil() ? trace::sizes_operand({columns - rows}, DType::I64, true) : whole(c[7], "offset");
  Operand window = c[4].is_nil() ? ops::constant_int(DType::I64, int64_t{1} << 40) : whole(c[4], "window");

  std::vector<Operand> in = {canonical(ops::cast(q, dtype), lead, heads),
                             canonical(ops::cast(k, dtype), lead, groups),
                             canonical(ops::cast(v, dtype), lead, groups),
                             scale,
                             offset,
                             window};
  if (mask) in.push_back(canonical(mask, lead, heads));
  Operand y = graph::apply_all(ops::op("attention"), std::move(in), {{"causal", is_true(c[3])}})[0];
  return tensor_value(ops::cast(ops::reshape(ops::transpose(y, {0, 2, 1, 3}), with(lead, rows, width)), result));
}

}  // namespace sheaf::builtins
