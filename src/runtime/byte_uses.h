// For each byte of a buffer, which step wrote it last and which have read it since: what a later step waits for. Steps
// are numbers that grow.
#pragma once
#include <vector>

#include "runtime/byte_map.h"

namespace sheaf::runtime {

// Why a step waits for another.
enum class Wait : uint8_t { ReadAfterWrite, WriteAfterRead, WriteAfterWrite };

class ByteUses {
 public:
  // Step `now` reads or writes [begin, end). Calls after(step, why) for steps that it waits for, and perhaps for
  // itself.
  template <class F>
  void read(int64_t begin, int64_t end, int now, F after) {
    bytes_.visit(begin, end, [&](Uses& u) {
      if (u.writer >= 0) after(u.writer, Wait::ReadAfterWrite);
      if (u.readers.empty() || u.readers.back() != now) u.readers.push_back(now);
    });
  }
  // Readers came after the writer themselves. Of a range only some bytes may be written: what is read of the others was
  // made before too.
  template <class F>
  void write(int64_t begin, int64_t end, int now, F after) {
    bytes_.visit(begin, end, [&](const Uses& u) {
      if (u.readers.empty() && u.writer >= 0) after(u.writer, Wait::WriteAfterWrite);
      for (int reader : u.readers)
        after(reader, Wait::WriteAfterRead);
    });
    bytes_.assign(begin, end, {now, {}});
  }

 private:
  struct Uses {
    int writer = -1;
    std::vector<int> readers;
  };
  ByteMap<Uses> bytes_;
};

}  // namespace sheaf::runtime
