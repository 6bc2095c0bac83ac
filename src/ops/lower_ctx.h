// The context in which an entry's `lower` builds its kernel. Sizes and strides are run-time parameters, so one kernel
// serves every shape of the same rank; inputs may be any strided view, outputs are contiguous.
#pragma once
#include <functional>
#include <vector>

#include "graph/op_def.h"
#include "loop/builder.h"

namespace sheaf::graph {

class LowerCtx {
 public:
  using V = loop::ValueId;
  struct Array {
    int buffer;
    DType dtype;
    std::vector<V> sizes, strides;
    int rank() const { return static_cast<int>(sizes.size()); }
  };

  LowerCtx(loop::Builder& b, const Attrs& attrs) : b(b), attrs(attrs) {}
  loop::Builder& b;
  const Attrs& attrs;
  std::vector<Array> in, out;
  bool in_place = false;  // Update: the output's memory already holds the first input

  V offset(const Array& a, std::span<const V> index) {
    V off = b.i64(0);
    for (int i = 0; i < a.rank(); ++i)
      off = b.add(off, b.mul(index[i], a.strides[i]));
    return off;
  }
  // Loads widen to the compute type; stores narrow from it.
  V load(const Array& a, std::span<const V> index) {
    return b.convert(b.load(a.buffer, offset(a, index)), compute_type(a.dtype));
  }
  void store(const Array& a, std::span<const V> index, V value) {
    b.store(a.buffer, offset(a, index), b.convert(value, a.dtype));
  }
  V load(const Array& a, std::initializer_list<V> index) {
    return load(a, std::span<const V>(index.begin(), index.size()));
  }
  void store(const Array& a, std::initializer_list<V> index, V value) {
    store(a, std::span<const V>(index.begin(), index.size()), value);
  }

  // A loop nest over `extents`: the outermost loop is Parallel, the innermost Vector; a single loop is a Vector loop,
  // which passes/loop/chunk.h splits. With three or more, the first two are merged: a batch of one would leave no
  // parallel iterations.
  void for_each(std::span<const V> extents, const std::function<void(std::span<const V>)>& body) {
    std::vector<V> index;
    size_t loops = 0;
    if (extents.size() > 2) {
      V both = b.begin_loop(b.mul(extents[0], extents[1]), loop::Mark::Parallel),
        outer = b.binary(loop::Op::FloorDiv, both, extents[1]);
      index = {outer, b.sub(both, b.mul(outer, extents[1]))};
      ++loops;
    }
    for (size_t i = index.size(); i < extents.size(); ++i, ++loops) {
      bool last = i + 1 == extents.size();
      index.push_back(b.begin_loop(extents[i], last     ? loop::Mark::Vector
                                               : i == 0 ? loop::Mark::Parallel
                                                        : loop::Mark::Free));
    }
    body(index);
    while (loops-- > 0)
      b.end();
  }
};

}  // namespace sheaf::graph
