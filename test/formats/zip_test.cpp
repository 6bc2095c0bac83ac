#include "formats/zip.h"

#include <gtest/gtest.h>

#include <cstring>

namespace sheaf::formats {
namespace {

uint32_t number_at(std::string_view bytes, size_t at) {
  uint32_t v;
  std::memcpy(&v, bytes.data() + at, sizeof v);
  return v;
}

const std::vector<ZipEntry> kEntries = {
    {"a", "first", 0, nullptr}, {"folder/b", "", 0, nullptr}, {"c", std::string_view("x\0y and more", 12), 0, nullptr}};

void expect_entries(std::string_view bytes, size_t align) {
  std::vector<ZipEntry> read = read_zip(bytes);
  ASSERT_EQ(read.size(), kEntries.size());
  for (size_t i = 0; i < read.size(); ++i) {
    EXPECT_EQ(read[i].name, kEntries[i].name);
    EXPECT_EQ(read[i].data, kEntries[i].data);
    EXPECT_EQ((read[i].data.data() - bytes.data()) % align, 0u);
  }
}

TEST(Zip, RoundTrip) {
  for (size_t align : {1, 64})
    expect_entries(write_zip(kEntries, {.align = align}), align);
}

// Sizes and positions in 64 bits, from some point on or for all of them.
TEST(Zip, LargeArchives) {
  for (uint64_t large : {0, 6, 40, 100, 150})
    for (size_t align : {1, 64})
      expect_entries(write_zip(kEntries, {.align = align, .large = large}), align);
}

TEST(Zip, OnlyWhatDoesNotFitIsIn64Bits) {
  std::string plain = write_zip(kEntries);
  EXPECT_EQ(number_at(plain, 18), 5u);
  EXPECT_EQ(plain.find("PK\6\6"), std::string::npos);
  std::string large = write_zip(kEntries, {.large = 12});  // the last entry, and all but the first position
  EXPECT_EQ(number_at(large, 18), 5u);
  size_t last = large.rfind("PK\3\4");
  EXPECT_EQ(number_at(large, last + 18), 0xFFFFFFFFu);
  EXPECT_NE(large.find("PK\6\6"), std::string::npos);
}

}  // namespace
}  // namespace sheaf::formats
