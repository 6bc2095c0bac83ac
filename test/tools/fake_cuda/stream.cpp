#include "tools/fake_cuda/stream.h"

#include <cstdlib>
#include <cstring>
#include <deque>
#include <vector>

namespace fake_cuda {
namespace {

std::deque<Work> waiting;
uint64_t done = 0;

void do_one() {
  const Work work = std::move(waiting.front());
  waiting.pop_front();
  work();
  ++done;
}

}  // namespace

std::recursive_mutex& lock() {
  static auto* mu = new std::recursive_mutex;
  return *mu;
}

void submit(Work work) { waiting.push_back(std::move(work)); }
void submit_to(void* stream, Work work) {
  auto* const s = static_cast<Stream*>(stream);
  if (s && s->captured)
    s->captured->push_back(std::move(work));
  else
    submit(std::move(work));
}
uint64_t num_submitted() { return done + waiting.size(); }

void finish(uint64_t count) {
  while (done < count)
    do_one();
}

bool advance(uint64_t count) {
  for (uint64_t n = random() % 4; n > 0 && !waiting.empty(); --n)
    do_one();
  return done >= count;
}

uint64_t random() {
  static uint64_t state = [] {
    const char* seed = std::getenv("FAKE_CUDA_SEED");
    return seed ? std::strtoull(seed, nullptr, 10) : 1;
  }();
  state = state * 6364136223846793005u + 1442695040888963407u;
  return state >> 33;
}

Work call_of(const Function& f, unsigned blocks, unsigned threads, void** parameters) {
  unsigned bytes[256];
  const unsigned count = f.parameters(bytes);
  std::vector<std::vector<uint64_t>> values(count);
  for (unsigned i = 0; i < count; ++i) {
    values[i].resize((bytes[i] + 7) / 8);
    std::memcpy(values[i].data(), parameters[i], bytes[i]);
  }
  return [run = f.run, blocks, threads, values]() mutable {
    std::vector<void*> pointers;
    for (std::vector<uint64_t>& value : values)
      pointers.push_back(value.data());
    run(pointers.data(), blocks, threads, random());
  };
}

}  // namespace fake_cuda
