// Curves as text for a terminal and as SVG. Pure functions.
#pragma once
#include <string>
#include <vector>

namespace sheaf::builtins {

struct Curve {
  std::string name;
  std::vector<double> x, y;  // of one length; points that are not finite are gaps
};

struct PlotOptions {
  std::string title, x_label, y_label;
  int width = 80, height = 16;  // characters of the whole drawing, rows of the canvas
  bool log_y = false;
  bool colour = false;  // ANSI colours tell curves apart; without them letters do
};

std::string plot_text(const std::vector<Curve>& curves, const PlotOptions& o);
std::string plot_svg(const std::vector<Curve>& curves, const PlotOptions& o);

}  // namespace sheaf::builtins
