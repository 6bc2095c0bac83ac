// Reads little-endian numbers and byte ranges from memory, never past its end.
#pragma once
#include <cstdint>
#include <cstring>
#include <string_view>

#include "support/error.h"

namespace sheaf::formats {

class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : bytes_(bytes) {}
  size_t position() const { return at_; }
  size_t left() const { return bytes_.size() - at_; }
  std::string_view take(uint64_t n) {
    if (n > left())
      throw runtime_error("the file ends early: " + std::to_string(n) + " bytes expected at offset " +
                          std::to_string(at_) + ", " + std::to_string(left()) + " left");
    std::string_view out = bytes_.substr(at_, n);
    at_ += n;
    return out;
  }
  template <class T>
  T number() {
    T v;
    std::memcpy(&v, take(sizeof v).data(), sizeof v);
    return v;
  }
  // Reads up to the newline, which is consumed but not returned.
  std::string_view line() {
    size_t end = bytes_.find('\n', at_);
    if (end == std::string_view::npos) throw runtime_error("the file ends inside a line");
    std::string_view out = take(end - at_);
    ++at_;
    return out;
  }

 private:
  std::string_view bytes_;
  size_t at_ = 0;
};

}  // namespace sheaf::formats
