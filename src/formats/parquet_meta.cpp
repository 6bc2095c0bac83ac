#include "formats/parquet_meta.h"

#include <fmt/format.h>

namespace sheaf::formats::parquet {
namespace {

constexpr std::string_view kMagic = "PAR1", kEncrypted = "PARE";

using Type = ThriftReader::Type;

// Reads a field of a struct if it has the expected type.
bool take(ThriftReader& in, Type type, int64_t& to) {
  if (type != Type::I16 && type != Type::I32 && type != Type::I64) return false;
  to = in.integer();
  return true;
}

uint64_t size_of(int64_t n, std::string_view what) {
  if (n < 0) throw runtime_error(fmt::format("{} is {}", what, n));
  return static_cast<uint64_t>(n);
}

struct Element {
  std::string name;
  int64_t physical = -1, width = 0, repetition = 0, children = 0, converted = -1, scale = 0;
  std::optional<Column> logical;  // from the newer description; other fields unset
};

int64_t units_of_seconds(ThriftReader& in) {
  int64_t units = 0;
  in.structure([&](int id, Type) {
    units = id == 1 ? 1000 : id == 2 ? 1'000'000 : 1'000'000'000;
    return false;
  });
  return units;
}

Column read_logical(ThriftReader& in) {
  Column c;
  c.logical = Logical::Unsupported;
  in.structure([&](int id, Type type) {
    auto is = [&](Logical l) {
      c.logical = l;
      return false;
    };
    switch (id) {
      case 1:
      case 4:
      case 12: return is(Logical::Text);
      case 5:
        c.logical = Logical::Decimal;
        if (type != Type::Struct) return false;
        in.structure([&](int field, Type t) {
          int64_t v = 0;
          if (field != 1 || !take(in, t, v)) return false;
          c.scale = static_cast<int>(v);
          return true;
        });
        return true;
      case 6: return is(Logical::Date);
      case 7:
      case 8:
        c.logical = id == 7 ? Logical::Time : Logical::Timestamp;
        if (type != Type::Struct) return false;
        in.structure([&](int field, Type t) {
          if (field != 2 || t != Type::Struct) return false;
          c.units = units_of_seconds(in);
          return true;
        });
        return true;
      case 10:
        c.logical = Logical::Integer;
        if (type != Type::Struct) return false;
        in.structure([&](int field, Type t) {
          if (field == 2) c.is_signed = t == Type::True;
          if (field != 1 || t != Type::Byte) return false;
          c.bits = in.byte();
          return true;
        });
        return true;
      case 11: return is(Logical::Nothing);
      case 14: return is(Logical::Uuid);
      case 15: return is(Logical::Float16);
      default: return false;
    }
  });
  return c;
}

Element read_element(ThriftReader& in) {
  Element e;
  in.structure([&](int id, Type type) {
    switch (id) {
      case 1: return take(in, type, e.physical);
      case 2: return take(in, type, e.width);
      case 3: return take(in, type, e.repetition);
      case 4:
        if (type != Type::Binary) return false;
        e.name = in.binary();
        return true;
      case 5: return take(in, type, e.children);
      case 6: return take(in, type, e.converted);
      case 7: return take(in, type, e.scale);
      case 10:
        if (type != Type::Struct) return false;
        e.logical = read_logical(in);
        return true;
      default: return false;
    }
  });
  return e;
}

// The meaning according to the older description.
void set_converted(Column& c, const Element& e) {
  auto integer = [&](int bits, bool is_signed) {
    c.logical = Logical::Integer;
    c.bits = bits;
    c.is_signed = is_signed;
  };
  auto time = [&](Logical l, int64_t units) {
    c.logical = l;
    c.units = units;
  };
  switch (e.converted) {
    case -1: return;
    case 0:
    case 4:
    case 19: c.logical = Logical::Text; return;
    case 5:
      c.logical = Logical::Decimal;
      c.scale = static_cast<int>(e.scale);
      return;
    case 6: c.logical = Logical::Date; return;
    case 7: return time(Logical::Time, 1000);
    case 8: return time(Logical::Time, 1'000'000);
    case 9: return time(Logical::Timestamp, 1000);
    case 10: return time(Logical::Timestamp, 1'000'000);
    case 11: return integer(8, false);
    case 12: return integer(16, false);
    case 13: return integer(32, false);
    case 14: return integer(64, false);
    case 15: return integer(8, true);
    case 16: return integer(16, true);
    case 17: return integer(32, true);
    case 18: return integer(64, true);
    default: c.logical = Logical::Unsupported;
  }
}

Column column_of(const Element& e, const std::string& group, bool is_nested) {
  if (e.physical < 0 || e.physical > 7) throw runtime_error(fmt::format("column '{}' has no type", e.name));
  Column c = e.logical.value_or(Column{});
  if (!e.logical) set_converted(c, e);
  c.name = group + e.name;
  c.physical = static_cast<Physical>(e.physical);
  c.width = c.physical == Physical::FixedBytes ? size_of(e.width, "the width of a column") : 0;
  c.is_optional = e.repetition == 1;
  c.is_nested = is_nested || e.repetition == 2;
  return c;
}

// Collects the leaves of the tree of elements, which are listed parents first.
void add_columns(const std::vector<Element>& elements, size_t& at, const std::string& group, int depth,
                 std::vector<Column>& out) {
  if (depth > 32) throw runtime_error("groups within groups, more than 32 deep");
  if (at >= elements.size()) throw runtime_error("the list of columns ends early");
  const Element& e = elements[at++];
  if (e.physical >= 0 && e.children == 0) return out.push_back(column_of(e, group, depth > 1));
  for (int64_t i = 0; i < e.children; ++i)
    add_columns(elements, at, depth == 0 ? "" : group + e.name + ".", depth + 1, out);
}

Chunk read_chunk(ThriftReader& in) {
  int64_t physical = -1, codec = 0, num_values = 0, data = 0, dictionary = 0, size = 0;
  in.structure([&](int id, Type type) {
    if (id == 1 && type == Type::Binary) {
      if (!in.binary().empty()) throw runtime_error("columns in other files are not supported");
      return true;
    }
    if (id != 3 || type != Type::Struct) return false;
    in.structure([&](int field, Type t) {
      switch (field) {
        case 1: return take(in, t, physical);
        case 4: return take(in, t, codec);
        case 5: return take(in, t, num_values);
        case 7: return take(in, t, size);
        case 9: return take(in, t, data);
        case 11: return take(in, t, dictionary);
        default: return false;
      }
    });
    return true;
  });
  if (physical < 0 || physical > 7) throw runtime_error("a part of a column has no type, or is encrypted");
  // Old writers store 0 if there is no dictionary; others place it after the data.
  int64_t start = dictionary > 0 && dictionary < data ? dictionary : data;
  return {static_cast<Physical>(physical), static_cast<int>(codec), size_of(num_values, "a number of values"),
          size_of(start, "a place in the file"), size_of(size, "the size of a part")};
}

}  // namespace

File read_meta(std::string_view bytes) {
  if (bytes.ends_with(kEncrypted) && bytes.size() > 8) throw runtime_error("the file is encrypted");
  if (!bytes.starts_with(kMagic) || !bytes.ends_with(kMagic) || bytes.size() < 12)
    throw runtime_error("the file ends early: its last bytes should say where its description is");
  uint32_t length = ByteReader(bytes.substr(bytes.size() - 8, 4)).number<uint32_t>();
  if (length > bytes.size() - 12) throw runtime_error("the description is longer than the file");
  ThriftReader in(bytes.substr(bytes.size() - 8 - length, length));
  std::vector<Element> elements;
  File file{};
  int64_t rows = 0;
  in.structure([&](int id, Type type) {
    if (id == 2 && type == Type::List) {
      in.list(Type::Struct, [&] { elements.push_back(read_element(in)); });
    } else if (id == 3) {
      return take(in, type, rows);
    } else if (id == 4 && type == Type::List) {
      in.list(Type::Struct, [&] {
        RowGroup group{};
        int64_t group_rows = 0;
        in.structure([&](int field, Type t) {
          if (field == 3) return take(in, t, group_rows);
          if (field != 1 || t != Type::List) return false;
          in.list(Type::Struct, [&] { group.chunks.push_back(read_chunk(in)); });
          return true;
        });
        group.num_rows = size_of(group_rows, "a number of rows");
        file.groups.push_back(std::move(group));
      });
    } else {
      return false;
    }
    return true;
  });
  file.num_rows = size_of(rows, "the number of rows");
  size_t at = 0;
  add_columns(elements, at, "", 0, file.columns);
  uint64_t sum = 0;
  for (const RowGroup& g : file.groups) {
    if (g.chunks.size() != file.columns.size())
      throw runtime_error(fmt::format("a group of rows has {} columns of {}", g.chunks.size(), file.columns.size()));
    sum += g.num_rows;
    for (size_t c = 0; c < g.chunks.size(); ++c) {
      const Chunk& chunk = g.chunks[c];
      if (chunk.physical != file.columns[c].physical || (!file.columns[c].is_nested && chunk.num_values != g.num_rows))
        throw runtime_error(fmt::format("a part of column '{}' is not what the file says", file.columns[c].name));
      if (chunk.start > bytes.size() || chunk.size > bytes.size() - chunk.start)
        throw runtime_error(fmt::format("the file ends within column '{}'", file.columns[c].name));
    }
  }
  if (sum != file.num_rows)
    throw runtime_error(fmt::format("{} rows in its groups, {} in the file", sum, file.num_rows));
  return file;
}

Page read_page_head(std::string_view bytes) {
  ThriftReader in(bytes);
  int64_t kind = -1, unpacked = -1, packed = -1, checksum = 0, values = 0, encoding = 0, level_encoding = 3,
          definition = 0, repetition = 0;
  bool has_checksum = false, is_packed = true;
  in.structure([&](int id, Type type) {
    switch (id) {
      case 1: return take(in, type, kind);
      case 2: return take(in, type, unpacked);
      case 3: return take(in, type, packed);
      case 4: return has_checksum = take(in, type, checksum);
      case 5:
      case 7:
      case 8:
        if (type != Type::Struct) return false;
        in.structure([&](int field, Type t) {
          if (id == 8) {
            switch (field) {
              case 1: return take(in, t, values);
              case 4: return take(in, t, encoding);
              case 5: return take(in, t, definition);
              case 6: return take(in, t, repetition);
              case 7: is_packed = t != Type::False; return false;
              default: return false;
            }
          }
          return field == 1   ? take(in, t, values)
                 : field == 2 ? take(in, t, encoding)
                 : field == 3 ? take(in, t, level_encoding)
                              : false;
        });
        return true;
      default: return false;
    }
  });
  if (kind < 0 || kind > 3) throw runtime_error("a page of an unknown kind");
  Page p{};
  p.kind = static_cast<Page::Kind>(kind);
  p.unpacked_size = size_of(unpacked, "the size of a page");
  p.packed_size = size_of(packed, "the size of a page");
  if (has_checksum) p.checksum = static_cast<uint32_t>(checksum);
  p.num_values = size_of(values, "a number of values");
  p.encoding = static_cast<int>(encoding);
  p.level_encoding = static_cast<int>(level_encoding);
  p.level_bytes = size_of(definition, "a size of levels");
  p.repetition_bytes = size_of(repetition, "a size of levels");
  p.is_packed = is_packed;
  p.head_bytes = in.position();
  return p;
}

}  // namespace sheaf::formats::parquet
