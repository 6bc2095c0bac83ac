#include "builtins/host/plot_drawing.h"

#include <algorithm>

#include "builtins/host/series.h"

namespace sheaf::builtins {
namespace {

using Anchor = Label::Anchor;

constexpr int kLeft = 72, kRight = 24, kBottom = 52;
constexpr uint32_t kGrid = 0xe4e4e4, kAxis = 0x999999;

// Round positions: about `count` multiples of 1, 2 or 5 times a power of ten.
std::vector<double> ticks(const AxisRange& r, int count) {
  double raw = (r.hi - r.lo) / count, size = std::pow(10, std::floor(std::log10(raw)));
  double step = size;
  for (double m : {1.0, 2.0, 5.0, 10.0})
    if (size * m <= raw * 1.5) step = size * m;
  std::vector<double> out;
  for (double v = std::ceil(r.lo / step) * step; v <= r.hi + step * 1e-9; v += step)
    out.push_back(std::fabs(v) < step * 1e-9 ? 0 : v);
  return out;
}

// A curve of many points keeps, for each column of pixels, its first, lowest, highest and last point: it looks the
// same.
Curve thinned(const Curve& c, const Frame& f, int columns) {
  if (c.y.size() <= static_cast<size_t>(4 * columns)) return c;
  Curve out{c.name, {}, {}};
  size_t i = 0;
  while (i < c.y.size()) {
    size_t end = i;
    auto column = [&](size_t k) { return f.shows(c.x[k], c.y[k]) ? static_cast<int>(f.x.part(c.x[k]) * columns) : -1; };
    while (end < c.y.size() && column(end) == column(i))
      ++end;
    std::vector<size_t> keep = {i, end - 1};
    if (column(i) >= 0) {
      auto [lo, hi] =
          std::minmax_element(c.y.begin() + static_cast<ptrdiff_t>(i), c.y.begin() + static_cast<ptrdiff_t>(end));
      keep.push_back(static_cast<size_t>(lo - c.y.begin()));
      keep.push_back(static_cast<size_t>(hi - c.y.begin()));
    }
    std::sort(keep.begin(), keep.end());
    keep.erase(std::unique(keep.begin(), keep.end()), keep.end());
    for (size_t k : keep)
      out.x.push_back(c.x[k]), out.y.push_back(c.y[k]);
    i = end;
  }
  return out;
}

// The look of curve k: six colours whole, then the same ones broken.
Line line_of(size_t k) {
  static constexpr uint32_t kColours[] = {0x1f6feb, 0xd1242f, 0x1a7f37, 0x8250df, 0x0a7ea4, 0xbc4c00};
  static constexpr struct {
    double dash, gap;
  } kDashes[] = {{0, 0}, {7, 4}, {2, 4}};
  auto [dash, gap] = kDashes[k / 6 % 3];
  return {{}, kColours[k % 6], 1.8, dash, gap, true};
}

// Names in rows from `left` to `right`, below `top`, which moves to the end of them.
void add_legend(const std::vector<Curve>& curves, int left, int right, int& top, Drawing& d) {
  constexpr int kMark = 20, kGap = 26, kLine = 20;
  constexpr double kLetter = 7.5;  // about, as nobody here knows the font
  double x = left;
  bool any = false;
  for (size_t k = 0; k < curves.size(); ++k) {
    const std::string& name = curves[k].name;
    if (name.empty()) continue;
    any = true;
    double width = kMark + kLetter * static_cast<double>(std::count_if(name.begin(), name.end(),
                                                                       [](char c) { return (c & 0xC0) != 0x80; }));
    if (x > left && x + width > right) x = left, top += kLine;
    Line mark = line_of(k);
    double at = std::round(x);
    mark.runs = {{{at, 1.0 * top}, {at + 14, 1.0 * top}}};
    d.lines.push_back(std::move(mark));
    d.labels.push_back({{at + kMark, top + 4.0}, name, Anchor::Start});
    x += width + kGap;
  }
  if (any) top += kLine;
}

}  // namespace

Drawing plot_drawing(const std::vector<Curve>& curves, const PlotOptions& o) {
  Drawing d;
  Frame f = frame_of(curves, o.log_y);
  int top = o.title.empty() ? 20 : 46;
  double right = d.width - kRight, bottom = d.height - kBottom;
  if (!o.title.empty()) d.labels.push_back({{d.width / 2.0, 26}, o.title, Anchor::Middle, 16, true});
  add_legend(curves, kLeft, d.width - kRight, top, d);
  auto px = [&](double part) { return kLeft + part * (right - kLeft); };
  auto py = [&](double part) { return bottom - part * (bottom - top); };
  for (double v : ticks(f.y, 6)) {
    double y = py(f.y.part(v));
    d.lines.push_back({{{{kLeft, y}, {right, y}}}, kGrid});
    d.labels.push_back({{kLeft - 8, y + 4}, short_number(o.log_y ? std::pow(10.0, v) : v), Anchor::End});
  }
  for (double v : ticks(f.x, 8)) {
    double x = px(f.x.part(v));
    d.lines.push_back({{{{x, bottom}, {x, bottom + 5}}}, kAxis});
    d.labels.push_back({{x, bottom + 20}, short_number(v)});
  }
  d.lines.push_back({{{{kLeft, 1.0 * top}, {kLeft, bottom}, {right, bottom}}}, kAxis});
  if (!o.x_label.empty()) d.labels.push_back({{(kLeft + right) / 2, d.height - 12.0}, o.x_label});
  if (!o.y_label.empty()) {
    Label label{{18, (top + bottom) / 2}, o.y_label};
    label.upward = true;
    d.labels.push_back(std::move(label));
  }
  for (size_t k = 0; k < curves.size(); ++k) {
    Line line = line_of(k);
    double at_x = -1, at_y = -1;
    for_each_segment(thinned(curves[k], f, d.width), f, [&](double x0, double y0, double x1, double y1) {
      if (line.runs.empty() || x0 != at_x || y0 != at_y) line.runs.push_back({{px(x0), py(y0)}});
      if (x1 != x0 || y1 != y0) line.runs.back().push_back({px(x1), py(y1)});
      at_x = x1;
      at_y = y1;
    });
    d.lines.push_back(std::move(line));
  }
  return d;
}

}  // namespace sheaf::builtins
