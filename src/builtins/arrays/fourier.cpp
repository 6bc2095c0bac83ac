// Fourier transforms, as lib/fourier.shf calls them: axes and norms are checked there.
#include "builtins/arrays/arrays.h"
#include "builtins/arrays/families.h"
#include "ops/complex.h"

namespace sheaf::builtins {
namespace {

// An op on [outer, n, inner] or, of complex numbers, [outer, n, inner, 2], along `axis` of x: the results.
Operand along(const char* op, const Operand& x, int axis, bool from_complex, bool to_complex, graph::Attrs attrs) {
  ops::check_real(x, op);
  const DType d = is_float(x.dtype()) ? x.dtype() : DType::F32;
  const Sizes sizes = x.sizes();
  const int rank = x.rank() - (from_complex ? 1 : 0);
  Sizes folded = {1, sizes[axis], 1}, whole(sizes.begin(), sizes.begin() + rank);
  for (int i = 0; i < rank; ++i)
    if (i != axis) folded[i < axis ? 0 : 2] = folded[i < axis ? 0 : 2] * sizes[i];
  if (from_complex) folded.push_back(2);
  const Operand y = graph::apply(ops::op(op), {ops::reshape(ops::cast(x, d == DType::F64 ? d : DType::F32), folded)},
                                 std::move(attrs));
  whole[axis] = y.size(1);
  if (to_complex) whole.push_back(2);
  return ops::cast(ops::reshape(y, whole), d);
}

int axis_of(const Value& v) { return static_cast<int>(to_index(v, "fft")); }

// (%fft x axis inverse scale)
Value fft(Call& c) {
  return tensor_value(along("fft", array_operand(c[0], "fft"), axis_of(c[1]), true, true,
                            {{"inverse", c[2].as_bool()}, {"scale", c[3].as_int()}}));
}
// (%rfft x axis scale)
Value rfft(Call& c) {
  return tensor_value(
      along("rfft", array_operand(c[0], "rfft"), axis_of(c[1]), false, true, {{"scale", c[2].as_int()}}));
}
// (%irfft x axis n scale)
Value irfft(Call& c) {
  return tensor_value(along("irfft", array_operand(c[0], "irfft"), axis_of(c[1]), true, false,
                            {{"n", Sizes{to_count(c[2], "irfft")}}, {"scale", c[3].as_int()}}));
}

const BuiltinDef kBuiltins[] = {
    {"%fft", "", "", "", {}, 4, 4, fft},
    {"%rfft", "", "", "", {}, 3, 3, rfft},
    {"%irfft", "", "", "", {}, 4, 4, irfft},
};

}  // namespace

std::span<const BuiltinDef> fourier_builtins() { return kBuiltins; }

}  // namespace sheaf::builtins
