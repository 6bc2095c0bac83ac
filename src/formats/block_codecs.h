// Blocks of bytes as Parquet packs its pages: Snappy and LZ4, decoded here; gzip and zstd by their libraries.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace sheaf::formats {

// Exactly `size` bytes, or a UserError. Nothing is made that the packed bytes cannot hold.
std::string unpack_snappy(std::string_view packed, uint64_t size);
std::string unpack_lz4(std::string_view packed, uint64_t size);  // a block without a frame
std::string unpack_gzip(std::string_view packed, uint64_t size);
std::string unpack_zstd(std::string_view packed, uint64_t size);

}  // namespace sheaf::formats
