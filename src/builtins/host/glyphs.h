// A small bitmap font for text in pictures: printable ASCII, and a box for all other characters.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

namespace sheaf::builtins {

// Columns from left to right; bit r of a column is the dot in row r from the top.
struct Glyph {
  std::vector<uint8_t> columns;
  bool has(int column, int row) const {
    return column >= 0 && column < static_cast<int>(columns.size()) && row >= 0 && columns[column] >> row & 1;
  }
};
inline constexpr int kGlyphRows = 8;
inline constexpr int kBaseRow = 6;      // the lowest row of letters without a descender
inline constexpr double kGlyphGap = 2;  // columns between two letters, from dot to dot

// One glyph for each character of the UTF-8 text.
std::vector<Glyph> glyphs_of(std::string_view text);

}  // namespace sheaf::builtins
