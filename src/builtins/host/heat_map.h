// A matrix drawn as colors. Pure functions.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "builtins/host/plot_drawing.h"

namespace sheaf::builtins {

struct Grid {
  size_t rows = 0, columns = 0;
  std::vector<double> values;  // in row-major order, the first row on top; values that are not finite have no colour
  double at(size_t row, size_t column) const { return values[row * columns + column]; }
};

// In very large matrices a cell is the average of several elements.
Drawing heat_map_drawing(const Grid& grid, const PlotOptions& o);
std::string heat_map_text(const Grid& grid, const PlotOptions& o);

}  // namespace sheaf::builtins
