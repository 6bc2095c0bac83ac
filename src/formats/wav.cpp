#include "formats/wav.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "formats/byte_reader.h"
#include "value/dict.h"
#include "value/print.h"

namespace sheaf::formats {
namespace {

[[noreturn]] void fail(const std::string& message) { throw runtime_error("wav: " + message); }

struct Format {
  uint16_t kind = 0, channels = 0, bits = 0;
  uint32_t rate = 0;
};

Format read_format(std::string_view bytes) {
  ByteReader in(bytes);
  Format f;
  f.kind = in.number<uint16_t>();
  f.channels = in.number<uint16_t>();
  f.rate = in.number<uint32_t>();
  in.take(6);
  f.bits = in.number<uint16_t>();
  if (f.kind == 0xFFFE) {  // extensible: the kind is the first field of a GUID
    in.take(8);
    f.kind = in.number<uint16_t>();
  }
  bool ok = (f.kind == 1 && (f.bits == 8 || f.bits == 16 || f.bits == 24 || f.bits == 32)) ||
            (f.kind == 3 && (f.bits == 32 || f.bits == 64));
  if (!ok) fail(fmt::format("samples of kind {} with {} bits are not supported", f.kind, f.bits));
  if (f.channels == 0) fail("a sound without channels");
  return f;
}

float sample(const char* p, const Format& f) {
  auto as = [&]<class T>(T) {
    T v;
    std::memcpy(&v, p, sizeof v);
    return v;
  };
  if (f.kind == 3) return f.bits == 32 ? as(float{}) : static_cast<float>(as(double{}));
  switch (f.bits) {
    case 8: return (static_cast<float>(as(uint8_t{})) - 128) / 128;
    case 16: return static_cast<float>(as(int16_t{})) / 32768;
    case 24: {
      int32_t v = as(uint8_t{}) | static_cast<uint8_t>(p[1]) << 8 | static_cast<int8_t>(p[2]) * 65536;
      return static_cast<float>(v) / 8388608;
    }
    default: return static_cast<float>(static_cast<double>(as(int32_t{})) / 2147483648.0);
  }
}

template <class T>
void put(std::string& out, T v) {
  out.append(reinterpret_cast<const char*>(&v), sizeof v);
}

}  // namespace

bool is_wav(std::string_view bytes) {
  return bytes.size() >= 12 && bytes.starts_with("RIFF") && bytes.substr(8, 4) == "WAVE";
}

Value parse_wav(std::string_view bytes) {
  ByteReader in(bytes);
  if (in.take(4) != "RIFF") fail("not a WAV file");
  in.number<uint32_t>();
  if (in.take(4) != "WAVE") fail("not a WAV file");
  Format f;
  while (in.left() >= 8) {
    std::string_view name = in.take(4);
    auto length = in.number<uint32_t>();
    if (name == "fmt ") {
      f = read_format(in.take(length));
    } else if (name == "data") {
      if (f.channels == 0) fail("samples before their format");
      // A recording whose program was killed has a length of 0 or 4 GiB: use the data that exist.
      std::string_view data = in.take(length == 0 || length == 0xFFFFFFFF ? in.left() : length);
      int64_t width = f.bits / 8, frames = static_cast<int64_t>(data.size()) / (width * f.channels);
      Tensor t = empty_tensor(DType::F32, f.channels == 1 ? Dims{frames} : Dims{frames, f.channels});
      for (int64_t i = 0; i < frames * f.channels; ++i)
        t.data_mut<float>()[i] = sample(data.data() + i * width, f);
      return make_dict({{Name("rate"), Value::integer(f.rate)}, {Name("samples"), Value::tensor(std::move(t))}});
    } else {
      in.take(length);
    }
    if (length % 2 == 1 && in.left() > 0) in.take(1);
  }
  fail("no samples");
}

std::string write_wav(const Value& v) {
  const Value* rate = v.is_dict() ? v.as_dict().find(Name("rate")) : nullptr;
  const Value* samples = v.is_dict() ? v.as_dict().find(Name("samples")) : nullptr;
  if (!rate || !rate->is_int() || !samples || !samples->is_tensor() || samples->as_tensor().rank() < 1 ||
      samples->as_tensor().rank() > 2)
    fail("cannot serialize " + short_text(v) + " (only {:rate n :samples x} with x of shape [T] or [T, C])");
  Tensor t = contiguous(samples->as_tensor());
  int64_t channels = t.rank() == 2 ? t.sizes[1] : 1, bytes = 2 * t.num_elems();
  if (channels < 1 || channels > 0xFFFF || rate->as_int() < 1 || rate->as_int() > 0x7FFFFFFF || bytes > 0xFFFF0000)
    fail("too many channels, samples, or no rate");
  std::string out = "RIFF";
  put(out, static_cast<uint32_t>(36 + bytes));
  out += "WAVEfmt ";
  put(out, uint32_t{16});
  put(out, uint16_t{1});
  put(out, static_cast<uint16_t>(channels));
  put(out, static_cast<uint32_t>(rate->as_int()));
  put(out, static_cast<uint32_t>(rate->as_int() * channels * 2));
  put(out, static_cast<uint16_t>(channels * 2));
  put(out, uint16_t{16});
  out += "data";
  put(out, static_cast<uint32_t>(bytes));
  const std::byte* p = t.bytes();
  for (int64_t i = 0; i < t.num_elems(); ++i, p += size_bytes(t.dtype)) {
    double x = load_double(t.dtype, p);
    put(out, static_cast<int16_t>(t.dtype == DType::I16 ? x
                                                        : std::clamp(std::nearbyint((std::isnan(x) ? 0 : x) * 32768),
                                                                     -32768.0, 32767.0)));
  }
  return out;
}

}  // namespace sheaf::formats
