// Arguments for every op, with fresh data on each call: the shapes and attributes that its entry lists (graph::Cases),
// or, for elementwise ops and reductions, the common list.
#pragma once
#include <functional>
#include <string>

#include "graph/op_def.h"
#include "ops/random_tensors.h"
#include "ops/table.h"

namespace sheaf::ops {

using graph::Attrs;
using graph::OpKind;
using graph::TensorType;
using graph::TestCase;
using graph::TestInput;

// The use of the data: no values near kinks (gradients), or any values (comparison of executors).
enum class Data { Smooth, Wild };

struct OpCase {
  std::string label;
  Attrs attrs;
  std::function<std::vector<Tensor>(Rng&)> make;
};

inline std::vector<TensorType> types_of(const std::vector<Tensor>& in) {
  std::vector<TensorType> types;
  for (const Tensor& t : in)
    types.push_back({t.dtype, to_sizes(t.sizes)});
  return types;
}

// Fills the inputs of a case.
class Filler {
 public:
  Filler(const OpDef& op, DType dtype, Data data) : op_(op), dtype_(dtype), data_(data) {}

  std::vector<Tensor> fill(const TestCase& c, bool zeros, Rng& rng) const {
    bool apart = data_ == Data::Smooth && c.apart && dtype_ != DType::Bool;
    std::vector<Dims> sizes;
    for (const TestInput& x : c.inputs)
      if (x.fill == TestInput::Data) sizes.push_back(x.sizes);
    std::vector<Tensor> data = apart ? separate_tensors(rng, dtype_, sizes) : std::vector<Tensor>();
    std::vector<Tensor> in;
    for (const TestInput& x : c.inputs) {
      if (apart && x.fill == TestInput::Data) {
        in.push_back(data.front());
        data.erase(data.begin());
      } else {
        in.push_back(fill(x, rng));
      }
    }
    if (zeros)
      for_each_element(in[0], [&](int64_t k, std::byte* p) {
        if (k % 3 == 1) store_number(dtype_, p, 0);
      });
    return in;
  }

 private:
  Tensor fill(const TestInput& x, Rng& rng) const {
    DType dtype = x.dtype.value_or(dtype_);
    auto n = static_cast<int64_t>(x.hi);
    switch (x.fill) {
      case TestInput::Data: {
        if (data_ == Data::Wild) return wild_tensor(rng, dtype, x.sizes);
        graph::Domain from = x.lo == x.hi ? op_.domain : graph::Domain{x.lo, x.hi};
        return uniform_tensor(rng, dtype, x.sizes, from.lo, from.hi);
      }
      case TestInput::Uniform: return uniform_tensor(rng, dtype, x.sizes, x.lo, x.hi);
      case TestInput::Index:
      case TestInput::Distinct: {
        Tensor index = index_tensor(rng, x.sizes, n);
        int64_t shift = rng.below(n), count = index.num_elems();
        for (int64_t k = 0; x.fill == TestInput::Distinct && k < count; ++k)
          index.data_mut<int64_t>()[k] = (k + shift) % n;
        if (count > 0) index.data_mut<int64_t>()[0] -= n;
        return index;
      }
      case TestInput::Counts: {
        Tensor counts = empty_tensor(DType::I64, x.sizes);
        for (int64_t p = 0; p < x.sizes[0]; ++p)
          for (int64_t g = 0, left = n; g < x.sizes[1]; ++g) {
            int64_t& count = counts.data_mut<int64_t>()[p * x.sizes[1] + g];
            left -= count = g + 1 == x.sizes[1] && rng.below(2) ? left : rng.below(left + 1);
          }
        return counts;
      }
      case TestInput::Words: {
        Tensor t = empty_tensor(dtype, x.sizes);
        for_each_element(t,
                         [&](int64_t, std::byte* p) { store_int(dtype, p, static_cast<int64_t>(rng.bits() >> 32)); });
        return t;
      }
      case TestInput::Matrix: {
        // Well separated values, so that derivatives of the vectors are not large.
        if (data_ == Data::Wild) return wild_tensor(rng, dtype, x.sizes);
        Tensor t = empty_tensor(dtype, x.sizes);
        for_each_element(t, [&](int64_t k, std::byte* p) {
          int64_t row = k / x.sizes[2] % x.sizes[1], column = k % x.sizes[2];
          store_number(dtype, p, rng.uniform(-0.3, 0.3) + (row == column ? 2.0 * static_cast<double>(row + 1) : 0));
        });
        return t;
      }
      case TestInput::Mask: {
        Tensor t = uniform_tensor(rng, DType::Bool, x.sizes);
        for_each_element(t, [&](int64_t k, std::byte* p) {
          if (data_ == Data::Smooth && k % x.sizes.back() == 0) *p = std::byte{1};
        });
        return t;
      }
    }
    return {};
  }

  const OpDef& op_;
  DType dtype_;
  Data data_;
};

// An elementwise op on shapes that broadcast in every way.
inline std::vector<TestCase> elementwise_cases(const OpDef& op, DType dtype, Data data) {
  const std::vector<std::vector<Dims>> shapes[] = {
      {{{}}, {{1}}, {{5}}, {{2, 3}}, {{0}}, {{3, 0, 2}}, {{1, 1}}, {{2, 131}}},
      {{{}, {}},
       {{3}, {3}},
       {{2, 3}, {3}},
       {{2, 1}, {1, 3}},
       {{5}, {}},
       {{}, {2, 2}},
       {{0}, {0}},
       {{0, 3}, {1, 3}},
       {{1}, {0}},
       {{1, 1}, {1}},
       {{7, 1, 3}, {5, 3}},
       {{257}, {257}}}};
  const graph::Cases& entry = op.cases;
  std::vector<TestCase> out;
  int inputs = graph::num_inputs(op);
  for (const Attrs& attrs : entry.attrs ? entry.attrs(dtype) : std::vector<Attrs>(1))
    for (std::vector<Dims> s : shapes[inputs > 1]) {
      if (inputs == 3) s.push_back(s[0]);
      for (size_t which = 0; which < (data == Data::Wild ? 1 : std::max<size_t>(entry.smooth.size(), 1)); ++which) {
        TestCase c{attrs, {}, entry.apart, entry.zeros};
        for (size_t i = 0; i < static_cast<size_t>(inputs); ++i) {
          TestInput x{s[i]};
          if (!entry.smooth.empty()) x.lo = entry.smooth[which][i].lo, x.hi = entry.smooth[which][i].hi;
          if (entry.condition && i == 0) x = {s[i], TestInput::Uniform, 0, 0, DType::Bool};
          c.inputs.push_back(x);
        }
        out.push_back(std::move(c));
      }
    }
  return out;
}

// A reduction over every kind of axes that it accepts: some need at least one element, or take one axis at a time.
inline std::vector<TestCase> reduce_cases(const OpDef& op, DType dtype, Data data) {
  struct Shape {
    Dims x, axes;
  };
  std::vector<Shape> shapes = {
      {{1}, {0}},          {{5}, {0}},       {{2, 3}, {0}},  {{2, 3}, {1}}, {{2, 3}, {0, 1}},
      {{3, 2, 4}, {0, 2}}, {{3, 1, 2}, {1}}, {{2, 0}, {0}},  {{0, 3}, {0}}, {{2, 0, 3}, {1, 2}},
      {{4, 3}, {}},        {{2, 67}, {1}},   {{67, 3}, {0}}, {{}, {}}};
  if (data == Data::Wild) shapes.push_back({{5000}, {0}});
  std::vector<TestCase> out;
  for (const Shape& s : shapes)
    for (bool keep : {false, true}) {
      TestCase c{{{"axes", to_sizes(s.axes)}, {"keepdims", keep}}, {{s.x}}, op.cases.apart, op.cases.zeros};
      if (!op.cases.smooth.empty())
        c.inputs[0].lo = op.cases.smooth[0][0].lo, c.inputs[0].hi = op.cases.smooth[0][0].hi;
      try {
        TensorType type{dtype, to_sizes(s.x)};
        op.infer({{&type, 1}, c.attrs});
        out.push_back(std::move(c));
      } catch (const UserError&) {
      }
    }
  return out;
}

inline std::vector<OpCase> cases_of(const OpDef& op, DType dtype, Data data) {
  std::vector<OpCase> out;
  std::vector<TestCase> cases = op.kind == OpKind::Elementwise ? elementwise_cases(op, dtype, data)
                                : op.kind == OpKind::Reduce    ? reduce_cases(op, dtype, data)
                                : op.cases.list                ? op.cases.list(dtype)
                                                               : std::vector<TestCase>();
  for (const TestCase& c : cases)
    for (bool zeros : {false, true}) {
      if (zeros && (data == Data::Wild || !c.zeros)) continue;
      std::string label(op.name);
      for (const TestInput& x : c.inputs)
        label += " " + shape_text(x.sizes);
      label += c.attrs.str() + (zeros ? " with zeros" : "");
      out.push_back({label, c.attrs,
                     [filler = Filler(op, dtype, data), c, zeros](Rng& rng) { return filler.fill(c, zeros, rng); }});
    }
  return out;
}

// The dtypes to try an op in.
inline std::vector<DType> dtypes_of(const OpDef& op) {
  std::vector<DType> out;
  for (int d = 0; d < kNumDTypes; ++d)
    if (op.dtypes.has(static_cast<DType>(d)) || op.name == "iota") out.push_back(static_cast<DType>(d));
  return out;
}

}  // namespace sheaf::ops
