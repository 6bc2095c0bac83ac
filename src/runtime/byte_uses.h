// For each byte of a buffer, the step that wrote it last and the steps that have read it since: the steps that a later
// access must wait for. Steps are increasing numbers.
#pragma once
#include <vector>

#include "runtime/byte_map.h"

namespace sheaf::runtime {

// Why a step waits for another.
enum class Wait : uint8_t { ReadAfterWrite, WriteAfterRead, WriteAfterWrite };

class ByteUses {
 public:
  // Records that step `now` reads or writes [begin, end). Calls after(step, why) for the steps that it must wait for,
  // and possibly for `now` itself.
  template <class F>
  void read(int64_t begin, int64_t end, int now, F after) {
    bytes_.visit(begin, end, [&](Uses& u) {
      if (u.writer >= 0) after(u.writer, Wait::ReadAfterWrite);
      if (u.readers.empty() || u.readers.back() != now) u.readers.push_back(now);
    });
  }
  // Waiting for the readers implies waiting for the last writer, since they waited for it. A step may write only some
  // bytes of its range; the others keep a value of an earlier step, which has run before too.
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
