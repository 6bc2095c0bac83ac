// The block compression of Parquet's pages: Snappy and LZ4, implemented here; gzip and zstd use their libraries.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace sheaf::formats {

// Returns exactly `size` bytes, or throws UserError. Allocates no more than the packed bytes can expand to.
std::string unpack_snappy(std::string_view packed, uint64_t size);
std::string unpack_lz4(std::string_view packed, uint64_t size);  // a block without a frame
std::string unpack_gzip(std::string_view packed, uint64_t size);
std::string unpack_zstd(std::string_view packed, uint64_t size);

}  // namespace sheaf::formats
