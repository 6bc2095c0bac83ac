// Mix (mix_plans.h) as code of a CUDA device: two kernels; the first passes its numbers to the second in workspace.
#pragma once
#include <string>

#include "runtime/device_code.h"
#include "runtime/device_cuda.h"

namespace sheaf::runtime {

// The missing part, if there is no GPU or no compiler for it.
std::string cuda_missing();
std::shared_ptr<const Code> mix_on_cuda(uint32_t c, uint32_t divisor);

}  // namespace sheaf::runtime
