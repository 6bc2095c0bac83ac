// Pinned host memory, from and to which a GPU copies asynchronously. The driver allocates it; it lives as long as the
// program. Not thread-safe; all copies are on one stream.
#pragma once
#include <cstddef>
#include <vector>

namespace sheaf::runtime {

// A ring of staging buffers for copies to the device; a buffer is reused when the copies from it are done.
class PinnedRing {
 public:
  PinnedRing(size_t piece_bytes, size_t num_pieces) : piece_bytes_(piece_bytes), pieces_(num_pieces) {}
  size_t piece_bytes() const { return piece_bytes_; }
  // Returns space for at most one piece. Submit the copy from it to the stream before the next call.
  std::byte* take(size_t bytes, void* stream);

 private:
  struct Piece {
    std::byte* data = nullptr;
    void* event = nullptr;  // after the last copy from it
    bool recorded = false;
  };
  const size_t piece_bytes_;
  std::vector<Piece> pieces_;
  size_t current_ = 0, used_ = 0;  // bytes used of the current piece
};

// A staging buffer for copies to the host, and the event that marks their completion.
struct Landing {
  std::byte* data = nullptr;
  void* event = nullptr;
};
Landing new_landing(size_t bytes);

// Copies to or from pinned memory, on all threads if that pays.
void copy_bytes(std::byte* to, const std::byte* from, size_t bytes);

}  // namespace sheaf::runtime
