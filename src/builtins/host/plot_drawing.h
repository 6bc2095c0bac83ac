// A plot as lines and labels at places of a picture: what SVG and PNG have in common. Pure functions.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "builtins/host/plot_frame.h"
#include "builtins/host/point.h"

namespace sheaf::builtins {

struct Line {
  std::vector<std::vector<Point>> runs;  // of points that are joined; one point is a dot
  uint32_t colour;                       // 0xRRGGBB
  double width = 1;
  double dash = 0, gap = 0;  // 0: whole
  bool round = false;        // ends and corners
};

struct Label {
  enum class Anchor : uint8_t { Start, Middle, End };
  Point at;  // on the base line
  std::string text;
  Anchor anchor = Anchor::Middle;
  double size = 13;
  bool bold = false;
  bool upward = false;  // read from below
};

struct Drawing {
  int width = 720, height = 432;
  std::vector<Line> lines;  // later ones over earlier ones
  std::vector<Label> labels;
};

inline constexpr uint32_t kPaper = 0xffffff, kInk = 0x333333;

Drawing plot_drawing(const std::vector<Curve>& curves, const PlotOptions& o);

std::string svg_of(const Drawing& d);
// A PNG with `scale` pixels for each unit of the drawing.
std::string png_of(const Drawing& d, double scale = 2);

}  // namespace sheaf::builtins
