// Work that was submitted to the fake GPU and is not done yet. It runs as late as the program allows: when the program
// waits for it, and a little at each query. So memory that is reused or read too early shows as wrong bits.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

namespace fake_cuda {

// Held by every function of the driver.
std::recursive_mutex& lock();

using Work = std::function<void()>;
void submit(Work work);
// Submits to a stream; if the stream is being captured, the work becomes part of a graph instead.
struct Stream {
  std::unique_ptr<std::vector<Work>> captured;
};
void submit_to(void* stream, Work work);
uint64_t num_submitted();
// Does work until this much of the submitted work is done.
void finish(uint64_t count);
// Does a little work. True if this much is done.
bool advance(uint64_t count);

// The next random number of the sequence seeded by $FAKE_CUDA_SEED.
uint64_t random();

// Copies bytes of the GPU's memory, of the host's, or both. Ends the program if an address should be GPU memory and is
// not.
enum class Side : uint8_t { Host, Gpu };
void copy(void* to, Side to_side, const void* from, Side from_side, size_t bytes);

// A kernel, and a call of it with its own copy of the parameters.
struct Function {
  void (*run)(void** parameters, unsigned blocks, unsigned threads, uint64_t seed);
  unsigned (*parameters)(unsigned* bytes);
};
Work call_of(const Function& f, unsigned blocks, unsigned threads, void** parameters);

}  // namespace fake_cuda
