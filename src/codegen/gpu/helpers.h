// Device functions that kernels call: integer operations in their total form, conversions, what needs several lines.
// Each is printed once per program, behind those that it calls, and only if something calls it. Their bits are those of
// scalar/scalar_ops.h.
#pragma once
#include <functional>
#include <set>
#include <string>

#include "codegen/gpu/dialect.h"
#include "scalar/op.h"
#include "tensor/dtype.h"

namespace sheaf::codegen::gpu {

// What a value of the type is called in the text; narrow floats are their bits.
std::string_view type_name(DType d);
bool is_real(DType d);  // F32 or F64

class Helpers {
 public:
  explicit Helpers(const Dialect& dialect) : dialect_(dialect) {}
  const Dialect& dialect() const { return dialect_; }
  const FloatWords& words(DType d) const { return d == DType::F64 ? dialect_.f64 : dialect_.f32; }
  const std::string& text() const { return text_; }

  // The name of the function `name`, whose text is made when it is first asked for.
  std::string function(std::string name, const std::function<std::string(const std::string& name)>& text);

  // For an operation that no expression says: total integer arithmetic, Min and Max of floats, Rem, FloorMod, Round.
  std::string operation(scalar::Op op, DType d);
  // For a conversion between a float and another type, or from and to the narrow floats.
  std::string conversion(DType from, DType to);
  // The type of `length` neighbouring elements.
  std::string pack(DType d, int length);
  // For `fail_check`.
  std::string failed_check();
  // For the functions over matrix units.
  void matrix_units();

 private:
  std::string integer_body(scalar::Op op, DType d);
  // Statements of a function; those of `body` where the device has no such instruction (Dialect::by_instruction).
  std::string by_instruction(std::string_view instruction, std::string_view type, char to, std::string_view operands,
                             const std::string& body) const;
  std::string real_body(scalar::Op op, DType d);

  const Dialect& dialect_;
  std::set<std::string> known_;
  std::string text_;
};

}  // namespace sheaf::codegen::gpu
