// Random scalar functions of one tensor that are well typed and mostly smooth.
#pragma once
#include "fuzz/harness.h"

namespace fuzz {

using Shape = std::vector<int>;

struct TypedProgram {
  Shape shape;           // of the argument
  std::string function;  // "(defn f [x] …)", giving a scalar
  std::string argument, direction;
};

TypedProgram typed_program(Rng& rng);

}  // namespace fuzz
