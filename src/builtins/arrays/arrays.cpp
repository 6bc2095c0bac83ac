#include "builtins/arrays/arrays.h"

#include <fmt/format.h>

#include <algorithm>
#include <complex>
#include <cstring>
#include <numeric>

#include "runtime/thread_pool.h"
#include "tensor/transfer.h"
#include "trace/int_bounds.h"
#include "trace/size_values.h"
#include "value/print.h"

namespace sheaf::builtins {

bool is_known(const Value& v) { return !v.is_traced() || trace::operand_of(v).has_value(); }

namespace {

// The leaves of a nested list in row-major order, and how many there are per level.
struct Leaves {
  std::string_view who;
  std::vector<Value> items;
  Dims sizes;
  bool plain = true, any_float = false, any_int = false;

  void collect(const Value& v, size_t depth) {
    if (!v.is_seq()) {
      if (!trace::is_numeric(v)) throw runtime_error(fmt::format("{}: expected numbers, got {}", who, short_text(v)));
      if (depth != sizes.size()) ragged();
      plain &= is_plain_scalar(v);
      any_float |= v.is_float();
      any_int |= v.is_int();
      items.push_back(v);
      return;
    }
    int64_t n = static_cast<int64_t>(v.items().size());
    if (n == 0)
      throw runtime_error(fmt::format("{}: cannot make a tensor of an empty list", who))
          .hint("use (zeros [0]) for an empty tensor");
    if (depth == sizes.size()) {
      if (!items.empty()) ragged();
      sizes.push_back(n);
    } else if (sizes[depth] != n) {
      ragged();
    }
    for (const Value& x : v.items())
      collect(x, depth + 1);
  }

  [[noreturn]] void ragged() const { throw runtime_error(fmt::format("{}: the lists differ in length or depth", who)); }
};

DType common_array_dtype(const std::vector<Operand>& parts) {
  DType d = parts[0].dtype();
  for (const Operand& p : parts)
    if (p.dtype() != d) d = promote(d, p.dtype());
  return d;
}

}  // namespace

Operand array_operand(const Value& v, std::string_view who, DType ints) {
  if (!v.is_seq()) {
    if (!trace::is_numeric(v)) throw runtime_error(fmt::format("{}: expected numbers, got {}", who, short_text(v)));
    if (trace::kind_of(v) == Kind::Float && ints == DType::F64) return trace::f64_operand(v);
    return trace::kind_of(v) == Kind::Int ? ops::cast(trace::operand_of(v), ints) : trace::operand_of(v);
  }
  Leaves leaves{who, {}, {}};
  leaves.collect(v, 0);
  if (leaves.plain) {
    DType floats = ints == DType::F64 ? DType::F64 : DType::F32;
    DType d = leaves.any_float ? floats : leaves.any_int ? ints : DType::Bool;
    Tensor t = empty_tensor(d, leaves.sizes);
    std::byte* p = t.bytes_mut();
    for (const Value& x : leaves.items) {
      if (x.is_float())
        store_double(d, p, x.as_double());
      else if (!x.is_int() || !is_int(d) || trace::holds_int(d, x.as_int()))
        store_int(d, p, x.as_int());
      else
        throw runtime_error(fmt::format("{}: {} does not fit {}", who, x.as_int(), name_of(d)));
      p += size_bytes(d);
    }
    return t;
  }
  std::vector<Operand> parts;
  for (const Value& x : leaves.items)
    parts.push_back(array_operand(x, who, ints));
  Operand rows = stack_arrays(std::move(parts), 0, who);
  Sizes s = to_sizes(leaves.sizes);
  for (int i = 1; i < rows.rank(); ++i)
    s.push_back(rows.size(i));
  return ops::reshape(rows, s);
}

bool is_numeric_list(const Value& v) {
  if (!v.is_list() || v.items().empty()) return false;
  for (const Value& x : v.items()) {
    bool number =
        x.is_number() || (x.is_traced() && (trace::kind_of(x) == Kind::Int || trace::kind_of(x) == Kind::Float));
    if (!number && !is_numeric_list(x)) return false;
  }
  return true;
}

Operand stack_arrays(std::vector<Operand> parts, int axis, std::string_view who) {
  DType d = common_array_dtype(parts);
  for (Operand& p : parts) {
    if (!(p.sizes() == parts[0].sizes()) && &p != &parts[0])
      throw runtime_error(
          fmt::format("{}: shapes differ: {} and {}", who, shape_text(parts[0].sizes()), shape_text(p.sizes())))
          .hint("(apply concat xs) joins tensors of different lengths");
  }
  for (Operand& p : parts)
    p = ops::expand_axis(ops::cast(p, d), axis);
  return ops::concat(std::move(parts), axis);
}

Operand join_arrays(std::vector<Operand> parts, int axis, std::string_view who) {
  DType d = common_array_dtype(parts);
  Sizes first = parts[0].sizes();
  for (Operand& p : parts) {
    Sizes s = p.sizes();
    bool fits = s.size() == first.size();
    for (size_t i = 0; fits && i < s.size(); ++i)
      fits = static_cast<int>(i) == axis || s[i] == first[i];
    if (!fits)
      throw runtime_error(
          fmt::format("{}: shapes {} and {} do not fit along axis {}", who, shape_text(first), shape_text(s), axis));
    p = ops::cast(p, d);
  }
  return ops::concat(std::move(parts), axis);
}

Operand stretch(const Operand& x, const Sizes& sizes) {
  if (!(ops::broadcast_sizes(x.sizes(), sizes) == sizes)) {
    UserError e = runtime_error("Cannot broadcast shapes " + shape_text(x.sizes()) + " and " + shape_text(sizes));
    e.label = "only axes of size 1 stretch, and none may shrink";
    throw e;
  }
  return ops::broadcast_to(x, sizes);
}

Operand as_array(const Value& v, std::string_view who) {
  Operand x = tensor_operand(v, who, true);
  Kind k = trace::kind_of(v);
  return k == Kind::Int || k == Kind::Float ? ops::cast(x, DType::F32) : x;
}

std::optional<DType> dtype_option(const Call& c, std::string_view who) {
  for (const Option& o : c.options) {
    if (o.name.str() == "dtype") return o.value.is_nil() ? std::nullopt : std::optional(to_dtype(o.value, who));
    if (auto d = dtype_from_name(o.name.str())) return d;
  }
  return std::nullopt;
}

std::optional<std::vector<int>> axes_option(const Call& c, int rank) {
  const Value* v = c.option("axis");
  if (!v || v->is_nil()) return std::nullopt;
  std::vector<int> axes;
  for (int64_t a : to_ints(*v, "axis"))
    axes.push_back(ops::check_axis(a, rank));
  std::sort(axes.begin(), axes.end());
  if (std::adjacent_find(axes.begin(), axes.end()) != axes.end())
    throw runtime_error("axis: the same axis is given twice");
  return axes;
}

int one_axis(Call& c, size_t arg, int rank, int64_t fallback) {
  if (auto a = axis_option(c, rank)) return *a;
  return ops::check_axis(arg < c.size() && !c[arg].is_nil() ? to_index(c[arg], "axis") : fallback, rank);
}

int rank_of(const Value& numeric) {
  return trace::kind_of(numeric) == Kind::Tensor ? trace::operand_of(numeric).rank() : 0;
}

Dims known_sizes(const Sizes& sizes) {
  Dims known;
  for (Size s : sizes)
    if (s.is_const()) known.push_back(s.value());
  return known;
}

void check_known_size(const Sizes& sizes) { checked_num_elems(known_sizes(sizes)); }

Value int_value(Size s) { return trace::to_value(trace::sizes_operand({s}, DType::I64, true), Kind::Int); }

Operand select_item(const Operand& x, int axis, const Value& index, std::string_view who) {
  if (is_known(index) || trace::size_value(index)) {
    Size at = resolve_index(index, x.size(axis));
    if (!x.is_node() && at.is_const() && axis == 0) return select_axis0(x.value(), at.value());
    return ops::squeeze_axis(ops::slice_axis(x, axis, at, 1), axis);
  }
  Operand at = index_operand(index, who);
  if (!(num_elems(at.sizes()) == Size(1)))
    throw runtime_error(fmt::format("index: expected a number, got {}", short_text(index)));
  return ops::take(x, ops::reshape(at, {}), axis, std::string(who), true);
}

Operand slice_range(const Operand& x, int axis, Size start, Size end) {
  return ops::slice_axis(x, axis, start, end - start);
}

bool is_mask(const Value& v) {
  if (!v.is_seq()) return is_tensor_value(v) && trace::operand_of(v).dtype() == DType::Bool;
  auto is_bools = [](const Value& x) { return x.is_bool() || (x.is_seq() && is_mask(x)); };
  return !v.items().empty() && std::all_of(v.items().begin(), v.items().end(), is_bools);
}

namespace {

// Calls f(test), where test(i) says whether element i of a contiguous tensor is not zero.
template <class F>
void visit_nonzero(const Tensor& t, F&& f) {
  const std::byte* bytes = t.bytes();
  const auto of = [&]<class T>(const T* x) { f([x](int64_t i) { return x[i] != T(0); }); };
  switch (t.dtype) {
    case DType::Bool: return of(reinterpret_cast<const uint8_t*>(bytes));
    case DType::F32: return of(reinterpret_cast<const float*>(bytes));
    case DType::F64: return of(reinterpret_cast<const double*>(bytes));
    case DType::I32: return of(reinterpret_cast<const int32_t*>(bytes));
    case DType::I64: return of(reinterpret_cast<const int64_t*>(bytes));
    case DType::C64: return of(reinterpret_cast<const std::complex<float>*>(bytes));
    default:
      f([&t, bytes, width = size_bytes(t.dtype)](int64_t i) { return load_double(t.dtype, bytes + i * width) != 0; });
  }
}

// The index along an axis of each of the elements [begin, end) that pass the test, to `to`.
template <class T, class Test>
void write_positions(T* to, int64_t begin, int64_t end, int64_t below, int64_t size, Test test) {
  if (below == 1 && end <= size) {  // a vector: no division, and no branch that depends on the data
    T unwanted;
    for (int64_t i = begin; i < end; ++i) {
      const bool hit = test(i);
      *(hit ? to : &unwanted) = static_cast<T>(i);
      to += hit;
    }
    return;
  }
  for (int64_t i = begin; i < end; ++i)
    if (test(i)) *to++ = static_cast<T>(i / below % size);
}

}  // namespace

// Threads count the elements of each chunk; then all know where theirs go.
std::vector<Tensor> nonzero_positions(const Tensor& x, DType dtype) {
  constexpr int64_t kChunk = 1 << 14;
  const Tensor t = contiguous(x);
  const int64_t n = t.num_elems(), chunks = (n + kChunk - 1) / kChunk;
  std::vector<int64_t> first(static_cast<size_t>(chunks) + 1);
  std::vector<Tensor> out(t.rank());
  const auto each_chunk = [&](auto&& f) {
    runtime::parallel_for(
        chunks,
        [&](int64_t begin, int64_t end) {
          for (int64_t c = begin; c < end; ++c)
            f(static_cast<size_t>(c), c * kChunk, std::min(n, (c + 1) * kChunk));
        },
        1);
  };
  visit_nonzero(t, [&](auto test) {
    each_chunk([&](size_t chunk, int64_t begin, int64_t end) {
      int64_t count = 0;
      for (int64_t i = begin; i < end; ++i)
        count += test(i);
      first[chunk + 1] = count;
    });
    std::partial_sum(first.begin(), first.end(), first.begin());
    int64_t below = 1;  // elements per step of the axis
    for (int a = t.rank() - 1; a >= 0; --a) {
      out[a] = empty_tensor(dtype, {first.back()});
      std::byte* const p = out[a].bytes_mut();
      each_chunk([&](size_t chunk, int64_t begin, int64_t end) {
        if (dtype == DType::I32)
          write_positions(reinterpret_cast<int32_t*>(p) + first[chunk], begin, end, below, t.sizes[a], test);
        else
          write_positions(reinterpret_cast<int64_t*>(p) + first[chunk], begin, end, below, t.sizes[a], test);
      });
      below *= t.sizes[a];
    }
  });
  return out;
}

namespace {

// The innermost axis of a copy between strided arrays.
template <class T>
void copy_run(std::byte* to, int64_t to_stride, const std::byte* from, int64_t from_stride, int64_t n) {
  T* p = reinterpret_cast<T*>(to);
  const T* q = reinterpret_cast<const T*>(from);
  for (int64_t i = 0; i < n; ++i)
    p[i * to_stride] = q[i * from_stride];
}

// Same sizes, same dtype.
void copy_elements(const Tensor& to, const Tensor& from, int axis, std::byte* p, const std::byte* q) {
  int width = size_bytes(to.dtype);
  if (to.rank() == 0) {
    std::memcpy(p, q, width);
    return;
  }
  int64_t n = to.sizes[axis], ts = to.strides[axis], fs = from.strides[axis];
  if (axis + 1 < to.rank()) {
    for (int64_t i = 0; i < n; ++i)
      copy_elements(to, from, axis + 1, p + i * ts * width, q + i * fs * width);
    return;
  }
  switch (width) {
    case 1: return copy_run<uint8_t>(p, ts, q, fs, n);
    case 2: return copy_run<uint16_t>(p, ts, q, fs, n);
    case 4: return copy_run<uint32_t>(p, ts, q, fs, n);
    default: return copy_run<uint64_t>(p, ts, q, fs, n);
  }
}

}  // namespace

namespace {

// A copy on a device is a submission of its own, and takes some microseconds.
constexpr int64_t kMostRuns = 64;

// From which axis on the region is contiguous in an array of these sizes.
int contiguous_from(const Region& r, const Dims& sizes) {
  int axis = static_cast<int>(sizes.size());
  while (axis > 0 && r.steps[axis - 1] == Size(1)) {
    --axis;
    if (r.sizes[axis] != Size(sizes[axis])) break;
  }
  return axis;
}

// The contiguous runs of `box`, which begin at the axis `from`, become the elements of v.
void write_runs(const Tensor& box, const Tensor& v, int from) {
  const Tensor source = contiguous(v);
  Tensor to = box, run = source;
  to.sizes.assign(box.sizes.begin() + from, box.sizes.end());
  to.strides.assign(box.strides.begin() + from, box.strides.end());
  run.sizes = to.sizes;
  run.strides = to.strides = contiguous_strides(to.sizes);
  const int64_t elements = to.num_elems(), runs = elements == 0 ? 0 : box.num_elems() / elements;
  for (int64_t i = 0; i < runs; ++i, run.offset += elements) {
    int64_t rest = i;
    to.offset = box.offset;
    for (int a = from - 1; a >= 0; --a) {
      to.offset += rest % box.sizes[a] * box.strides[a];
      rest /= box.sizes[a];
    }
    copy_into(run, to);
  }
}

}  // namespace

bool can_write_region(const Value& x, const Region& r) {
  if (!x.is_tensor()) return false;
  const Tensor& t = x.as_tensor();
  if (t.buffer->is_on_host()) return true;
  int64_t runs = 1;
  for (int a = 0, end = contiguous_from(r, t.sizes); a < end && runs <= kMostRuns; ++a)
    runs *= r.sizes[a].value();
  return runs <= kMostRuns;
}

Value write_region(Value x, const Operand& v, const Region& r) {
  const Tensor& old = x.as_tensor();
  bool own = x.unique() && old.buffer->unique() && old.buffer->is_ours() && old.is_contiguous();
  Tensor out = old;
  if (!own) old.buffer->home().copy(old, out = empty_tensor(old.buffer->home(), old.dtype, old.sizes));
  out.buffer->will_change();
  Tensor box = out;
  box.sizes = to_dims(r.sizes);
  for (int i = 0; i < out.rank(); ++i) {
    if (box.sizes[i] > 0) box.offset += r.starts[i].value() * out.strides[i];
    box.strides[i] = out.strides[i] * r.steps[i].value();
  }
  if (!box.buffer->is_on_host())
    write_runs(box, v.value(), contiguous_from(r, out.sizes));
  else if (box.num_elems() > 0)
    copy_elements(box, v.value(), 0, box.bytes_mut(), v.value().bytes());
  return own ? std::move(x) : Value::tensor(std::move(out));
}

}  // namespace sheaf::builtins
