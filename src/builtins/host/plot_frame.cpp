#include "builtins/host/plot_frame.h"

#include <algorithm>

namespace sheaf::builtins {

void AxisRange::add(double v) {
  lo = std::min(lo, v);
  hi = std::max(hi, v);
}

void AxisRange::widen() {
  if (empty()) lo = 0, hi = 1;
  if (lo == hi) {
    double d = lo == 0 ? 1 : std::fabs(lo) * 0.1;
    lo -= d;
    hi += d;
  }
}

double Axis::value(double part) const {
  double v = range.lo + part * (range.hi - range.lo);
  return log ? std::pow(10.0, v) : v;
}

Axis axis_of(AxisRange found, const AxisOptions& o) {
  Axis a{found, o.log};
  if (o.range) {
    a.range = {a.scaled(o.range->lo), a.scaled(o.range->hi)};
  } else if (o.log && !found.empty()) {
    a.range = {a.scaled(found.lo), a.scaled(found.hi)};
  }
  a.range.widen();
  return a;
}

Frame frame_of(const std::vector<Curve>& curves, const PlotOptions& o, bool on_right) {
  const AxisOptions& up = on_right ? o.right : o.y;
  Frame shown{{{}, o.x.log}, {{}, up.log}};  // the ranges that can be shown at all
  AxisRange x, y;
  bool is_bars = o.kind == PlotKind::Bar;
  double around = is_bars ? bar_step(curves) / 2 : 0;
  for (const Curve& c : curves)
    for (size_t i = 0; i < c.y.size(); ++i) {
      Axis own_y{{}, c.on_right ? o.right.log : o.y.log};
      if (!shown.x.shows(c.x[i]) || !own_y.shows(c.y[i])) continue;
      x.add(c.x[i] - around);
      x.add(c.x[i] + around);
      if (c.on_right == on_right) y.add(c.y[i]);
    }
  if (is_bars && !up.log && !y.empty()) y.add(0);
  return {axis_of(x, o.x), axis_of(y, up)};
}

std::vector<Frame> frames_of(const std::vector<Curve>& curves, const PlotOptions& o) {
  Frame left = frame_of(curves, o, false), right = frame_of(curves, o, true);
  std::vector<Frame> out;
  for (const Curve& c : curves)
    out.push_back(c.on_right ? right : left);
  return out;
}

bool clip(double& x0, double& y0, double& x1, double& y1) {
  // Liang-Barsky clipping against each of the four sides.
  double from = 0, to = 1, dx = x1 - x0, dy = y1 - y0;
  for (auto [p, q] : {std::pair(-dx, x0), std::pair(dx, 1 - x0), std::pair(-dy, y0), std::pair(dy, 1 - y0)}) {
    if (p == 0 && q < 0) return false;
    if (p < 0) from = std::max(from, q / p);
    if (p > 0) to = std::min(to, q / p);
  }
  if (from > to) return false;
  double ax = x0, ay = y0;
  // Ends inside the frame keep their exact values: adjacent segments must meet.
  if (to < 1) x1 = ax + to * dx, y1 = ay + to * dy;
  if (from > 0) x0 = ax + from * dx, y0 = ay + from * dy;
  return true;
}

double bar_step(const std::vector<Curve>& curves) {
  std::vector<double> places;
  for (const Curve& c : curves)
    for (double x : c.x)
      if (std::isfinite(x)) places.push_back(x);
  std::sort(places.begin(), places.end());
  double step = HUGE_VAL;
  for (size_t i = 1; i < places.size(); ++i)
    if (places[i] > places[i - 1]) step = std::min(step, places[i] - places[i - 1]);
  return std::isfinite(step) ? step : 1;
}

}  // namespace sheaf::builtins
