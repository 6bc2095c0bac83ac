// The scalar operations: the instructions of the loop IR, and the combining operations of reductions. Every one is
// total: it has a defined result, to the bit, for all operands (scalar_ops.h).
#pragma once
#include <cstdint>
#include <string_view>

namespace sheaf::scalar {

enum class Op : uint8_t {
  Const,   // imm: the bits of the value
  Size,    // i64 run-time parameter number imm
  Index,   // i64 loop variable of axis imm
  Load,    // element args[0] (i64) of buffer imm; has the buffer's type
  Result,  // value of reduction imm
  // Arithmetic in `type`. Integers wrap. Div on ints truncates, FloorDiv and FloorMod round down; x/0 = 0, x mod 0 = 0.
  Add,
  Sub,
  Mul,
  Div,
  Fma,
  Neg,
  Abs,
  Min,
  Max,  // NaN propagates
  FloorDiv,
  FloorMod,
  Rem,
  Sqrt,
  Floor,
  Ceil,
  Trunc,
  Rint,   // half to even
  Round,  // half away from zero
  And,
  Or,
  Xor,
  Not,
  Shl,
  Shr,
  Sar,  // shift counts are taken modulo the width
  Lt,
  Le,
  Gt,
  Ge,
  Eq,
  Ne,       // operands of type `from`, result Bool; every comparison with NaN is false but Ne
  Select,   // args[0] ? args[1] : args[2]
  Seldom,   // Select for an args[0] that is seldom true: what only args[1] needs may be skipped until it is
  Convert,  // from `from` to `type`: float to int truncates and saturates (NaN 0), to bool is x != 0, to narrow floats
            // rounds to even
  Bitcast,  // same width; sign and payload of a computed NaN depend on the processor
  // Elementary functions; one pass expands them into the operations above (scalar/math/math_functions.h).
  Exp,
  Log,
  Sin,
  Cos,
  Tan,
  Tanh,
  Pow,
  Erf,
  Expm1,
  Log1p,
  Atan2,
  Sigmoid,
  ErfInv,
};

std::string_view name_of(Op op);

enum class Combine : uint8_t { Sum, Prod, Max, Min, ArgMax, ArgMin };  // Max/Min/Arg*: NaN propagates (NumPy)

}  // namespace sheaf::scalar
