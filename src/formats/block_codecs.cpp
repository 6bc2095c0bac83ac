#include "formats/block_codecs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "formats/compressed.h"
#include "support/error.h"

namespace sheaf::formats {
namespace {

// Both formats consist of literal input bytes and copies of earlier output.
class Unpacker {
 public:
  Unpacker(std::string_view codec, std::string_view packed, uint64_t size, uint64_t most_per_byte)
      : codec_(codec), in_(packed) {
    // Checked before allocating: one input byte expands to at most this many.
    if (size / most_per_byte > packed.size()) damaged();
    out_.resize(size);
  }
  [[noreturn]] void damaged() const { throw runtime_error(fmt::format("{}: the data are damaged", codec_)); }
  bool at_end() const { return in_.empty(); }
  bool is_full() const { return done_ == out_.size(); }
  uint8_t byte() {
    if (in_.empty()) damaged();
    auto b = static_cast<uint8_t>(in_[0]);
    in_.remove_prefix(1);
    return b;
  }
  uint32_t number(int num_bytes) {
    uint32_t v = 0;
    for (int i = 0; i < num_bytes; ++i)
      v |= static_cast<uint32_t>(byte()) << (8 * i);
    return v;
  }
  void literal(uint64_t count) {
    if (count > in_.size() || count > out_.size() - done_) damaged();
    std::memcpy(out_.data() + done_, in_.data(), count);
    in_.remove_prefix(count);
    done_ += count;
  }
  void copy(uint64_t distance, uint64_t count) {
    if (distance == 0 || distance > done_ || count > out_.size() - done_) damaged();
    char* to = out_.data() + done_;
    if (distance >= count)
      std::memcpy(to, to - distance, count);
    else
      for (uint64_t i = 0; i < count; ++i)  // may copy bytes that it has just written
        to[i] = to[i - distance];
    done_ += count;
  }
  std::string result() {
    if (!is_full()) damaged();
    return std::move(out_);
  }

 private:
  std::string_view codec_, in_;
  std::string out_;
  uint64_t done_ = 0;
};

std::string unpack_file(std::string_view codec, std::string_view packed, uint64_t size) {
  std::string out = decompress(packed);
  if (out.size() != size)
    throw runtime_error(fmt::format("{}: {} bytes came out, expected {}", codec, out.size(), size));
  return out;
}

}  // namespace

std::string unpack_snappy(std::string_view packed, uint64_t size) {
  Unpacker u("snappy", packed, size, 64);  // a copy of 64 bytes takes three
  uint64_t claimed = 0;
  for (int shift = 0;; shift += 7) {
    uint8_t b = u.byte();
    claimed |= static_cast<uint64_t>(b & 0x7F) << shift;
    if (b < 0x80) break;
    if (shift == 28) u.damaged();
  }
  if (claimed != size) u.damaged();
  while (!u.at_end()) {
    uint8_t tag = u.byte();
    uint32_t high = tag >> 2;
    switch (tag & 3) {
      case 0:
        // A literal; lengths above 60 follow in one to four bytes.
        u.literal(uint64_t{1} + (high < 60 ? high : u.number(static_cast<int>(high) - 59)));
        break;
      case 1: {
        uint32_t low = u.byte();
        u.copy((high >> 3) << 8 | low, 4 + (high & 7));
        break;
      }
      default: {
        uint32_t distance = u.number((tag & 3) == 2 ? 2 : 4);
        u.copy(distance, high + 1);
      }
    }
  }
  return u.result();
}

std::string unpack_lz4(std::string_view packed, uint64_t size) {
  Unpacker u("lz4", packed, size, 256);  // each further byte of a length adds 255
  auto length = [&](uint64_t n) {
    if (n < 15) return n;
    for (uint8_t b = 255; b == 255;)
      n += b = u.byte();
    return n;
  };
  while (!u.at_end()) {
    uint8_t token = u.byte();
    u.literal(length(token >> 4));
    if (u.at_end()) break;  // the last sequence is a literal alone
    uint32_t distance = u.number(2);
    u.copy(distance, length(token & 15) + 4);
  }
  return u.result();
}

std::string unpack_gzip(std::string_view packed, uint64_t size) {
  if (!packed.starts_with("\x1f\x8b")) throw runtime_error("gzip: the data are damaged");
  return unpack_file("gzip", packed, size);
}

std::string unpack_zstd(std::string_view packed, uint64_t size) {
  if (!packed.starts_with("\x28\xb5\x2f\xfd")) throw runtime_error("zstd: the data are damaged");
  return unpack_file("zstd", packed, size);
}

}  // namespace sheaf::formats
