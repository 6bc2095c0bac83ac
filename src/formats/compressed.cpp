#include "formats/compressed.h"

#include <fmt/format.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <memory>
#include <new>

#include "support/error.h"
#include "tensor/tensor.h"

namespace sheaf::formats {
namespace {

bool is_gzip(std::string_view bytes) { return bytes.starts_with("\x1f\x8b"); }
bool is_zstd(std::string_view bytes) { return bytes.starts_with("\x28\xb5\x2f\xfd"); }

[[noreturn]] void fail(std::string_view who, std::string_view what) {
  throw runtime_error(fmt::format("{}: {}", who, what));
}

// Collects the output in blocks.
class Output {
 public:
  explicit Output(std::string_view who) : who_(who) {
    MemoryStats memory = memory_stats();
    room_ = memory.limit_bytes - std::min(memory.limit_bytes, memory.live_bytes);
  }
  // Free space for more output: pointer and size.
  std::pair<char*, size_t> more() {
    constexpr size_t kFirst = 1 << 16, kLargestStep = 1 << 30;
    text_.resize(used_ + std::clamp(used_, kFirst, kLargestStep));
    if (text_.size() > room_) fail(who_, "what the file holds would be too large");
    return {text_.data() + used_, text_.size() - used_};
  }
  void took(size_t n) { used_ += n; }
  std::string result() {
    text_.resize(used_);
    return std::move(text_);
  }

 private:
  std::string_view who_;
  std::string text_;
  size_t used_ = 0;
  uint64_t room_;
};

std::string decompress_gzip(std::string_view in) {
  constexpr int kGzip = MAX_WBITS + 16;
  constexpr size_t kLargestInput = 1u << 30;
  z_stream z{};
  if (inflateInit2(&z, kGzip) != Z_OK) throw std::bad_alloc();
  std::unique_ptr<z_stream, int (*)(z_stream*)> end(&z, inflateEnd);
  Output out("gzip");
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(in.data()));
  size_t left = in.size();
  for (;;) {
    if (z.avail_in == 0) {
      z.avail_in = static_cast<uInt>(std::min(left, kLargestInput));
      left -= z.avail_in;
    }
    auto [to, room] = out.more();
    room = std::min(room, kLargestInput);
    z.next_out = reinterpret_cast<Bytef*>(to);
    z.avail_out = static_cast<uInt>(room);
    int state = inflate(&z, Z_NO_FLUSH);
    out.took(room - z.avail_out);
    bool at_end = z.avail_in == 0 && left == 0;
    if (state == Z_STREAM_END) {
      // Zeros may pad a file, as tar leaves them.
      if (at_end || *z.next_in != 0x1f) return out.result();
      if (inflateReset(&z) != Z_OK) throw std::bad_alloc();
    } else if (state == Z_BUF_ERROR || (state == Z_OK && at_end && z.avail_out > 0)) {
      fail("gzip", "the file is cut short");
    } else if (state != Z_OK) {
      fail("gzip", "the file is damaged");
    }
  }
}

std::string decompress_zstd(std::string_view in) {
  std::unique_ptr<ZSTD_DCtx, size_t (*)(ZSTD_DCtx*)> context(ZSTD_createDCtx(), ZSTD_freeDCtx);
  if (!context) throw std::bad_alloc();
  Output out("zstd");
  ZSTD_inBuffer input{in.data(), in.size(), 0};
  for (;;) {
    auto [to, room] = out.more();
    ZSTD_outBuffer output{to, room, 0};
    size_t state = ZSTD_decompressStream(context.get(), &output, &input);
    if (ZSTD_isError(state)) fail("zstd", "the file is damaged");
    out.took(output.pos);
    if (state == 0 && input.pos == input.size) return out.result();
    if (input.pos == input.size && output.pos < output.size) fail("zstd", "the file is cut short");
  }
}

}  // namespace

bool is_compressed(std::string_view bytes) { return is_gzip(bytes) || is_zstd(bytes); }

std::string decompress(std::string_view bytes) {
  return is_gzip(bytes) ? decompress_gzip(bytes) : decompress_zstd(bytes);
}

std::string inner_name(const std::string& path) {
  for (std::string_view end : {".gz", ".zst", ".zstd"})
    if (path.ends_with(end)) return path.substr(0, path.size() - end.size());
  return path;
}

}  // namespace sheaf::formats
