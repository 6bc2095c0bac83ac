// A plot as boxes, lines and labels with coordinates, shared by SVG and PNG. Pure functions.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "builtins/host/plot_frame.h"
#include "builtins/host/point.h"

namespace sheaf::builtins {

inline constexpr uint32_t kPaper = 0xffffff, kInk = 0x333333;

struct Line {
  std::vector<std::vector<Point>> runs;  // sequences of connected points; a single point is a dot
  uint32_t colour;                       // 0xRRGGBB
  double width = 1;
  double dash = 0, gap = 0;  // 0: solid
  bool round = false;        // ends and corners
};

struct Box {
  Point at;  // upper left corner
  double width, height;
  uint32_t colour;
};

struct Label {
  enum class Anchor : uint8_t { Start, Middle, End };
  Point at;  // on the baseline
  std::string text;
  Anchor anchor = Anchor::Middle;
  double size = 13;
  bool bold = false;
  bool upward = false;  // rotated by 90 degrees, to be read upward
  uint32_t colour = kInk;
};

struct Drawing {
  int width = 720, height = 432;
  // Later ones are drawn over earlier ones.
  std::vector<Line> grid;
  std::vector<Box> boxes;
  std::vector<Line> lines;
  std::vector<Label> labels;
};

// About `count` round values along an axis: multiples of 1, 2 or 5 times a power of ten, or powers of ten.
std::vector<double> ticks(const Axis& axis, int count);
// Adds the axis names of the options to a frame between two corners.
void add_axis_labels(Drawing& d, const PlotOptions& o, Point top_left, Point bottom_right);

// Combines drawings in rows of `columns`, under a title.
Drawing drawing_of_all(const std::vector<Drawing>& drawings, int columns, const std::string& title);

Drawing plot_drawing(const std::vector<Curve>& curves, const PlotOptions& o);

std::string svg_of(const Drawing& d);
// A PNG with `scale` pixels per unit of the drawing.
std::string png_of(const Drawing& d, double scale = 2);

}  // namespace sheaf::builtins
