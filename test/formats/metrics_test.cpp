#include "formats/metrics.h"

#include <gtest/gtest.h>

namespace sheaf::formats {
namespace {

TEST(Metrics, Checksums) {
  // The check value of the algorithm, and examples of RFC 3720, appendix B.4.
  EXPECT_EQ(crc32c("123456789"), 0xe3069283u);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62a8ab43u);
}

TEST(Metrics, Events) {
  EXPECT_EQ(version_event(0), std::string("\x09\0\0\0\0\0\0\0\0\x1a\x0d", 11) + "brain.Event:2");
  std::string value = std::string("\x0a\x01") + "x" + std::string("\x15\0\0\0\x3f", 5);  // tag "x", 0.5
  std::string summary = std::string("\x0a\x08") + value;
  EXPECT_EQ(scalar_event(0, 300, {{"x", 0.5}}), std::string("\x09\0\0\0\0\0\0\0\0\x10\xac\x02\x2a\x0a", 14) + summary);
  EXPECT_EQ(event_record("abc").size(), 3u + 16);
}

}  // namespace
}  // namespace sheaf::formats
