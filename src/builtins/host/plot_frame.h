// Shared by all output formats of a plot: the curves, the axes, and the positions of points between them. Pure
// functions.
#pragma once
#include <cmath>
#include <optional>
#include <string>
#include <vector>

namespace sheaf::builtins {

struct Curve {
  std::string name;
  std::vector<double> x, y;  // of equal length; points that are not finite are gaps
  bool on_right = false;     // uses the right axis
};

struct AxisRange {
  double lo = HUGE_VAL, hi = -HUGE_VAL;
  void add(double v);
  bool empty() const { return lo > hi; }
  void widen();  // adds room around a single value
};

struct AxisOptions {
  std::string label;
  bool log = false;
  std::optional<AxisRange> range;  // if unset, that of the data
};

enum class PlotKind : uint8_t { Line, Scatter, Bar, HeatMap };

struct PlotOptions {
  PlotKind kind = PlotKind::Line;
  std::string title;
  AxisOptions x, y, right, colours;
  std::vector<std::string> x_names, y_names;  // labels for positions 0, 1, 2 …, instead of numbers
  bool numbers = false;                       // print values in the cells of a heat-map
  int width = 80, height = 16;                // characters of the whole text, rows of its canvas
  int picture_width = 720, picture_height = 432;
  bool colour = false;  // distinguish curves by ANSI colours; else by letters
};

// Maps values along an axis to 0 … 1 between its ends.
struct Axis {
  AxisRange range;  // of logarithms if the axis is logarithmic
  bool log = false;
  double scaled(double v) const { return log ? std::log10(v) : v; }
  bool shows(double v) const { return std::isfinite(v) && (!log || v > 0); }
  double part(double v) const { return (scaled(v) - range.lo) / (range.hi - range.lo); }
  double value(double part) const;
};

struct Frame {
  Axis x, y;
  bool shows(double px, double py) const { return x.shows(px) && y.shows(py); }
};

// The axis for a range of values, with the options applied.
Axis axis_of(AxisRange found, const AxisOptions& o);
// The frame of the curves on the right axis, or of those on the left.
Frame frame_of(const std::vector<Curve>& curves, const PlotOptions& o, bool on_right);
// The frame of each curve.
std::vector<Frame> frames_of(const std::vector<Curve>& curves, const PlotOptions& o);

// Clips a segment to the unit square; returns false if nothing is inside.
bool clip(double& x0, double& y0, double& x1, double& y1);

// Calls segment(x0, y0, x1, y1) with positions from 0 to 1 for every pair of consecutive points; an isolated point is a
// segment from itself to itself. Skips everything outside the frame.
template <class F>
void for_each_segment(const Curve& c, const Frame& f, const F& segment) {
  auto clipped = [&](double x0, double y0, double x1, double y1) {
    if (clip(x0, y0, x1, y1)) segment(x0, y0, x1, y1);
  };
  bool before = false;
  double x0 = 0, y0 = 0;
  for (size_t i = 0; i < c.y.size(); ++i) {
    bool now = f.shows(c.x[i], c.y[i]);
    if (now) {
      double x1 = f.x.part(c.x[i]), y1 = f.y.part(c.y[i]);
      if (before)
        clipped(x0, y0, x1, y1);
      else
        clipped(x1, y1, x1, y1);
      x0 = x1;
      y0 = y1;
    }
    before = now;
  }
}

// Calls point(x, y) for every point of a curve inside the frame.
template <class F>
void for_each_point(const Curve& c, const Frame& f, const F& point) {
  for (size_t i = 0; i < c.y.size(); ++i) {
    if (!f.shows(c.x[i], c.y[i])) continue;
    double x = f.x.part(c.x[i]), y = f.y.part(c.y[i]);
    if (x >= 0 && x <= 1 && y >= 0 && y <= 1) point(x, y);
  }
}

// The distance between adjacent bar positions.
double bar_step(const std::vector<Curve>& curves);

// Calls bar(x0, y0, x1, y1) for every bar of curve k: from the baseline, which is 0 or the end of the axis, to its
// value. The bars of all curves at one position are drawn next to each other.
template <class F>
void for_each_bar(const std::vector<Curve>& curves, size_t k, const Frame& f, const F& bar) {
  constexpr double kUsed = 0.8;  // of the distance between positions
  double step = bar_step(curves), width = kUsed * step / static_cast<double>(curves.size());
  double ground = f.y.log ? 0 : std::fmin(1, std::fmax(0, f.y.part(0)));
  const Curve& c = curves[k];
  for (size_t i = 0; i < c.y.size(); ++i) {
    if (!f.shows(c.x[i], c.y[i])) continue;
    double left = c.x[i] - kUsed * step / 2 + width * static_cast<double>(k), top = f.y.part(c.y[i]);
    double x0 = std::fmax(0, f.x.part(left)), x1 = std::fmin(1, f.x.part(left + width));
    double y0 = std::fmax(0, std::fmin(ground, top)), y1 = std::fmin(1, std::fmax(ground, top));
    if (x0 < x1 && y0 <= y1) bar(x0, y0, x1, y1);
  }
}

}  // namespace sheaf::builtins
