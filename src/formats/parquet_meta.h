// The metadata at the end of a Parquet file: columns, and where their chunks are.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "formats/thrift.h"

namespace sheaf::formats::parquet {

// The storage type of values.
enum class Physical : uint8_t { Boolean, Int32, Int64, Int96, Float, Double, Bytes, FixedBytes };
// The meaning of values.
enum class Logical : uint8_t {
  Plain,
  Text,
  Integer,
  Decimal,
  Date,
  Time,
  Timestamp,
  Float16,
  Uuid,
  Nothing,
  Unsupported
};

struct Column {
  std::string name;  // of the leaf; prefixed with its parents if nested
  Physical physical = Physical::Int32;
  size_t width = 0;  // bytes of FixedBytes
  Logical logical = Logical::Plain;
  int bits = 0;  // of an Integer
  bool is_signed = true;
  int scale = 0;             // decimal places of a Decimal
  int64_t units = 1;         // units per second of a Time or Timestamp
  bool is_optional = false;  // values may be missing
  bool is_nested = false;    // in a group, or repeated: not supported here
};

struct Chunk {
  Physical physical;
  int codec;
  uint64_t num_values, start, size;  // in the file
};

struct RowGroup {
  uint64_t num_rows;
  std::vector<Chunk> chunks;  // one per column
};

struct File {
  std::vector<Column> columns;
  std::vector<RowGroup> groups;
  uint64_t num_rows;
};

// Throws UserError for a file that is not Parquet, or damaged.
File read_meta(std::string_view bytes);

struct Page {
  enum class Kind : uint8_t { Data, Index, Dictionary, DataV2 } kind;
  uint64_t unpacked_size, packed_size;
  std::optional<uint32_t> checksum;
  uint64_t num_values = 0;
  int encoding = 0, level_encoding = 3;
  // Of DataV2: bytes of levels, which are stored uncompressed.
  uint64_t level_bytes = 0, repetition_bytes = 0;
  bool is_packed = true;
  size_t head_bytes;  // the page's data follow
};

Page read_page_head(std::string_view bytes);

}  // namespace sheaf::formats::parquet
