// Renders a drawing as PNG.
#include <algorithm>
#include <cmath>

#include "builtins/host/glyphs.h"
#include "builtins/host/plot_drawing.h"
#include "builtins/host/raster.h"
#include "formats/png.h"

namespace sheaf::builtins {
namespace {

// Calls draw(a, b) for the dashes of a line.
template <class F>
void for_each_piece(const Line& line, const F& draw) {
  for (const std::vector<Point>& run : line.runs) {
    if (run.size() == 1) draw(run[0], run[0]);
    double phase = 0;  // position within the pattern of dash and gap
    for (size_t i = 1; i < run.size(); ++i) {
      Point a = run[i - 1], b = run[i];
      double length = std::hypot(b.x - a.x, b.y - a.y), done = 0;
      auto at = [&](double s) { return Point{a.x + (b.x - a.x) * s / length, a.y + (b.y - a.y) * s / length}; };
      if (line.dash <= 0 || length == 0) {
        draw(a, b);
        continue;
      }
      while (done < length) {
        bool inked = phase < line.dash;
        double step = std::min(length - done, (inked ? line.dash : line.dash + line.gap) - phase);
        if (inked) draw(at(done), at(done + step));
        done += step;
        phase += step;
        if (phase >= line.dash + line.gap - 1e-9) phase = 0;
      }
    }
  }
}

class Painter {
 public:
  Painter(const Drawing& d, double scale)
      : scale_(scale),
        raster_(static_cast<int>(std::lround(d.width * scale)), static_cast<int>(std::lround(d.height * scale)),
                kPaper) {}

  void add(const Line& line) {
    for_each_piece(line, [&](Point a, Point b) { stroke(a, b, line.width); });
    raster_.paint(line.colour);
  }

  void add(const Box& box) {
    raster_.fill({box.at.x * scale_, box.at.y * scale_},
                 {(box.at.x + box.width) * scale_, (box.at.y + box.height) * scale_}, box.colour);
  }

  // Connects adjacent dots of the font, so that letters are smooth at any size.
  void add(const Label& label) {
    const double column = label.size * 0.1, row = label.size * 0.11, width = label.size * (label.bold ? 0.14 : 0.105);
    std::vector<Glyph> glyphs = glyphs_of(label.text);
    double total = 0;
    for (const Glyph& g : glyphs)
      total += column * advance(g);
    total -= column * kGlyphGap;
    double start = label.anchor == Label::Anchor::Start    ? 0
                   : label.anchor == Label::Anchor::Middle ? -total / 2
                                                           : -total;
    for (const Glyph& g : glyphs) {
      auto place = [&](int c, int r) {
        double along = start + column * c, above = row * (kBaseRow - r);
        return label.upward ? Point{label.at.x - above, label.at.y - along}
                            : Point{label.at.x + along, label.at.y - above};
      };
      add_dots(g, [&](int c, int r, int c2, int r2) { stroke(place(c, r), place(c2, r2), width); });
      start += column * advance(g);
    }
    raster_.paint(label.colour);
  }

  std::string png() const { return formats::write_png(Value::tensor(raster_.picture())); }

 private:
  static double advance(const Glyph& g) { return static_cast<double>(g.columns.size()) - 1 + kGlyphGap; }

  // Also connects dots that touch only at a corner, unless another path connects them.
  template <class F>
  static void add_dots(const Glyph& g, const F& join) {
    for (int c = 0; c < static_cast<int>(g.columns.size()); ++c)
      for (int r = 0; r < kGlyphRows; ++r) {
        if (!g.has(c, r)) continue;
        join(c, r, c, r);
        if (g.has(c + 1, r)) join(c, r, c + 1, r);
        if (g.has(c, r + 1)) join(c, r, c, r + 1);
        for (int down : {-1, 1})
          if (g.has(c + 1, r + down) && !g.has(c + 1, r) && !g.has(c, r + down)) join(c, r, c + 1, r + down);
      }
  }

  void stroke(Point a, Point b, double width) {
    raster_.stroke({a.x * scale_, a.y * scale_}, {b.x * scale_, b.y * scale_}, width * scale_);
  }

  double scale_;
  Raster raster_;
};

}  // namespace

std::string png_of(const Drawing& d, double scale) {
  Painter painter(d, scale);
  auto add_all = [&](const auto& elements) {
    for (const auto& e : elements)
      painter.add(e);
  };
  add_all(d.grid);
  add_all(d.boxes);
  add_all(d.lines);
  add_all(d.labels);
  return painter.png();
}

}  // namespace sheaf::builtins
