// Arguments for every op: the shapes and attributes worth trying, with fresh data on each call. For elementwise ops and
// reductions these follow from the entry (graph::Cases); an op of another kind needs a line here, or the tests that
// walk the table fail.
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

// What the data are for: values near no kink (gradients), or any values at all (comparison of executors).
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

struct DataMaker {
  const OpDef& op;
  DType dtype;
  Data data;
  // `kinked`: smooth data must also be apart from each other.
  Tensor values(Rng& rng, const Dims& sizes, bool kinked = false) const {
    if (data == Data::Wild) return wild_tensor(rng, dtype, sizes);
    if (kinked && dtype != DType::Bool) return separate_tensor(rng, dtype, sizes);
    return uniform_tensor(rng, dtype, sizes, op.domain.lo, op.domain.hi);
  }
};

class OpCases {
 public:
  OpCases(const OpDef& op, DType dtype, Data data) : op_(op), dtype_(dtype), data_(data), maker_{op, dtype, data} {}

  std::vector<OpCase> all() {
    std::string name(op_.name);
    if (op_.kind == OpKind::Elementwise)
      elementwise();
    else if (op_.kind == OpKind::Reduce)
      reduce();
    else if (name == "reshape")
      for (auto [from, to] : std::vector<std::pair<Dims, Dims>>{{{}, {1, 1}},
                                                                {{6}, {2, 3}},
                                                                {{2, 3, 5}, {5, 6}},
                                                                {{1, 4, 1}, {4}},
                                                                {{0, 3}, {5, 0}},
                                                                {{7, 37}, {37, 7}}})
        add({{"sizes", to_sizes(to)}}, {from});
    else if (name == "transpose")
      for (Dims p : {Dims{1, 0}, Dims{2, 0, 1}, Dims{0, 2, 1}, Dims{0}})
        for (bool hole : {false, true})
          add({{"perm", to_sizes(p)}}, {shape_of_rank(p.size(), hole)});
    else if (name == "broadcast")
      for (auto [from, to] : std::vector<std::pair<Dims, Dims>>{{{}, {3}},
                                                                {{}, {}},
                                                                {{3}, {2, 3}},
                                                                {{2, 1}, {2, 5}},
                                                                {{1, 3, 1}, {4, 3, 2}},
                                                                {{1}, {0}},
                                                                {{0}, {2, 0}},
                                                                {{1, 7}, {41, 7}}})
        add({{"sizes", to_sizes(to)}}, {from});
    else if (name == "slice")
      slice();
    else if (name == "slice_add")
      slice_add();
    else if (name == "pad")
      pad();
    else if (name == "concat")
      concat();
    else if (name == "take" || name == "scatter")
      rows(name);
    else if (name == "take_along" || name == "put_along")
      along(name);
    else if (name == "dynamic_slice" || name == "update_slice")
      windows_of_data(name);
    else if (name == "dot" || name == "wide_dot")
      for (Dims s : {Dims{1, 2, 3, 4}, Dims{2, 1, 1, 1}, Dims{2, 3, 0, 2}, Dims{0, 2, 2, 2}, Dims{1, 0, 2, 3},
                     Dims{3, 5, 7, 2}, Dims{1, 3, 521, 2}})
        add({}, {{s[0], s[1], s[2]}, {s[0], s[2], s[3]}});
    else if (name == "quantized_dot")
      quantized();
    else if (name.ends_with("grouped_dot") || name.ends_with("grouped_outer"))
      grouped(name.ends_with("grouped_outer"));
    else if (name == "attention" || name == "attention_vjp")
      attention(name == "attention_vjp");
    else if (name == "top")
      for (auto [s, count] :
           {std::pair<Dims, int64_t>{{1, 1}, 1}, {{3, 5}, 2}, {{2, 0}, 0}, {{0, 3}, 2}, {{2, 131}, 7}, {{2, 131}, 100}})
        add({{"count", count}}, {s}, true);
    else if (name == "sort")
      for (bool down : {false, true})
        for (Dims s : {Dims{1, 1}, Dims{3, 5}, Dims{2, 0}, Dims{0, 3}, Dims{2, 131}})
          add({{"descending", down}}, {s}, true);
    else if (name == "cumulate")
      for (int64_t what : {0, 1, 2})
        for (Dims s : {Dims{1, 1, 1}, Dims{2, 5, 3}, Dims{2, 0, 3}, Dims{0, 2, 1}, Dims{1, 37, 1}, Dims{1, 2, 1}})
          cumulate(what, s);
    else if (name == "eigh" || name == "svd" || name == "solve" || name == "det" || name == "cholesky")
      matrices(name == "svd", name == "solve");
    else if (name == "window")
      for (auto& w : windows())
        add({{"size", w.size}, {"stride", w.stride}, {"dilation", w.dilation}}, {w.x});
    else if (name == "unwindow")
      unwindow();
    else if (name == "iota")
      for (Dims s : {Dims{0}, Dims{1}, Dims{300}})
        cases_.push_back({"iota" + shape_text(s), {{"dtype", dtype_}, {"sizes", to_sizes(s)}}, [](Rng&) {
                            return std::vector<Tensor>{};
                          }});
    else if (name == "threefry" || name == "draw")
      random(name);
    else if (name == "leaf")
      for (Dims s : {Dims{}, Dims{3}, Dims{0, 2}})
        add({}, {s});
    return std::move(cases_);
  }

 private:
  void add(Attrs attrs, std::vector<Dims> shapes, bool kinked = false) {
    std::string label(op_.name);
    for (const Dims& s : shapes)
      label += " " + shape_text(s);
    label += attrs.str();
    cases_.push_back({label, attrs, [m = maker_, shapes, kinked](Rng& rng) {
                        std::vector<Tensor> in;
                        for (const Dims& s : shapes)
                          in.push_back(m.values(rng, s, kinked));
                        return in;
                      }});
  }

  // Batch, rows of x, groups, columns, rows of bytes in a group, rows side by side; the last are what groups of 32 are
  // in 4 bits and in 8.
  void quantized() {
    for (DType bits : {DType::I8, DType::U8})
      for (Dims s : {Dims{1, 1, 2, 5, 3, 1}, Dims{2, 3, 1, 4, 2, 2}, Dims{1, 2, 0, 3, 1, 4}, Dims{0, 1, 1, 1, 1, 1},
                     Dims{1, 0, 1, 3, 1, 4}, Dims{1, 2, 3, 0, 1, 4}, Dims{1, 2, 2, 23, 5, 4}, Dims{2, 3, 3, 37, 4, 4},
                     Dims{2, 3, 5, 37, 4, 8}}) {
        int64_t k = s[2] * s[4] * s[5] * (bits == DType::U8 ? 2 : 1);
        std::vector<Dims> shapes{{s[0], s[1], k}, {s[0], s[2], (s[3] + 3) / 4, s[4], 4, s[5]}, {s[0], s[2], s[3]}};
        cases_.push_back(
            {"quantized_dot " + std::string(name_of(bits)) + " " + shape_text(shapes[0]) + shape_text(shapes[1]),
             {},
             [m = maker_, shapes, bits](Rng& rng) {
               return std::vector{m.values(rng, shapes[0]), uniform_tensor(rng, bits, shapes[1]),
                                  m.values(rng, shapes[2])};
             }});
      }
  }

  // Batch, rows, columns of both factors, groups, which take all rows or leave some.
  void grouped(bool outer) {
    struct Shape {
      int64_t b, m, k, n, g;
    };
    for (Shape s : {Shape{1, 5, 3, 2, 3},
                    {2, 4, 2, 3, 2},
                    {1, 1, 1, 1, 1},
                    {1, 6, 2, 3, 1},
                    {1, 0, 2, 3, 2},
                    {1, 3, 0, 2, 2},
                    {1, 3, 2, 0, 2},
                    {1, 4, 2, 3, 0},
                    {0, 2, 2, 2, 2},
                    {1, 7, 521, 3, 2},
                    {1, 40, 7, 33, 4}})
      cases_.push_back(
          {std::string(op_.name) + shape_text(Dims{s.b, s.m, s.k, s.n, s.g}), {}, [m = maker_, s, outer](Rng& rng) {
             Tensor counts = empty_tensor(DType::I64, {s.b, s.g});
             for (int64_t p = 0; p < s.b; ++p)
               for (int64_t g = 0, left = s.m; g < s.g; ++g) {
                 int64_t& count = counts.data<int64_t>()[p * s.g + g];
                 left -= count = g + 1 == s.g && rng.below(2) ? left : rng.below(left + 1);
               }
             return std::vector{m.values(rng, {s.b, s.m, s.k}),
                                outer ? m.values(rng, {s.b, s.m, s.n}) : m.values(rng, {s.b, s.g, s.k, s.n}), counts};
           }});
  }

  // Values far apart, whose vectors have derivatives that are not large; a right side where the op takes one.
  void matrices(bool tall, bool right) {
    for (Dims s : {Dims{1, 1, 1}, Dims{2, 3, 3}, Dims{0, 2, 2}, Dims{2, 0, 0}, Dims{1, tall ? 6 : 4, 4},
                   Dims{3, tall ? 5 : 2, 2}})
      cases_.push_back({std::string(op_.name) + " " + shape_text(s), {}, [m = maker_, s, right](Rng& rng) {
                          Tensor x = m.values(rng, s);
                          if (m.data != Data::Wild)
                            for_each_element(x, [&](int64_t k, std::byte* p) {
                              int64_t row = k / s[2] % s[1], column = k % s[2];
                              store_number(
                                  m.dtype, p,
                                  rng.uniform(-0.3, 0.3) + (row == column ? 2.0 * static_cast<double>(row + 1) : 0));
                            });
                          std::vector in{x};
                          if (right) in.push_back(m.values(rng, {s[0], s[1], 3}));
                          return in;
                        }});
  }

  static Dims shape_of_rank(size_t rank, bool hole) {
    constexpr int64_t sizes[] = {3, 5, 2, 1};
    Dims s(sizes, sizes + rank);
    if (hole) s[rank - 1] = 0;
    return s;
  }

  // The attributes that the entry wants to be tried.
  std::vector<Attrs> attrs_to_try() const { return op_.cases.attrs ? op_.cases.attrs(dtype_) : std::vector<Attrs>(1); }

  void elementwise() {
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
    int inputs = graph::num_inputs(op_);
    for (const Attrs& attrs : attrs_to_try())
      for (std::vector<Dims> s : shapes[inputs > 1]) {
        if (inputs == 3) s.push_back(s[0]);
        sampled(attrs, s);
      }
  }

  // Data as the entry describes them: near no kink and no pole if they are smooth.
  void sampled(const Attrs& attrs, const std::vector<Dims>& shapes) {
    const graph::Cases& cases = op_.cases;
    std::string label(op_.name);
    for (const Dims& s : shapes)
      label += " " + shape_text(s);
    label += attrs.str();
    size_t count = data_ == Data::Wild || cases.smooth.empty() ? 1 : cases.smooth.size();
    for (size_t which = 0; which < count; ++which)
      for (bool zeros : {false, true}) {
        if (zeros && (data_ == Data::Wild || !cases.zeros)) continue;
        cases_.push_back(
            {label + (zeros ? " with zeros" : ""), attrs, [m = maker_, &cases, shapes, which, zeros](Rng& rng) {
               bool smooth = m.data == Data::Smooth;
               if (smooth && cases.apart && shapes.size() == 2)
                 return separate_pair(rng, m.dtype, shapes[0], shapes[1]);
               std::vector<Tensor> in;
               for (size_t i = 0; i < shapes.size(); ++i) {
                 if (cases.condition && i == 0)
                   in.push_back(uniform_tensor(rng, DType::Bool, shapes[i]));
                 else if (smooth && !cases.smooth.empty())
                   in.push_back(
                       uniform_tensor(rng, m.dtype, shapes[i], cases.smooth[which][i].lo, cases.smooth[which][i].hi));
                 else
                   in.push_back(m.values(rng, shapes[i], cases.apart));
               }
               for_each_element(in[0], [&](int64_t k, std::byte* p) {
                 if (zeros && k % 3 == 1) store_number(m.dtype, p, 0);
               });
               return in;
             }});
      }
  }

  void reduce() {
    struct Shape {
      Dims x, axes;
    };
    for (Shape s : {Shape{{1}, {0}},
                    {{5}, {0}},
                    {{2, 3}, {0}},
                    {{2, 3}, {1}},
                    {{2, 3}, {0, 1}},
                    {{3, 2, 4}, {0, 2}},
                    {{3, 1, 2}, {1}},
                    {{2, 0}, {0}},
                    {{0, 3}, {0}},
                    {{2, 0, 3}, {1, 2}},
                    {{4, 3}, {}},
                    {{2, 67}, {1}},
                    {{67, 3}, {0}},
                    {{}, {}}})
      for (bool keep : {false, true}) {
        Attrs attrs{{"axes", to_sizes(s.axes)}, {"keepdims", keep}};
        if (takes(s.x, attrs)) sampled(attrs, {s.x});
      }
    if (data_ == Data::Wild) sampled({{"axes", to_sizes({0})}, {"keepdims", false}}, {{5000}});
  }
  // Some reductions want an element, or one axis at a time.
  bool takes(const Dims& x, const Attrs& attrs) const {
    try {
      TensorType type{dtype_, to_sizes(x)};
      op_.infer({{&type, 1}, attrs});
      return true;
    } catch (const UserError&) {
      return false;
    }
  }

  void slice() {
    struct Window {
      Dims x, starts, sizes, steps;
    };
    for (const Window& w : {Window{{5}, {1}, {3}, {1}},
                            {{7}, {0}, {4}, {2}},
                            {{7}, {6}, {3}, {-3}},
                            {{3, 5}, {2, 4}, {3, 5}, {-1, -1}},
                            {{3, 5}, {1, 0}, {1, 5}, {1, 1}},
                            {{4}, {2}, {0}, {1}},
                            {{0, 2}, {0, 0}, {0, 1}, {1, 1}},
                            {{1}, {0}, {1}, {1}},
                            {{5, 3}, {1, 1}, {2, 0}, {2, -1}}})
      add({{"starts", to_sizes(w.starts)}, {"sizes", to_sizes(w.sizes)}, {"steps", to_sizes(w.steps)}}, {w.x});
  }

  void slice_add() {
    struct Window {
      Dims x, starts, sizes, steps;
    };
    for (const Window& w : {Window{{5}, {1}, {3}, {1}},
                            {{7}, {0}, {4}, {2}},
                            {{3, 5}, {1, 0}, {1, 5}, {1, 1}},
                            {{4}, {2}, {0}, {1}},
                            {{0, 2}, {0, 0}, {0, 1}, {1, 1}},
                            {{1}, {0}, {1}, {1}},
                            {{5, 3}, {1, 1}, {2, 2}, {2, 1}},
                            {{2, 3, 67}, {1, 0, 2}, {1, 3, 40}, {1, 1, 1}}})
      add({{"starts", to_sizes(w.starts)}, {"sizes", to_sizes(w.sizes)}, {"steps", to_sizes(w.steps)}}, {w.x, w.sizes});
  }

  void pad() {
    struct Frame {
      Dims x, lo, hi, interior;
    };
    for (const Frame& f : {Frame{{3}, {1}, {2}, {0}},
                           {{3}, {0}, {0}, {2}},
                           {{2, 3}, {0, 1}, {1, 0}, {1, 2}},
                           {{0}, {2}, {1}, {3}},
                           {{1}, {0}, {0}, {4}},
                           {{2, 0}, {1, 1}, {0, 0}, {0, 0}}})
      for (double value : {0.0, 1.0})
        add({{"lo", to_sizes(f.lo)}, {"hi", to_sizes(f.hi)}, {"interior", to_sizes(f.interior)}, {"value", value}},
            {f.x});
  }

  void concat() {
    add({{"axis", int64_t{0}}}, {{2}, {3}});
    add({{"axis", int64_t{1}}}, {{2, 1}, {2, 3}, {2, 0}});
    add({{"axis", int64_t{0}}}, {{0, 3}, {2, 3}});
    add({{"axis", int64_t{1}}}, {{2, 2, 3}, {2, 5, 3}});
  }

  static Attrs index_attrs(bool set) { return {{"who", std::string("take")}, {"wrap", true}, {"set", set}}; }

  void rows(const std::string& name) {
    struct Shape {
      int64_t outer, n, inner, j;
    };
    for (bool set : {false, true})
      for (Shape s :
           {Shape{1, 4, 1, 3}, {2, 5, 3, 4}, {2, 3, 1, 0}, {1, 1, 1, 2}, {0, 3, 2, 2}, {1, 3, 0, 2}, {2, 7, 131, 5}}) {
        if (name == "take" && set) continue;
        // Replacing the same row twice keeps the last one, whose gradient is that of a choice: rows are distinct then.
        if (set && s.j > s.n) continue;
        cases_.push_back(
            {name + shape_text(Dims{s.outer, s.n, s.inner}) + " at " + std::to_string(s.j) + (set ? " set" : ""),
             index_attrs(set), [m = maker_, s, set, name](Rng& rng) {
               Tensor index = index_tensor(rng, {s.j}, s.n);
               int64_t shift = rng.below(s.n);
               if (set)
                 for (int64_t k = 0; k < s.j; ++k)
                   index.data<int64_t>()[k] = (k + shift) % s.n;
               if (s.j > 0) index.data<int64_t>()[0] -= s.n;  // counted from the end
               std::vector in{m.values(rng, {s.outer, s.n, s.inner}), index};
               if (name == "scatter") in.push_back(m.values(rng, {s.outer, s.j, s.inner}));
               return in;
             }});
      }
  }

  void along(const std::string& name) {
    struct Shape {
      int64_t outer, n, inner, j;
    };
    for (Shape s : {Shape{1, 4, 1, 3}, {2, 5, 3, 4}, {2, 3, 1, 0}, {1, 1, 1, 2}, {0, 3, 2, 2}, {2, 7, 131, 3}})
      cases_.push_back({name + shape_text(Dims{s.outer, s.n, s.inner}) + " at " + std::to_string(s.j),
                        index_attrs(false), [m = maker_, s, name](Rng& rng) {
                          std::vector in{m.values(rng, {s.outer, s.n, s.inner}),
                                         index_tensor(rng, {s.outer, s.j, s.inner}, s.n)};
                          if (name == "put_along") in.push_back(m.values(rng, {s.outer, s.j, s.inner}));
                          return in;
                        }});
  }

  void windows_of_data(const std::string& name) {
    for (auto [x, window] : std::vector<std::pair<Dims, Dims>>{
             {{5}, {3}}, {{4, 5}, {2, 5}}, {{3, 2}, {1, 0}}, {{1}, {1}}, {{0, 2}, {0, 1}}, {{2, 3, 67}, {1, 2, 40}}})
      cases_.push_back({name + shape_text(x) + " by " + shape_text(window),
                        name == "dynamic_slice" ? Attrs{{"sizes", to_sizes(window)}} : Attrs{},
                        [m = maker_, x = x, window = window, name](Rng& rng) {
                          Tensor starts = empty_tensor(DType::I64, {static_cast<int64_t>(x.size())});
                          for (size_t a = 0; a < x.size(); ++a)
                            starts.data<int64_t>()[a] = rng.below(9) - 2;  // some stick out
                          if (name == "dynamic_slice") return std::vector{m.values(rng, x), starts};
                          return std::vector{m.values(rng, x), m.values(rng, window), starts};
                        }});
  }

  void attention(bool reverse) {
    // Batch, query heads, key heads, rows, columns, features of q and k, of v.
    struct Shape {
      int64_t b, h, g, t, s, d, e;
    };
    for (Shape s : {Shape{1, 1, 1, 1, 1, 1, 1},
                    {2, 1, 1, 3, 5, 2, 3},
                    {1, 4, 2, 2, 3, 3, 1},
                    {1, 2, 2, 0, 2, 2, 2},
                    {0, 1, 1, 2, 2, 2, 2},
                    {1, 1, 1, 18, 17, 5, 4}})
      for (int mask : {0, 1, 2})  // none, Bool, added
        for (bool causal : {false, true}) {
          if (mask && s.t > 5) continue;
          bool each = s.b > 1 && mask == 1;  // scale, offset and window for each element of the batch
          std::string label = std::string(op_.name) + shape_text(Dims{s.b, s.h, s.g, s.t, s.s, s.d, s.e}) +
                              (mask == 1   ? " mask"
                               : mask == 2 ? " bias"
                                           : "") +
                              (causal ? " causal" : "");
          cases_.push_back({label, {{"causal", causal}}, [m = maker_, s, mask, each, reverse](Rng& rng) {
                              DType type = compute_type(m.dtype);
                              auto values = [&](DType d, const Dims& sizes, double lo = -1, double hi = 1) {
                                return m.data == Data::Wild ? wild_tensor(rng, d, sizes)
                                                            : uniform_tensor(rng, d, sizes, lo, hi);
                              };
                              auto whole = [&](int64_t lo, int64_t hi) {
                                Tensor t = empty_tensor(DType::I64, each ? Dims{s.b} : Dims{});
                                for_each_element(t, [&](int64_t, std::byte* p) {
                                  store_int(DType::I64, p, lo + rng.below(hi - lo + 1));
                                });
                                return t;
                              };
                              // Every row sees something, or its gradient is NaN.
                              std::vector in{values(m.dtype, {s.b, s.h, s.t, s.d}),
                                             values(m.dtype, {s.b, s.g, s.s, s.d}),
                                             values(m.dtype, {s.b, s.g, s.s, s.e}),
                                             values(type, each ? Dims{s.b} : Dims{}, 0.4, 0.9),
                                             whole(0, 1),
                                             whole(s.t + 1, s.t + 4)};
                              if (reverse)
                                in.insert(in.end(), {values(type, {s.b, s.t, s.h}, 1, 2), values(type, {s.b, s.t, s.h}),
                                                     values(m.dtype, {s.b, s.t, s.h, s.e})});
                              if (mask == 2) in.push_back(values(m.dtype, {s.b, s.h, s.t, s.s}));
                              if (mask != 1) return in;
                              in.push_back(uniform_tensor(rng, DType::Bool, {s.b, s.h, s.t, s.s}));
                              if (m.data == Data::Smooth)
                                for_each_element(in.back(), [&](int64_t k, std::byte* p) {
                                  if (k % s.s == 0) *p = std::byte{1};
                                });
                              return in;
                            }});
        }
  }

  void cumulate(int64_t what, const Dims& s) {
    if (what == 1)
      factors({{"what", what}}, s);
    else
      add({{"what", what}}, {s}, what == 2);
  }

  // Data of products: factors near one, and once with zeros among them.
  void factors(Attrs attrs, const Dims& s) {
    if (data_ == Data::Wild) return add(std::move(attrs), {s});
    for (bool zeros : {false, true})
      cases_.push_back({std::string(op_.name) + " product" + shape_text(s) + attrs.str() + (zeros ? " with zeros" : ""),
                        attrs, [m = maker_, s, zeros](Rng& rng) {
                          Tensor t = uniform_tensor(rng, m.dtype, s, 0.7, 1.4);
                          for_each_element(t, [&](int64_t k, std::byte* p) {
                            if (zeros && k % 3 == 1) store_number(m.dtype, p, 0);
                          });
                          return std::vector{t};
                        }});
  }

  struct WindowShape {
    Dims x;
    Sizes size, stride, dilation;
  };
  static std::vector<WindowShape> windows() {
    return {{{7}, {3}, {1}, {1}}, {{2, 9}, {3}, {2}, {2}}, {{2, 5, 6}, {2, 3}, {1, 2}, {2, 1}},
            {{1}, {1}, {1}, {1}}, {{0, 4}, {2}, {1}, {1}}, {{3, 8}, {2}, {3}, {1}}};
  }
  void unwindow() {
    for (auto& w : windows()) {
      Dims y(w.x.begin(), w.x.end() - w.size.size()), n(w.x.end() - w.size.size(), w.x.end());
      for (Size s : w.size)
        y.push_back(s.value());
      for (size_t i = 0; i < n.size(); ++i)
        y.push_back((n[i] - (w.size[i].value() - 1) * w.dilation[i].value() - 1) / w.stride[i].value() + 1);
      add({{"sizes", to_sizes(n)}, {"stride", w.stride}, {"dilation", w.dilation}}, {y});
    }
  }

  void random(const std::string& name) {
    auto keys = [](Rng& rng, int64_t k) {
      Tensor t = empty_tensor(DType::U32, {k, 2});
      for_each_element(
          t, [&](int64_t, std::byte* p) { store_int(DType::U32, p, static_cast<int64_t>(rng.bits() >> 32)); });
      return t;
    };
    for (auto [k, n] : {std::pair<int64_t, int64_t>{1, 1}, {3, 5}, {0, 4}, {2, 0}, {1, 4099}}) {
      if (name == "threefry") {
        cases_.push_back({"threefry", {{"n", Sizes{Size(n)}}}, [keys, k = k](Rng& rng) {
                            return std::vector{keys(rng, k), index_tensor(rng, {k}, int64_t{1} << 40)};
                          }});
        continue;
      }
      for (const char* what : {"bits", "uniform", "normal", "gumbel"})
        for (DType d : {DType::F32, DType::F64, DType::BF16, DType::F16, DType::U32, DType::I64}) {
          if (is_float(d) == (std::string(what) == "bits")) continue;
          cases_.push_back({std::string("draw ") + what,
                            {{"what", std::string(what)}, {"dtype", d}, {"n", Sizes{Size(n)}}},
                            [keys, k = k](Rng& rng) { return std::vector{keys(rng, k)}; }});
        }
    }
  }

  const OpDef& op_;
  DType dtype_;
  Data data_;
  DataMaker maker_;
  std::vector<OpCase> cases_;
};

inline std::vector<OpCase> cases_of(const OpDef& op, DType dtype, Data data) { return OpCases(op, dtype, data).all(); }

// The dtypes to try an op in.
inline std::vector<DType> dtypes_of(const OpDef& op) {
  std::vector<DType> out;
  for (int d = 0; d < kNumDTypes; ++d)
    if (op.dtypes.has(static_cast<DType>(d)) || op.name == "iota") out.push_back(static_cast<DType>(d));
  return out;
}

}  // namespace sheaf::ops
