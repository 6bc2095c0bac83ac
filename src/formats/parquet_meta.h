// What a Parquet file says about itself at its end: columns, and where their parts are.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "formats/thrift.h"

namespace sheaf::formats::parquet {

// How values are stored.
enum class Physical : uint8_t { Boolean, Int32, Int64, Int96, Float, Double, Bytes, FixedBytes };
// What they mean.
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
  std::string name;  // of the leaf; with what it is in where it is nested
  Physical physical = Physical::Int32;
  size_t width = 0;  // bytes of FixedBytes
  Logical logical = Logical::Plain;
  int bits = 0;  // of an Integer
  bool is_signed = true;
  int scale = 0;             // decimal places of a Decimal
  int64_t units = 1;         // of a Time or Timestamp in a second
  bool is_optional = false;  // values may be missing
  bool is_nested = false;    // in a group, or repeated: not read here
};

struct Chunk {
  Physical physical;
  int codec;
  uint64_t num_values, start, size;  // in the file
};

struct RowGroup {
  uint64_t num_rows;
  std::vector<Chunk> chunks;  // of each column
};

struct File {
  std::vector<Column> columns;
  std::vector<RowGroup> groups;
  uint64_t num_rows;
};

// Throws UserError for what is no Parquet file, or a damaged one.
File read_meta(std::string_view bytes);

struct Page {
  enum class Kind : uint8_t { Data, Index, Dictionary, DataV2 } kind;
  uint64_t unpacked_size, packed_size;
  std::optional<uint32_t> checksum;
  uint64_t num_values = 0;
  int encoding = 0, level_encoding = 3;
  // Of DataV2: bytes of levels, which are not packed.
  uint64_t level_bytes = 0, repetition_bytes = 0;
  bool is_packed = true;
  size_t head_bytes;  // the page follows
};

Page read_page_head(std::string_view bytes);

}  // namespace sheaf::formats::parquet
