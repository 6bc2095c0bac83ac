#include "builtins/host/plot_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "builtins/host/series.h"

namespace sheaf::builtins {
namespace {

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

}  // namespace sheaf::builtins
