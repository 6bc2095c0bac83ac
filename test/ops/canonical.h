// Cases of ops as launches of their lowered kernels, for the tests of executors.
#pragma once
#include <vector>

#include "loop/ir.h"
#include "lower/single_op.h"
#include "ops/op_cases.h"

namespace sheaf::ops {

struct Launch {
  std::vector<Tensor> in;
  std::vector<TensorType> out;
  Attrs attrs;
};

inline Tensor stretched(const Tensor& t, const Dims& sizes) {
  Tensor out = t;
  out.sizes = sizes;
  out.strides = Dims(sizes.size(), 0);
  for (int i = 0, shift = out.rank() - t.rank(); i < t.rank(); ++i)
    if (t.sizes[i] != 1) out.strides[shift + i] = t.strides[i];
  return out;
}

// The layout that a kernel of the op expects, in the simplest form (compiler/eager.cpp merges axes and avoids copies).
inline Launch canonical(const OpDef& op, const OpCase& c, const std::vector<Tensor>& in) {
  Launch l{in, op.infer({types_of(in), c.attrs}), c.attrs};
  if (op.kind == OpKind::Elementwise)
    for (Tensor& t : l.in)
      t = stretched(t, to_dims(l.out[0].sizes));
  if (op.kind == OpKind::Ordered)
    for (Tensor& t : l.in)
      t = contiguous(t);
  if (op.kind == OpKind::Reduce) {
    // Kept axes first, then the reduced ones.
    const Tensor& x = in[0];
    std::vector<bool> reduced(x.rank(), false);
    for (Size a : c.attrs.sizes("axes"))
      reduced[a.value()] = true;
    Tensor moved = x;
    int64_t parts[2] = {1, 1};
    int at = 0;
    for (bool which : {false, true})
      for (int a = 0; a < x.rank(); ++a) {
        if (reduced[a] != which) continue;
        moved.sizes[at] = x.sizes[a];
        moved.strides[at++] = x.strides[a];
        parts[which] *= x.sizes[a];
      }
    Tensor rows = contiguous(moved);
    rows.sizes = {parts[0], parts[1], 1};
    rows.strides = contiguous_strides(rows.sizes);
    l.in = {rows};
    l.out[0].sizes = {Size(parts[0]), Size(1)};
    l.attrs = {{"inner1", true}};
  }
  return l;
}

struct Outcome {
  std::vector<Tensor> out;
  loop::CheckRecord check;
};

// The size parameters of the kernel, in its order.
inline std::vector<int64_t> sizes_of(const Launch& l) {
  std::vector<int64_t> sizes;
  for (const Tensor& t : l.in) {
    sizes.insert(sizes.end(), t.sizes.begin(), t.sizes.end());
    sizes.insert(sizes.end(), t.strides.begin(), t.strides.end());
  }
  for (const TensorType& t : l.out)
    for (Size s : t.sizes)
      sizes.push_back(s.value());
  return sizes;
}

// The outputs of run(buffers, sizes, check), which begin as zeros.
template <class Run>
Outcome outcome(const Launch& l, Run&& run) {
  std::vector<std::byte*> buffers;
  const std::vector<int64_t> sizes = sizes_of(l);
  Outcome r;
  for (const Tensor& t : l.in)
    buffers.push_back(const_cast<std::byte*>(t.bytes()));
  for (const TensorType& t : l.out) {
    r.out.push_back(zeros_tensor(t.dtype, to_dims(t.sizes)));
    buffers.push_back(r.out.back().bytes_mut());
  }
  run(buffers, sizes, r.check);
  return r;
}

inline loop::Kernel kernel_of(const OpDef& op, const Launch& l) {
  std::vector<lower::ArrayKey> in, out;
  for (const Tensor& t : l.in)
    in.push_back({t.dtype, t.rank()});
  for (const TensorType& t : l.out)
    out.push_back({t.dtype, t.rank()});
  return lower::lower_single(op, l.attrs, in, out);
}

}  // namespace sheaf::ops
