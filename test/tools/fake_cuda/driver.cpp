// A fake NVIDIA driver with one GPU whose memory is the host's; it has only the functions that the program calls.
// Submitted work runs later (stream.h); copies from memory that is not pinned read it at once, as in the real driver.
// Memory is limited to $FAKE_CUDA_BYTES bytes. Graphs are in graph.cpp.
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <map>

#include "codegen/gpu/shim_load.h"
#include "tools/fake_cuda/stream.h"

namespace {

using Lock = std::scoped_lock<std::recursive_mutex>;
using fake_cuda::Side;

constexpr int kInvalid = 1, kOutOfMemory = 2, kNotReady = 600;
constexpr unsigned char kFresh = 0x5a;  // not zeros, which sums would not notice

std::map<uint64_t, size_t> blocks, pinned;
size_t in_use = 0;

// Whether the bytes lie in one of the blocks.
bool is_in(const std::map<uint64_t, size_t>& all, uint64_t address, size_t bytes) {
  auto after = all.upper_bound(address);
  if (after == all.begin()) return false;
  const auto& [begin, size] = *std::prev(after);
  return address + bytes <= begin + size;
}
bool is_there(uint64_t address, size_t bytes) { return is_in(blocks, address, bytes); }
bool is_pinned(const void* memory, size_t bytes) { return is_in(pinned, reinterpret_cast<uint64_t>(memory), bytes); }

void* at(uint64_t address) { return reinterpret_cast<void*>(address); }

// The amount of the stream's work that must be done before the event.
struct Event {
  uint64_t after = 0;
};

}  // namespace

namespace fake_cuda {

void copy(void* to, Side to_side, const void* from, Side from_side, size_t bytes) {
  auto must_be_there = [&](const void* p, Side side) {
    if (side == Side::Host || is_there(reinterpret_cast<uint64_t>(p), bytes)) return;
    std::fprintf(stderr, "fake CUDA: a copy of %zu bytes beyond the memory of the GPU\n", bytes);
    std::abort();
  };
  must_be_there(to, to_side);
  must_be_there(from, from_side);
  std::memmove(to, from, bytes);
}

}  // namespace fake_cuda

extern "C" {

int cuInit(unsigned) { return 0; }
int cuDriverGetVersion(int* version) {
  *version = 13000;
  return 0;
}
int cuGetErrorName(int status, const char** name) {
  *name = status == kOutOfMemory ? "CUDA_ERROR_OUT_OF_MEMORY" : "CUDA_ERROR_INVALID_VALUE";
  return 0;
}
int cuDeviceGetCount(int* count) {
  *count = 1;
  return 0;
}
int cuDeviceGet(int* device, int number) {
  *device = number;
  return number == 0 ? 0 : kInvalid;
}
int cuDeviceGetAttribute(int* value, int attribute, int) {
  *value = attribute == 75 ? 9 : 0;  // compute capability 9.0
  return 0;
}
int cuDeviceGetName(char* name, int bytes, int) {
  std::strncpy(name, "Fake GPU", static_cast<size_t>(bytes));
  return 0;
}
int cuDeviceTotalMem_v2(size_t* bytes, int) {
  *bytes = size_t{1} << 30;
  return 0;
}
int cuDevicePrimaryCtxRetain(void** context, int) {
  *context = &in_use;
  return 0;
}
int cuCtxSetCurrent(void*) { return 0; }
int cuCtxGetCurrent(void** context) { return cuDevicePrimaryCtxRetain(context, 0); }
int cuMemGetInfo_v2(size_t* free, size_t* total) {
  *free = *total = size_t{1} << 30;
  return 0;
}

int cuMemAlloc_v2(uint64_t* address, size_t bytes) {
  const char* limit = std::getenv("FAKE_CUDA_BYTES");
  const Lock lock(fake_cuda::lock());
  if (limit && in_use + bytes > std::strtoull(limit, nullptr, 10)) return kOutOfMemory;
  void* memory = std::aligned_alloc(512, (bytes + 511) / 512 * 512);
  if (!memory) return kOutOfMemory;
  std::memset(memory, kFresh, bytes < (1 << 20) ? bytes : 1 << 20);
  *address = reinterpret_cast<uint64_t>(memory);
  blocks[*address] = bytes;
  in_use += bytes;
  return 0;
}
int cuMemFree_v2(uint64_t address) {
  const Lock lock(fake_cuda::lock());
  auto block = blocks.find(address);
  if (block == blocks.end()) return kInvalid;
  in_use -= block->second;
  blocks.erase(block);
  std::free(at(address));
  return 0;
}
int cuMemAllocHost_v2(void** memory, size_t bytes) {
  const Lock lock(fake_cuda::lock());
  *memory = std::aligned_alloc(512, (bytes + 511) / 512 * 512);
  pinned[reinterpret_cast<uint64_t>(*memory)] = bytes;
  return 0;
}
int cuMemcpyHtoD_v2(uint64_t to, const void* from, size_t bytes) {
  const Lock lock(fake_cuda::lock());
  if (!is_there(to, bytes)) return kInvalid;
  std::memcpy(at(to), from, bytes);
  return 0;
}
int cuMemcpyHtoDAsync_v2(uint64_t to, const void* from, size_t bytes, void*) {
  const Lock lock(fake_cuda::lock());
  if (!is_there(to, bytes)) return kInvalid;
  if (is_pinned(from, bytes)) {
    fake_cuda::submit([=] { fake_cuda::copy(at(to), Side::Gpu, from, Side::Host, bytes); });
    return 0;
  }
  fake_cuda::submit([to, content = std::string(static_cast<const char*>(from), bytes)] {
    fake_cuda::copy(at(to), Side::Gpu, content.data(), Side::Host, content.size());
  });
  return 0;
}
int cuMemcpyDtoH_v2(void* to, uint64_t from, size_t bytes) {
  const Lock lock(fake_cuda::lock());
  if (!is_there(from, bytes)) return kInvalid;
  std::memcpy(to, at(from), bytes);
  return 0;
}
int cuMemcpyDtoHAsync_v2(void* to, uint64_t from, size_t bytes, void*) {
  const Lock lock(fake_cuda::lock());
  if (!is_there(from, bytes)) return kInvalid;
  fake_cuda::submit([=] { fake_cuda::copy(to, Side::Host, at(from), Side::Gpu, bytes); });
  if (!is_pinned(to, bytes)) fake_cuda::finish(fake_cuda::num_submitted());
  return 0;
}
int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t bytes, void*) {
  const Lock lock(fake_cuda::lock());
  if (!is_there(to, bytes) || !is_there(from, bytes)) return kInvalid;
  fake_cuda::submit([=] { fake_cuda::copy(at(to), Side::Gpu, at(from), Side::Gpu, bytes); });
  return 0;
}

int cuModuleLoadData(void** module, const void* image) {
  uint64_t size = 0;
  std::memcpy(&size, image, sizeof size);
  std::string error;
  *module = sheaf::codegen::gpu::testing::load_shim(static_cast<const char*>(image) + sizeof size, size, error);
  return *module ? 0 : kInvalid;
}
int cuModuleUnload(void*) { return 0; }
int cuModuleGetFunction(void** function, void* module, const char* name) {
  void* const run = dlsym(module, ("run_" + std::string(name)).c_str());
  void* const parameters = dlsym(module, ("parameters_" + std::string(name)).c_str());
  if (!run || !parameters) return kInvalid;
  auto* f = new fake_cuda::Function{};  // for the life of the program
  f->run = reinterpret_cast<decltype(f->run)>(run);
  f->parameters = reinterpret_cast<decltype(f->parameters)>(parameters);
  *function = f;
  return 0;
}
int cuFuncGetAttribute(int* value, int, void*) {
  *value = 0;
  return 0;
}
int cuLaunchKernel(void* function, unsigned blocks_x, unsigned, unsigned, unsigned threads_x, unsigned, unsigned,
                   unsigned, void* stream, void** parameters, void**) {
  const Lock lock(fake_cuda::lock());
  fake_cuda::submit_to(
      stream, fake_cuda::call_of(*static_cast<const fake_cuda::Function*>(function), blocks_x, threads_x, parameters));
  return 0;
}

// Functions of the driver for the fake library (cublas_lt.cpp).
void fake_cuda_submit(void* stream, std::function<void()> work) {
  const Lock lock(fake_cuda::lock());
  fake_cuda::submit_to(stream, std::move(work));
}
bool fake_cuda_is_there(const void* address, size_t bytes) {
  const Lock lock(fake_cuda::lock());
  return is_there(reinterpret_cast<uint64_t>(address), bytes);
}

int cuStreamCreate(void** stream, unsigned) {
  *stream = new fake_cuda::Stream;  // for the life of the program
  return 0;
}
int cuStreamSynchronize(void*) {
  const Lock lock(fake_cuda::lock());
  fake_cuda::finish(fake_cuda::num_submitted());
  return 0;
}
int cuCtxSynchronize() { return cuStreamSynchronize(nullptr); }
int cuStreamQuery(void*) {
  const Lock lock(fake_cuda::lock());
  return fake_cuda::advance(fake_cuda::num_submitted()) ? 0 : kNotReady;
}
int cuEventCreate(void** event, unsigned) {
  *event = new Event;
  return 0;
}
int cuEventRecord(void* event, void*) {
  const Lock lock(fake_cuda::lock());
  static_cast<Event*>(event)->after = fake_cuda::num_submitted();
  return 0;
}
int cuEventSynchronize(void* event) {
  const Lock lock(fake_cuda::lock());
  fake_cuda::finish(static_cast<Event*>(event)->after);
  return 0;
}
int cuEventQuery(void* event) {
  const Lock lock(fake_cuda::lock());
  return fake_cuda::advance(static_cast<Event*>(event)->after) ? 0 : kNotReady;
}
// A hundredth of a millisecond for each piece of work.
int cuEventElapsedTime(float* milliseconds, void* begin, void* end) {
  const Lock lock(fake_cuda::lock());
  const uint64_t work = static_cast<Event*>(end)->after - static_cast<Event*>(begin)->after;
  *milliseconds = 0.01f * static_cast<float>(work);
  return 0;
}

}  // extern "C"
