// 1. Read the metadata of the file.
// 2. For each column: read its chunks, page by page, into the present values and presence marks for the rows.
// 3. Convert the values to their logical types.
#include "formats/parquet.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

#include "formats/block_codecs.h"
#include "formats/inflate.h"
#include "formats/parquet_meta.h"
#include "formats/parquet_values.h"
#include "value/dict.h"

namespace sheaf::formats {
namespace parquet {
namespace {

enum Encoding {
  kPlain = 0,
  kPlainDictionary = 2,
  kRuns = 3,
  kDeltas = 5,
  kLengths = 6,
  kPrefixes = 7,
  kDictionary = 8,
  kSplit = 9
};

size_t width_of(const Column& c) {
  switch (c.physical) {
    case Physical::Boolean: return 1;
    case Physical::Int32:
    case Physical::Float: return 4;
    case Physical::Int64:
    case Physical::Double: return 8;
    case Physical::Int96: return 12;
    case Physical::FixedBytes: return c.width;
    case Physical::Bytes: return 0;
  }
  return 0;
}

// The present values of a column. Byte strings of a text column become values once per dictionary entry; those of other
// columns (decimals) stay bytes.
struct Values {
  explicit Values(const Column& c) : fixed(width_of(c)), has_bytes(c.physical == Physical::Bytes) {}
  FixedValues fixed;
  bool has_bytes;
  std::vector<Value> texts;

  size_t size() const { return has_bytes ? texts.size() : fixed.size(); }
  void add(std::string_view bytes) { texts.push_back(Value::string(std::string(bytes))); }
};

std::string unpack(int codec, std::string_view packed, uint64_t size) {
  switch (codec) {
    case 1: return unpack_snappy(packed, size);
    case 2: return unpack_gzip(packed, size);
    case 6: return unpack_zstd(packed, size);
    case 7: return unpack_lz4(packed, size);
    default: {
      constexpr std::string_view kNames[] = {"", "", "", "LZO", "Brotli", "the old LZ4"};
      throw runtime_error(fmt::format("pages packed by {} are not supported", codec >= 3 && codec <= 5
                                                                                  ? std::string(kNames[codec])
                                                                                  : fmt::format("codec {}", codec)))
          .hint("write the file with snappy, zstd or gzip");
    }
  }
}

class ColumnReader {
 public:
  ColumnReader(std::string_view file, const Column& column) : file_(file), column_(column), values_(column) {}

  void read(const Chunk& chunk) {
    Values dictionary(column_);
    std::string_view rest = file_.substr(chunk.start, chunk.size);
    uint64_t left = chunk.num_values;
    while (left > 0) {
      if (rest.empty()) throw runtime_error(fmt::format("{} values are not there", left));
      Page page = read_page_head(rest);
      rest.remove_prefix(page.head_bytes);
      if (page.packed_size > rest.size()) throw runtime_error("a page ends after its part of the file");
      std::string_view packed = rest.substr(0, page.packed_size);
      rest.remove_prefix(page.packed_size);
      if (page.checksum && *page.checksum != crc32_of(packed)) throw runtime_error("a page is damaged");
      if (page.kind == Page::Kind::Index) continue;
      if (page.kind == Page::Kind::Dictionary) {
        std::string unpacked;
        ByteReader in(body(chunk, page, packed, page.unpacked_size, unpacked));
        dictionary = Values(column_);
        append(dictionary, in, kPlain, page.num_values, dictionary);
        continue;
      }
      if (page.num_values == 0 || page.num_values > left)
        throw runtime_error(fmt::format("a page of {} values where {} are left", page.num_values, left));
      read_data(chunk, page, packed, dictionary);
      left -= page.num_values;
    }
  }

  const Values& values() const { return values_; }
  // A presence mark per row; empty: all are present.
  const std::vector<bool>& present() const { return present_; }

 private:
  // The uncompressed bytes of a page or of a part of it; `unpacked` owns them if necessary.
  static std::string_view body(const Chunk& chunk, const Page& page, std::string_view packed, uint64_t size,
                               std::string& unpacked) {
    if (chunk.codec == 0 || !page.is_packed) return packed;
    if (size == 0) return {};
    return unpacked = unpack(chunk.codec, packed, size);
  }

  void read_data(const Chunk& chunk, const Page& page, std::string_view packed, const Values& dictionary) {
    std::string unpacked;
    std::string_view bytes, levels;
    if (page.kind == Page::Kind::DataV2) {
      uint64_t before = page.level_bytes + page.repetition_bytes;
      if (page.level_bytes > packed.size() || page.repetition_bytes > packed.size() || before > packed.size() ||
          before > page.unpacked_size)
        throw runtime_error("the levels of a page are longer than the page");
      levels = packed.substr(page.repetition_bytes, page.level_bytes);
      bytes = body(chunk, page, packed.substr(before), page.unpacked_size - before, unpacked);
    } else {
      bytes = body(chunk, page, packed, page.unpacked_size, unpacked);
      if (column_.is_optional) {
        if (page.level_encoding != kRuns) throw runtime_error("levels in the old encoding are not supported");
        ByteReader in(bytes);
        levels = in.take(in.number<uint32_t>());
        bytes.remove_prefix(in.position());
      }
    }
    uint64_t count = page.num_values;
    size_t rows = rows_;
    rows_ += count;
    if (column_.is_optional) {
      std::vector<uint32_t> marks = decode_runs(levels, 1, count);
      auto there = static_cast<uint64_t>(std::count_if(marks.begin(), marks.end(), [](uint32_t m) { return m != 0; }));
      if (there < count && present_.empty()) present_.assign(rows, true);
      if (there < count || !present_.empty())
        for (uint32_t m : marks)
          present_.push_back(m != 0);
      count = there;
    }
    ByteReader in(bytes);
    append(values_, in, page.encoding, count, dictionary);
  }

  void append(Values& out, ByteReader& in, int encoding, uint64_t count, const Values& dictionary) {
    if (count == 0) return;
    size_t before = out.size();
    if (encoding == kDictionary || encoding == kPlainDictionary) {
      int width = in.number<uint8_t>();
      std::vector<uint32_t> places = decode_runs(in.take(in.left()), width, count);
      if (!out.has_bytes) return out.fixed.append_from(dictionary.fixed, places);
      for (uint32_t p : places) {
        if (p >= dictionary.texts.size())
          throw runtime_error(fmt::format("value {} of a dictionary of {}", p, dictionary.texts.size()));
        out.texts.push_back(dictionary.texts[p]);
      }
      return;
    }
    bool is_bool = column_.physical == Physical::Boolean, is_fixed_bytes = column_.physical == Physical::FixedBytes;
    bool is_int = column_.physical == Physical::Int32 || column_.physical == Physical::Int64;
    auto add_text = [&](std::string_view s) { out.add(s); };
    auto add_fixed = [&](std::string_view s) {
      if (s.size() != column_.width)
        throw runtime_error(fmt::format("a value of {} bytes of {}", s.size(), column_.width));
      out.fixed.append(s);
    };
    if (encoding == kPlain && out.has_bytes)
      for_each_plain(in, count, add_text);
    else if (encoding == kPlain && is_bool)
      out.fixed.append_bits(in, count);
    else if (encoding == kPlain)
      out.fixed.append_plain(in, count);
    else if (encoding == kRuns && is_bool)
      out.fixed.append_runs(in, count);
    else if (encoding == kDeltas && is_int)
      out.fixed.append_deltas(in, count);
    else if (encoding == kLengths && out.has_bytes)
      for_each_with_lengths(in, count, add_text);
    else if (encoding == kPrefixes && out.has_bytes)
      for_each_with_prefixes(in, count, add_text);
    else if (encoding == kPrefixes && is_fixed_bytes)
      for_each_with_prefixes(in, count, add_fixed);
    else if (encoding == kSplit && !out.has_bytes && !is_bool)
      out.fixed.append_split(in, count);
    else
      throw runtime_error(fmt::format("values in encoding {} are not supported", encoding));
    if (out.size() - before != count && width_of(column_) > 0)
      throw runtime_error(fmt::format("{} values of {}", out.size() - before, count));
  }

  std::string_view file_;
  const Column& column_;
  Values values_;
  std::vector<bool> present_;
  size_t rows_ = 0;
};

// A decimal number: a big-endian integer and the number of decimal places. Converts through text, to get the nearest
// f64.
double decimal_of(std::string_view big_endian, int scale) {
  if (big_endian.size() > 32) throw runtime_error(fmt::format("a decimal number of {} bytes", big_endian.size()));
  std::string bytes(big_endian);
  bool negative = !bytes.empty() && static_cast<signed char>(bytes[0]) < 0;
  if (negative) {
    // Two's complement.
    int carry = 1;
    for (size_t i = bytes.size(); i-- > 0;) {
      int b = (~bytes[i] & 0xFF) + carry;
      bytes[i] = static_cast<char>(b);
      carry = b >> 8;
    }
  }
  std::string digits;  // least significant first
  while (std::any_of(bytes.begin(), bytes.end(), [](char b) { return b != 0; })) {
    int rest = 0;
    for (char& b : bytes) {
      int v = rest * 256 + static_cast<uint8_t>(b);
      b = static_cast<char>(v / 10);
      rest = v % 10;
    }
    digits += static_cast<char>('0' + rest);
  }
  if (digits.empty()) return 0;
  std::reverse(digits.begin(), digits.end());
  std::string text = (negative ? "-" : "") + digits + "e" + std::to_string(-scale);
  double v = 0;
  std::from_chars(text.data(), text.data() + text.size(), v);
  return v;
}

template <class T>
T number_at(const FixedValues& v, size_t i) {
  T x;
  std::memcpy(&x, v.at(i), sizeof x);
  return x;
}

class ColumnValue {
 public:
  ColumnValue(const Column& column, const ColumnReader& reader, uint64_t rows)
      : column_(column), values_(reader.values()), present_(reader.present()), rows_(static_cast<int64_t>(rows)) {}

  Value make() const {
    const FixedValues& v = values_.fixed;
    switch (column_.logical) {
      case Logical::Decimal: return floats(DType::F64, [&](size_t i) { return decimal(i); });
      case Logical::Date:
        expect(Physical::Int32);
        return seconds([&](size_t i) { return std::pair(int64_t{86400} * number_at<int32_t>(v, i), int64_t{0}); }, 1);
      case Logical::Time:
      case Logical::Timestamp: return times();
      case Logical::Float16: {
        expect_width(2);
        return floats(DType::F16, [&](size_t i) { return double{f16_to_f32(number_at<uint16_t>(v, i))}; });
      }
      case Logical::Uuid: expect_width(16); return list([&](size_t i) { return Value::string(uuid(i)); });
      case Logical::Integer: return integers(column_.bits, column_.is_signed);
      case Logical::Nothing: return list([](size_t) { return Value(); });
      case Logical::Unsupported: throw runtime_error("values of this kind are not supported");
      case Logical::Plain:
      case Logical::Text: break;
    }
    switch (column_.physical) {
      case Physical::Boolean:
        if (present_.empty()) return tensor<uint8_t>(DType::Bool, [&](size_t i) { return v.at(i)[0]; });
        return list([&](size_t i) { return Value::boolean(v.at(i)[0] != 0); });
      case Physical::Int32: return integers(32, true);
      case Physical::Int64: return integers(64, true);
      case Physical::Int96:  // nanoseconds of the day and the day number, the timestamps of old programs
        return seconds(
            [&](size_t i) {
              int64_t nanoseconds = number_at<int64_t>(v, i);
              uint32_t day;
              std::memcpy(&day, v.at(i) + 8, sizeof day);
              constexpr int64_t kDayOf1970 = 2440588, kSecond = 1'000'000'000;
              int64_t whole = (int64_t{day} - kDayOf1970) * 86400 + nanoseconds / kSecond;
              return std::pair(whole, nanoseconds % kSecond);
            },
            1'000'000'000);
      case Physical::Float: return floats(DType::F32, [&](size_t i) { return double{number_at<float>(v, i)}; });
      case Physical::Double: return floats(DType::F64, [&](size_t i) { return number_at<double>(v, i); });
      case Physical::Bytes: return list([&](size_t i) { return values_.texts[i]; });
      case Physical::FixedBytes: return list([&](size_t i) { return Value::string(std::string(v.at(i), v.width())); });
    }
    return {};
  }

 private:
  void expect(Physical p) const {
    if (column_.physical != p) throw runtime_error("what is said of its values does not fit their type");
  }
  void expect_width(size_t width) const {
    expect(Physical::FixedBytes);
    if (column_.width != width) throw runtime_error("what is said of its values does not fit their width");
  }
  // Calls at(row, index among the present values) or missing(row).
  template <class F, class G>
  void each(F&& at, G&& missing) const {
    size_t place = 0;
    for (int64_t row = 0; row < rows_; ++row) {
      if (present_.empty() || present_[static_cast<size_t>(row)])
        at(row, place++);
      else
        missing(row);
    }
  }
  template <class T, class F>
  Value tensor(DType dtype, F&& f) const {
    std::vector<T> elements(static_cast<size_t>(rows_));
    each([&](int64_t row, size_t i) { elements[static_cast<size_t>(row)] = static_cast<T>(f(i)); }, [](int64_t) {});
    return Value::tensor(tensor_of(dtype, {rows_}, elements.data()));
  }
  template <class F>
  Value floats(DType dtype, F&& f) const {
    Tensor t = empty_tensor(dtype, {rows_});
    std::byte* to = t.bytes_mut();
    auto store = [&](int64_t row, double v) { store_double(dtype, to + row * size_bytes(dtype), v); };
    each([&](int64_t row, size_t i) { store(row, f(i)); }, [&](int64_t row) { store(row, NAN); });
    return Value::tensor(std::move(t));
  }
  template <class F>
  Value list(F&& f) const {
    std::vector<Value> items;
    each([&](int64_t, size_t i) { items.push_back(f(i)); }, [&](int64_t) { items.emplace_back(); });
    return Value::list(std::move(items));
  }

  Value integers(int bits, bool is_signed) const {
    const FixedValues& v = values_.fixed;
    expect(bits == 64 ? Physical::Int64 : Physical::Int32);
    auto value = [&](size_t i) -> int64_t {
      if (bits == 64) return number_at<int64_t>(v, i);
      return is_signed ? number_at<int32_t>(v, i) : int64_t{number_at<uint32_t>(v, i)};
    };
    auto is_wide = [&] {  // beyond i64
      for (size_t i = 0; i < v.size(); ++i)
        if (number_at<int64_t>(v, i) < 0) return true;
      return false;
    };
    if (bits == 64 && !is_signed && (!present_.empty() || is_wide()))
      return floats(DType::F64, [&](size_t i) { return static_cast<double>(number_at<uint64_t>(v, i)); });
    if (!present_.empty())
      return floats(bits <= 16 ? DType::F32 : DType::F64, [&](size_t i) { return static_cast<double>(value(i)); });
    switch (bits) {
      case 8: return is_signed ? tensor<int8_t>(DType::I8, value) : tensor<uint8_t>(DType::U8, value);
      case 16: return is_signed ? tensor<int16_t>(DType::I16, value) : tensor<uint16_t>(DType::U16, value);
      case 32: return is_signed ? tensor<int32_t>(DType::I32, value) : tensor<uint32_t>(DType::U32, value);
      case 64: return tensor<int64_t>(DType::I64, value);
      default: throw runtime_error(fmt::format("integers of {} bits", bits));
    }
  }

  // Seconds from integers and a unit: i64 if nothing has fractions or is missing.
  template <class F>
  Value seconds(F&& f, int64_t units) const {
    bool whole = present_.empty();
    for (size_t i = 0; i < values_.fixed.size() && whole; ++i)
      whole = f(i).second == 0;
    if (whole) return tensor<int64_t>(DType::I64, [&](size_t i) { return f(i).first; });
    return floats(DType::F64, [&](size_t i) {
      auto [full, part] = f(i);
      return static_cast<double>(full) + static_cast<double>(part) / static_cast<double>(units);
    });
  }
  Value times() const {
    const FixedValues& v = values_.fixed;
    bool narrow = column_.logical == Logical::Time && column_.physical == Physical::Int32;
    if (!narrow) expect(Physical::Int64);
    int64_t units = column_.units;
    if (units <= 0) throw runtime_error("times of an unknown unit");
    return seconds(
        [&, units, narrow](size_t i) {
          int64_t t = narrow ? number_at<int32_t>(v, i) : number_at<int64_t>(v, i);
          int64_t full = t / units - (t % units < 0);
          return std::pair(full, t - full * units);
        },
        units);
  }
  double decimal(size_t i) const {
    if (values_.has_bytes) return decimal_of(values_.texts[i].as_string(), column_.scale);
    std::string bytes(values_.fixed.at(i), values_.fixed.width());
    if (column_.physical == Physical::Int32 || column_.physical == Physical::Int64)
      std::reverse(bytes.begin(), bytes.end());
    else
      expect(Physical::FixedBytes);
    return decimal_of(bytes, column_.scale);
  }
  std::string uuid(size_t i) const {
    std::string out;
    for (size_t b = 0; b < 16; ++b)
      out += fmt::format("{}{:02x}", b == 4 || b == 6 || b == 8 || b == 10 ? "-" : "",
                         static_cast<uint8_t>(values_.fixed.at(i)[b]));
    return out;
  }

  const Column& column_;
  const Values& values_;
  const std::vector<bool>& present_;
  int64_t rows_;
};

std::string names_of(const File& file) {
  std::string all;
  for (size_t i = 0; i < file.columns.size() && i < 20; ++i)
    all += (i > 0 ? " " : "") + file.columns[i].name;
  return all + (file.columns.size() > 20 ? " …" : "");
}

Value read_table(std::string_view bytes, const std::vector<std::string>& only) {
  File file = read_meta(bytes);
  for (const std::string& name : only)
    if (std::none_of(file.columns.begin(), file.columns.end(), [&](const Column& c) { return c.name == name; }))
      throw runtime_error(fmt::format("there is no column '{}'", name)).hint("the columns are " + names_of(file));
  std::vector<DictEntry> out;
  for (size_t c = 0; c < file.columns.size(); ++c) {
    const Column& column = file.columns[c];
    if (!only.empty() && std::find(only.begin(), only.end(), column.name) == only.end()) continue;
    if (column.is_nested)
      throw runtime_error(fmt::format("column '{}' is nested: only flat columns are read", column.name))
          .hint(":columns '[\"…\"] after the path names those that are to be read; the columns are " + names_of(file));
    for (const DictEntry& e : out)
      if (e.key.str() == column.name) throw runtime_error(fmt::format("two columns are named '{}'", column.name));
    try {
      ColumnReader reader(bytes, column);
      for (const RowGroup& group : file.groups)
        reader.read(group.chunks[c]);
      out.push_back({Name(column.name), ColumnValue(column, reader, file.num_rows).make()});
    } catch (UserError& e) {
      e.message = fmt::format("column '{}': {}", column.name, e.message);
      throw;
    }
  }
  return make_dict(std::move(out));
}

}  // namespace
}  // namespace parquet

bool is_parquet(std::string_view bytes) { return bytes.starts_with("PAR1") || bytes.starts_with("PARE"); }

Value parse_parquet(std::string_view bytes, const std::vector<std::string>& only) {
  try {
    return parquet::read_table(bytes, only);
  } catch (UserError& e) {
    e.message = "parquet: " + e.message;
    throw;
  }
}

}  // namespace sheaf::formats
