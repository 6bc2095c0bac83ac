// The value encodings of Parquet's pages. A decoder consumes what it needs from a page and appends as many values as
// requested; missing bytes, or a number out of range, are a UserError.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "formats/byte_reader.h"

namespace sheaf::formats::parquet {

// Numbers of `width` bits (0 to 32), in runs of equal ones and in groups of eight: levels, dictionary indices.
std::vector<uint32_t> decode_runs(std::string_view bytes, int width, uint64_t count);

// Whole numbers encoded as differences, in blocks. On return `in` is positioned after them.
std::vector<int64_t> decode_deltas(ByteReader& in, uint64_t count);

// Fixed-width values in their memory layout.
class FixedValues {
 public:
  explicit FixedValues(size_t width) : width_(width) {}
  size_t width() const { return width_; }
  size_t size() const { return width_ == 0 ? 0 : bytes_.size() / width_; }
  const char* at(size_t i) const { return bytes_.data() + i * width_; }
  const std::string& bytes() const { return bytes_; }

  void append_plain(ByteReader& in, uint64_t count);
  void append_bits(ByteReader& in, uint64_t count);         // booleans: unpacks bits to bytes
  void append_split(ByteReader& in, uint64_t count);        // first bytes of all, second bytes of all, …
  void append_deltas(ByteReader& in, uint64_t count);       // of 4 or 8 bytes
  void append_runs(ByteReader& in, uint64_t count);         // booleans
  void append(std::string_view value) { bytes_ += value; }  // of this width
  void append_from(const FixedValues& dictionary, const std::vector<uint32_t>& places);

 private:
  size_t width_;
  std::string bytes_;
};

// Byte strings. Calls `f` with each; the string is valid until `f` returns.
template <class F>
void for_each_plain(ByteReader& in, uint64_t count, F&& f) {
  for (uint64_t i = 0; i < count; ++i)
    f(in.take(in.number<uint32_t>()));
}

std::string_view take_length(ByteReader& in, int64_t length);

template <class F>
void for_each_with_lengths(ByteReader& in, uint64_t count, F&& f) {
  for (int64_t length : decode_deltas(in, count))
    f(take_length(in, length));
}

// Delta strings: each shares a prefix of given length with the one before it.
template <class F>
void for_each_with_prefixes(ByteReader& in, uint64_t count, F&& f) {
  std::vector<int64_t> prefixes = decode_deltas(in, count);
  std::string value;
  size_t i = 0;
  for_each_with_lengths(in, count, [&](std::string_view rest) {
    int64_t prefix = prefixes[i++];
    if (prefix < 0 || static_cast<uint64_t>(prefix) > value.size())
      throw runtime_error("a prefix is longer than its text");
    value.resize(static_cast<size_t>(prefix));
    value += rest;
    f(std::string_view(value));
  });
}

}  // namespace sheaf::formats::parquet
