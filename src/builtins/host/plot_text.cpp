#include "builtins/host/plot_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "builtins/host/series.h"

namespace sheaf::builtins {
namespace {

struct Range {
  double lo = HUGE_VAL, hi = -HUGE_VAL;
  void add(double v) {
    lo = std::min(lo, v);
    hi = std::max(hi, v);
  }
  bool empty() const { return lo > hi; }
  // Room around a single value.
  void widen() {
    if (empty()) lo = 0, hi = 1;
    if (lo == hi) {
      double d = lo == 0 ? 1 : std::fabs(lo) * 0.1;
      lo -= d;
      hi += d;
    }
  }
  double part(double v) const { return (v - lo) / (hi - lo); }
};

struct Frame {
  Range x, y;
  bool log_y;
  double scaled(double y_value) const { return log_y ? std::log10(y_value) : y_value; }
  bool shows(double px, double py) const { return std::isfinite(px) && std::isfinite(py) && (!log_y || py > 0); }
  // The value at a height from 0 to 1.
  double value(double part) const {
    double v = y.lo + part * (y.hi - y.lo);
    return log_y ? std::pow(10.0, v) : v;
  }
};

Frame frame_of(const std::vector<Curve>& curves, bool log_y) {
  Frame f{{}, {}, log_y};
  for (const Curve& c : curves)
    for (size_t i = 0; i < c.y.size(); ++i)
      if (f.shows(c.x[i], c.y[i])) f.x.add(c.x[i]), f.y.add(f.scaled(c.y[i]));
  f.x.widen();
  f.y.widen();
  return f;
}

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

// Cells of 2 x 4 dots, and which curve drew last in each.
class Canvas {
 public:
  Canvas(int columns, int rows)
      : columns_(columns), rows_(rows), dots_(static_cast<size_t>(columns) * rows), owner_(dots_.size(), -1) {}

  void line(double x0, double y0, double x1, double y1, int curve) {
    double w = 2 * columns_ - 1, h = 4 * rows_ - 1;
    double ax = x0 * w, ay = (1 - y0) * h, bx = x1 * w, by = (1 - y1) * h;
    int steps = static_cast<int>(std::max(std::fabs(bx - ax), std::fabs(by - ay))) + 1;
    for (int i = 0; i <= steps; ++i) {
      double t = static_cast<double>(i) / steps;
      dot(static_cast<int>(std::lround(ax + t * (bx - ax))), static_cast<int>(std::lround(ay + t * (by - ay))), curve);
    }
  }

  std::string row(int r, bool colour, bool letters) const {
    std::string s;
    int current = -1;
    for (int c = 0; c < columns_; ++c) {
      size_t cell = static_cast<size_t>(r) * columns_ + c;
      int owner = owner_[cell];
      if (colour && owner != current && owner >= 0) {
        s += fmt::format("\x1b[{}m", kColours[owner % 6]);
        current = owner;
      }
      if (owner < 0)
        s += ' ';
      else if (letters)
        s += kMarks[owner % 6];
      else
        s += braille(dots_[cell]);
    }
    return current >= 0 ? s + "\x1b[0m" : s;
  }

  static constexpr int kColours[] = {34, 31, 32, 35, 36, 33};
  static constexpr const char* kMarks[] = {"*", "o", "+", "x", "#", "@"};

 private:
  static std::string braille(uint8_t dots) {
    unsigned code = 0x2800u + dots;
    return {static_cast<char>(0xE0 | code >> 12), static_cast<char>(0x80 | (code >> 6 & 0x3F)),
            static_cast<char>(0x80 | (code & 0x3F))};
  }
  void dot(int x, int y, int curve) {
    static constexpr uint8_t kBits[4][2] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
    size_t cell = static_cast<size_t>(y / 4) * columns_ + x / 2;
    dots_[cell] |= kBits[y % 4][x % 2];
    owner_[cell] = curve;
  }

  int columns_, rows_;
  std::vector<uint8_t> dots_;
  std::vector<int> owner_;
};

std::string centred(const std::string& s, int width) {
  return std::string(std::max(0, (width - static_cast<int>(s.size())) / 2), ' ') + s;
}

// Round positions: about `count` multiples of 1, 2 or 5 times a power of ten.
std::vector<double> ticks(const Range& r, int count) {
  double raw = (r.hi - r.lo) / count, size = std::pow(10, std::floor(std::log10(raw)));
  double step = size;
  for (double m : {1.0, 2.0, 5.0, 10.0})
    if (size * m <= raw * 1.5) step = size * m;
  std::vector<double> out;
  for (double v = std::ceil(r.lo / step) * step; v <= r.hi + step * 1e-9; v += step)
    out.push_back(std::fabs(v) < step * 1e-9 ? 0 : v);
  return out;
}

std::string escaped(const std::string& s) {
  std::string out;
  for (char c : s) {
    if (c == '<')
      out += "&lt;";
    else if (c == '&')
      out += "&amp;";
    else if (c == '"')
      out += "&quot;";
    else if (static_cast<unsigned char>(c) >= 0x20)
      out += c;
  }
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

}  // namespace

std::string plot_text(const std::vector<Curve>& curves, const PlotOptions& o) {
  constexpr int kLabel = 9;
  int columns = std::max(10, o.width - kLabel - 2), rows = std::max(3, o.height);
  Frame f = frame_of(curves, o.log_y);
  Canvas canvas(columns, rows);
  for (size_t k = 0; k < curves.size(); ++k)
    for_each_segment(curves[k], f, [&](double x0, double y0, double x1, double y1) {
      canvas.line(x0, y0, x1, y1, static_cast<int>(k));
    });
  bool letters = !o.colour && curves.size() > 1;
  std::string out;
  if (!o.title.empty()) out += centred(o.title, o.width) + "\n";
  for (int r = 0; r < rows; ++r) {
    bool labelled = r == 0 || r == rows - 1 || r == (rows - 1) / 2;
    double part = 1 - static_cast<double>(r) / (rows - 1);
    std::string line =
        labelled ? fmt::format("{:>{}} ┤", short_number(f.value(part)), kLabel) : fmt::format("{:>{}} │", "", kLabel);
    line += canvas.row(r, o.colour, letters);
    line.resize(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  std::string axis;
  for (int i = 0; i < columns; ++i)
    axis += "─";
  out += fmt::format("{:>{}} └{}\n", "", kLabel, axis);
  std::string left = short_number(f.x.lo), right = short_number(f.x.hi);
  out +=
      fmt::format("{:>{}}  {}{:>{}}\n", "", kLabel, left, right, std::max(1, columns - static_cast<int>(left.size())));
  if (!o.x_label.empty()) out += centred(o.x_label, o.width) + "\n";
  std::string legend;
  for (size_t k = 0; k < curves.size(); ++k) {
    if (curves[k].name.empty()) continue;
    std::string mark = letters    ? Canvas::kMarks[k % 6]
                       : o.colour ? fmt::format("\x1b[{}m━━\x1b[0m", Canvas::kColours[k % 6])
                                  : "";
    legend += (legend.empty() ? "" : "   ") + mark + (mark.empty() ? "" : " ") + curves[k].name;
  }
  if (!legend.empty()) out += std::string(kLabel + 2, ' ') + legend + "\n";
  return out;
}

namespace {

// The look of curve k: six colours whole, then the same ones broken.
std::string stroke_of(size_t k) {
  static constexpr const char* kColours[] = {"#1f6feb", "#d1242f", "#1a7f37", "#8250df", "#0a7ea4", "#bc4c00"};
  static constexpr const char* kDashes[] = {"", " stroke-dasharray=\"7 4\"", " stroke-dasharray=\"2 4\""};
  return fmt::format("stroke=\"{}\"{} stroke-width=\"1.8\" stroke-linecap=\"round\"", kColours[k % 6],
                     kDashes[k / 6 % 3]);
}

// Names in rows from `left` to `right`, below `top`, which moves to the end of them.
std::string legend_svg(const std::vector<Curve>& curves, int left, int right, int& top) {
  constexpr int kMark = 20, kGap = 26, kLine = 20;
  constexpr double kLetter = 7.5;  // about, as nobody here knows the font
  std::string out;
  double x = left;
  for (size_t k = 0; k < curves.size(); ++k) {
    const std::string& name = curves[k].name;
    if (name.empty()) continue;
    double width = kMark + kLetter * static_cast<double>(std::count_if(name.begin(), name.end(),
                                                                       [](char c) { return (c & 0xC0) != 0x80; }));
    if (x > left && x + width > right) x = left, top += kLine;
    out += fmt::format("<path d=\"M{:.0f} {}h14\" {}/><text x=\"{:.0f}\" y=\"{}\">{}</text>\n", x, top, stroke_of(k),
                       x + kMark, top + 4, escaped(name));
    x += width + kGap;
  }
  if (!out.empty()) top += kLine;
  return out;
}

}  // namespace

std::string plot_svg(const std::vector<Curve>& curves, const PlotOptions& o) {
  constexpr int kWidth = 720, kHeight = 432, kLeft = 72, kRight = 24, kBottom = 52;
  Frame f = frame_of(curves, o.log_y);
  int top = o.title.empty() ? 20 : 46;
  std::string legend = legend_svg(curves, kLeft, kWidth - kRight, top);
  auto px = [&](double part) { return kLeft + part * (kWidth - kLeft - kRight); };
  auto py = [&](double part) { return kHeight - kBottom - part * (kHeight - top - kBottom); };
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" "
      "font-family=\"system-ui, sans-serif\" font-size=\"13\" fill=\"#333\">\n"
      "<rect width=\"{0}\" height=\"{1}\" fill=\"#fff\"/>\n",
      kWidth, kHeight);
  if (!o.title.empty())
    out +=
        fmt::format("<text x=\"{}\" y=\"26\" text-anchor=\"middle\" font-size=\"16\" font-weight=\"600\">{}</text>\n",
                    kWidth / 2, escaped(o.title));
  for (double v : ticks(f.y, 6)) {
    double y = py(f.y.part(v));
    out += fmt::format("<line x1=\"{}\" x2=\"{}\" y1=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"#e4e4e4\"/>\n", kLeft,
                       kWidth - kRight, y, y);
    out += fmt::format("<text x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n", kLeft - 8, y + 4,
                       short_number(o.log_y ? std::pow(10.0, v) : v));
  }
  for (double v : ticks(f.x, 8)) {
    double x = px(f.x.part(v));
    out += fmt::format("<line x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1}\" y2=\"{2}\" stroke=\"#999\"/>\n", x,
                       kHeight - kBottom, kHeight - kBottom + 5);
    out += fmt::format("<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n", x, kHeight - kBottom + 20,
                       short_number(v));
  }
  out += fmt::format("<path d=\"M{} {}V{}H{}\" fill=\"none\" stroke=\"#999\"/>\n", kLeft, top, kHeight - kBottom,
                     kWidth - kRight);
  if (!o.x_label.empty())
    out += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n", (kLeft + kWidth - kRight) / 2,
                       kHeight - 12, escaped(o.x_label));
  if (!o.y_label.empty())
    out += fmt::format("<text transform=\"translate(18 {}) rotate(-90)\" text-anchor=\"middle\">{}</text>\n",
                       (top + kHeight - kBottom) / 2, escaped(o.y_label));
  for (size_t k = 0; k < curves.size(); ++k) {
    std::string path;
    double at_x = -1, at_y = -1;
    for_each_segment(thinned(curves[k], f, kWidth), f, [&](double x0, double y0, double x1, double y1) {
      if (path.empty() || x0 != at_x || y0 != at_y) path += fmt::format("M{:.1f} {:.1f}", px(x0), py(y0));
      path += fmt::format("L{:.1f} {:.1f}", px(x1), py(y1));
      at_x = x1;
      at_y = y1;
    });
    out += fmt::format("<path d=\"{}\" fill=\"none\" {} stroke-linejoin=\"round\"/>\n", path, stroke_of(k));
  }
  return out + legend + "</svg>\n";
}

}  // namespace sheaf::builtins
