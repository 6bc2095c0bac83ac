#include "formats/zip.h"

#include "formats/byte_reader.h"
#include "formats/inflate.h"

namespace sheaf::formats {
namespace {

constexpr uint32_t kLocal = 0x04034b50, kCentral = 0x02014b50, kEnd = 0x06054b50, kEnd64 = 0x06064b50;
constexpr size_t kLocalBytes = 30;  // of a local header, before the name

[[noreturn]] void fail(const std::string& message) { throw runtime_error("zip: " + message); }

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
  in.take(in.number<uint16_t>());  // the comment: a file that ends before it is cut off
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
  if (method != 0 && method != 8) fail(quoted + " is compressed in a way other than deflate");
  ByteReader local(from(bytes, offset));
  if (local.number<uint32_t>() != kLocal) fail(quoted + " is not where the directory says");
  local.take(22);
  auto local_name = local.number<uint16_t>(), local_extra = local.number<uint16_t>();
  local.take(local_name);
  local.take(local_extra);
  ZipEntry entry{name, local.take(packed), packed, nullptr};
  if (method == 8) {
    entry.inflated = std::make_shared<const std::string>(inflate_bytes(entry.data, size, Wrapping::None, "zip: " + quoted));
    entry.data = *entry.inflated;
  }
  if (size != entry.data.size() || crc32_of(entry.data) != crc) fail(quoted + " is damaged");
  return entry;
}

template <class T>
void put(std::string& out, T v) { out.append(reinterpret_cast<const char*>(&v), sizeof v); }

// What the local header and the directory say alike: version, no flags, stored, the first day of the format, sizes.
void put_description(std::string& out, const ZipEntry& e, uint32_t crc, uint16_t extra_bytes) {
  for (uint16_t v : {20, 0, 0, 0, 0x21}) put(out, v);
  for (uint32_t v : {crc, static_cast<uint32_t>(e.data.size()), static_cast<uint32_t>(e.data.size())}) put(out, v);
  put(out, static_cast<uint16_t>(e.name.size()));
  put(out, extra_bytes);
}

// An extra field that moves what follows to a multiple of `align`; at least its own head of 4 bytes, or nothing.
std::string padding(size_t data_at, size_t align) {
  size_t bytes = (align - data_at % align) % align;
  if (bytes == 0) return {};
  if (bytes < 4) bytes += align;
  std::string out;
  put(out, uint16_t{0x4246});  // "FB", as PyTorch names it
  put(out, static_cast<uint16_t>(bytes - 4));
  out.append(bytes - 4, 'Z');
  return out;
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
    total += out.back().stored_bytes;
    if (total > bytes.size()) fail("entries overlap");
  }
  return out;
}

std::string write_zip(const std::vector<ZipEntry>& entries, size_t align) {
  std::string out, directory;
  for (const ZipEntry& e : entries) {
    if (out.size() + e.data.size() + e.name.size() > 0xFFFF0000u || e.name.size() > 0xFFFF || entries.size() >= 0xFFFF) fail("archives above 4 GiB are not written");
    uint32_t crc = crc32_of(e.data), offset = static_cast<uint32_t>(out.size());
    std::string extra = padding(out.size() + kLocalBytes + e.name.size(), align);
    put(out, kLocal);
    put_description(out, e, crc, static_cast<uint16_t>(extra.size()));
    out.append(e.name).append(extra).append(e.data);
    put(directory, kCentral);
    put(directory, uint16_t{20});
    put_description(directory, e, crc, 0);
    for (int i = 0; i < 3; ++i) put(directory, uint16_t{0});  // comment, disk, internal attributes
    put(directory, uint32_t{0});
    put(directory, offset);
    directory.append(e.name);
  }
  uint32_t offset = static_cast<uint32_t>(out.size());
  out += directory;
  put(out, kEnd);
  put(out, uint32_t{0});
  for (int i = 0; i < 2; ++i) put(out, static_cast<uint16_t>(entries.size()));
  put(out, static_cast<uint32_t>(directory.size()));
  put(out, offset);
  put(out, uint16_t{0});
  return out;
}

}  // namespace sheaf::formats
