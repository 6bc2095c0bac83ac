#include "formats/jpeg.h"

#include <fmt/format.h>

#include "formats/byte_reader.h"
#include "formats/picture.h"
#include "value/print.h"

#ifdef SHEAF_JPEG
#include <jpeglib.h>

#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <memory>
// The library's codes of warnings and errors.
#include <jerror.h>
#endif

namespace sheaf::formats {

bool is_jpeg(std::string_view bytes) { return bytes.starts_with("\xff\xd8\xff"); }

#ifdef SHEAF_JPEG
namespace {

[[noreturn]] void fail(const std::string& message) { throw runtime_error("jpeg: " + message); }

// The library exits by longjmp, over its own frames and those of `call` only, which have nothing to clean up.
struct Errors {
  jpeg_error_mgr base;
  jmp_buf back;
  char message[JMSG_LENGTH_MAX] = "";

  jpeg_error_mgr* install() {
    jpeg_std_error(&base);
    base.error_exit = [](j_common_ptr c) {
      auto* self = reinterpret_cast<Errors*>(c->err);
      c->err->format_message(c, self->message);
      longjmp(self->back, 1);
    };
    // Without data the library continues with grey; other warnings concern readable files.
    base.emit_message = [](j_common_ptr c, int level) {
      int code = c->err->msg_code;
      bool is_damage = code == JWRN_HIT_MARKER || code == JWRN_JPEG_EOF || code == JWRN_HUFF_BAD_CODE ||
                       code == JWRN_MUST_RESYNC || code == JWRN_ARITH_BAD_CODE;
      if (level < 0 && is_damage) c->err->error_exit(c);
    };
    return &base;
  }
  template <class F>
  void call(F&& f) {
    if (setjmp(back) == 0)
      f();
    else
      fail(message);
  }
};

// The orientation from EXIF data, 1 to 8; 1 if they are damaged or have none.
int orientation_of(std::string_view exif) {
  constexpr std::string_view kStart("Exif\0\0", 6);
  if (!exif.starts_with(kStart)) return 1;
  std::string_view tiff = exif.substr(kStart.size());
  bool big = tiff.starts_with("MM");
  auto number = [&](size_t at, size_t count) -> uint32_t {
    if (at > tiff.size() || count > tiff.size() - at) return 0;
    uint32_t v = 0;
    for (size_t i = 0; i < count; ++i)
      v = v << 8 | static_cast<uint8_t>(tiff[at + (big ? i : count - 1 - i)]);
    return v;
  };
  size_t directory = number(4, 4);
  uint32_t entries = number(directory, 2);
  for (uint32_t i = 0; i < entries; ++i) {
    size_t entry = directory + 2 + size_t{12} * i;
    constexpr uint32_t kOrientation = 0x0112;
    if (entry >= tiff.size()) break;
    if (number(entry, 2) != kOrientation) continue;
    uint32_t turn = number(entry + 8, 2);
    return turn >= 1 && turn <= 8 ? static_cast<int>(turn) : 1;
  }
  return 1;
}

struct Pixels {
  size_t width, height;
  size_t channels;  // 1, 3, or 4 for CMYK
  std::string bytes;
  int orientation;
};

// Every block takes at least one bit. A larger picture would be mostly fabricated.
void check_size(const jpeg_decompress_struct& c, size_t num_bytes) {
  if (c.arith_code) return;
  uint64_t blocks = 0;
  auto up = [](uint64_t n, uint64_t unit) { return (n + unit - 1) / unit; };
  for (int i = 0; i < c.num_components; ++i) {
    const jpeg_component_info& part = c.comp_info[i];
    blocks +=
        up(uint64_t{c.image_width} * static_cast<uint64_t>(part.h_samp_factor), 8 * uint64_t(c.max_h_samp_factor)) *
        up(uint64_t{c.image_height} * static_cast<uint64_t>(part.v_samp_factor), 8 * uint64_t(c.max_v_samp_factor));
  }
  if (blocks > 8 * uint64_t{num_bytes})
    fail(fmt::format("the file ends early: {} bytes for {} x {} pixels", num_bytes, c.image_width, c.image_height));
}

Pixels decode(std::string_view bytes) {
  struct Decoder {
    jpeg_decompress_struct c{};
    Errors errors;
    jpeg_progress_mgr progress{};
    ~Decoder() { jpeg_destroy_decompress(&c); }
  } d;
  d.c.err = d.errors.install();
  // A small file may contain thousands of scans over the whole picture.
  d.progress.progress_monitor = [](j_common_ptr c) {
    constexpr int kMaxScans = 1000;
    if (reinterpret_cast<j_decompress_ptr>(c)->input_scan_number > kMaxScans) ERREXIT(c, JERR_BAD_PROGRESSION);
  };
  d.errors.call([&] {
    jpeg_create_decompress(&d.c);
    d.c.progress = &d.progress;
    jpeg_mem_src(&d.c, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
    jpeg_save_markers(&d.c, JPEG_APP0 + 1, 0xFFFF);
    jpeg_read_header(&d.c, TRUE);
  });
  check_size(d.c, bytes.size());
  int parts = d.c.num_components;
  if (parts != 1 && parts != 3 && parts != 4) fail(fmt::format("a picture of {} channels is not supported", parts));
  Pixels out{d.c.image_width, d.c.image_height, static_cast<size_t>(parts), {}, 1};
  for (jpeg_saved_marker_ptr m = d.c.marker_list; m && out.orientation == 1; m = m->next)
    out.orientation = orientation_of({reinterpret_cast<const char*>(m->data), m->data_length});
  d.c.out_color_space = parts == 1 ? JCS_GRAYSCALE : parts == 3 ? JCS_RGB : JCS_CMYK;
  d.errors.call([&] { jpeg_start_decompress(&d.c); });
  size_t row_bytes = out.width * out.channels;
  // Appends row by row, so that memory grows with the data that really exist.
  for (size_t row = 0; row < out.height; ++row) {
    out.bytes.resize(out.bytes.size() + row_bytes);
    auto* to = reinterpret_cast<JSAMPROW>(out.bytes.data() + row * row_bytes);
    d.errors.call([&] { jpeg_read_scanlines(&d.c, &to, 1); });
  }
  d.errors.call([&] { jpeg_finish_decompress(&d.c); });
  return out;
}

// CMYK is stored inverted, as Adobe does and every reader assumes: 255 is no ink.
void cmyk_to_rgb(Pixels& p) {
  size_t count = p.width * p.height;
  auto* at = reinterpret_cast<uint8_t*>(p.bytes.data());
  for (size_t i = 0; i < count; ++i) {
    int key = at[4 * i + 3];
    for (size_t c = 0; c < 3; ++c) {
      // Key minus the rounded product of ink and key, like other converters.
      int product = (255 - at[4 * i + c]) * key + 128;
      at[3 * i + c] = static_cast<uint8_t>(key - (((product >> 8) + product) >> 8));
    }
  }
  p.channels = 3;
  p.bytes.resize(3 * count);
}

Tensor upright(const Pixels& p) {
  // The source of pixel (row, column) of the result: with axes swapped, and reversed along either axis.
  bool across = p.orientation >= 5;
  bool from_right = p.orientation == 2 || p.orientation == 3 || p.orientation == 7 || p.orientation == 8;
  bool from_below = p.orientation == 3 || p.orientation == 4 || p.orientation == 6 || p.orientation == 7;
  size_t rows = across ? p.width : p.height, columns = across ? p.height : p.width;
  Dims sizes = {static_cast<int64_t>(rows), static_cast<int64_t>(columns)};
  if (p.channels > 1) sizes.push_back(static_cast<int64_t>(p.channels));
  const auto* from = reinterpret_cast<const uint8_t*>(p.bytes.data());
  if (p.orientation == 1) return tensor_of(DType::U8, sizes, from);
  std::string turned;
  turned.reserve(p.bytes.size());
  for (size_t row = 0; row < rows; ++row) {
    for (size_t column = 0; column < columns; ++column) {
      size_t x = across ? row : column, y = across ? column : row;
      if (from_right) x = p.width - 1 - x;
      if (from_below) y = p.height - 1 - y;
      turned.append(p.bytes, (y * p.width + x) * p.channels, p.channels);
    }
  }
  return tensor_of(DType::U8, sizes, reinterpret_cast<const uint8_t*>(turned.data()));
}

}  // namespace

Value parse_jpeg(std::string_view bytes) {
  Pixels p = decode(bytes);
  if (p.channels == 4) cmyk_to_rgb(p);
  return Value::tensor(upright(p));
}

std::string write_jpeg(const Value& v, int quality) {
  if (!v.is_tensor()) fail("cannot serialize " + std::string(type_name(v)) + " (only a tensor)");
  const Tensor& t = v.as_tensor();
  int64_t channels = t.rank() == 3 ? t.sizes[2] : 1;
  if (t.rank() == 3 && (channels == 2 || channels == 4))
    throw runtime_error("jpeg: a picture of " + std::to_string(channels) +
                        " channels: there is no transparency in JPEG")
        .hint("leave out the last channel, or save it as .png");
  if (t.rank() < 2 || t.rank() > 3 || (channels != 1 && channels != 3) || t.sizes[0] < 1 || t.sizes[1] < 1 ||
      t.sizes[0] > JPEG_MAX_DIMENSION || t.sizes[1] > JPEG_MAX_DIMENSION)
    fail(fmt::format("a picture is [H, W], [H, W, 1] or [H, W, 3] of at most {} pixels a side, got {}",
                     JPEG_MAX_DIMENSION, shape_text(t.sizes)));
  if (t.dtype == DType::U16)
    throw runtime_error("jpeg: a picture of 16 bits, and JPEG has 8").hint("save it as .png, or divide it by 65535");
  std::string pixels = picture_bytes(t);

  struct Encoder {
    jpeg_compress_struct c{};
    Errors errors;
    unsigned char* out = nullptr;
    unsigned long size = 0;
    ~Encoder() {
      jpeg_destroy_compress(&c);
      std::free(out);
    }
  } e;
  e.c.err = e.errors.install();
  e.errors.call([&] {
    jpeg_create_compress(&e.c);
    jpeg_mem_dest(&e.c, &e.out, &e.size);
    e.c.image_width = static_cast<JDIMENSION>(t.sizes[1]);
    e.c.image_height = static_cast<JDIMENSION>(t.sizes[0]);
    e.c.input_components = static_cast<int>(channels);
    e.c.in_color_space = channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
    jpeg_set_defaults(&e.c);
    jpeg_set_quality(&e.c, quality, TRUE);
    jpeg_start_compress(&e.c, TRUE);
    auto* row = reinterpret_cast<JSAMPROW>(pixels.data());
    for (; e.c.next_scanline < e.c.image_height; row += e.c.image_width * static_cast<JDIMENSION>(channels))
      jpeg_write_scanlines(&e.c, &row, 1);
    jpeg_finish_compress(&e.c);
  });
  return {reinterpret_cast<const char*>(e.out), e.size};
}

#else
namespace {

[[noreturn]] void fail_without_library() {
  throw runtime_error("jpeg: this build has no JPEG").hint("install libjpeg (Debian: libjpeg-dev) and build again");
}

}  // namespace

Value parse_jpeg(std::string_view) { fail_without_library(); }
std::string write_jpeg(const Value&, int) { fail_without_library(); }

#endif

}  // namespace sheaf::formats
