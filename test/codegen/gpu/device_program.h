// The text compiled by NVRTC and run on the first GPU of the CUDA driver, both found at run time. A batch is several
// modules, compiled on all processors.
#pragma once
#include <functional>
#include <unordered_map>

#include "codegen/gpu/text_program.h"
#include "runtime/cuda_driver.h"

namespace sheaf::codegen::gpu::testing {

// The first GPU, of one thread.
struct Device {
  // Opened at the first request; from then on the context is current on that thread.
  static Device& find();

  std::string missing;  // the missing part, if there is no GPU or no compiler for it
  std::string name, architecture;

  using Address = runtime::CudaDriver::Address;
  Address allocate(size_t bytes);
  void free(Address a);
  void upload(Address to, const void* from, size_t bytes);
  void download(void* to, Address from, size_t bytes);
  void* load(const std::string& cubin);  // a module
  void unload(void* module);
  void* function(void* module, const std::string& name);
  void launch(void* function, int64_t blocks, int threads, void** arguments);
  struct Cost {
    int registers = 0, local_bytes = 0;  // of a thread; local memory holds spilled registers
  };
  Cost cost(void* function);
  // Milliseconds that the launches of f take, by events.
  double time(const std::function<void()>& f);

 private:
  Device();
  const runtime::CudaDriver& driver_ = runtime::CudaDriver::find();
};

// A test that needs a GPU.
struct DeviceTest : ::testing::Test {
  void SetUp() override {
    if (!Device::find().missing.empty()) GTEST_SKIP() << "no GPU: " << Device::find().missing;
  }
};

class DeviceProgram final : public TextProgram {
 public:
  using TextProgram::workspace_bytes;
  void compile() override;
  ~DeviceProgram() override;
  std::optional<int64_t> ask_library(const runtime::LibraryProduct& p) const override;
  // The seed is unused: the GPU chooses its own order.
  void run(size_t i, std::span<const Region> memory, std::span<const int64_t> sizes, loop::CheckRecord& check,
           uint64_t seed) override;
  // Only the launches of an entry, on memory of the device.
  void launch(size_t i, std::span<const Device::Address> buffers, std::span<const int64_t> sizes,
              Device::Address workspace, Device::Address record);
  Device::Cost cost(const EmittedLaunch& l) const { return Device::find().cost(functions_.at(l.name)); }

 private:
  static void multiply(const LibraryCall& call, std::span<std::byte* const> buffers, std::byte* workspace);
  void launch(const EmittedLaunch& l, std::span<std::byte* const> buffers, std::span<const int64_t> sizes,
              const std::byte* workspace, const std::byte* record, int step);
  std::vector<void*> modules_;
  std::unordered_map<std::string, void*> functions_;  // by the name of the launch
};

// Prints the speed of an entry, for people: time, rate, and the schedule and registers of each launch. `work`: bytes,
// or operations of a product.
struct RateBuffer {
  const void* content;
  size_t size_bytes;
};
void print_rate(DeviceProgram& program, size_t i, const std::string& label, double work, bool is_product,
                std::span<const RateBuffer> buffers, std::span<const int64_t> sizes);

}  // namespace sheaf::codegen::gpu::testing
