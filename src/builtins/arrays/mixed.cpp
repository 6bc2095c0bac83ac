#include "builtins/arrays/mixed.h"

#include <utility>

#include "value/print.h"

namespace sheaf::builtins {
namespace {

thread_local DType t_dtype = DType::F32;

bool rearranges_all(const graph::OpDef& op) {
  return op.arrangement == graph::Arrangement::SameOrder || op.arrangement == graph::Arrangement::Permuted;
}

// Casts a to another dtype, below transposes and reshapes, so that a matrix is rounded in its memory layout and
// products still see that it is transposed.
Operand rounded(const Operand& a, DType to) {
  if (a.is_node() && rearranges_all(*a.node()->op))
    return graph::apply(*a.node()->op, {rounded(a.node()->inputs[0], to)}, a.node()->attrs);
  return ops::cast(a, to);
}

struct Within {
  DType before;
  explicit Within(DType d) : before(std::exchange(t_dtype, d)) {}
  ~Within() { t_dtype = before; }
};

}  // namespace

DType mixed_dtype() { return t_dtype; }

Operand mixed_product(const Operand& a, const Operand& b,
                      const std::function<Operand(Operand a, Operand b, bool wide)>& product) {
  if (t_dtype == DType::F32 || a.dtype() != DType::F32) return product(a, b, false);
  return product(rounded(a, t_dtype), rounded(b, t_dtype), true);
}

Value with_contractions(Call& c) {
  auto d = is_key(c[0]) ? dtype_from_name(key_name(c[0]).str()) : std::nullopt;
  if (d != DType::BF16 && d != DType::F16 && d != DType::F32)
    throw runtime_error("mixed: expected :bf16, :f16 or :f32, got " + short_text(c[0]));
  Within within(*d);
  auto args = c[2].items();
  return c.caller.call(c[1], {args.begin(), args.end()});
}

}  // namespace sheaf::builtins
