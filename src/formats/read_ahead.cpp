#include "formats/read_ahead.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <deque>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "support/machine_memory.h"
#include "support/mutex.h"

namespace sheaf::formats {
namespace {

constexpr size_t kPiece = 16 << 20;
constexpr size_t kRequest = 1 << 20;  // systems read no more per request than a disk transfers at once

bool in_memory(std::byte* data, size_t bytes) {
  static const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  std::vector<unsigned char> pages((bytes + page - 1) / page);
  return ::mincore(data, bytes, pages.data()) == 0 &&
         std::all_of(pages.begin(), pages.end(), [](unsigned char p) { return p & 1; });
}

void read(Mapping& file, size_t bytes) {
  for (size_t at = 0; at < bytes; at += kPiece) {
    MutexLock lock(file.mu);  // held for one block only: releasing the buffer waits for it
    if (file.gone) return;
    size_t n = std::min(kPiece, bytes - at);
    if (in_memory(file.data + at, n)) continue;
    for (size_t done = 0; done < n; done += kRequest)
      ::madvise(file.data + at + done, std::min(kRequest, n - done), MADV_WILLNEED);
  }
}

// Lives as long as the process, because the thread may outlive everything else.
struct Queue {
  Mutex mu;
  std::deque<std::shared_ptr<Mapping>> files GUARDED_BY(mu);
  bool running GUARDED_BY(mu) = false;

  void run() {
    for (size_t left = memory_allowed() / 2;;) {
      std::shared_ptr<Mapping> file;
      {
        MutexLock lock(mu);
        if (files.empty()) {
          running = false;
          return;
        }
        file = std::move(files.front());
        files.pop_front();
      }
      size_t bytes = std::min(file->bytes, left);
      read(*file, bytes);
      left -= bytes;
    }
  }
};

}  // namespace

void read_ahead(std::shared_ptr<Mapping> file) {
  static auto* queue = new Queue;
  MutexLock lock(queue->mu);
  queue->files.push_back(std::move(file));
  if (queue->running) return;
  try {
    std::thread([] { queue->run(); }).detach();
    queue->running = true;
  } catch (const std::system_error&) {
    queue->files.clear();  // no thread available: page faults will read the files
  }
}

}  // namespace sheaf::formats
