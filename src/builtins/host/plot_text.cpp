#include "builtins/host/plot_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "builtins/host/series.h"
#include "support/display_width.h"

namespace sheaf::builtins {
namespace {

// Cells of 2 x 4 dots, and the curve that drew last in each.
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

  void box(double x0, double y0, double x1, double y1, int curve) {
    double w = 2 * columns_ - 1;
    int from = static_cast<int>(std::lround(x0 * w)), to = std::max(from, static_cast<int>(std::lround(x1 * w)) - 1);
    for (int x = from; x <= to; ++x)
      line(x / w, y0, x / w, y1, curve);
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

// Names below their positions; skips names without room.
std::string names_below(const std::vector<std::string>& names, const Axis& axis, int columns) {
  std::string out;
  int done = 0;
  for (size_t i = 0; i < names.size(); ++i) {
    double part = axis.part(static_cast<double>(i));
    int width = static_cast<int>(display_width(names[i]));
    int start = std::max(0, static_cast<int>(std::lround(part * (columns - 1))) - width / 2);
    if (part < 0 || part > 1 || start < done + (done > 0) || start + width > columns) continue;
    out += std::string(static_cast<size_t>(start - done), ' ') + names[i];
    done = start + width;
  }
  return out;
}

}  // namespace

std::string plot_text(const std::vector<Curve>& curves, const PlotOptions& o) {
  constexpr int kLabel = 9;
  int columns = std::max(10, o.width - kLabel - 2), rows = std::max(3, o.height);
  std::vector<Frame> frames = frames_of(curves, o);
  Frame f = frame_of(curves, o, false), right_frame = frame_of(curves, o, true);
  Canvas canvas(columns, rows);
  for (size_t k = 0; k < curves.size(); ++k) {
    auto owner = static_cast<int>(k);
    auto line = [&](double x0, double y0, double x1, double y1) { canvas.line(x0, y0, x1, y1, owner); };
    if (o.kind == PlotKind::Scatter)
      for_each_point(curves[k], frames[k], [&](double x, double y) { canvas.line(x, y, x, y, owner); });
    else if (o.kind == PlotKind::Bar)
      for_each_bar(curves, k, frames[k],
                   [&](double x0, double y0, double x1, double y1) { canvas.box(x0, y0, x1, y1, owner); });
    else
      for_each_segment(curves[k], frames[k], line);
  }
  bool letters = !o.colour && curves.size() > 1;
  std::string out;
  if (!o.title.empty()) out += centred(o.title, o.width) + "\n";
  for (int r = 0; r < rows; ++r) {
    bool labelled = r == 0 || r == rows - 1 || r == (rows - 1) / 2;
    double part = 1 - static_cast<double>(r) / (rows - 1);
    std::string line =
        labelled ? fmt::format("{:>{}} ┤", short_number(f.y.value(part)), kLabel) : fmt::format("{:>{}} │", "", kLabel);
    line += canvas.row(r, o.colour, letters);
    line.resize(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  std::string axis;
  for (int i = 0; i < columns; ++i)
    axis += "─";
  out += fmt::format("{:>{}} └{}\n", "", kLabel, axis);
  std::string left = short_number(f.x.value(0)), right = short_number(f.x.value(1));
  if (o.x_names.empty())
    out += fmt::format("{:>{}}  {}{:>{}}\n", "", kLabel, left, right,
                       std::max(1, columns - static_cast<int>(left.size())));
  else
    out += std::string(kLabel + 2, ' ') + names_below(o.x_names, f.x, columns) + "\n";
  if (!o.x.label.empty()) out += centred(o.x.label, o.width) + "\n";
  std::string legend;
  for (size_t k = 0; k < curves.size(); ++k) {
    if (curves[k].name.empty()) continue;
    std::string mark = letters    ? Canvas::kMarks[k % 6]
                       : o.colour ? fmt::format("\x1b[{}m━━\x1b[0m", Canvas::kColours[k % 6])
                                  : "";
    legend += (legend.empty() ? "" : "   ") + mark + (mark.empty() ? "" : " ") + curves[k].name;
    if (curves[k].on_right)
      legend += fmt::format(" ({} to {})", short_number(right_frame.y.value(0)), short_number(right_frame.y.value(1)));
  }
  if (!legend.empty()) out += std::string(kLabel + 2, ' ') + legend + "\n";
  return out;
}

}  // namespace sheaf::builtins
