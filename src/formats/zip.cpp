#include "formats/zip.h"

#include <array>

#include "formats/byte_reader.h"

namespace sheaf::formats {
namespace {

constexpr uint32_t kLocal = 0x04034b50, kCentral = 0x02014b50, kEnd64 = 0x06064b50;

[[noreturn]] void fail(const std::string& message) { throw runtime_error("zip: " + message); }

std::array<uint32_t, 256> make_crc_table() {
  std::array<uint32_t, 256> table;
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t c = i;
    for (int k = 0; k < 8; ++k) c = c & 1 ? 0xEDB88320u ^ (c >> 1) : c >> 1;
    table[i] = c;
  }
  return table;
}

uint32_t crc32(std::string_view data) {
  static const std::array<uint32_t, 256> table = make_crc_table();
  uint32_t c = ~0u;
  for (unsigned char b : data) c = table[(c ^ b) & 0xFF] ^ (c >> 8);
  return ~c;
}

std::string_view from(std::string_view bytes, uint64_t offset) {
  if (offset > bytes.size()) fail("a position lies outside the file");
  return bytes.substr(offset);
}

struct Directory {
  uint64_t entries, offset;
};

Directory find_directory(std::string_view bytes) {
  size_t at = bytes.rfind(std::string_view("PK\5\6", 4));
  if (at == std::string_view::npos) fail("no directory");
  ByteReader in(from(bytes, at + 10));
  auto entries = in.number<uint16_t>();
  in.number<uint32_t>();
  auto offset = in.number<uint32_t>();
  if (entries != 0xFFFF && offset != 0xFFFFFFFF) return {entries, offset};
  // Large archives: a locator of 20 bytes before the end record says where the 64-bit one is.
  if (at < 20) fail("no 64-bit directory");
  ByteReader locator(from(bytes, at - 20 + 8));
  ByteReader big(from(bytes, locator.number<uint64_t>()));
  if (big.number<uint32_t>() != kEnd64) fail("no 64-bit directory");
  big.take(28);
  auto count = big.number<uint64_t>();
  big.take(8);
  return {count, big.number<uint64_t>()};
}

// Sizes and offsets that did not fit 32 bits are in an extra field, in this order and only if needed.
void read_zip64_extra(std::string_view extra, uint64_t& size, uint64_t& packed, uint64_t& offset) {
  ByteReader in(extra);
  while (in.left() >= 4) {
    auto id = in.number<uint16_t>();
    ByteReader field(in.take(in.number<uint16_t>()));
    if (id != 1) continue;
    for (uint64_t* v : {&size, &packed, &offset})
      if (*v == 0xFFFFFFFF) *v = field.number<uint64_t>();
  }
}

ZipEntry read_entry(std::string_view bytes, ByteReader& in) {
  if (in.number<uint32_t>() != kCentral) fail("the directory is damaged");
  in.take(4);
  auto flags = in.number<uint16_t>();
  auto method = in.number<uint16_t>();
  in.take(4);
  auto crc = in.number<uint32_t>();
  uint64_t packed = in.number<uint32_t>(), size = in.number<uint32_t>();
  auto name_bytes = in.number<uint16_t>(), extra_bytes = in.number<uint16_t>(), comment_bytes = in.number<uint16_t>();
  in.take(8);
  uint64_t offset = in.number<uint32_t>();
  std::string_view name = in.take(name_bytes);
  read_zip64_extra(in.take(extra_bytes), size, packed, offset);
  in.take(comment_bytes);
  std::string quoted = "'" + std::string(name) + "'";
  if (flags & 1) fail(quoted + " is encrypted");
  if (method != 0) fail(quoted + " is compressed; save it uncompressed");
  ByteReader local(from(bytes, offset));
  if (local.number<uint32_t>() != kLocal) fail(quoted + " is not where the directory says");
  local.take(22);
  auto local_name = local.number<uint16_t>(), local_extra = local.number<uint16_t>();
  local.take(local_name);
  local.take(local_extra);
  ZipEntry entry{name, local.take(packed)};
  if (size != packed || crc32(entry.data) != crc) fail(quoted + " is damaged");
  return entry;
}

}  // namespace

bool is_zip(std::string_view bytes) { return bytes.starts_with(std::string_view("PK\3\4", 4)); }

std::vector<ZipEntry> read_zip(std::string_view bytes) {
  Directory directory = find_directory(bytes);
  ByteReader in(from(bytes, directory.offset));
  std::vector<ZipEntry> out;
  uint64_t total = 0;
  for (uint64_t i = 0; i < directory.entries; ++i) {
    out.push_back(read_entry(bytes, in));
    // Entries may not share bytes: a small file could otherwise stand for an enormous one.
    total += out.back().data.size();
    if (total > bytes.size()) fail("entries overlap");
  }
  return out;
}

}  // namespace sheaf::formats
