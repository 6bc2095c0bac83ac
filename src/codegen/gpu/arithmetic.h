// Constants, operations and reductions of the loop IR as expressions of the text. Each has the bits of
// scalar/scalar_ops.h; operands are names, or expressions in parentheses.
#pragma once
#include <array>
#include <string>

#include "codegen/gpu/helpers.h"
#include "loop/ir.h"

namespace sheaf::codegen::gpu {

class Arithmetic {
 public:
  using Operands = std::array<std::string, 3>;
  explicit Arithmetic(Helpers& helpers) : helpers_(helpers) {}
  Helpers& helpers() { return helpers_; }

  // A value of a compute type from its bits.
  std::string constant(DType d, int64_t bits);
  // A value of one type as another.
  std::string convert(DType from, DType to, const std::string& x);
  // An instruction that is neither a leaf nor a load.
  std::string apply(const loop::Inst& inst, const Operands& x);

  std::string identity(loop::Combine c, DType d);
  std::string combine(loop::Combine c, DType d, const std::string& a, const std::string& b);
  // Whether x takes the place of the best so far in an ArgMax or ArgMin; whether neither is better.
  std::string replaces(loop::Combine c, DType d, const std::string& x, const std::string& best);
  std::string ties(DType d, const std::string& x, const std::string& y);

 private:
  std::string bitcast(DType from, DType to, const std::string& x);

  Helpers& helpers_;
};

inline bool is_position(loop::Combine c) { return c == loop::Combine::ArgMax || c == loop::Combine::ArgMin; }
// Whether the order in which elements are combined decides bits.
inline bool is_ordered(loop::Combine c, DType d) {
  return is_real(d) && (c == loop::Combine::Sum || c == loop::Combine::Prod);
}

}  // namespace sheaf::codegen::gpu
