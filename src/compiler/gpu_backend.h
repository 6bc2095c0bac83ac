// The back end of a CUDA device: kernels as text that NVRTC compiles; every launch is a step of its own.
#pragma once
#include "compiler/backend.h"
#include "runtime/device_cuda.h"

namespace sheaf::compiler {

// The back end of the program's device, created at the first call.
const Backend& gpu_backend(runtime::CudaDevice& device);

}  // namespace sheaf::compiler
