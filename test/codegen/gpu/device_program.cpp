#include "codegen/gpu/device_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

#include "runtime/device_cuda.h"
#include "runtime/nvrtc.h"
#include "support/error.h"

namespace sheaf::codegen::gpu::testing {

Device& Device::find() {
  static Device found;
  return found;
}

Device::Device() {
  const runtime::CudaFinding found = runtime::find_cuda();
  missing = found.missing.empty() ? runtime::Nvrtc::find().missing() : found.missing;
  if (!missing.empty()) return;
  name = found.devices[0];
  int device = 0, major = 0, minor = 0;
  driver_.check(driver_.device(&device, 0), "cuDeviceGet");
  driver_.check(driver_.device_attribute(&major, driver_.kComputeMajor, device), "cuDeviceGetAttribute");
  driver_.check(driver_.device_attribute(&minor, driver_.kComputeMinor, device), "cuDeviceGetAttribute");
  architecture = fmt::format("sm_{}{}", major, minor);
  void* context = nullptr;
  driver_.check(driver_.retain_context(&context, device), "cuDevicePrimaryCtxRetain");
  driver_.check(driver_.set_context(context), "cuCtxSetCurrent");
}

Device::Address Device::allocate(size_t bytes) {
  Address a = 0;
  driver_.check(driver_.allocate(&a, bytes), "cuMemAlloc");
  return a;
}
void Device::free(Address a) { driver_.check(driver_.release(a), "cuMemFree"); }
void Device::upload(Address to, const void* from, size_t bytes) {
  driver_.check(driver_.to_device(to, from, bytes), "cuMemcpyHtoD");
}
void Device::download(void* to, Address from, size_t bytes) {
  driver_.check(driver_.to_host(to, from, bytes), "cuMemcpyDtoH");
}

void* Device::load(const std::string& cubin) {
  void* module = nullptr;
  driver_.check(driver_.load_module(&module, cubin.data()), "cuModuleLoadData");
  return module;
}
void Device::unload(void* module) { driver_.unload_module(module); }
void* Device::function(void* module, const std::string& name) {
  void* found = nullptr;
  driver_.check(driver_.find_function(&found, module, name.c_str()), "cuModuleGetFunction");
  return found;
}

void Device::launch(void* function, int64_t blocks, int threads, void** arguments) {
  driver_.check(driver_.launch(function, static_cast<unsigned>(blocks), 1, 1, static_cast<unsigned>(threads), 1, 1, 0,
                               nullptr, arguments, nullptr),
                "cuLaunchKernel");
}

Device::Cost Device::cost(void* function) {
  Cost c;
  driver_.check(driver_.function_attribute(&c.local_bytes, driver_.kLocalBytes, function), "cuFuncGetAttribute");
  driver_.check(driver_.function_attribute(&c.registers, driver_.kRegisters, function), "cuFuncGetAttribute");
  return c;
}

double Device::time(const std::function<void()>& f) {
  void *begin = nullptr, *end = nullptr;
  driver_.check(driver_.create_event(&begin, 0), "cuEventCreate");
  driver_.check(driver_.create_event(&end, 0), "cuEventCreate");
  driver_.check(driver_.record_event(begin, nullptr), "cuEventRecord");
  f();
  driver_.check(driver_.record_event(end, nullptr), "cuEventRecord");
  driver_.check(driver_.synchronize_event(end), "cuEventSynchronize");
  float ms = 0;
  driver_.check(driver_.elapsed(&ms, begin, end), "cuEventElapsedTime");
  return ms;
}

void DeviceProgram::compile() {
  const auto begin = std::chrono::steady_clock::now();
  // Launches per module: few enough that all processors get some.
  const size_t processors = std::max(1u, std::thread::hardware_concurrency());
  const size_t size = std::clamp<size_t>(launches().size() / (2 * processors), 1, 6);
  const size_t count = (launches().size() + size - 1) / size;
  std::vector<runtime::Nvrtc::Result> results(count);
  std::atomic<size_t> next = 0;
  {
    std::vector<std::jthread> threads;
    for (size_t t = 0; t < std::min(count, processors); ++t)
      threads.emplace_back([&] {
        for (size_t m; (m = next++) < count;) {
          std::string text = helpers().text() + "\n";
          for (size_t l = m * size; l < std::min(launches().size(), (m + 1) * size); ++l)
            text += launches()[l].text + "\n";
          results[m] = runtime::Nvrtc::find().compile(text, Device::find().architecture);
        }
      });
  }
  std::string errors;
  for (const auto& r : results)
    if (!r.ok) errors += r.log + "\n";
  INVARIANT(errors.empty(), errors.substr(0, 8000));
  Device& device = Device::find();
  for (size_t m = 0; m < count; ++m) {
    modules_.push_back(device.load(results[m].cubin));
    for (size_t l = m * size; l < std::min(launches().size(), (m + 1) * size); ++l)
      functions_[launches()[l].name] = device.function(modules_[m], launches()[l].name);
  }
  fmt::print("{}: {} launches in {} modules, compiled in {:.2f} s\n", device.name, launches().size(), count,
             std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
}

DeviceProgram::~DeviceProgram() {
  for (void* m : modules_)
    Device::find().unload(m);
}

std::optional<int64_t> DeviceProgram::ask_library(const runtime::LibraryProduct& p) const {
  const auto planned = runtime::PlannedProduct::find(p);
  return planned ? std::optional(planned->workspace_bytes()) : std::nullopt;
}

void DeviceProgram::multiply(const LibraryCall& call, std::span<std::byte* const> buffers, std::byte* workspace) {
  const auto at = addresses(call, buffers, workspace);
  auto number = [&](size_t i) { return reinterpret_cast<uint64_t>(at[i]); };
  runtime::PlannedProduct::find(call.product)->submit(number(0), number(1), number(2), number(3), nullptr);
}

void DeviceProgram::launch(const EmittedLaunch& l, std::span<std::byte* const> buffers, std::span<const int64_t> sizes,
                           const std::byte* workspace, const std::byte* record, int step) {
  if (l.schedule.blocks == 0) return;
  Arguments a = arguments(l, buffers, sizes, workspace, record, step);
  Device::find().launch(functions_.at(l.name), l.schedule.blocks, l.schedule.threads, a.pointers.data());
}

void DeviceProgram::launch(size_t i, std::span<const Device::Address> buffers, std::span<const int64_t> sizes,
                           Device::Address workspace, Device::Address record) {
  std::vector<std::byte*> at;
  for (Device::Address b : buffers)
    at.push_back(reinterpret_cast<std::byte*>(b));
  int step = 0;
  for (const auto& s : entry(i).program.steps)
    if (auto* call = std::get_if<LibraryCall>(&s))
      multiply(*call, at, reinterpret_cast<std::byte*>(workspace));
    else
      launch(std::get<EmittedLaunch>(s), at, sizes, reinterpret_cast<std::byte*>(workspace),
             reinterpret_cast<std::byte*>(record), step++);
}

// All regions are in one block of memory, here and on the GPU, with guard bytes around each region that must not
// change: one copy there, one back.
void DeviceProgram::run(size_t i, std::span<const Region> memory, std::span<const int64_t> sizes,
                        loop::CheckRecord& check, uint64_t) {
  constexpr size_t kMargin = 256, kAlign = 256;
  constexpr std::byte kUnused{0x5a};  // not zeros, which sums would not notice
  size_t size = kMargin;
  auto place = [&](size_t bytes, size_t skew) {
    const size_t at = size + skew;
    size = (at + bytes + kMargin + kAlign - 1) / kAlign * kAlign;
    return at;
  };
  struct Placed {
    size_t at, bytes;
  };
  std::map<std::byte*, Placed> placed;
  for (const Region& r : memory) {
    size_t& bytes = placed[r.begin].bytes;
    bytes = std::max(bytes, r.size_bytes);
  }
  // A region keeps its alignment: if it is not aligned to 16 bytes here, it is not on the GPU.
  for (auto& [begin, p] : placed)
    p.at = place(p.bytes, reinterpret_cast<uintptr_t>(begin) % 16);
  const size_t record_at = place(sizeof(Record), 0);
  const size_t workspace_at = place(static_cast<size_t>(workspace_bytes(i)), 0);

  std::vector<std::byte> storage(size + kAlign, kUnused);
  std::byte* host = storage.data() + (kAlign - reinterpret_cast<uintptr_t>(storage.data()) % kAlign);
  Device& device = Device::find();
  const Device::Address address = device.allocate(size);
  auto* base = reinterpret_cast<std::byte*>(address);
  std::vector<std::byte*> here, there;
  for (const auto& [begin, p] : placed)
    std::memcpy(host + p.at, begin, p.bytes);
  for (const Region& r : memory) {
    const size_t at = placed[r.begin].at + static_cast<size_t>(r.at - r.begin);
    here.push_back(host + at);
    there.push_back(base + at);
  }
  Record record;
  std::memcpy(host + record_at, &record, sizeof record);
  device.upload(address, host, size);
  int step = 0;
  for (const auto& s : entry(i).program.steps) {
    if (auto* l = std::get_if<EmittedLaunch>(&s)) {
      launch(*l, there, sizes, base + workspace_at, base + record_at, step++);
      continue;
    }
    if (auto* call = std::get_if<LibraryCall>(&s)) {
      multiply(*call, there, base + workspace_at);
      continue;
    }
    device.download(host, address, size);
    call_host(entry(i), std::get<HostCall>(s), here, sizes);
    device.upload(address, host, size);
  }
  device.download(host, address, size);
  device.free(address);
  std::memcpy(&record, host + record_at, sizeof record);
  if (record.failed) check = {record.site, record.payload};

  size_t end = 0;
  auto expect_unused = [&](size_t from, size_t to) {
    for (size_t at = from; at < to; ++at)
      INVARIANT(host[at] == kUnused, "byte " << at << " outside of all buffers was written");
  };
  for (const auto& [begin, p] : placed) {
    expect_unused(end, p.at);
    std::memcpy(begin, host + p.at, p.bytes);
    end = p.at + p.bytes;
  }
  expect_unused(end, record_at);
  expect_unused(workspace_at + static_cast<size_t>(workspace_bytes(i)), size);
}

void print_rate(DeviceProgram& program, size_t i, const std::string& label, double work, bool is_product,
                std::span<const RateBuffer> buffers, std::span<const int64_t> sizes) {
  Device& device = Device::find();
  std::vector<Device::Address> at;
  for (const RateBuffer& b : buffers) {
    at.push_back(device.allocate(b.size_bytes));
    device.upload(at.back(), b.content, b.size_bytes);
  }
  at.push_back(device.allocate(std::max<size_t>(static_cast<size_t>(program.workspace_bytes(i)), 1)));
  const char zeros[64] = {};
  at.push_back(device.allocate(sizeof zeros));
  device.upload(at.back(), zeros, sizeof zeros);
  auto launch = [&] { program.launch(i, {at.data(), buffers.size()}, sizes, at[buffers.size()], at.back()); };
  constexpr int kTimes = 20;
  for (int warm = 0; warm < 3; ++warm)
    launch();
  double best = 1e9;
  for (int trial = 0; trial < 3; ++trial)
    best = std::min(best, device.time([&] {
      for (int n = 0; n < kTimes; ++n)
        launch();
    }) / kTimes);
  std::string schedules;
  for (const auto& s : program.entry(i).program.steps) {
    const auto* l = std::get_if<EmittedLaunch>(&s);
    if (!l) continue;
    const Device::Cost cost = program.cost(*l);
    schedules += fmt::format("  {}, {} registers", print(l->schedule), cost.registers);
    if (cost.local_bytes > 0) schedules += fmt::format(", {} bytes of local memory", cost.local_bytes);
  }
  fmt::print("{:50} {:9.1f} us {:7.2f} {} {}\n", label, best * 1e3, work / best * 1e-9,
             is_product ? "TFLOP/s" : "TB/s   ", schedules);
  for (Device::Address a : at)
    device.free(a);
}

}  // namespace sheaf::codegen::gpu::testing
