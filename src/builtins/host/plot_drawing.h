// A plot as boxes, lines and labels at places of a picture: what SVG and PNG have in common. Pure functions.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "builtins/host/plot_frame.h"
#include "builtins/host/point.h"

namespace sheaf::builtins {

inline constexpr uint32_t kPaper = 0xffffff, kInk = 0x333333;

struct Line {
  std::vector<std::vector<Point>> runs;  // of points that are joined; one point is a dot
  uint32_t colour;                       // 0xRRGGBB
  double width = 1;
  double dash = 0, gap = 0;  // 0: whole
  bool round = false;        // ends and corners
};

struct Box {
  Point at;  // its upper left corner
  double width, height;
  uint32_t colour;
};

struct Label {
  enum class Anchor : uint8_t { Start, Middle, End };
  Point at;  // on the base line
  std::string text;
  Anchor anchor = Anchor::Middle;
  double size = 13;
  bool bold = false;
  bool upward = false;  // read from below
  uint32_t colour = kInk;
};

struct Drawing {
  int width = 720, height = 432;
  // Later ones over earlier ones.
  std::vector<Line> grid;
  std::vector<Box> boxes;
  std::vector<Line> lines;
  std::vector<Label> labels;
};

// Round values along an axis, about `count` of them: multiples of 1, 2 or 5 times a power of ten, or powers of ten.
std::vector<double> ticks(const Axis& axis, int count);
// What the options call the axes of a frame between two corners.
void add_axis_labels(Drawing& d, const PlotOptions& o, Point top_left, Point bottom_right);

// Drawings as one, in rows of `columns`, under a title.
Drawing drawing_of_all(const std::vector<Drawing>& drawings, int columns, const std::string& title);

Drawing plot_drawing(const std::vector<Curve>& curves, const PlotOptions& o);

std::string svg_of(const Drawing& d);
// A PNG with `scale` pixels for each unit of the drawing.
std::string png_of(const Drawing& d, double scale = 2);

}  // namespace sheaf::builtins
