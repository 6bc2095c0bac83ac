// Kernels as text for a device, compiled in one batch and run; tests compare the results with the reference executor.
// ShimProgram runs the text on the CPU, DeviceProgram on a GPU; EachProgram tests both.
#pragma once
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "codegen/gpu/program.h"
#include "codegen/random_kernels.h"
#include "loop/ir.h"

namespace sheaf::codegen::gpu::testing {

// A program of one kernel at one set of sizes, whose code is in the batch.
struct Entry {
  std::shared_ptr<const loop::Kernel> kernel;  // as it was emitted
  EmittedProgram program;
};

// Memory of a buffer: a device copies all of it. Regions that begin at the same address are one.
struct Region {
  std::byte* at = nullptr;  // the address that the kernel gets
  std::byte* begin = nullptr;
  size_t size_bytes = 0;
};
std::vector<Region> regions(std::vector<codegen::testing::Memory>& m);

class TextProgram {
 public:
  virtual ~TextProgram() = default;
  // The kernel as a back end would give it to the emitter: strides known, elementary functions expanded. Returns the
  // number of the entry. `aligned`: its buffers begin at multiples of 16 bytes.
  size_t add(const loop::Kernel& k, std::span<const int64_t> sizes, const Facilities& facilities = {.copies = true});
  size_t add(Entry e);
  std::string next_prefix() const { return "k" + std::to_string(entries_.size()); }
  Helpers& helpers() { return helpers_; }

  virtual void compile() = 0;
  // The parameters of a library's product; nothing: there is no library, or it does not compute this product.
  virtual std::optional<int64_t> ask_library(const runtime::LibraryProduct& p) const = 0;
  // Runs the launches; a host call runs its routine, a library call the library's product. The seed chooses the order
  // of threads, where it can be chosen.
  virtual void run(size_t i, std::span<const Region> memory, std::span<const int64_t> sizes, loop::CheckRecord& check,
                   uint64_t seed) = 0;

  size_t size() const { return entries_.size(); }
  const Entry& entry(size_t i) const { return entries_[i]; }
  std::string text_of(size_t i) const;  // the text of its launches, without the functions that they call
  std::string kernel_text() const;      // of the whole batch

 protected:
  // As the text declares it.
  struct Record {
    int lock = 0, failed = 0, step = 0, site = 0;
    long long index = 0, payload = 0;
  };
  // The values of a launch's parameters, and pointers to them as a driver wants them.
  struct Arguments {
    std::vector<int64_t> values;
    std::vector<void*> pointers;
  };
  // `buffers`, `workspace` and `record`: addresses that the launch gets.
  static Arguments arguments(const EmittedLaunch& l, std::span<std::byte* const> buffers,
                             std::span<const int64_t> sizes, const std::byte* workspace, const std::byte* record,
                             int step);
  static void call_host(const Entry& e, const HostCall& call, std::span<std::byte* const> buffers,
                        std::span<const int64_t> sizes);
  int64_t workspace_bytes(size_t i) const;
  // The arguments of a library call: addresses of a, b, c and workspace.
  static std::array<std::byte*, 4> addresses(const LibraryCall& call, std::span<std::byte* const> buffers,
                                             std::byte* workspace);
  const std::vector<EmittedLaunch>& launches() const { return launches_; }

 private:
  std::vector<Entry> entries_;
  std::vector<EmittedLaunch> launches_;       // of different text
  std::map<std::string, std::string> known_;  // text without the name -> the launch that has it
  Helpers helpers_{cuda()};
};

// The seed of a test: SHEAF_SEED, or a new one.
uint64_t seed();

// A test of text that runs through the shim and, where there is one, on a GPU.
class EachProgram : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override;
  bool on_device() const { return std::string(GetParam()) == "Device"; }
  std::unique_ptr<TextProgram> make() const;
};
#define SHEAF_EACH_PROGRAM(Suite)                                        \
  INSTANTIATE_TEST_SUITE_P(, Suite, ::testing::Values("Shim", "Device"), \
                           [](const ::testing::TestParamInfo<const char*>& info) { return std::string(info.param); })

}  // namespace sheaf::codegen::gpu::testing
