// Register code. Locals are registers [0, num_slots), temporaries follow. A caller places the arguments in consecutive
// registers; they become the callee's first registers, and its result replaces the register before them.
#pragma once
#include "eval/core.h"

namespace sheaf::eval {

enum class Code : uint16_t {
  Move,        // R[a] = R[b]
  Take,        // R[a] = R[b]; R[b] = nil
  TakeParam,   // the same, but R[b] keeps its type for error reports
  Const,       // R[a] = K[i]
  Int,         // R[a] = i
  Nil,         // R[a] = nil
  Global,      // R[a] = cells[i]
  Capture,     // R[a] = captures[b]
  Self,        // R[a] = this closure
  CheckBound,  // error if R[a] is unbound; K[i] is its name
  // Operands b and c are registers, or constants when bit 15 is set.
  Add,
  Sub,
  Mul,
  Div,
  FloorDiv,
  Mod,
  Lt,
  Le,
  Gt,
  Ge,
  Not,  // R[a] = !R[b]
  Neg,
  Jump,    // pc += i
  JumpIf,  // if R[a] is true
  JumpIfNot,
  // Jump by the next word's i unless R[a] OP R[b] (operands as above).
  UnlessLt,
  UnlessLe,
  UnlessGt,
  UnlessGe,
  Call,         // function R[a], b arguments from R[a+1]
  CallGlobal,   // the same with the function in cells[next word's i]
  CallBuiltin,  // the same with builtin_refs[next word's i]
  Closure,  // R[a] = closure of protos[i]; captures follow as Move (b: register) or Capture (b: index) or Take words
  Vector,   // R[a] = vector of b values from R[a]; c: flag "literal vectors"
  Dict,     // R[a] = dict of b keys and values from R[a]
  Destructure,  // b names from the value R[a] into R[a], R[a+1] …; c: 1 if the rest follows in R[a+b]
  ParamField,   // R[a] = field K[i] of the first of the dicts R[a]… that has it; next word's a: how many dicts, i: a
                // cell to fall back to, or -1
  RepeatTest,   // index R[a], count R[a+1]: if R[a] >= R[a+1] jump by next word's i
  RepeatCount,  // R[a] = R[a] as a whole number of iterations
  Define,       // cells[i] = R[a]
  PushTry,      // handler at pc + i; the error goes to R[a]
  PopTry,
  Return,  // R[a]
};

inline constexpr uint16_t kConstantBit = 0x8000;

// Compiles proto.body into proto.code. With `checked`, every use of a parameter is preceded by a test.
void emit_code(Proto& proto, bool checked = false);
std::string print_code(const Proto& proto);

}  // namespace sheaf::eval
