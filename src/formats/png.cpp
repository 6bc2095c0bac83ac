#include "formats/png.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "formats/byte_reader.h"
#include "formats/inflate.h"
#include "formats/picture.h"
#include "value/print.h"

namespace sheaf::formats {
namespace {

constexpr std::string_view kMagic{"\x89PNG\r\n\x1a\n", 8};
constexpr uint32_t kMaxSide = 1 << 20;

[[noreturn]] void fail(const std::string& message) { throw runtime_error("png: " + message); }

uint32_t big_endian(ByteReader& in) { return __builtin_bswap32(in.number<uint32_t>()); }

struct Header {
  uint32_t width = 0, height = 0;
  int depth = 0, colour = 0, interlace = 0;
  int channels() const { return colour == 0 || colour == 3 ? 1 : colour == 2 ? 3 : colour == 4 ? 2 : 4; }
  size_t row_bytes(uint32_t w) const { return (static_cast<size_t>(w) * channels() * depth + 7) / 8; }
  int pixel_bytes() const { return std::max(1, channels() * depth / 8); }  // the distance of a filter's left neighbour
};

Header read_header(std::string_view bytes) {
  ByteReader in(bytes);
  Header h;
  h.width = big_endian(in);
  h.height = big_endian(in);
  h.depth = in.number<uint8_t>();
  h.colour = in.number<uint8_t>();
  auto compression = in.number<uint8_t>(), filter = in.number<uint8_t>();
  h.interlace = in.number<uint8_t>();
  bool depth_ok = h.depth == 8 || (h.depth == 16 && h.colour != 3) ||
                  ((h.depth == 1 || h.depth == 2 || h.depth == 4) && (h.colour == 0 || h.colour == 3));
  bool colour_ok = h.colour == 0 || h.colour == 2 || h.colour == 3 || h.colour == 4 || h.colour == 6;
  if (!depth_ok || !colour_ok || compression != 0 || filter != 0 || h.interlace > 1) fail("an unknown kind of picture");
  if (h.width == 0 || h.height == 0 || h.width > kMaxSide || h.height > kMaxSide)
    fail(fmt::format("a picture of {} x {} pixels", h.width, h.height));
  return h;
}

// The seven passes of an interlaced picture: start and step of each. Other pictures have one pass.
struct Pass {
  uint32_t x, y, dx, dy;
};
constexpr Pass kWhole[] = {{0, 0, 1, 1}};
constexpr Pass kSeven[] = {{0, 0, 8, 8}, {4, 0, 8, 8}, {0, 4, 4, 8}, {2, 0, 4, 4},
                           {0, 2, 2, 4}, {1, 0, 2, 2}, {0, 1, 1, 2}};

uint8_t paeth(int a, int b, int c) {
  int p = a + b - c, pa = std::abs(p - a), pb = std::abs(p - b), pc = std::abs(p - c);
  return static_cast<uint8_t>(pa <= pb && pa <= pc ? a : pb <= pc ? b : c);
}

// Reverses the filter of one row in place. `above` is the previous row, or zeros.
void unfilter(int filter, uint8_t* row, const uint8_t* above, size_t n, size_t step) {
  for (size_t i = 0; i < n; ++i) {
    int left = i >= step ? row[i - step] : 0, up = above[i], corner = i >= step ? above[i - step] : 0;
    switch (filter) {
      case 0: return;
      case 1: row[i] = static_cast<uint8_t>(row[i] + left); break;
      case 2: row[i] = static_cast<uint8_t>(row[i] + up); break;
      case 3: row[i] = static_cast<uint8_t>(row[i] + (left + up) / 2); break;
      case 4: row[i] = static_cast<uint8_t>(row[i] + paeth(left, up, corner)); break;
      default: fail("an unknown filter");
    }
  }
}

uint8_t sample(const uint8_t* row, size_t index, int depth) {
  if (depth == 8) return row[index];
  size_t bit = index * static_cast<size_t>(depth);
  return static_cast<uint8_t>(row[bit / 8] >> (8 - depth - bit % 8) & ((1 << depth) - 1));
}

struct Palette {
  std::string_view colours, alpha;
};

// Stores one row of a pass at its positions in the picture.
void store_row(const Header& h, const Pass& pass, const uint8_t* row, uint32_t width, uint32_t y,
               const Palette& palette, int out_channels, Tensor& out) {
  for (uint32_t i = 0; i < width; ++i) {
    size_t at = (static_cast<size_t>(y) * h.width + pass.x + i * pass.dx) * out_channels;
    if (h.depth == 16) {
      auto* p = out.data_mut<uint16_t>() + at;
      for (int c = 0; c < out_channels; ++c) {
        const uint8_t* q = row + (static_cast<size_t>(i) * out_channels + c) * 2;
        p[c] = static_cast<uint16_t>(q[0] << 8 | q[1]);
      }
      continue;
    }
    auto* p = out.data_mut<uint8_t>() + at;
    if (h.colour == 3) {
      size_t k = sample(row, i, h.depth);
      if (k * 3 + 3 > palette.colours.size()) fail("a colour that the palette lacks");
      std::memcpy(p, palette.colours.data() + k * 3, 3);
      if (out_channels == 4) p[3] = k < palette.alpha.size() ? static_cast<uint8_t>(palette.alpha[k]) : 255;
      continue;
    }
    for (int c = 0; c < out_channels; ++c) {
      int v = sample(row, static_cast<size_t>(i) * out_channels + c, h.depth);
      p[c] = static_cast<uint8_t>(h.depth < 8 ? v * 255 / ((1 << h.depth) - 1) : v);
    }
  }
}

template <class T>
void put_big(std::string& out, T v) {
  for (int shift = 8 * (sizeof(T) - 1); shift >= 0; shift -= 8)
    out += static_cast<char>(v >> shift);
}

void put_chunk(std::string& out, std::string_view name, std::string_view data) {
  put_big(out, static_cast<uint32_t>(data.size()));
  std::string body = std::string(name) + std::string(data);
  out += body;
  put_big(out, crc32_of(body));
}

}  // namespace

bool is_png(std::string_view bytes) { return bytes.starts_with(kMagic); }

Value parse_png(std::string_view bytes) {
  ByteReader in(bytes);
  if (in.take(kMagic.size()) != kMagic) fail("not a PNG file");
  Header h;
  Palette palette;
  std::string packed;
  for (bool end = false, first = true; !end; first = false) {
    uint32_t length = big_endian(in);
    std::string_view name = in.take(4), data = in.take(length);
    if (crc32_of(bytes.substr(in.position() - length - 4, length + 4)) != big_endian(in)) fail("a part is damaged");
    if (first != (name == "IHDR")) fail("the parts are in a wrong order");
    if (name == "IHDR")
      h = read_header(data);
    else if (name == "PLTE")
      palette.colours = data;
    else if (name == "tRNS" && h.colour == 3)
      palette.alpha = data;
    else if (name == "IDAT")
      packed += data;
    else if (name == "IEND")
      end = true;
    else if (!(name[0] & 0x20))
      fail("an unknown part '" + std::string(name) + "' that is needed");
  }
  std::span<const Pass> passes = h.interlace ? std::span<const Pass>(kSeven) : std::span<const Pass>(kWhole);
  auto extent = [](uint32_t n, uint32_t from, uint32_t step) { return n > from ? (n - from + step - 1) / step : 0; };
  uint64_t size = 0;
  for (const Pass& p : passes) {
    uint64_t w = extent(h.width, p.x, p.dx), rows = extent(h.height, p.y, p.dy);
    if (w > 0) size += rows * (1 + h.row_bytes(static_cast<uint32_t>(w)));
  }
  std::string raw = inflate_bytes(packed, size, Wrapping::Zlib, "png: the picture");
  int channels = h.colour == 3 ? (palette.alpha.empty() ? 3 : 4) : h.channels();
  Dims sizes{h.height, h.width};
  if (channels > 1) sizes.push_back(channels);
  Tensor out = empty_tensor(h.depth == 16 ? DType::U16 : DType::U8, sizes);
  auto* at = reinterpret_cast<uint8_t*>(raw.data());
  for (const Pass& p : passes) {
    uint32_t w = extent(h.width, p.x, p.dx), rows = extent(h.height, p.y, p.dy);
    if (w == 0) continue;
    size_t n = h.row_bytes(w);
    std::vector<uint8_t> zeros(n, 0);
    const uint8_t* above = zeros.data();
    for (uint32_t r = 0; r < rows; ++r) {
      int filter = *at++;
      unfilter(filter, at, above, n, h.pixel_bytes());
      store_row(h, p, at, w, p.y + r * p.dy, palette, channels, out);
      above = at;
      at += n;
    }
  }
  return Value::tensor(std::move(out));
}

std::string write_png(const Value& v) {
  if (!v.is_tensor()) fail("cannot serialize " + std::string(type_name(v)) + " (only a tensor)");
  const Tensor& t = v.as_tensor();
  int64_t channels = t.rank() == 3 ? t.sizes[2] : 1;
  if (t.rank() < 2 || t.rank() > 3 || channels < 1 || channels > 4 || t.sizes[0] < 1 || t.sizes[1] < 1 ||
      t.sizes[0] > kMaxSide || t.sizes[1] > kMaxSide)
    fail("a picture is [H, W] or [H, W, 1 to 4], got " + shape_text(t.sizes));
  bool wide = t.dtype == DType::U16;
  auto kind = static_cast<uint8_t>(channels == 1 ? 0 : channels == 2 ? 4 : channels == 3 ? 2 : 6);
  std::string header;
  put_big(header, static_cast<uint32_t>(t.sizes[1]));
  put_big(header, static_cast<uint32_t>(t.sizes[0]));
  for (uint8_t b : {static_cast<uint8_t>(wide ? 16 : 8), kind, uint8_t{0}, uint8_t{0}, uint8_t{0}})
    header += static_cast<char>(b);
  std::string samples = wide ? std::string() : picture_bytes(t), raw;
  if (wide) {
    Tensor c = contiguous(t);
    const auto* p = reinterpret_cast<const uint16_t*>(c.bytes());
    for (int64_t i = 0; i < c.num_elems(); ++i)
      put_big(samples, p[i]);
  }
  size_t row_bytes = samples.size() / static_cast<size_t>(t.sizes[0]);
  for (size_t at = 0; at < samples.size(); at += row_bytes) {
    raw += '\0';  // no filter
    raw.append(samples, at, row_bytes);
  }
  std::string out(kMagic);
  put_chunk(out, "IHDR", header);
  put_chunk(out, "IDAT", deflate_bytes(raw));
  put_chunk(out, "IEND", "");
  return out;
}

}  // namespace sheaf::formats
