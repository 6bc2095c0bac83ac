#include "lower/group.h"

#include <algorithm>
#include <cstring>

#include "ops/lower_ctx.h"
#include "routines/reduce/args.h"

namespace sheaf::lower {
namespace {

using loop::Builder;
using loop::kNoValue;
using loop::Mark;
using loop::ValueId;

class GroupLowering {
 public:
  GroupLowering(const GroupSpec& spec, Builder& b) : spec_(spec), b_(b) {
    for (DType d : spec.inputs)
      b.buffer(d, false);
    for (DType d : spec.outputs)
      b.buffer(d, true);
    for (int a = 0; a < spec.rank; ++a)
      space_.push_back(b.size());
    for (size_t i = 0; i < spec.inputs.size() + spec.outputs.size(); ++i) {
      strides_.emplace_back();
      for (int a = 0; a < spec.rank; ++a)
        strides_.back().push_back(b.size());
    }
    row_values_.assign(spec.members.size(), kNoValue);
    row_externals_.assign(spec.externals.size(), kNoValue);
    kept_.assign(spec.members.size(), false);
  }

  void map() {
    if (spec_.rank == 0) return element_loop({});
    std::vector<ValueId> index;
    for (int a = 0; a < spec_.rank; ++a)
      index.push_back(b_.begin_loop(space_[a], a + 1 == spec_.rank ? Mark::Vector
                                               : a == 0            ? Mark::Parallel
                                                                   : Mark::Free));
    element_loop(index);
    for (int a = 0; a < spec_.rank; ++a)
      b_.end();
  }

  // A reduction along one axis or neighbouring ones, at the end.
  void reduction() {
    std::vector<ValueId> index(spec_.rank, kNoValue);
    const int first = spec_.reduce_axis, end = first + spec_.num_reduced;
    ValueId extent = space_[first];
    for (int a = first + 1; a < end; ++a)
      extent = b_.mul(extent, space_[a]);
    bool vector_inner = end < spec_.rank;  // an axis after the reduced ones is walked by lanes
    int opened = 0;
    for (int a = 0; a < spec_.rank; ++a) {
      if (a >= first && a < end) continue;
      bool vector = vector_inner && a + 1 == spec_.rank;
      index[a] = b_.begin_loop(space_[a], vector ? Mark::Vector : opened == 0 ? Mark::Parallel : Mark::Free);
      ++opened;
    }
    const GroupMember& last = spec_.members.back();
    ValueId r = reduce(last, index, extent, first, spec_.num_reduced);
    store(last.store, index, r);
    for (int k = 0; k < opened; ++k)
      b_.end();
  }

  // All axes but the last are loops; inside, each reduction is a loop over the row, and one more computes what is
  // stored.
  void rows() {
    std::vector<ValueId> index;
    for (int a = 0; a + 1 < spec_.rank; ++a)
      index.push_back(b_.begin_loop(space_[a], a == 0 ? Mark::Parallel : Mark::Free));
    index.push_back(kNoValue);
    row_index_ = index;
    load_row_externals();  // before anything is stored: an output may be the same memory as an input
    bool elements = false;
    for (size_t m = 0; m < spec_.members.size(); ++m) {
      const GroupMember& member = spec_.members[m];
      if (!member.row) {
        elements |= member.store >= 0;
        continue;
      }
      if (member.combine) {
        row_values_[m] = reduce(member, index, space_.back(), spec_.rank - 1);
      } else {
        std::vector<ValueId> x;
        for (int a : member.args)
          x.push_back(a >= 0 ? row_values_[a] : row_external(-1 - a));
        row_values_[m] = apply(member, x);
      }
      if (member.store >= 0) store(member.store, index, row_values_[m]);
    }
    if (elements) {
      index.back() = b_.begin_loop(space_.back(), Mark::Vector);
      element_loop(index);
      b_.end();
    }
    for (int a = 0; a + 1 < spec_.rank; ++a)
      b_.end();
  }

 private:
  ValueId offset(size_t array, const std::vector<ValueId>& index) {
    ValueId off = b_.i64(0);
    for (size_t a = 0; a < index.size(); ++a)
      if (index[a] != kNoValue) off = b_.add(off, b_.mul(index[a], strides_[array][a]));
    return off;
  }

  ValueId load(int array, const std::vector<ValueId>& index) {
    DType type = array < static_cast<int>(spec_.inputs.size()) ? spec_.inputs[array]
                                                               : spec_.outputs[array - spec_.inputs.size()];
    return b_.convert(b_.load(array, offset(array, index)), compute_type(type));
  }

  void store(int output, const std::vector<ValueId>& index, ValueId v) {
    size_t array = spec_.inputs.size() + output;
    b_.store(static_cast<int>(array), offset(array, index), b_.convert(v, spec_.outputs[output]));
  }

  ValueId constant(const Tensor& t) {
    DType type = compute_type(t.dtype);
    if (is_complex(type)) {
      int64_t bits;
      std::memcpy(&bits, t.bytes(), sizeof bits);
      return b_.i64(bits);
    }
    return is_float(type) || type == DType::Bool ? b_.number(type, element_as_double(t, 0))
                                                 : b_.convert(b_.i64(element_as_int(t, 0)), type);
  }

  ValueId row_external(int e) {
    const GroupInput& in = spec_.externals[e];
    ValueId& v = row_externals_[e];
    if (v == kNoValue) v = in.array < 0 ? constant(in.constant.value()) : load(in.array, row_index_);
    return v;
  }

  ValueId apply(const GroupMember& member, const std::vector<ValueId>& x) {
    graph::ScalarCtx c{b_, x, *member.attrs, compute_type(member.dtype)};
    ValueId v = member.op->scalar(c);
    // Narrow types round at every op, as they do when each op runs alone.
    if (member.dtype != compute_type(member.dtype))
      v = b_.convert(b_.convert(v, member.dtype), compute_type(member.dtype));
    return v;
  }

  // The values at one place of the space, computed when asked for. One loop has one of these.
  struct Place {
    std::vector<ValueId> index, member, external;
  };
  Place place(std::vector<ValueId> index) {
    return {std::move(index), std::vector<ValueId>(spec_.members.size(), kNoValue),
            std::vector<ValueId>(spec_.externals.size(), kNoValue)};
  }

  ValueId argument(int arg, Place& p) {
    if (arg >= 0) return value(arg, p);
    int e = -1 - arg;
    const GroupInput& in = spec_.externals[e];
    // Row values must be made in the row's own scope: inside a loop they would be made again for each element.
    if (in.row && row_externals_[e] != kNoValue) return row_externals_[e];
    ValueId& v = p.external[e];
    if (v == kNoValue) v = in.array < 0 ? constant(in.constant.value()) : load(in.array, p.index);
    return v;
  }

  ValueId value(int m, Place& p) {
    const GroupMember& member = spec_.members[m];
    if (member.row) return row_values_[m];
    ValueId& v = p.member[m];
    if (v != kNoValue) return v;
    if (kept_[m]) return v = load(static_cast<int>(spec_.inputs.size()) + member.kept_in, p.index);
    std::vector<ValueId> x;
    for (int a : member.args)
      x.push_back(argument(a, p));
    return p.member[m] = apply(member, x);
  }

  // Loads of what every element of the row shares.
  void load_row_externals() {
    for (size_t e = 0; e < spec_.externals.size(); ++e)
      if (spec_.externals[e].row) row_external(static_cast<int>(e));
  }

  ValueId reduce(const GroupMember& member, std::vector<ValueId> index, ValueId extent, int axis, int num_axes = 1) {
    ValueId at = b_.begin_reduce(extent, *member.combine);
    for (int a = axis + num_axes - 1; a > axis; --a) {
      ValueId quotient = b_.binary(loop::Op::FloorDiv, at, space_[a]);
      index[a] = b_.sub(at, b_.mul(quotient, space_[a]));
      at = quotient;
    }
    index[axis] = at;
    Place p = place(index);
    ValueId x = argument(member.args[0], p);
    // What a later loop needs again and is dear stays in memory.
    for (size_t m = 0; m < spec_.members.size(); ++m)
      if (spec_.members[m].kept_in >= 0 && !kept_[m] && p.member[m] != kNoValue) {
        store(spec_.members[m].kept_in, index, p.member[m]);
        kept_[m] = true;
      }
    if (spec_.shape == GroupSpec::Reduce) {
      std::vector<std::pair<int, ValueId>> stores;
      for (size_t m = 0; m + 1 < spec_.members.size(); ++m)
        if (const int to = spec_.members[m].store; to >= 0) stores.emplace_back(to, value(static_cast<int>(m), p));
      for (auto& [output, v] : stores)
        store(output, index, v);
    }
    if (b_.type_of(x) == DType::Bool) x = b_.convert(x, DType::I32);
    ValueId r = b_.convert(b_.end_reduce(x), compute_type(member.dtype));
    if (member.dtype != compute_type(member.dtype))
      r = b_.convert(b_.convert(r, member.dtype), compute_type(member.dtype));
    return r;
  }

  // Everything that is stored, stores last: an output may be the same memory as an input.
  void element_loop(const std::vector<ValueId>& index) {
    Place p = place(index);
    std::vector<std::pair<int, ValueId>> stores;
    for (size_t m = 0; m < spec_.members.size(); ++m) {
      const GroupMember& member = spec_.members[m];
      bool written = kept_[m] && member.kept_in == member.store;
      if (member.store >= 0 && !member.row && !written)
        stores.emplace_back(member.store, value(static_cast<int>(m), p));
    }
    for (auto& [output, v] : stores)
      store(output, index, v);
  }

  const GroupSpec& spec_;
  Builder& b_;
  std::vector<ValueId> space_;
  std::vector<std::vector<ValueId>> strides_;  // by array: inputs, then outputs
  std::vector<ValueId> row_index_, row_values_, row_externals_;
  std::vector<bool> kept_;  // by member: an earlier loop has written its values
};

// Roughly the instructions of a member for one element.
int cost_of(const GroupSpec& spec, const GroupMember& m) {
  Builder b("cost");
  std::vector<ValueId> x;
  for (int a : m.args) {
    DType type = DType::F32;
    if (a >= 0)
      type = spec.members[a].dtype;
    else if (const GroupInput& in = spec.externals[-1 - a]; in.array >= 0)
      type = spec.inputs[in.array];
    else
      type = in.constant.dtype();
    x.push_back(b.convert(b.i64(1), compute_type(kernel_type(type))));
  }
  size_t before = x.size();
  graph::ScalarCtx c{b, x, *m.attrs, compute_type(kernel_type(m.dtype))};
  m.op->scalar(c);
  int cost = 0;
  loop::Kernel k = b.finish();
  for (size_t i = before; i < k.values.size(); ++i) {
    loop::Op op = k.values[i].op;
    cost += op >= loop::Op::Exp ? 10 : op == loop::Op::Div || op == loop::Op::Sqrt ? 4 : 1;
  }
  return cost;
}

}  // namespace

void choose_kept(GroupSpec& spec) {
  constexpr int kDear = 8;
  // Loops over the row, in order: the reductions, then the one that stores.
  std::vector<std::vector<bool>> needs;
  auto need = [&](auto& self, int m, std::vector<bool>& in) -> void {
    if (m < 0 || in[m] || spec.members[m].row) return;
    in[m] = true;
    for (int a : spec.members[m].args)
      self(self, a, in);
  };
  for (const GroupMember& m : spec.members)
    if (m.combine) {
      needs.emplace_back(spec.members.size(), false);
      need(need, m.args[0], needs.back());
    }
  size_t reductions = needs.size();
  needs.emplace_back(spec.members.size(), false);
  for (size_t m = 0; m < spec.members.size(); ++m)
    if (spec.members[m].store >= 0 && !spec.members[m].row) need(need, static_cast<int>(m), needs.back());

  std::vector<bool> taken(spec.outputs.size(), false);
  for (size_t m = spec.members.size(); m-- > 0;) {
    GroupMember& member = spec.members[m];
    if (member.row || member.combine) continue;
    size_t first = 0, loops = 0;
    for (size_t l = needs.size(); l-- > 0;)
      if (needs[l][m]) first = l, ++loops;
    if (loops < 2 || first >= reductions || cost_of(spec, member) < kDear) continue;
    // In its own output, or in another whose values are written by the last loop.
    auto can_hold = [&](const GroupMember& host) {
      return host.store >= 0 && !host.row && !taken[host.store] && spec.outputs[host.store] == member.dtype;
    };
    const GroupMember* host = nullptr;
    if (member.store >= 0)
      host = &member;
    else
      for (const GroupMember& h : spec.members)
        if (!host && can_hold(h)) host = &h;
    if (!host || !can_hold(*host)) continue;
    member.kept_in = host->store;
    taken[host->store] = true;
  }
}

namespace {

GroupSpec in_kernel_types(GroupSpec spec) {
  for (DType& d : spec.inputs)
    d = kernel_type(d);
  for (DType& d : spec.outputs)
    d = kernel_type(d);
  for (GroupMember& m : spec.members)
    m.dtype = kernel_type(m.dtype);
  return spec;
}

}  // namespace

loop::Kernel lower_group(const GroupSpec& described) {
  const GroupSpec spec = in_kernel_types(described);
  Builder b(std::string(spec.members.back().op->name));
  GroupLowering g(spec, b);
  switch (spec.shape) {
    case GroupSpec::Map: g.map(); break;
    case GroupSpec::Rows: g.rows(); break;
    case GroupSpec::Reduce: g.reduction(); break;
  }
  return b.finish();
}

loop::Kernel lower_sum_of_totals(DType dtype) {
  Builder b{std::string(routines::SumTotalsArgs<>::kRoutine)};
  int totals = b.buffer(dtype, false), sum = b.buffer(dtype, true);
  b.call({totals, sum}, routines::SumTotalsArgs<loop::CallArg>{dtype, b.size()});
  return b.finish();
}

}  // namespace sheaf::lower
