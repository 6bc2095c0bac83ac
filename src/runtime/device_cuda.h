// A GPU of NVIDIA's driver. Steps run in order on one stream.
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
  // The function of that name in compiled text, for the life of the program.
  virtual void* load(std::string_view cubin, const std::string& function) = 0;
  // nullptr: no library of the device computes the product.
  virtual std::shared_ptr<const PlannedProduct> plan_product(const LibraryProduct& product) = 0;
  // Copies of elements that no copy of bytes can do: from one array to another of the device, which may differ in
  // strides and dtype. Set before anything runs.
  using CopyElements = void (*)(const Tensor& from, const Tensor& to);
  virtual void set_copy_elements(CopyElements copy) = 0;
};

// The GPU of that number, opened at the first call; one device per program. Throws UserError with the reason where
// there is none.
CudaDevice& cuda_device(int number);

// What of this is there, and what is missing, for people: a line each.
struct CudaFinding {
  std::vector<std::string> devices;  // by number: "NVIDIA H200, sm_90, 139 GiB"
  std::string missing;               // why none can be used; else empty
};
CudaFinding find_cuda();
// The same of the libraries, which this opens: "driver: libcuda.so.1, CUDA 13.0".
std::vector<std::string> find_cuda_libraries();

}  // namespace sheaf::runtime
