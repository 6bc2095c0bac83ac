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

double Frame::value(double part) const {
  double v = y.lo + part * (y.hi - y.lo);
  return log_y ? std::pow(10.0, v) : v;
}

Frame frame_of(const std::vector<Curve>& curves, bool log_y) {
  Frame f{{}, {}, log_y};
  for (const Curve& c : curves)
    for (size_t i = 0; i < c.y.size(); ++i)
      if (f.shows(c.x[i], c.y[i])) f.x.add(c.x[i]), f.y.add(f.scaled(c.y[i]));
  f.x.widen();
  f.y.widen();
  return f;
}

}  // namespace sheaf::builtins
