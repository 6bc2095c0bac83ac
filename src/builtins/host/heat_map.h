// A matrix as colours. Pure functions.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "builtins/host/plot_drawing.h"

namespace sheaf::builtins {

struct Grid {
  size_t rows = 0, columns = 0;
  std::vector<double> values;  // row by row, the first row at the top; what is not finite has no colour
  double at(size_t row, size_t column) const { return values[row * columns + column]; }
};

// Cells of very large matrices are averages.
Drawing heat_map_drawing(const Grid& grid, const PlotOptions& o);
std::string heat_map_text(const Grid& grid, const PlotOptions& o);

}  // namespace sheaf::builtins
