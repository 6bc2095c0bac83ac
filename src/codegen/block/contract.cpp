#include "codegen/block/step.h"

namespace sheaf::codegen::block {

loop::Routine find_fast_routine(std::string_view name) { return loop::find_routine(name); }

}  // namespace sheaf::codegen::block
