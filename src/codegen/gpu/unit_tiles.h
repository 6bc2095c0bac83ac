// Tiles of 16-bit operands in memory of a block, from which matrix units are fed: lines of neighbouring elements.
// Pieces of 8 elements of a line are swapped by the number of the line, so that the 8 lines of a matrix of 8 by 8 meet
// different banks.
#pragma once
#include <initializer_list>
#include <string>

#include "codegen/gpu/helpers.h"

namespace sheaf::codegen::gpu {

// Elements of the largest piece, 16 bytes.
inline constexpr int kUnitPiece = 8;

struct UnitTile {
  int lines, length;        // the length is 32 or a multiple of 64
  int64_t line_step, step;  // strides in memory, from line to line and along one
  int unit;                 // elements that are copied at once, in the background; 1: by the thread itself
};
// `other`: strides that lead from tile to tile. `aligned`: the array begins at a multiple of 16 bytes.
UnitTile unit_tile(int lines, int length, int64_t line_step, int64_t step, std::initializer_list<int64_t> other,
                   bool aligned);

// The index in a tile of the piece of 8 elements number `piece` of a line.
std::string place(const UnitTile& t, const std::string& line, const std::string& piece);

// The name of a function f(tile, from, thread, first_line, lines, line_step, first, end, step), by which all threads of
// a block fill a tile. Zeros stand for what lies beyond `lines` and `end`.
std::string load_tile(const UnitTile& t, int threads, Helpers& helpers);

}  // namespace sheaf::codegen::gpu
