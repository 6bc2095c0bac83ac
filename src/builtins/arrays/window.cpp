// Convolution, pooling and upsampling. Arrays are [N, C, spatial…] and kernels [O, I, spatial…]; a missing batch axis
// is added and later removed. A convolution is one matrix product: its right operand has the windows of all images as
// columns [I * size, N * out], so that the gradient of the kernel sums over the batch inside the product.
#include "ops/window.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "builtins/arrays/arrays.h"
#include "builtins/arrays/families.h"
#include "builtins/arrays/mixed.h"
#include "builtins/core/numeric.h"
#include "value/print.h"

namespace sheaf::builtins {
namespace {

using Ints = std::vector<int64_t>;

// The parameters of one spatial axis.
struct Axis {
  Size n;  // of the input
  int64_t size, stride, dilation;
  Size lo, hi;     // padding
  Size spare = 0;  // more padding at the end, for a last window that the input does not fill
  Size span() const { return (size - 1) * dilation + 1; }
  Size room() const { return n + lo + hi + spare; }
  Size out() const { return floor_div(room() - span(), stride) + Size(1); }
};
using Axes = std::vector<Axis>;

std::string option_name(std::string_view who, std::string_view option) { return fmt::format("{}: :{}", who, option); }

// An option with one number, or one for each of the d axes.
Ints per_axis(const Call& c, std::string_view who, std::string_view option, int d, int64_t least, Ints missing) {
  const Value* v = c.option(option);
  if (!v) return missing;
  Ints out = to_ints(*v, option_name(who, option));
  if (out.size() == 1) out.resize(d, out[0]);
  if (static_cast<int>(out.size()) != d)
    throw runtime_error(
        fmt::format("{}: :{} needs one number or {}, got {}", who, option, d, short_text(trace::concrete(*v))));
  for (int64_t x : out)
    if (x < least) throw runtime_error(fmt::format("{}: :{} must be at least {}, got {}", who, option, least, x));
  return out;
}

// Padding before and after each axis. `:same` keeps the size (divided by the stride, rounded up); an odd remainder is
// added at the end.
void set_padding(const Call& c, std::string_view who, Axes& axes) {
  const Value* v = c.option("padding");
  if (!v) return;
  size_t d = axes.size();
  if (v->is_keyword() || v->is_string()) {
    std::string_view name = key_name(*v).str();
    if (name == "valid") return;
    if (name != "same")
      throw runtime_error(fmt::format("{}: unknown padding :{}. Known: :same :valid, a number, or numbers", who, name));
    for (Axis& a : axes) {
      Size out = floor_div(a.n + Size(a.stride - 1), a.stride);
      Size total = max((out - Size(1)) * Size(a.stride) + a.span() - a.n, Size(0));
      a.lo = floor_div(total, 2);
      a.hi = total - a.lo;
    }
    return;
  }
  Ints p = to_ints(*v, option_name(who, "padding"));
  for (int64_t x : p)
    if (x < 0) throw runtime_error(fmt::format("{}: :padding must not be negative, got {}", who, x));
  if (p.size() != 1 && p.size() != d && p.size() != 2 * d)
    throw runtime_error(
        fmt::format("{}: :padding needs 1 number, {} (one for each axis) or {} (before and after each axis), got {}",
                    who, d, 2 * d, p.size()));
  for (size_t i = 0; i < d; ++i) {
    axes[i].lo = p.size() == 2 * d ? p[2 * i] : p.size() == 1 ? p[0] : p[i];
    axes[i].hi = p.size() == 2 * d ? p[2 * i + 1] : axes[i].lo;
  }
}

Operand padded(const Operand& x, const Axes& axes, double value) {
  int lead = x.rank() - static_cast<int>(axes.size());
  Sizes lo(lead, Size(0)), hi(lead, Size(0)), between(x.rank(), Size(0));
  for (const Axis& a : axes) {
    lo.push_back(a.lo);
    hi.push_back(a.hi + a.spare);
  }
  return ops::pad(x, lo, hi, between, value);
}

struct Lists {
  Sizes size, stride, dilation, out;
};

Lists lists_of(const Axes& axes) {
  Lists l;
  for (const Axis& a : axes) {
    l.size.push_back(a.size);
    l.stride.push_back(a.stride);
    l.dilation.push_back(a.dilation);
    l.out.push_back(a.out());
  }
  return l;
}

Operand windows(const Operand& x, const Axes& axes) {
  Lists l = lists_of(axes);
  return ops::window(x, l.size, l.stride, l.dilation);
}

void check_fits(std::string_view who, const Axes& axes) {
  for (const Axis& a : axes) {
    Size room = a.room();
    if (room.is_const() && room.value() < a.span().value())
      throw runtime_error(
          fmt::format("{}: a window of {} does not fit into {} elements", who, a.span().str(), room.str()))
          .hint("see :padding");
  }
}

// Two float operands of one dtype, the first with a batch axis.
struct Images {
  Operand x, w;
  bool added_batch;
  int groups;
};

Images images(Call& c, std::string_view who, int d) {
  Operand x = tensor_operand(c[0], who), w = tensor_operand(c[1], who);
  bool unbatched = x.rank() == d + 1;
  if ((x.rank() != d + 2 && !unbatched) || w.rank() != d + 2) {
    std::string_view axes = d == 1 ? "W" : d == 2 ? "H, W" : "D, H, W";
    throw runtime_error(fmt::format("{}: expected an input [N, C, {}] and a kernel of {} axes, got {} and {}", who,
                                    axes, d + 2, shape_text(x.sizes()), shape_text(w.sizes())));
  }
  DType dtype = float_dtype(promote(x.dtype(), w.dtype()));
  const Value* g = c.option("groups");
  int64_t groups = g ? to_index(*g, option_name(who, "groups")) : 1;
  if (groups < 1) throw runtime_error(fmt::format("{}: :groups must be at least 1, got {}", who, groups));
  x = ops::cast(x, dtype);
  return {unbatched ? ops::expand_axis(x, 0) : x, ops::cast(w, dtype), unbatched, static_cast<int>(groups)};
}

Axes conv_axes(const Call& c, std::string_view who, const Images& in, int d) {
  Ints stride = per_axis(c, who, "stride", d, 1, Ints(d, 1)), dilation = per_axis(c, who, "dilation", d, 1, Ints(d, 1));
  Axes axes;
  for (int i = 0; i < d; ++i) {
    Size k = in.w.size(2 + i);
    if (k.value() == 0) throw runtime_error(fmt::format("{}: the kernel {} is empty", who, shape_text(in.w.sizes())));
    axes.push_back({in.x.size(2 + i), k.value(), stride[i], dilation[i], 0, 0});
  }
  return axes;
}

Value without_batch(Operand y, const Images& in) { return tensor_value(in.added_batch ? ops::squeeze_axis(y, 0) : y); }

// The order of axes that moves [a, b…] (a single axis and `count` more) to [b…, a].
std::vector<int> rotation(int first, int count, int rank) {
  std::vector<int> perm(rank);
  std::iota(perm.begin(), perm.end(), 0);
  std::rotate(perm.begin() + first, perm.begin() + first + 1, perm.begin() + first + 1 + count);
  return perm;
}

std::vector<int> inverse(const std::vector<int>& perm) {
  std::vector<int> back(perm.size());
  for (size_t i = 0; i < perm.size(); ++i)
    back[perm[i]] = static_cast<int>(i);
  return back;
}

Value convolve(Call& c, std::string_view who, int d) {
  Images in = images(c, who, d);
  Axes axes = conv_axes(c, who, in, d);
  set_padding(c, who, axes);
  check_fits(who, axes);
  Size batch = in.x.size(0), channels = in.x.size(1), outputs = in.w.size(0), per_group = in.w.size(1),
       groups = in.groups;
  if (!(channels == per_group * groups))
    throw runtime_error(fmt::format("{}: the input has {} channels, but the kernel {} with :groups {} expects {}", who,
                                    channels.str(), shape_text(in.w.sizes()), groups.str(),
                                    (per_group * groups).str()));
  if (!(mod(outputs, groups) == Size(0)))
    throw runtime_error(
        fmt::format("{}: {} output channels are not divisible by :groups {}", who, outputs.str(), groups.str()));
  Operand win = windows(padded(in.x, axes, 0), axes);  // [N, C, size…, out…]
  Sizes size = lists_of(axes).size, out = lists_of(axes).out;
  Size taps = per_group * num_elems(size);
  Operand columns =
      ops::reshape(ops::transpose(win, rotation(0, 1 + d, win.rank())), {groups, taps, batch * num_elems(out)});
  Operand kernel = ops::reshape(in.w, {groups, floor_div(outputs, groups), taps});
  Sizes sizes{outputs, batch};
  for (Size n : out)
    sizes.push_back(n);
  Operand y = ops::reshape(mixed_dot(kernel, columns), sizes);
  return without_batch(ops::transpose(y, rotation(0, 1, y.rank())), in);
}

// The adjoint of a convolution with the same options: kernels are [I, O, spatial…].
Value convolve_transposed(Call& c) {
  constexpr std::string_view who = "conv-transpose";
  int d = tensor_operand(c[1], who).rank() - 2;
  if (d < 1)
    throw runtime_error(fmt::format("{}: expected a kernel [I, O, W] or [I, O, H, W], got {}", who,
                                    shape_text(tensor_operand(c[1], who).sizes())));
  Images in = images(c, who, d);
  Axes axes = conv_axes(c, who, in, d);
  Ints extra = per_axis(c, who, "output-padding", d, 0, Ints(d, 0));
  Size batch = in.x.size(0), channels = in.x.size(1), per_group = in.w.size(1), groups = in.groups;
  if (!(channels == in.w.size(0)) || !(mod(channels, groups) == Size(0)))
    throw runtime_error(
        fmt::format("{}: the input has {} channels, but the kernel {} expects {} (divisible by :groups {})", who,
                    channels.str(), shape_text(in.w.sizes()), in.w.size(0).str(), groups.str()));
  // Here n is the number of windows. They are added to an array of `full` elements, from which padding then removes the
  // ends.
  const Value* option = c.option("padding");
  bool same = option && is_key(*option) && key_name(*option).str() == "same";
  Axes cut = axes;
  if (!same) set_padding(c, who, cut);
  Sizes size, stride, dilation, counts, full, start, length;
  for (int i = 0; i < d; ++i) {
    const Axis& a = axes[i];
    Size covered = (a.n - Size(1)) * Size(a.stride) + a.span();
    Size lo = same ? floor_div(max(a.span() - Size(a.stride), Size(0)), 2) : cut[i].lo;
    Size n = (same ? a.n * Size(a.stride) : covered - lo - cut[i].hi) + Size(extra[i]);
    if (n.is_const() && n.value() < 1)
      throw runtime_error(fmt::format("{}: :padding leaves nothing of {} elements", who, covered.str()));
    size.push_back(a.size);
    stride.push_back(a.stride);
    dilation.push_back(a.dilation);
    counts.push_back(a.n);
    full.push_back(max(covered, lo + n));
    start.push_back(lo);
    length.push_back(n);
  }
  Operand x = ops::transpose(in.x, rotation(0, 1, in.x.rank()));
  x = ops::reshape(x, {groups, floor_div(channels, groups), batch * num_elems(counts)});
  Operand kernel =
      ops::swap_last_two(ops::reshape(in.w, {groups, floor_div(channels, groups), per_group * num_elems(size)}));
  Sizes sizes{groups * per_group};
  for (Size n : size)
    sizes.push_back(n);
  sizes.push_back(batch);
  for (Size n : counts)
    sizes.push_back(n);
  Operand y = ops::reshape(mixed_dot(kernel, x), sizes);  // [O, size…, N, out…]
  y = ops::unwindow(ops::transpose(y, inverse(rotation(0, 1 + d, y.rank()))), full, stride, dilation);
  for (int i = 0; i < d; ++i)
    y = ops::slice_axis(y, 2 + i, start[i], length[i]);
  return without_batch(y, in);
}

// The number of spatial axes of a picture: as many as `:size` (or `:scale`) names, else all but the first two.
int spatial_axes(const Operand& x, const Ints& given, std::string_view who) {
  if (given.empty()) throw runtime_error(fmt::format("{}: needs at least one size", who));
  int d = given.size() > 1 ? static_cast<int>(given.size()) : std::max(1, x.rank() - 2);
  if (x.rank() < d)
    throw runtime_error(
        fmt::format("{}: expected a tensor of at least {} axes, got {}", who, d, shape_text(x.sizes())));
  return d;
}

// Adds one window if some elements are left; it starts in the input or in the padding before it.
void add_partial_window(Axis& a) {
  Size whole = a.out(), next = whole * Size(a.stride);
  if (next + a.span() - Size(a.stride) < a.room() && next < a.n + a.lo) a.spare = next + a.span() - a.room();
}

struct Pool {
  Operand x;
  Axes axes;
};

Pool pool(Call& c, std::string_view who) {
  Operand x = tensor_operand(c[0], who);
  const Value* size = c.option("size");
  if (!size && c.size() < 2) throw runtime_error(fmt::format("{}: needs a :size", who));
  Ints given = to_ints(size ? *size : c[1], option_name(who, "size"));
  int d = spatial_axes(x, given, who);
  if (given.size() == 1) given.resize(d, given[0]);
  for (int64_t n : given)
    if (n < 1) throw runtime_error(fmt::format("{}: :size must be at least 1, got {}", who, n));
  Ints stride = per_axis(c, who, "stride", d, 1, given), dilation = per_axis(c, who, "dilation", d, 1, Ints(d, 1));
  Axes axes;
  for (int i = 0; i < d; ++i)
    axes.push_back({x.size(x.rank() - d + i), given[i], stride[i], dilation[i], 0, 0});
  set_padding(c, who, axes);
  if (c.flag("ceil-mode"))
    for (Axis& a : axes)
      add_partial_window(a);
  check_fits(who, axes);
  return {x, axes};
}

double lowest(DType d) {
  switch (d) {
    case DType::Bool:
    case DType::U32:
    case DType::U8:
    case DType::U16: return 0;
    case DType::I32: return std::numeric_limits<int32_t>::min();
    case DType::I64: return static_cast<double>(std::numeric_limits<int64_t>::min());
    case DType::I8: return -128;
    case DType::I16: return -32768;
    default: return -HUGE_VAL;
  }
}

// Selects by the position of the largest element, so that of several equal ones only the first gets the gradient: after
// a relu many windows contain only zeros.
Value max_pool(Call& c) {
  Pool p = pool(c, "max-pool");
  int d = static_cast<int>(p.axes.size()), lead = p.x.rank() - d;
  Operand win = windows(padded(p.x, p.axes, lowest(p.x.dtype())), p.axes);
  Sizes xs = p.x.sizes(), sizes(xs.begin(), xs.begin() + lead), flat = sizes;
  flat.push_back(num_elems(lists_of(p.axes).size));
  for (Size n : lists_of(p.axes).out) {
    flat.push_back(n);
    sizes.push_back(n);
  }
  win = ops::reshape(win, flat);
  Operand at = ops::cast(ops::reduce("argmax", win, {lead}, true), DType::I64);
  return tensor_value(ops::reshape(ops::take_along(win, at, lead, ops::kInRange, false), sizes));
}

// The number of elements that each window averages: excludes the extra padding at the end, and all padding unless
// `count_padding` is set.
Operand window_counts(Axes axes, bool count_padding, DType dtype) {
  bool uniform = true;
  double count = 1;
  Sizes sizes;
  for (Axis& a : axes) {
    uniform &= a.spare == Size(0) && (count_padding || (a.lo == Size(0) && a.hi == Size(0)));
    count *= static_cast<double>(a.size);
    sizes.push_back(a.n + (count_padding ? a.lo + a.hi : Size(0)));
  }
  if (uniform) return ops::constant(dtype, count);
  if (count_padding)
    for (Axis& a : axes)
      a.n = a.n + a.lo + a.hi, a.lo = a.hi = 0;
  std::vector<int> window(axes.size());
  std::iota(window.begin(), window.end(), 0);
  return ops::sum(windows(padded(ops::full({dtype, sizes}, 1), axes, 0), axes), window);
}

Value avg_pool(Call& c) {
  Pool p = pool(c, "avg-pool");
  DType dtype = float_dtype(p.x.dtype());
  int d = static_cast<int>(p.axes.size()), lead = p.x.rank() - d;
  std::vector<int> axes(d);
  std::iota(axes.begin(), axes.end(), lead);
  Operand total = ops::sum(windows(padded(ops::cast(p.x, dtype), p.axes, 0), p.axes), axes);
  const Value* include = c.option("count-padding");
  return tensor_value(ops::div(total, window_counts(p.axes, !include || is_true(*include), dtype)));
}

Value upsample(Call& c) {
  Operand x = tensor_operand(c[0], "upsample");
  const Value* scale = c.option("scale");
  if (!scale && c.size() < 2) throw runtime_error("upsample: needs a :scale");
  Ints by = to_ints(scale ? *scale : c[1], option_name("upsample", "scale"));
  int d = spatial_axes(x, by, "upsample"), lead = x.rank() - d;
  if (by.size() == 1) by.resize(d, by[0]);
  Sizes xs = x.sizes(), apart(xs.begin(), xs.begin() + lead), stretched = apart, out = apart;
  for (int i = 0; i < d; ++i) {
    if (by[i] < 1) throw runtime_error(fmt::format("upsample: :scale must be at least 1, got {}", by[i]));
    Size n = xs[lead + i];
    apart.push_back(n);
    apart.push_back(1);
    stretched.push_back(n);
    stretched.push_back(by[i]);
    out.push_back(n * Size(by[i]));
  }
  check_known_size(stretched);
  return tensor_value(ops::reshape(ops::broadcast_to(ops::reshape(x, apart), stretched), out));
}

constexpr std::string_view kConvOptions = "stride padding= dilation groups";

const BuiltinDef kBuiltins[] = {
    {"conv1d",
     "Convolution",
     "(conv1d x w [:stride s] [:padding p] [:dilation d] [:groups g])",
     "Cross-correlation of x [N, C, W] with the kernels w [O, C / groups, K]: [N, O, out]. x may lack the batch axis. "
     ":padding is a number, a pair "
     "[before after], :same or :valid (the default).",
     {{"(conv1d [[[1 2 3 4]]] [[[1 1]]])", "[[[3. 5. 7.]]]"},
      {"(conv1d [[[1 2 3 4]]] [[[1 1]]] :padding [1 0] :stride 2)", "[[[1. 5.]]]"}},
     2,
     2,
     [](Call& c) { return convolve(c, "conv1d", 1); },
     kConvOptions},
    {"conv2d",
     "Convolution",
     "(conv2d x w [:stride s] [:padding p] [:dilation d] [:groups g])",
     "Cross-correlation of images x [N, C, H, W] with the kernels w [O, C / groups, KH, KW]: [N, O, out…]. x may lack "
     "the batch axis. Options are one "
     "number or one for each axis; :padding is also :same, :valid (the default), or four numbers [[top bottom] [left "
     "right]].",
     {{"(conv2d (ones [1 1 3 3]) (ones [1 1 2 2]))", "[[[[4. 4.]\n [4. 4.]]]]"},
      {"(shape (conv2d (ones [8 3 32 32]) (ones [16 3 3 3]) :padding :same :stride 2))", "[ 8. 16. 16. 16.]"}},
     2,
     2,
     [](Call& c) { return convolve(c, "conv2d", 2); },
     kConvOptions},
    {"conv3d",
     "Convolution",
     "(conv3d x w [:stride s] [:padding p] [:dilation d] [:groups g])",
     "Cross-correlation of volumes x [N, C, D, H, W] with the kernels w [O, C / groups, KD, KH, KW], as conv2d.",
     {{"(shape (conv3d (ones [1 2 4 4 4]) (ones [3 2 2 2 2])))", "[1. 3. 3. 3. 3.]"}},
     2,
     2,
     [](Call& c) { return convolve(c, "conv3d", 3); },
     kConvOptions},
    {"conv-transpose",
     "Convolution",
     "(conv-transpose x w [:stride s] [:padding p] [:dilation d] [:groups g] [:output-padding o])",
     "The adjoint of a convolution, which enlarges: x [N, C, spatial…] with the kernels w [C, O / groups, spatial…] "
     "(any number of spatial axes). The size is "
     "(n - 1) stride + (k - 1) dilation + 1, less the padding; :same gives n stride. :output-padding adds elements at "
     "the end.",
     {{"(conv-transpose [[[1 2]]] [[[1 1 1]]] :stride 2)", "[[[1. 1. 3. 2. 2.]]]"},
      {"(conv-transpose [[[1 2]]] [[[1 1]]])", "[[[1. 3. 2.]]]"}},
     2,
     2,
     convolve_transposed,
     "stride padding= dilation groups output-padding"},
    {"max-pool",
     "Convolution",
     "(max-pool x :size k [:stride s] [:padding p] [:dilation d] [:ceil-mode])",
     "Largest element of each window over the last axes (all but the first two, or as many as :size names). The stride "
     "is the size unless given. With :ceil-mode a last window may reach beyond the end. "
     "Of equal elements the first gets the gradient.",
     {{"(max-pool [[[1 5 2 4]]] :size 2)", "[[[5. 4.]]]"},
      {"(max-pool [[1 2 3] [4 5 6] [7 8 9]] :size [2 2] :stride 1)", "[[5. 6.]\n [8. 9.]]"}},
     1,
     2,
     max_pool,
     "size stride padding= dilation ceil-mode"},
    {"avg-pool",
     "Convolution",
     "(avg-pool x :size k [:stride s] [:padding p] [:dilation d] [:ceil-mode] [:count-padding false])",
     "Mean of each window over the last axes (all but the first two, or as many as :size names). The stride is the "
     "size unless given. Padding counts as zeros, or with :count-padding false not at all. With :ceil-mode a last "
     "window "
     "may reach beyond the end, of which nothing counts.",
     {{"(avg-pool [[[1 5 2 4]]] :size 2)", "[[[3. 3.]]]"},
      {"(avg-pool [[[1 5 2 4 6]]] :size 2 :ceil-mode)", "[[[3. 3. 6.]]]"}},
     1,
     2,
     avg_pool,
     "size stride padding= dilation ceil-mode count-padding"},
    {"upsample",
     "Convolution",
     "(upsample x :scale k)",
     "Repeats every element :scale times along the last axes (all but the first two, or as many as :scale names).",
     {{"(upsample [[[1 2]]] :scale 2)", "[[[1. 1. 2. 2.]]]"},
      {"(upsample [[1 2] [3 4]] :scale [1 2])", "[[1. 1. 2. 2.]\n [3. 3. 4. 4.]]"}},
     1,
     2,
     upsample,
     "scale"},
};

}  // namespace

std::span<const BuiltinDef> window_builtins() { return kBuiltins; }

}  // namespace sheaf::builtins
