// Core code: the program after reading, expansion and name resolution. Locals are registers of their function, globals
// are cells, and every use of a local knows whether it is the last one (so that the value can be moved and updated in
// place).
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "builtins/core/builtin.h"
#include "syntax/form.h"
#include "value/value.h"

namespace sheaf::eval {

// A global name as user code (or prelude code) sees it. `value` is the definition in effect: the user's, else the
// prelude's, else the built-in; Unbound if there is none.
struct Cell {
  Name name;
  Value value = Value::unbound();
  bool user_defined = false;          // by a def or defn of the program (or, in prelude cells, of the prelude)
  bool is_function = false;           // defined by defn: called by name with an exact argument count
  bool literal_vector = false;        // its initialiser is written as a vector (stacking rule)
  std::shared_ptr<UserError> broken;  // a defn whose body did not compile: reported when it is used at run time
  syntax::FormPtr source;             // the defining form, for :show, macros and recompilation
  Span defined_at;
};

enum class ExprKind : uint8_t {
  Const,        // value
  Local,        // slot; last
  Capture,      // slot: index of a captured value
  Self,         // the closure being run
  Global,       // cell
  If,           // items: condition, then, else
  Do,           // items
  Bind,         // slot; items: value, body   (let)
  Destructure,  // names in `slots`, items: value, body; `rest_slot`
  Fn,           // proto; captures
  Call,         // items: function, arguments
  CallGlobal,   // cell; items: arguments
  CallBuiltin,  // builtin; items: arguments
  Op,           // op (an inline operator); items: operands
  Vector,       // items; flag: every element is written as a vector
  Dict,         // items: key, value, …
  And,
  Or,
  While,       // slot; items: condition, init, body
  Repeat,      // slot (index), slot2 (accumulator); items: count, init, body
  Loop,        // slots; items: initial values…, body
  Recur,       // slots; items: values (targets are the enclosing Loop's slots, or the function's parameters)
  Def,         // cell; items: value
  Try,         // slot; items: body, handler
  ParamField,  // value: the key; cell: a function to fall back to; items: the dicts, innermost first
};

enum class InlineOp : uint8_t { Add, Sub, Mul, Div, FloorDiv, Mod, Lt, Le, Gt, Ge, Not, Neg };

struct Proto;
struct Expr;
using ExprPtr = std::unique_ptr<Expr>;

struct Expr {
  ExprKind kind;
  Span span;
  std::vector<ExprPtr> items;
  Value value;
  int slot = -1, slot2 = -1;
  std::vector<int> slots;
  int rest_slot = -1;
  bool last = false, flag = false;
  Cell* cell = nullptr;
  const builtins::BuiltinDef* builtin = nullptr;
  InlineOp op = InlineOp::Add;
  std::shared_ptr<Proto> proto;
  std::vector<ExprPtr> captures;  // Fn: Local or Capture of the enclosing function
};

inline ExprPtr make_expr(ExprKind kind, Span span) {
  auto e = std::make_unique<Expr>();
  e->kind = kind;
  e->span = span;
  return e;
}

struct Param {
  Name name;
  int slot;
};

// One instruction. Operand c of arithmetic (and b of comparisons) with bit 15 set is a constant.
struct Insn {
  uint16_t op;
  uint16_t a;
  union {
    struct {
      uint16_t b, c;
    };
    int32_t i;
  };
};

// A conditional jump that a trace follows on both sides if the condition is unknown.
struct Fork {
  enum Kind : uint8_t {
    Choice,  // both sides meet at `join`, with the value in `dst`
    Recur,   // one side leaves by recur
    While,   // `yes` is the body, up to `join`, which jumps back to `start`; `dst` is the accumulator
    Repeat,  // the same, with the iterations counted in register `start`
  } kind = Choice;
  int at = 0;           // the conditional jump
  int yes = 0, no = 0;  // its targets
  int join = 0, dst = 0, start = 0;
  Span span;
};

// A function's code, shared by all closures made from it.
struct Proto {
  const uint64_t number = new_code_number();
  std::string name;                   // "" for fn
  std::vector<Param> params;          // positional
  int rest_slot = -1;                 // `& rest`
  std::vector<Name> options;          // the names of `& {:keys […]}`
  std::vector<Name> keyword_options;  // the options whose value may be a keyword
  bool takes_any_option = false;      // the options pattern has :as
  bool named = false;                 // made by defn
  bool top_level = false;             // a top-level form of a text, not a function
  int num_slots = 0;                  // number of locals
  int num_captures = 0;
  ExprPtr body;
  Span span;  // the defining form
  syntax::FormPtr source;
  // Filled in by emit_code:
  std::vector<Insn> code;
  std::vector<Span> spans;  // parallel to code
  std::vector<Value> constants;
  std::vector<Cell*> cells;
  std::vector<const builtins::BuiltinDef*> builtin_refs;
  std::vector<std::shared_ptr<Proto>> protos;
  std::vector<Fork> forks;  // by `at`, ascending
  int num_registers = 0;
  std::shared_ptr<Proto>
      checked;  // the same code with a test before each use of a parameter (lenient calls with missing arguments)
};

struct Closure final : FunctionObj {
  std::shared_ptr<Proto> proto;
  std::vector<Value> captures;
  const std::string& name() const override { return proto->name; }
  uint64_t code_number() const override { return proto->number; }
  const std::vector<Value>* captured() const override { return &captures; }
  Value with_captured(std::vector<Value> values) const override {
    auto copy = make_ref<Closure>();
    copy->proto = proto;
    copy->captures = std::move(values);
    return Value::object(Tag::Function, copy.get());
  }
};

// Prints core code as indented text: one form per operation, locals as %N, captured values as ^N, last uses with `!`.
std::string print_core(const Expr& e);

}  // namespace sheaf::eval
