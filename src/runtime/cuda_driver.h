// The functions of NVIDIA's driver that this program calls; the driver is loaded at run time. Members keep the driver's
// names without "cu"; handles are opaque pointers. Any thread may call them.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

namespace sheaf::runtime {

struct CudaDriver {
  // Opens the driver at the first call; it stays open for the life of the program.
  static const CudaDriver& find();
  // The reason if there is no usable driver (none, or too old); empty if all functions are available.
  std::string missing;
  std::string path;  // of the library

  using Address = uint64_t;
  int (*init)(unsigned flags) = nullptr;
  int (*driver_version)(int* version) = nullptr;
  int (*error_name)(int status, const char** name) = nullptr;
  int (*device_count)(int* count) = nullptr;
  int (*device)(int* device, int number) = nullptr;
  int (*device_attribute)(int* value, int attribute, int device) = nullptr;
  int (*device_name)(char* name, int bytes, int device) = nullptr;
  int (*device_memory)(size_t* bytes, int device) = nullptr;
  int (*retain_context)(void** context, int device) = nullptr;
  int (*set_context)(void* context) = nullptr;
  int (*current_context)(void** context) = nullptr;
  int (*memory_info)(size_t* free, size_t* total) = nullptr;
  int (*allocate)(Address* address, size_t bytes) = nullptr;
  int (*release)(Address address) = nullptr;
  int (*to_device)(Address to, const void* from, size_t bytes) = nullptr;
  int (*to_device_async)(Address to, const void* from, size_t bytes, void* stream) = nullptr;
  int (*allocate_pinned)(void** memory, size_t bytes) = nullptr;
  int (*to_host_async)(void* to, Address from, size_t bytes, void* stream) = nullptr;
  int (*to_host)(void* to, Address from, size_t bytes) = nullptr;
  int (*on_device_async)(Address to, Address from, size_t bytes, void* stream) = nullptr;
  int (*load_module)(void** module, const void* image) = nullptr;
  int (*unload_module)(void* module) = nullptr;
  int (*find_function)(void** function, void* module, const char* name) = nullptr;
  int (*function_attribute)(int* value, int attribute, void* function) = nullptr;
  int (*launch)(void* function, unsigned blocks_x, unsigned blocks_y, unsigned blocks_z, unsigned threads_x,
                unsigned threads_y, unsigned threads_z, unsigned shared_bytes, void* stream, void** parameters,
                void** extra) = nullptr;
  int (*synchronize_context)() = nullptr;
  int (*create_stream)(void** stream, unsigned flags) = nullptr;
  int (*synchronize_stream)(void* stream) = nullptr;
  int (*query_stream)(void* stream) = nullptr;
  int (*create_event)(void** event, unsigned flags) = nullptr;
  int (*record_event)(void* event, void* stream) = nullptr;
  int (*synchronize_event)(void* event) = nullptr;
  int (*query_event)(void* event) = nullptr;
  int (*elapsed)(float* milliseconds, void* begin, void* end) = nullptr;

  // Graphs. Older drivers may have none of these.
  struct KernelNode {
    void* function = nullptr;
    unsigned blocks[3] = {1, 1, 1}, threads[3] = {1, 1, 1}, shared_bytes = 0;
    void** parameters = nullptr;
    void** extra = nullptr;
    void *kernel = nullptr, *context = nullptr;
  };
  struct CopyNode {
    struct End {
      size_t x = 0, y = 0, z = 0, level = 0;
      int memory = 0;
      const void* host = nullptr;
      Address device = 0;
      void *array = nullptr, *reserved = nullptr;
      size_t pitch = 0, height = 0;
    } from, to;
    size_t bytes = 0, rows = 1, planes = 1;
  };
  int (*create_graph)(void** graph, unsigned flags) = nullptr;
  int (*destroy_graph)(void* graph) = nullptr;
  int (*add_kernel)(void** node, void* graph, void* const* after, size_t num_after, const KernelNode* what) = nullptr;
  int (*add_copy)(void** node, void* graph, void* const* after, size_t num_after, const CopyNode* what,
                  void* context) = nullptr;
  int (*add_child)(void** node, void* graph, void* const* after, size_t num_after, void* child) = nullptr;
  int (*begin_capture)(void* stream, int mode) = nullptr;
  int (*end_capture)(void* stream, void** graph) = nullptr;
  int (*instantiate_graph)(void** runnable, void* graph, unsigned long long flags) = nullptr;
  int (*destroy_runnable)(void* runnable) = nullptr;
  int (*set_kernel)(void* runnable, void* node, const KernelNode* what) = nullptr;
  int (*set_copy)(void* runnable, void* node, const CopyNode* what, void* context) = nullptr;
  int (*set_child)(void* runnable, void* node, void* child) = nullptr;
  int (*launch_graph)(void* runnable, void* stream) = nullptr;
  bool has_graphs() const { return has_graphs_; }

  // Values of the driver's enumerations.
  static constexpr int kSuccess = 0, kOutOfMemory = 2, kNotReady = 600;
  static constexpr int kComputeMajor = 75, kComputeMinor = 76, kProcessors = 16;  // of device_attribute
  static constexpr int kLocalBytes = 3, kRegisters = 4;                           // of function_attribute
  static constexpr unsigned kNonBlocking = 1;                                     // of create_stream
  static constexpr int kDeviceMemory = 2;                                         // of CopyNode
  static constexpr int kRelaxed = 2;                                              // of begin_capture
  static constexpr unsigned kNoTiming = 2;                                        // of create_event

  // The current context of the calling thread.
  void* context() const;
  // The driver's name for a status.
  std::string name_of(int status) const;
  // Throws an internal error that names the call, unless the status is kSuccess.
  void check(int status, const char* call) const;

 private:
  CudaDriver();
  bool has_graphs_ = false;
};

}  // namespace sheaf::runtime
