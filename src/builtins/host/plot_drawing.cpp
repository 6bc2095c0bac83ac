#include "builtins/host/plot_drawing.h"

#include <algorithm>

#include "builtins/host/series.h"
#include "support/display_width.h"

namespace sheaf::builtins {
namespace {

using Anchor = Label::Anchor;

constexpr int kLeft = 72, kRight = 24, kBottom = 52;
constexpr int kRightAxis = 72;  // instead of kRight
constexpr uint32_t kGrid = 0xe4e4e4, kAxis = 0x999999;

// A curve with many points keeps, for each pixel column, its first, lowest, highest and last point: it looks the same.
Curve thinned(const Curve& c, const Frame& f, int columns) {
  if (c.y.size() <= static_cast<size_t>(4 * columns)) return c;
  Curve out{c.name, {}, {}, c.on_right};
  size_t i = 0;
  while (i < c.y.size()) {
    size_t end = i;
    auto column = [&](size_t k) {
      return f.shows(c.x[k], c.y[k]) ? static_cast<int>(std::clamp(f.x.part(c.x[k]), -1.0, 2.0) * columns)
                                     : -2 * columns;
    };
    while (end < c.y.size() && column(end) == column(i))
      ++end;
    std::vector<size_t> keep = {i, end - 1};
    if (column(i) >= -columns) {
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

uint32_t colour_of(size_t k) {
  static constexpr uint32_t kColours[] = {0x1f6feb, 0xd1242f, 0x1a7f37, 0x8250df, 0x0a7ea4, 0xbc4c00};
  return kColours[k % 6];
}

// The style of curve k: six colours with solid lines, then the same ones dashed.
Line line_of(size_t k) {
  static constexpr struct {
    double dash, gap;
  } kDashes[] = {{0, 0}, {7, 4}, {2, 4}};
  auto [dash, gap] = kDashes[k / 6 % 3];
  return {{}, colour_of(k), 1.8, dash, gap, true};
}

Line dots_of(size_t k) { return {{}, colour_of(k), 5, 0, 0, true}; }

// Names in rows from `left` to `right`, below `top`, which is advanced past them.
void add_legend(const std::vector<Curve>& curves, const PlotOptions& o, int left, int right, int& top, Drawing& d) {
  constexpr int kMark = 20, kGap = 26, kLine = 20;
  constexpr double kLetter = 7.5;  // estimate: the font is not known here
  double x = left;
  bool any = false;
  for (size_t k = 0; k < curves.size(); ++k) {
    std::string name = curves[k].name;
    if (name.empty()) continue;
    if (curves[k].on_right) name += " (right)";
    any = true;
    double width = kMark + kLetter * static_cast<double>(std::count_if(name.begin(), name.end(),
                                                                       [](char c) { return (c & 0xC0) != 0x80; }));
    if (x > left && x + width > right) x = left, top += kLine;
    double at = std::round(x);
    if (o.kind == PlotKind::Bar) {
      d.boxes.push_back({{at + 2, top - 5.0}, 10, 10, colour_of(k)});
    } else {
      Line mark = o.kind == PlotKind::Scatter ? dots_of(k) : line_of(k);
      mark.runs = {{{at, 1.0 * top}, {at + 14, 1.0 * top}}};
      if (o.kind == PlotKind::Scatter) mark.runs = {{{at + 7, 1.0 * top}}};
      d.lines.push_back(std::move(mark));
    }
    d.labels.push_back({{at + kMark, top + 4.0}, name, Anchor::Start});
    x += width + kGap;
  }
  if (any) top += kLine;
}

void add_y_axis(Drawing& d, const Axis& axis, double left, double right, double top, double bottom, bool on_right) {
  for (double v : ticks(axis, 6)) {
    double y = bottom - axis.part(v) * (bottom - top);
    if (on_right) {
      d.grid.push_back({{{{right, y}, {right + 5, y}}}, kAxis});
      d.labels.push_back({{right + 8, y + 4}, short_number(v), Anchor::Start});
    } else {
      d.grid.push_back({{{{left, y}, {right, y}}}, kGrid});
      d.labels.push_back({{left - 8, y + 4}, short_number(v), Anchor::End});
    }
  }
}

// Numbers below the axis, or names for its whole numbers, as many as fit.
void add_x_axis(Drawing& d, const Axis& axis, const std::vector<std::string>& names, double left, double right,
                double bottom) {
  auto add = [&](double v, const std::string& text) {
    double part = axis.part(v);
    if (part < 0 || part > 1) return;
    double x = left + part * (right - left);
    d.grid.push_back({{{{x, bottom}, {x, bottom + 5}}}, kAxis});
    d.labels.push_back({{x, bottom + 20}, text});
  };
  if (names.empty()) {
    for (double v : ticks(axis, 8))
      add(v, short_number(v));
    return;
  }
  double widest = 0, room = (right - left) / static_cast<double>(names.size());
  for (const std::string& name : names)
    widest = std::max(widest, 7.5 * static_cast<double>(display_width(name)) + 6);
  auto every = std::max<size_t>(1, static_cast<size_t>(std::ceil(widest / room)));
  for (size_t i = 0; i < names.size(); i += every)
    add(static_cast<double>(i), names[i]);
}

}  // namespace

std::vector<double> ticks(const Axis& axis, int count) {
  std::vector<double> out;
  auto [lo, hi] = axis.range;
  if (axis.log && hi - lo >= 1) {
    double slack = (hi - lo) * 1e-9, step = std::max(1.0, std::round((hi - lo) / count));
    bool finer = hi - lo < 2.5;  // also label values between the powers of ten
    for (double e = std::floor(lo); e <= hi + slack; e += step)
      for (double m : {1.0, 2.0, 5.0}) {
        double at = e + std::log10(m);
        if ((m == 1 || finer) && at >= lo - slack && at <= hi + slack) out.push_back(m * std::pow(10.0, e));
      }
    return out;
  }
  if (axis.log) lo = std::pow(10.0, lo), hi = std::pow(10.0, hi);
  double raw = (hi - lo) / count, size = std::pow(10, std::floor(std::log10(raw)));
  double step = size;
  for (double m : {1.0, 2.0, 5.0, 10.0})
    if (size * m <= raw * 1.5) step = size * m;
  // Multiples of the step instead of repeated additions: far from 0 a step may be less than the float spacing.
  double first = std::ceil(lo / step);
  for (int i = 0; i <= 4 * count; ++i) {
    double v = (first + i) * step;
    if (v > hi + step * 1e-9) break;
    out.push_back(std::fabs(v) < step * 1e-9 ? 0 : v);
  }
  return out;
}

void add_axis_labels(Drawing& d, const PlotOptions& o, Point top_left, Point bottom_right) {
  if (!o.x.label.empty()) d.labels.push_back({{(top_left.x + bottom_right.x) / 2, d.height - 12.0}, o.x.label});
  auto upward = [&](double x, const std::string& text) {
    if (text.empty()) return;
    Label label{{x, (top_left.y + bottom_right.y) / 2}, text};
    label.upward = true;
    d.labels.push_back(std::move(label));
  };
  upward(18, o.y.label);
  upward(d.width - 10.0, o.right.label);
}

Drawing drawing_of_all(const std::vector<Drawing>& drawings, int columns, const std::string& title) {
  Drawing out;
  int width = 0, height = 0, rows = (static_cast<int>(drawings.size()) + columns - 1) / columns;
  for (const Drawing& d : drawings)
    width = std::max(width, d.width), height = std::max(height, d.height);
  int top = title.empty() ? 0 : 34;
  out.width = width * columns;
  out.height = top + height * rows;
  if (!title.empty()) out.labels.push_back({{out.width / 2.0, 28}, title, Anchor::Middle, 18, true});
  for (size_t i = 0; i < drawings.size(); ++i) {
    auto place = static_cast<int>(i);
    double dx = width * (place % columns), dy = top + height * (place / columns);
    auto move = [&](Point p) { return Point{p.x + dx, p.y + dy}; };
    auto add_lines = [&](const std::vector<Line>& lines, std::vector<Line>& to) {
      for (Line line : lines) {
        for (std::vector<Point>& run : line.runs)
          for (Point& p : run)
            p = move(p);
        to.push_back(std::move(line));
      }
    };
    add_lines(drawings[i].grid, out.grid);
    add_lines(drawings[i].lines, out.lines);
    for (Box box : drawings[i].boxes) {
      box.at = move(box.at);
      out.boxes.push_back(box);
    }
    for (Label label : drawings[i].labels) {
      label.at = move(label.at);
      out.labels.push_back(std::move(label));
    }
  }
  return out;
}

Drawing plot_drawing(const std::vector<Curve>& curves, const PlotOptions& o) {
  Drawing d;
  d.width = o.picture_width;
  d.height = o.picture_height;
  bool has_right = std::any_of(curves.begin(), curves.end(), [](const Curve& c) { return c.on_right; });
  bool has_left = !has_right || !std::all_of(curves.begin(), curves.end(), [](const Curve& c) { return c.on_right; });
  std::vector<Frame> frames = frames_of(curves, o);
  int top = o.title.empty() ? 20 : 46;
  double right = d.width - (has_right ? kRightAxis : kRight), bottom = d.height - kBottom;
  if (!o.title.empty()) d.labels.push_back({{d.width / 2.0, 26}, o.title, Anchor::Middle, 16, true});
  add_legend(curves, o, kLeft, static_cast<int>(right), top, d);
  auto px = [&](double part) { return kLeft + part * (right - kLeft); };
  auto py = [&](double part) { return bottom - part * (bottom - top); };
  if (has_left) add_y_axis(d, frame_of(curves, o, false).y, kLeft, right, top, bottom, false);
  if (has_right) add_y_axis(d, frame_of(curves, o, true).y, kLeft, right, top, bottom, true);
  add_x_axis(d, frame_of(curves, o, false).x, o.x_names, kLeft, right, bottom);
  std::vector<Point> edge = {{kLeft, 1.0 * top}, {kLeft, bottom}, {right, bottom}};
  if (has_right) edge.push_back({right, 1.0 * top});
  d.grid.push_back({{edge}, kAxis});
  add_axis_labels(d, o, {kLeft, 1.0 * top}, {right, bottom});
  for (size_t k = 0; k < curves.size(); ++k) {
    if (o.kind == PlotKind::Bar) {
      for_each_bar(curves, k, frames[k], [&](double x0, double y0, double x1, double y1) {
        d.boxes.push_back({{px(x0), py(y1)}, px(x1) - px(x0), py(y0) - py(y1), colour_of(k)});
      });
      continue;
    }
    Line line = o.kind == PlotKind::Scatter ? dots_of(k) : line_of(k);
    if (o.kind == PlotKind::Scatter) {
      for_each_point(curves[k], frames[k], [&](double x, double y) { line.runs.push_back({{px(x), py(y)}}); });
    } else {
      double at_x = -1, at_y = -1;
      for_each_segment(thinned(curves[k], frames[k], d.width), frames[k],
                       [&](double x0, double y0, double x1, double y1) {
                         if (line.runs.empty() || x0 != at_x || y0 != at_y) line.runs.push_back({{px(x0), py(y0)}});
                         if (x1 != x0 || y1 != y0) line.runs.back().push_back({px(x1), py(y1)});
                         at_x = x1;
                         at_y = y1;
                       });
    }
    d.lines.push_back(std::move(line));
  }
  return d;
}

}  // namespace sheaf::builtins
