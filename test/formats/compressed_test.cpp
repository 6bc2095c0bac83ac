// Files compressed as a whole. golden_test.cpp loads the golden files; this file tests parts, sizes and damage.
#include "formats/compressed.h"

#include <gtest/gtest.h>
#include <zlib.h>
#include <zstd.h>

#include "support/error.h"

namespace sheaf::formats {
namespace {

std::string gzip(const std::string& text) {
  z_stream z{};
  deflateInit2(&z, 6, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&z, text.size()) + 64, '\0');
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  z.avail_in = static_cast<uInt>(text.size());
  z.next_out = reinterpret_cast<Bytef*>(out.data());
  z.avail_out = static_cast<uInt>(out.size());
  deflate(&z, Z_FINISH);
  out.resize(z.total_out);
  deflateEnd(&z);
  return out;
}

std::string zstd(const std::string& text) {
  std::string out(ZSTD_compressBound(text.size()), '\0');
  out.resize(ZSTD_compress(out.data(), out.size(), text.data(), text.size(), 3));
  return out;
}

std::string failure_of(const std::string& bytes) {
  try {
    decompress(bytes);
  } catch (const UserError& e) {
    return e.message;
  }
  return "";
}

// Larger than the first chunk, and repetitive, so that it compresses well.
std::string long_text() {
  std::string text;
  for (int i = 0; i < 100000; ++i)
    text += std::to_string(i % 1000) + ",";
  return text;
}

TEST(Compressed, IsWhatItWas) {
  for (auto pack : {gzip, zstd})
    for (const std::string& text : {std::string(), std::string("x"), std::string(65536, 'a'), long_text()}) {
      std::string packed = pack(text);
      EXPECT_TRUE(is_compressed(packed));
      EXPECT_TRUE(decompress(packed) == text) << text.size();
      EXPECT_TRUE(decompress(packed + packed) == text + text) << text.size();  // as `cat a.gz b.gz` makes it
    }
  EXPECT_EQ(decompress(gzip("x") + std::string(100, '\0')), "x");
}

TEST(Compressed, DamageIsAnError) {
  std::string text = long_text();
  for (auto pack : {gzip, zstd}) {
    std::string packed = pack(text), who = pack == gzip ? "gzip" : "zstd";
    for (size_t n : {size_t{4}, packed.size() / 2, packed.size() - 1})
      EXPECT_EQ(failure_of(packed.substr(0, n)), who + ": the file is cut short") << n;
  }
  // The checksum, which zstd writes only on request, finds wrong bytes.
  std::string packed = gzip(text);
  packed[packed.size() / 2] ^= 0x55;
  EXPECT_EQ(failure_of(packed), "gzip: the file is damaged");
}

TEST(Compressed, NamesOfWhatIsInside) {
  EXPECT_EQ(inner_name("data.csv.gz"), "data.csv");
  EXPECT_EQ(inner_name("data.jsonl.zst"), "data.jsonl");
  EXPECT_EQ(inner_name("data.csv"), "data.csv");
}

}  // namespace
}  // namespace sheaf::formats
