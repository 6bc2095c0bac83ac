// Plays NVIDIA's driver with one GPU whose memory is the host's: what the program calls, and nothing else. All is done
// when a call returns. Memory ends after $FAKE_CUDA_BYTES bytes.
#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>

#include "codegen/gpu/shim_load.h"

namespace {

constexpr int kInvalid = 1, kOutOfMemory = 2;
constexpr unsigned char kFresh = 0x5a;  // no zeros that sums could live with

std::mutex mu;
std::map<uint64_t, size_t> blocks;
size_t in_use = 0;
uint64_t launches = 0;

// Whether the bytes lie in memory of the device.
bool is_there(uint64_t address, size_t bytes) {
  std::scoped_lock lock(mu);
  auto after = blocks.upper_bound(address);
  if (after == blocks.begin()) return false;
  const auto& [begin, size] = *std::prev(after);
  return address + bytes <= begin + size;
}

std::byte* at(uint64_t address) { return reinterpret_cast<std::byte*>(address); }

}  // namespace

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
  *context = &blocks;
  return 0;
}
int cuCtxSetCurrent(void*) { return 0; }
int cuMemGetInfo_v2(size_t* free, size_t* total) {
  *free = *total = size_t{1} << 30;
  return 0;
}

int cuMemAlloc_v2(uint64_t* address, size_t bytes) {
  const char* limit = std::getenv("FAKE_CUDA_BYTES");
  std::scoped_lock lock(mu);
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
  std::scoped_lock lock(mu);
  auto block = blocks.find(address);
  if (block == blocks.end()) return kInvalid;
  in_use -= block->second;
  blocks.erase(block);
  std::free(at(address));
  return 0;
}
int cuMemcpyHtoD_v2(uint64_t to, const void* from, size_t bytes) {
  if (!is_there(to, bytes)) return kInvalid;
  std::memcpy(at(to), from, bytes);
  return 0;
}
int cuMemcpyHtoDAsync_v2(uint64_t to, const void* from, size_t bytes, void*) {
  return cuMemcpyHtoD_v2(to, from, bytes);
}
int cuMemcpyDtoH_v2(void* to, uint64_t from, size_t bytes) {
  if (!is_there(from, bytes)) return kInvalid;
  std::memcpy(to, at(from), bytes);
  return 0;
}
int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t bytes, void*) {
  if (!is_there(to, bytes) || !is_there(from, bytes)) return kInvalid;
  std::memmove(at(to), at(from), bytes);
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
  *function = dlsym(module, ("run_" + std::string(name)).c_str());
  return *function ? 0 : kInvalid;
}
int cuFuncGetAttribute(int* value, int, void*) {
  *value = 0;
  return 0;
}
int cuLaunchKernel(void* function, unsigned blocks_x, unsigned, unsigned, unsigned threads_x, unsigned, unsigned,
                   unsigned, void*, void** parameters, void**) {
  std::scoped_lock lock(mu);
  reinterpret_cast<void (*)(void**, unsigned, unsigned, uint64_t)>(function)(parameters, blocks_x, threads_x,
                                                                             ++launches);
  return 0;
}

int cuStreamCreate(void** stream, unsigned) {
  *stream = &blocks;
  return 0;
}
int cuStreamSynchronize(void*) { return 0; }
int cuStreamQuery(void*) { return 0; }
int cuEventCreate(void** event, unsigned) {
  *event = &blocks;
  return 0;
}
int cuEventRecord(void*, void*) { return 0; }
int cuEventSynchronize(void*) { return 0; }
int cuEventElapsedTime(float* milliseconds, void*, void*) {
  *milliseconds = 0;
  return 0;
}

}  // extern "C"
