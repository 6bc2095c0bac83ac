// What all forms of a plot share: the curves, and where their points lie between the axes. Pure functions.
#pragma once
#include <cmath>
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

struct AxisRange {
  double lo = HUGE_VAL, hi = -HUGE_VAL;
  void add(double v);
  bool empty() const { return lo > hi; }
  void widen();  // room around a single value
  double part(double v) const { return (v - lo) / (hi - lo); }
};

struct Frame {
  AxisRange x, y;
  bool log_y;
  double scaled(double y_value) const { return log_y ? std::log10(y_value) : y_value; }
  bool shows(double px, double py) const { return std::isfinite(px) && std::isfinite(py) && (!log_y || py > 0); }
  // The value at a height from 0 to 1.
  double value(double part) const;
};

Frame frame_of(const std::vector<Curve>& curves, bool log_y);

// Calls segment(x0, y0, x1, y1) with positions from 0 to 1 for every pair of neighbours; a lone point is a segment to
// itself.
template <class F>
void for_each_segment(const Curve& c, const Frame& f, const F& segment) {
  bool before = false;
  double x0 = 0, y0 = 0;
  for (size_t i = 0; i < c.y.size(); ++i) {
    bool now = f.shows(c.x[i], c.y[i]);
    if (now) {
      double x1 = f.x.part(c.x[i]), y1 = f.y.part(f.scaled(c.y[i]));
      if (before)
        segment(x0, y0, x1, y1);
      else
        segment(x1, y1, x1, y1);
      x0 = x1;
      y0 = y1;
    }
    before = now;
  }
}

}  // namespace sheaf::builtins
