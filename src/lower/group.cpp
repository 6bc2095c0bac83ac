#include "lower/group.h"

#include "ops/lower_ctx.h"

namespace sheaf::lower {
namespace {

using loop::Builder;
using loop::Mark;
using loop::ValueId;

constexpr int64_t kChunk = 16384;  // as in single_op.cpp: fixed, so that nothing depends on the number of threads

struct GroupLowering {
  const GroupSpec& spec;
  Builder& b;
  std::vector<ValueId> space;
  std::vector<std::vector<ValueId>> strides;  // by array: inputs, then outputs

  ValueId offset(size_t array, const std::vector<ValueId>& index) {
    ValueId off = b.i64(0);
    for (size_t a = 0; a < index.size(); ++a)
      if (index[a] != loop::kNoValue) off = b.add(off, b.mul(index[a], strides[array][a]));
    return off;
  }

  ValueId constant(const Tensor& t) {
    DType type = compute_type(t.dtype);
    return is_float(type) || type == DType::Bool ? b.number(type, element_as_double(t, 0)) : b.convert(b.i64(element_as_int(t, 0)), type);
  }

  // Values of the members at one place of the space; the reduction, if any, is left out.
  std::vector<ValueId> compute(const std::vector<ValueId>& index, size_t count) {
    std::vector<ValueId> external(spec.externals.size(), loop::kNoValue), value;
    auto argument = [&](int arg) {
      if (arg >= 0) return value[arg];
      ValueId& v = external[-1 - arg];
      if (v == loop::kNoValue) {
        const GroupInput& in = spec.externals[-1 - arg];
        v = in.array < 0 ? constant(in.constant) : b.convert(b.load(in.array, offset(in.array, index)), compute_type(spec.inputs[in.array]));
      }
      return v;
    };
    for (size_t m = 0; m < count; ++m) {
      const GroupMember& member = spec.members[m];
      std::vector<ValueId> x;
      for (int a : member.args) x.push_back(argument(a));
      graph::ScalarCtx c{b, x, *member.attrs, compute_type(member.dtype)};
      ValueId v = member.op->scalar(c);
      // Narrow types round at every op, as they do when each op runs alone.
      if (member.dtype != compute_type(member.dtype)) v = b.convert(b.convert(v, member.dtype), compute_type(member.dtype));
      value.push_back(v);
      if (member.store >= 0) {
        size_t array = spec.inputs.size() + member.store;
        b.store(static_cast<int>(array), offset(array, index), b.convert(v, spec.outputs[member.store]));
      }
    }
    return value;
  }

  void elementwise() {
    size_t n = spec.members.size();
    if (spec.rank == 0) {
      compute({}, n);
      return;
    }
    if (spec.rank == 1) {
      ValueId step = b.i64(kChunk);
      ValueId chunks = b.binary(loop::Op::FloorDiv, b.add(space[0], b.i64(kChunk - 1)), step);
      ValueId base = b.mul(b.begin_loop(chunks, Mark::Parallel), step);
      ValueId i = b.add(base, b.begin_loop(b.min(step, b.sub(space[0], base)), Mark::Vector));
      compute({i}, n);
      b.end();
      b.end();
      return;
    }
    std::vector<ValueId> index;
    for (int a = 0; a < spec.rank; ++a)
      index.push_back(b.begin_loop(space[a], a + 1 == spec.rank ? Mark::Vector : a == 0 ? Mark::Parallel : Mark::Serial));
    compute(index, n);
    for (int a = 0; a < spec.rank; ++a) b.end();
  }

  void reduction() {
    const GroupMember& last = spec.members.back();
    std::vector<ValueId> index(spec.rank, loop::kNoValue);
    bool vector_inner = spec.reduce_axis + 1 < spec.rank;  // an axis behind the reduced one is walked by lanes
    int opened = 0;
    for (int a = 0; a < spec.rank; ++a) {
      if (a == spec.reduce_axis) continue;
      bool vector = vector_inner && a + 1 == spec.rank;
      index[a] = b.begin_loop(space[a], vector ? Mark::Vector : opened == 0 ? Mark::Parallel : Mark::Serial);
      ++opened;
    }
    index[spec.reduce_axis] = b.begin_reduce(space[spec.reduce_axis], spec.combine);
    std::vector<ValueId> values = compute(index, spec.members.size() - 1);
    int arg = last.args[0];
    ValueId x;
    if (arg >= 0) {
      x = values[arg];
    } else {
      const GroupInput& in = spec.externals[-1 - arg];
      x = in.array < 0 ? constant(in.constant) : b.convert(b.load(in.array, offset(in.array, index)), compute_type(spec.inputs[in.array]));
    }
    if (b.type_of(x) == DType::Bool) x = b.convert(x, DType::I32);
    ValueId r = b.end_reduce(x);
    index[spec.reduce_axis] = loop::kNoValue;
    size_t array = spec.inputs.size() + last.store;
    b.store(static_cast<int>(array), offset(array, index), b.convert(b.convert(r, compute_type(last.dtype)), spec.outputs[last.store]));
    for (int k = 0; k < opened; ++k) b.end();
  }
};

}  // namespace

loop::Kernel lower_group(const GroupSpec& spec) {
  Builder b(std::string(spec.members.back().op->name));
  GroupLowering g{spec, b, {}, {}};
  for (DType d : spec.inputs) b.buffer(d, false);
  for (DType d : spec.outputs) b.buffer(d, true);
  for (int a = 0; a < spec.rank; ++a) g.space.push_back(b.size());
  for (size_t i = 0; i < spec.inputs.size() + spec.outputs.size(); ++i) {
    g.strides.emplace_back();
    for (int a = 0; a < spec.rank; ++a) g.strides.back().push_back(b.size());
  }
  if (spec.reduce_axis >= 0) g.reduction();
  else g.elementwise();
  return b.finish();
}

}  // namespace sheaf::lower
