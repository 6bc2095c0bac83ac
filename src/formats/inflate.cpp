#include "formats/inflate.h"

#include <zlib.h>

#include <algorithm>
#include <memory>
#include <new>

#include "support/error.h"
#include "tensor/tensor.h"

namespace sheaf::formats {
namespace {

constexpr uint64_t kMaxRatio = 1032;  // of deflate

}  // namespace

std::string inflate_bytes(std::string_view packed, uint64_t size, Wrapping wrapping, const std::string& name) {
  MemoryStats memory = memory_stats();
  if (size > kMaxRatio * packed.size() + 64 ||
      size > memory.limit_bytes - std::min(memory.limit_bytes, memory.live_bytes))
    throw runtime_error(name + " would be too large");
  std::string out;
  z_stream z{};
  if (inflateInit2(&z, wrapping == Wrapping::Zlib ? MAX_WBITS : -MAX_WBITS) != Z_OK) throw std::bad_alloc();
  std::unique_ptr<z_stream, int (*)(z_stream*)> end(&z, inflateEnd);
  int state = Z_OK;
  while (state == Z_OK && out.size() <= size) {
    size_t used = out.size();
    out.resize(std::min<uint64_t>(size + 1, used == 0 ? 4 * packed.size() + 64 : 2 * used));
    if (z.avail_in == 0) {
      size_t n = std::min<size_t>(packed.size(), 1u << 30);
      z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
      z.avail_in = static_cast<uInt>(n);
      packed.remove_prefix(n);
    }
    z.next_out = reinterpret_cast<Bytef*>(out.data() + used);
    z.avail_out = static_cast<uInt>(std::min<size_t>(out.size() - used, 1u << 30));
    state = inflate(&z, Z_NO_FLUSH);
    out.resize(reinterpret_cast<char*>(z.next_out) - out.data());
    if (state == Z_BUF_ERROR && !packed.empty()) state = Z_OK;
  }
  if (state != Z_STREAM_END || out.size() != size) throw runtime_error(name + " is damaged");
  return out;
}

std::string deflate_bytes(std::string_view bytes) {
  uLongf size = compressBound(bytes.size());
  std::string out(size, '\0');
  if (compress2(reinterpret_cast<Bytef*>(out.data()), &size, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size(),
                6) != Z_OK)
    throw std::bad_alloc();
  out.resize(size);
  return out;
}

uint32_t crc32_of(std::string_view data) {
  uLong c = crc32(0, nullptr, 0);
  for (size_t at = 0; at < data.size();) {
    size_t n = std::min<size_t>(data.size() - at, 1u << 30);
    c = crc32(c, reinterpret_cast<const Bytef*>(data.data() + at), static_cast<uInt>(n));
    at += n;
  }
  return static_cast<uint32_t>(c);
}

}  // namespace sheaf::formats
