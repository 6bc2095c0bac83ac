// An NVIDIA GPU as a device. Steps run in order on one stream.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "runtime/device.h"
#include "runtime/library_product.h"

namespace sheaf::runtime {

class CudaDevice : public Device {
 public:
  virtual int number() const = 0;
  // Waits for everything that this process has submitted to the GPU, other libraries included: the context is shared.
  virtual void synchronize_all() = 0;
  // What kernels are compiled for: "sm_90".
  virtual const std::string& architecture() const = 0;
  // Loads a cubin and returns the function of that name; it stays loaded for the life of the program.
  virtual void* load(std::string_view cubin, const std::string& function) = 0;
  // Plans a product for the device's GEMM library; nullptr: no library computes it.
  virtual std::shared_ptr<const PlannedProduct> plan_product(const LibraryProduct& product) = 0;
  // Copies elements between arrays on the device that may differ in strides and dtype, which no byte copy can do. Set
  // before anything runs.
  using CopyElements = void (*)(const Tensor& from, const Tensor& to);
  virtual void set_copy_elements(CopyElements copy) = 0;
};

// The GPU of that number, opened at the first call; one device per program. Throws UserError with the reason if there
// is none.
CudaDevice& cuda_device(int number);

// The available GPUs, or the reason why none can be used, as text for people: one line each.
struct CudaFinding {
  std::vector<std::string> devices;  // by number: "NVIDIA H200, sm_90, 139 GiB"
  std::string missing;               // why none can be used; else empty
};
CudaFinding find_cuda();
// The same for the libraries, which it opens: "driver: libcuda.so.1, CUDA 13.0".
std::vector<std::string> find_cuda_libraries();

}  // namespace sheaf::runtime
