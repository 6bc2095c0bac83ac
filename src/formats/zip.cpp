#include "formats/zip.h"

#include "formats/byte_reader.h"
#include "formats/inflate.h"

namespace sheaf::formats {
namespace {

constexpr uint32_t kLocal = 0x04034b50, kCentral = 0x02014b50, kEnd = 0x06054b50, kEnd64 = 0x06064b50,
                   kLocator64 = 0x07064b50;
constexpr size_t kLocalBytes = 30;            // of a local header, before the name
constexpr uint16_t kZip64Field = 1;           // the extra field for numbers beyond 32 bits
constexpr uint16_t kPlain = 20, kLarge = 45;  // format versions, the second with 64-bit sizes

[[noreturn]] void fail(const std::string& message) { throw runtime_error("zip: " + message); }

std::string_view from(std::string_view bytes, uint64_t offset) {
  if (offset > bytes.size()) fail("a position lies outside the file");
  return bytes.substr(offset);
}

struct Directory {
  uint64_t entries, offset;
};

// The values of the 32-bit (16-bit) fields if the number is in a 64-bit field.
constexpr struct {
  uint16_t entries;
  uint32_t size;
} kIn64{0xFFFF, 0xFFFFFFFF};

Directory find_directory(std::string_view bytes) {
  size_t at = bytes.rfind(std::string_view("PK\5\6", 4));
  if (at == std::string_view::npos) fail("no directory");
  ByteReader in(from(bytes, at + 10));
  auto entries = in.number<uint16_t>();
  auto directory_bytes = in.number<uint32_t>();
  auto offset = in.number<uint32_t>();
  in.take(in.number<uint16_t>());  // the comment: a file that ends before it is truncated
  if (entries != kIn64.entries && offset != kIn64.size && directory_bytes != kIn64.size) return {entries, offset};
  // Large archives: a 20-byte locator before the end record contains the offset of the 64-bit record.
  if (at < 20) fail("no 64-bit directory");
  ByteReader locator(from(bytes, at - 20 + 8));
  ByteReader big(from(bytes, locator.number<uint64_t>()));
  if (big.number<uint32_t>() != kEnd64) fail("no 64-bit directory");
  big.take(28);
  auto count = big.number<uint64_t>();
  big.take(8);
  return {count, big.number<uint64_t>()};
}

// Sizes and offsets beyond 32 bits are in an extra field, in this order and only if needed.
void read_zip64_extra(std::string_view extra, uint64_t& size, uint64_t& packed, uint64_t& offset) {
  ByteReader in(extra);
  while (in.left() >= 4) {
    auto id = in.number<uint16_t>();
    ByteReader field(in.take(in.number<uint16_t>()));
    if (id != kZip64Field) continue;
    for (uint64_t* v : {&size, &packed, &offset})
      if (*v == kIn64.size) *v = field.number<uint64_t>();
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
    entry.inflated =
        std::make_shared<const std::string>(inflate_bytes(entry.data, size, Wrapping::None, "zip: " + quoted));
    entry.data = *entry.inflated;
  }
  if (size != entry.data.size() || crc32_of(entry.data) != crc) fail(quoted + " is damaged");
  return entry;
}

template <class T>
void put(std::string& out, T v) {
  out.append(reinterpret_cast<const char*>(&v), sizeof v);
}

// The extra field with `numbers`, or empty without any.
std::string zip64_field(std::initializer_list<uint64_t> numbers) {
  std::string out;
  if (numbers.size() == 0) return out;
  put(out, kZip64Field);
  put(out, static_cast<uint16_t>(numbers.size() * sizeof(uint64_t)));
  for (uint64_t n : numbers)
    put(out, n);
  return out;
}

// The fields that the local header and the directory share: version, no flags, stored, the first day of the format,
// sizes.
void put_description(std::string& out, const ZipEntry& e, uint32_t crc, bool large, const std::string& zip64,
                     size_t extra_bytes) {
  for (uint16_t v : {zip64.empty() ? kPlain : kLarge, uint16_t{0}, uint16_t{0}, uint16_t{0}, uint16_t{0x21}})
    put(out, v);
  uint32_t size = large ? kIn64.size : static_cast<uint32_t>(e.data.size());
  for (uint32_t v : {crc, size, size})
    put(out, v);
  put(out, static_cast<uint16_t>(e.name.size()));
  put(out, static_cast<uint16_t>(extra_bytes));
}

// An extra field that aligns the following data to `align`; at least its own 4-byte header, or empty.
std::string padding(size_t data_at, size_t align) {
  size_t bytes = (align - data_at % align) % align;
  if (bytes == 0) return {};
  if (bytes < 4) bytes += align;
  std::string out;
  put(out, uint16_t{0x4246});  // "FB", PyTorch's name for it
  put(out, static_cast<uint16_t>(bytes - 4));
  out.append(bytes - 4, 'Z');
  return out;
}

}  // namespace

bool is_zip(std::string_view bytes) {
  return bytes.starts_with(std::string_view("PK\3\4", 4)) || bytes.starts_with(std::string_view("PK\5\6", 4));
}

std::vector<ZipEntry> read_zip(std::string_view bytes) {
  Directory directory = find_directory(bytes);
  ByteReader in(from(bytes, directory.offset));
  std::vector<ZipEntry> out;
  uint64_t total = 0;
  for (uint64_t i = 0; i < directory.entries; ++i) {
    out.push_back(read_entry(bytes, in));
    // Entries may not overlap: a small file could otherwise expand to an enormous one.
    total += out.back().stored_bytes;
    if (total > bytes.size()) fail("entries overlap");
  }
  return out;
}

std::string write_zip(const std::vector<ZipEntry>& entries, const ZipLayout& layout) {
  std::string out, directory;
  size_t total = 0;
  for (const ZipEntry& e : entries)
    total += e.data.size() + 2 * e.name.size() + 200 + 2 * layout.align;
  out.reserve(total);  // growing by doubling would hold a multi-gigabyte archive three times
  for (const ZipEntry& e : entries) {
    if (e.name.size() > 0xFFFF) fail("a name above 64 KiB");
    uint64_t size = e.data.size(), offset = out.size();
    uint32_t crc = crc32_of(e.data);
    bool large = size >= layout.large, far = offset >= layout.large;
    std::string sizes = large ? zip64_field({size, size}) : "";
    std::string extra = sizes + padding(out.size() + kLocalBytes + e.name.size() + sizes.size(), layout.align);
    put(out, kLocal);
    put_description(out, e, crc, large, sizes, extra.size());
    out.append(e.name).append(extra).append(e.data);
    std::string field = large && far ? zip64_field({size, size, offset}) : far ? zip64_field({offset}) : sizes;
    put(directory, kCentral);
    put(directory, field.empty() ? kPlain : kLarge);
    put_description(directory, e, crc, large, field, field.size());
    for (int i = 0; i < 3; ++i)
      put(directory, uint16_t{0});  // comment, disk, internal attributes
    put(directory, uint32_t{0});
    put(directory, far ? kIn64.size : static_cast<uint32_t>(offset));
    directory.append(e.name).append(field);
  }
  uint64_t offset = out.size(), count = entries.size();
  bool large = offset + directory.size() >= layout.large || count >= kIn64.entries;
  out += directory;
  if (large) {
    uint64_t at = out.size();
    put(out, kEnd64);
    put(out, uint64_t{44});  // number of bytes that follow
    for (int i = 0; i < 2; ++i)
      put(out, kLarge);
    for (int i = 0; i < 2; ++i)
      put(out, uint32_t{0});  // disks
    for (uint64_t v : {count, count, uint64_t{directory.size()}, offset})
      put(out, v);
    put(out, kLocator64);
    put(out, uint32_t{0});
    put(out, at);
    put(out, uint32_t{1});
  }
  put(out, kEnd);
  put(out, uint32_t{0});
  for (int i = 0; i < 2; ++i)
    put(out, large ? kIn64.entries : static_cast<uint16_t>(count));
  put(out, large ? kIn64.size : static_cast<uint32_t>(directory.size()));
  put(out, large ? kIn64.size : static_cast<uint32_t>(offset));
  put(out, uint16_t{0});
  return out;
}

}  // namespace sheaf::formats
