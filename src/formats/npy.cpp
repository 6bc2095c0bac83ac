#include "formats/npy.h"

#include <fmt/format.h>

#include <charconv>

#include "formats/byte_reader.h"
#include "formats/raw_array.h"
#include "value/dict.h"
#include "value/print.h"

namespace sheaf::formats {
namespace {

constexpr std::string_view kMagic{"\x93NUMPY", 6};

[[noreturn]] void fail(const std::string& message) { throw runtime_error("npy: " + message); }

struct Header {
  RawType type;
  bool fortran = false;
  Dims sizes;
};

// The header is a Python dict literal: {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }.
class HeaderParser {
 public:
  explicit HeaderParser(std::string_view text) : text_(text) {}

  Header parse() {
    Header out;
    bool has_type = false, has_order = false, has_shape = false;
    expect('{');
    while (!accept('}')) {
      std::string_view key = quoted();
      expect(':');
      if (key == "descr") {
        has_type = true;
        out.type = type();
      } else if (key == "fortran_order") {
        has_order = true;
        out.fortran = boolean();
      } else if (key == "shape") {
        has_shape = true;
        out.sizes = tuple();
      } else {
        fail("unknown header key '" + std::string(key) + "'");
      }
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    if (!has_type || !has_order || !has_shape) fail("the header is incomplete");
    return out;
  }

 private:
  void skip_spaces() {
    while (!text_.empty() && (text_[0] == ' ' || text_[0] == '\n'))
      text_.remove_prefix(1);
  }
  bool accept(char c) {
    skip_spaces();
    if (text_.empty() || text_[0] != c) return false;
    text_.remove_prefix(1);
    return true;
  }
  void expect(char c) {
    if (!accept(c)) fail(std::string("'") + c + "' is missing in the header");
  }
  std::string_view quoted() {
    skip_spaces();
    char quote = text_.empty() ? 0 : text_[0];
    size_t end = quote == '\'' || quote == '"' ? text_.find(quote, 1) : std::string_view::npos;
    if (end == std::string_view::npos) fail("text is missing in the header");
    std::string_view out = text_.substr(1, end - 1);
    text_.remove_prefix(end + 1);
    return out;
  }
  RawType type() {
    skip_spaces();
    if (text_.starts_with('[')) fail("structured arrays are not supported");
    std::string text(quoted());
    auto type = parse_numpy_type(text);
    if (!type) fail("unsupported dtype '" + text + "'");
    return *type;
  }
  bool boolean() {
    skip_spaces();
    bool yes = text_.starts_with("True");
    if (!yes && !text_.starts_with("False")) fail("True or False is missing in the header");
    text_.remove_prefix(yes ? 4 : 5);
    return yes;
  }
  Dims tuple() {
    Dims out;
    expect('(');
    while (!accept(')')) {
      skip_spaces();
      int64_t n = 0;
      auto r = std::from_chars(text_.data(), text_.data() + text_.size(), n);
      if (r.ec != std::errc{} || n < 0) fail("a size is missing in the header's shape");
      text_.remove_prefix(r.ptr - text_.data());
      out.push_back(n);
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
    return out;
  }

  std::string_view text_;
};

// An int as i64, a float as f32.
Tensor scalar_tensor(const Value& v) {
  DType d = v.is_int() ? DType::I64 : v.is_float() ? DType::F32 : DType::Bool;
  Tensor t = empty_tensor(d, {});
  if (v.is_int())
    store_int(d, t.bytes_mut(), v.as_int());
  else
    store_double(d, t.bytes_mut(), v.is_float() ? v.as_float() : v.as_bool());
  return t;
}

}  // namespace

bool is_npy(std::string_view bytes) { return bytes.starts_with(kMagic); }

Value parse_npy(std::string_view bytes, const Ref<Buffer>& whole) {
  ByteReader in(bytes);
  if (in.take(kMagic.size()) != kMagic) fail("not an .npy file");
  auto version = in.number<uint8_t>();
  in.number<uint8_t>();
  if (version < 1 || version > 3) fail("unsupported version " + std::to_string(version));
  uint32_t header_bytes = version == 1 ? in.number<uint16_t>() : in.number<uint32_t>();
  Header header = HeaderParser(in.take(header_bytes)).parse();
  return Value::tensor(tensor_from_raw(header.type, header.sizes, in.take(in.left()), header.fortran, whole));
}

Value parse_npz(std::string_view bytes) { return parse_npz(read_zip(bytes)); }

Value parse_npz(const std::vector<ZipEntry>& archive, const Ref<Buffer>& whole) {
  std::vector<DictEntry> entries;
  for (const ZipEntry& e : archive) {
    std::string_view name = e.name;
    if (!is_npy(e.data)) throw runtime_error(fmt::format("npz: entry '{}' is not an array of NumPy", name));
    if (name.ends_with(".npy")) name.remove_suffix(4);
    entries.push_back({Name(name), parse_npy(e.data, e.inflated ? Ref<Buffer>() : whole)});
  }
  return make_dict(std::move(entries));
}

std::string write_npy(const Tensor& t0) {
  Tensor t = contiguous(t0);
  std::string shape;
  for (int64_t d : t.sizes)
    shape += (shape.empty() ? "" : ", ") + std::to_string(d);
  if (t.rank() == 1) shape += ',';
  std::string header =
      "{'descr': '" + numpy_type_text(t.dtype) + "', 'fortran_order': False, 'shape': (" + shape + "), }";
  // The data start at a multiple of 64; magic, version and length take 10 bytes.
  header.append(63 - (10 + header.size()) % 64, ' ');
  header += '\n';
  auto length = static_cast<uint16_t>(header.size());  // 32 axes of 20 digits stay far below 65,536
  std::string out(kMagic);
  out += std::string_view("\1\0", 2);
  out.append(reinterpret_cast<const char*>(&length), sizeof length);
  out += header;
  out += raw_bytes(t);
  return out;
}

std::string write_npz(const Value& v) {
  auto refuse = [](const Value& x) {
    throw runtime_error("npz: cannot serialize " + std::string(type_name(x)) + " (only a dict of tensors and numbers)");
  };
  if (!v.is_dict()) refuse(v);
  std::vector<std::string> texts;  // alternating names and arrays
  for (const DictEntry& e : v.as_dict().entries()) {
    if (!e.value.is_tensor() && !e.value.is_number() && !e.value.is_bool()) refuse(e.value);
    texts.push_back(e.key.str() + ".npy");
    texts.push_back(write_npy(e.value.is_tensor() ? e.value.as_tensor() : scalar_tensor(e.value)));
  }
  std::vector<ZipEntry> entries;
  for (size_t i = 0; i < texts.size(); i += 2)
    entries.push_back({texts[i], texts[i + 1], 0, nullptr});
  return write_zip(entries);
}

}  // namespace sheaf::formats
