// Memory of the host that a GPU copies from and to by itself while the host goes on. It is the driver's, and lives as
// long as the program. Not thread-safe; all copies are on one stream.
#pragma once
#include <cstddef>
#include <vector>

namespace sheaf::runtime {

// Pieces that are filled in turn, for what is sent: one is filled again when the copies from it are done.
class PinnedRing {
 public:
  PinnedRing(size_t piece_bytes, size_t num_pieces) : piece_bytes_(piece_bytes), pieces_(num_pieces) {}
  size_t piece_bytes() const { return piece_bytes_; }
  // At most a piece. The copy from it is submitted to the stream before the next call.
  std::byte* take(size_t bytes, void* stream);

 private:
  struct Piece {
    std::byte* data = nullptr;
    void* event = nullptr;  // after the last copy from it
    bool recorded = false;
  };
  const size_t piece_bytes_;
  std::vector<Piece> pieces_;
  size_t current_ = 0, used_ = 0;  // bytes of the piece at hand
};

// A place where what is fetched lands, and the event that says that it has.
struct Landing {
  std::byte* data = nullptr;
  void* event = nullptr;
};
Landing new_landing(size_t bytes);

// To or from pinned memory, on all threads where that pays.
void copy_bytes(std::byte* to, const std::byte* from, size_t bytes);

}  // namespace sheaf::runtime
