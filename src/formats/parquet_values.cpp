#include "formats/parquet_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace sheaf::formats::parquet {
namespace {

uint64_t varint(ByteReader& in) {
  uint64_t v = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    auto b = in.number<uint8_t>();
    v |= static_cast<uint64_t>(b & 0x7F) << shift;
    if (b < 0x80) return v;
  }
  throw runtime_error("a number of more than 64 bits");
}

uint64_t zigzag(uint64_t v) { return v >> 1 ^ (~(v & 1) + 1); }

// `count` numbers of `width` bits each (0 to 64), the lowest bits first; f(number).
template <class F>
void unpack_bits(std::string_view bytes, int width, uint64_t count, F&& f) {
  if (width == 0) {
    for (uint64_t i = 0; i < count; ++i)
      f(uint64_t{0});
    return;
  }
  uint64_t mask = width == 64 ? ~uint64_t{0} : (uint64_t{1} << width) - 1;
  for (uint64_t i = 0, bit = 0; i < count; ++i, bit += static_cast<uint64_t>(width)) {
    size_t at = bit / 8, shift = bit % 8;
    uint64_t word = 0;
    std::memcpy(&word, bytes.data() + at, std::min<size_t>(8, bytes.size() - at));
    word >>= shift;
    if (shift > 0 && at + 8 < bytes.size())
      word |= static_cast<uint64_t>(static_cast<uint8_t>(bytes[at + 8])) << (64 - shift);
    f(word & mask);
  }
}

void check_count(uint64_t count, uint64_t bytes_each, ByteReader& in) {
  if (bytes_each > 0 && count > in.left() / bytes_each)
    throw runtime_error(fmt::format("a page with {} bytes for {} values", in.left(), count));
}

}  // namespace

std::vector<uint32_t> decode_runs(std::string_view bytes, int width, uint64_t count) {
  if (width < 0 || width > 32) throw runtime_error(fmt::format("numbers of {} bits", width));
  std::vector<uint32_t> out;
  ByteReader in(bytes);
  while (out.size() < count) {
    uint64_t head = varint(in), left = count - out.size();
    if (head & 1) {
      uint64_t groups = head >> 1;
      if (groups == 0) throw runtime_error("a run of nothing");
      uint64_t here = groups > left / 8 ? left : groups * 8;
      // The last group may be truncated at the end of the values.
      uint64_t size =
          groups > in.left() ? in.left() : std::min<uint64_t>(groups * static_cast<uint64_t>(width), in.left());
      if (size * 8 < here * static_cast<uint64_t>(width)) throw runtime_error("a page ends within its values");
      unpack_bits(in.take(size), width, here, [&](uint64_t v) { out.push_back(static_cast<uint32_t>(v)); });
    } else {
      uint64_t here = std::min(head >> 1, left);
      if (here == 0) throw runtime_error("a run of nothing");
      uint32_t value = 0;
      std::string_view stored = in.take(static_cast<uint64_t>(width + 7) / 8);
      std::memcpy(&value, stored.data(), stored.size());
      if (width < 32 && value >> width != 0) throw runtime_error(fmt::format("{} in {} bits", value, width));
      out.insert(out.end(), here, value);
    }
  }
  return out;
}

std::vector<int64_t> decode_deltas(ByteReader& in, uint64_t count) {
  uint64_t block = varint(in), parts = varint(in), total = varint(in);
  uint64_t value = zigzag(varint(in));
  if (block == 0 || block % 128 != 0 || block > (1 << 20) || parts == 0 || block % parts != 0 ||
      block / parts % 32 != 0)
    throw runtime_error(fmt::format("blocks of {} differences in {} parts", block, parts));
  if (total != count) throw runtime_error(fmt::format("{} differences for {} values", total, count));
  uint64_t per_part = block / parts;
  std::vector<int64_t> out;
  if (count > 0) out.push_back(static_cast<int64_t>(value));
  while (out.size() < count) {
    uint64_t least = zigzag(varint(in));
    std::string_view widths = in.take(parts);
    for (uint64_t p = 0; p < parts && out.size() < count; ++p) {
      int width = static_cast<uint8_t>(widths[p]);
      if (width > 64) throw runtime_error(fmt::format("numbers of {} bits", width));
      std::string_view bits = in.take(per_part / 8 * static_cast<uint64_t>(width));
      unpack_bits(bits, width, std::min<uint64_t>(per_part, count - out.size()), [&](uint64_t difference) {
        value += least + difference;
        out.push_back(static_cast<int64_t>(value));
      });
    }
  }
  return out;
}

void FixedValues::append_plain(ByteReader& in, uint64_t count) {
  check_count(count, width_, in);
  bytes_ += in.take(count * width_);
}

void FixedValues::append_bits(ByteReader& in, uint64_t count) {
  uint64_t size = count / 8 + (count % 8 != 0);
  check_count(size, 1, in);
  unpack_bits(in.take(size), 1, count, [&](uint64_t v) { bytes_ += static_cast<char>(v); });
}

void FixedValues::append_split(ByteReader& in, uint64_t count) {
  check_count(count, width_, in);
  std::string_view split = in.take(count * width_);
  size_t start = bytes_.size();
  bytes_.resize(start + split.size());
  for (size_t b = 0; b < width_; ++b)
    for (size_t i = 0; i < count; ++i)
      bytes_[start + i * width_ + b] = split[b * count + i];
}

void FixedValues::append_deltas(ByteReader& in, uint64_t count) {
  // Differences of 4-byte numbers wrap around like the numbers: the low bytes are right.
  for (int64_t v : decode_deltas(in, count))
    bytes_.append(reinterpret_cast<const char*>(&v), width_);
}

void FixedValues::append_runs(ByteReader& in, uint64_t count) {
  for (uint32_t v : decode_runs(in.take(in.number<uint32_t>()), 1, count))
    bytes_ += static_cast<char>(v);
}

void FixedValues::append_from(const FixedValues& dictionary, const std::vector<uint32_t>& places) {
  bytes_.reserve(bytes_.size() + places.size() * width_);
  for (uint32_t p : places) {
    if (p >= dictionary.size())
      throw runtime_error(fmt::format("value {} of a dictionary of {}", p, dictionary.size()));
    bytes_.append(dictionary.at(p), width_);
  }
}

std::string_view take_length(ByteReader& in, int64_t length) {
  if (length < 0) throw runtime_error(fmt::format("a text of {} bytes", length));
  return in.take(static_cast<uint64_t>(length));
}

}  // namespace sheaf::formats::parquet
