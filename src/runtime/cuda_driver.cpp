#include "runtime/cuda_driver.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include "runtime/libraries.h"
#include "support/error.h"

namespace sheaf::runtime {

const CudaDriver& CudaDriver::find() {
  static const CudaDriver driver;
  return driver;
}

CudaDriver::CudaDriver() {
  constexpr std::string_view kFile = "libcuda.so.1";
  const Library library = open_cuda_library({&kFile, 1});
  if (!library.handle) {
    missing = "no libcuda.so.1 (NVIDIA's driver) was found";
    return;
  }
  path = library.path;
  auto set = [&]<class F>(F& function, const char* name) {
    function = reinterpret_cast<F>(dlsym(library.handle, name));
    if (!function && missing.empty()) missing = fmt::format("{} has no function {}: it is too old", library.path, name);
  };
  set(init, "cuInit");
  set(driver_version, "cuDriverGetVersion");
  set(error_name, "cuGetErrorName");
  set(device_count, "cuDeviceGetCount");
  set(device, "cuDeviceGet");
  set(device_attribute, "cuDeviceGetAttribute");
  set(device_name, "cuDeviceGetName");
  set(device_memory, "cuDeviceTotalMem_v2");
  set(retain_context, "cuDevicePrimaryCtxRetain");
  set(set_context, "cuCtxSetCurrent");
  set(current_context, "cuCtxGetCurrent");
  set(memory_info, "cuMemGetInfo_v2");
  set(allocate, "cuMemAlloc_v2");
  set(release, "cuMemFree_v2");
  set(to_device, "cuMemcpyHtoD_v2");
  set(to_device_async, "cuMemcpyHtoDAsync_v2");
  set(allocate_pinned, "cuMemAllocHost_v2");
  set(to_host_async, "cuMemcpyDtoHAsync_v2");
  set(to_host, "cuMemcpyDtoH_v2");
  set(on_device_async, "cuMemcpyDtoDAsync_v2");
  set(load_module, "cuModuleLoadData");
  set(unload_module, "cuModuleUnload");
  set(find_function, "cuModuleGetFunction");
  set(function_attribute, "cuFuncGetAttribute");
  set(launch, "cuLaunchKernel");
  set(synchronize_context, "cuCtxSynchronize");
  set(create_stream, "cuStreamCreate");
  set(synchronize_stream, "cuStreamSynchronize");
  set(query_stream, "cuStreamQuery");
  set(create_event, "cuEventCreate");
  set(record_event, "cuEventRecord");
  set(synchronize_event, "cuEventSynchronize");
  set(query_event, "cuEventQuery");
  set(elapsed, "cuEventElapsedTime");
  if (!missing.empty()) return;
  has_graphs_ = true;
  auto set_if_there = [&]<class F>(F& function, const char* name) {
    function = reinterpret_cast<F>(dlsym(library.handle, name));
    has_graphs_ &= function != nullptr;
  };
  set_if_there(create_graph, "cuGraphCreate");
  set_if_there(destroy_graph, "cuGraphDestroy");
  set_if_there(add_kernel, "cuGraphAddKernelNode_v2");
  set_if_there(add_copy, "cuGraphAddMemcpyNode");
  set_if_there(add_child, "cuGraphAddChildGraphNode");
  set_if_there(begin_capture, "cuStreamBeginCapture_v2");
  set_if_there(end_capture, "cuStreamEndCapture");
  set_if_there(instantiate_graph, "cuGraphInstantiateWithFlags");
  set_if_there(destroy_runnable, "cuGraphExecDestroy");
  set_if_there(set_kernel, "cuGraphExecKernelNodeSetParams_v2");
  set_if_there(set_copy, "cuGraphExecMemcpyNodeSetParams");
  set_if_there(set_child, "cuGraphExecChildGraphNodeSetParams");
  set_if_there(launch_graph, "cuGraphLaunch");
  int count = 0;
  if (const int status = init(0); status != kSuccess)
    missing = fmt::format("the driver {} does not start: {}", library.path, name_of(status));
  else if (device_count(&count) != kSuccess || count == 0)
    missing = "the driver has no GPU";
}

void* CudaDriver::context() const {
  void* context = nullptr;
  check(current_context(&context), "cuCtxGetCurrent");
  return context;
}

std::string CudaDriver::name_of(int status) const {
  const char* name = nullptr;
  if (error_name) error_name(status, &name);
  return name ? name : fmt::format("status {}", status);
}

void CudaDriver::check(int status, const char* call) const {
  INVARIANT(status == kSuccess, call << ": " << name_of(status));
}

}  // namespace sheaf::runtime
