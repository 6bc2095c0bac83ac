#include "builtins/host/heat_map.h"

#include <fmt/format.h>

#include <algorithm>

#include "builtins/host/series.h"
#include "support/display_width.h"

namespace sheaf::builtins {
namespace {

using Anchor = Label::Anchor;

constexpr uint32_t kNoColour = 0xdddddd;

// From dark to light in perceptually uniform steps: viridis (public domain), sampled at nine points.
uint32_t colour_at(double part) {
  static constexpr uint32_t kPlaces[] = {0x440154, 0x472d7b, 0x3b528b, 0x2c728e, 0x21918c,
                                         0x28ae80, 0x5ec962, 0xaddc30, 0xfde725};
  constexpr int kLast = static_cast<int>(std::size(kPlaces)) - 1;
  double along = std::clamp(part, 0.0, 1.0) * kLast;
  int i = std::min(static_cast<int>(along), kLast - 1);
  uint32_t out = 0;
  for (int shift : {16, 8, 0}) {
    double a = kPlaces[i] >> shift & 0xFF, b = kPlaces[i + 1] >> shift & 0xFF;
    out |= static_cast<uint32_t>(std::lround(a + (along - i) * (b - a))) << shift;
  }
  return out;
}

// A grid of at most this many rows and columns; each cell is the mean of those that it replaces.
Grid reduced(const Grid& g, size_t rows, size_t columns) {
  if (g.rows <= rows && g.columns <= columns) return g;
  Grid out{std::min(rows, g.rows), std::min(columns, g.columns), {}};
  for (size_t r = 0; r < out.rows; ++r)
    for (size_t c = 0; c < out.columns; ++c) {
      double sum = 0;
      size_t count = 0;
      for (size_t y = r * g.rows / out.rows; y < (r + 1) * g.rows / out.rows; ++y)
        for (size_t x = c * g.columns / out.columns; x < (c + 1) * g.columns / out.columns; ++x)
          if (std::isfinite(g.at(y, x))) sum += g.at(y, x), ++count;
      out.values.push_back(count > 0 ? sum / static_cast<double>(count) : NAN);
    }
  return out;
}

Axis colours_of(const Grid& g, const AxisOptions& o) {
  AxisRange found;
  Axis shown{{}, o.log};
  for (double v : g.values)
    if (shown.shows(v)) found.add(v);
  return axis_of(found, o);
}

// The next of 1, 2, 5, 10, 20, …
size_t round_step(size_t least) {
  for (size_t ten = 1;; ten *= 10)
    for (size_t m : {1, 2, 5})
      if (m * ten >= least) return m * ten;
}

// The name of a row or column, or its number.
std::string name_of(const std::vector<std::string>& names, size_t i) {
  return i < names.size() ? names[i] : std::to_string(i);
}

}  // namespace

Drawing heat_map_drawing(const Grid& whole, const PlotOptions& o) {
  constexpr size_t kMostCells = 256;
  Grid g = reduced(whole, kMostCells, kMostCells);
  Axis colours = colours_of(g, o.colours);
  Drawing d;
  d.width = o.picture_width;
  d.height = o.picture_height;
  double widest = 0;
  for (const std::string& name : o.y_names)
    widest = std::max(widest, 7.5 * static_cast<double>(display_width(name)));
  double left = std::clamp(widest + 16, 44.0, d.width / 3.0) + (o.y.label.empty() ? 0 : 20), right = d.width - 96,
         top = o.title.empty() ? 20 : 46, bottom = d.height - 52;
  if (!o.title.empty()) d.labels.push_back({{d.width / 2.0, 26}, o.title, Anchor::Middle, 16, true});
  double cell_width = (right - left) / static_cast<double>(std::max<size_t>(1, g.columns)),
         cell_height = (bottom - top) / static_cast<double>(std::max<size_t>(1, g.rows));
  for (size_t r = 0; r < g.rows; ++r)
    for (size_t c = 0; c < g.columns; ++c) {
      double v = g.at(r, c), part = colours.shows(v) ? colours.part(v) : 0;
      Point at{left + static_cast<double>(c) * cell_width, top + static_cast<double>(r) * cell_height};
      d.boxes.push_back({at, cell_width, cell_height, colours.shows(v) ? colour_at(part) : kNoColour});
      if (!o.numbers || whole.rows > g.rows || whole.columns > g.columns) continue;
      Label number{{at.x + cell_width / 2, at.y + cell_height / 2 + 4}, short_number(v)};
      number.colour = colours.shows(v) && part < 0.6 ? kPaper : kInk;
      d.labels.push_back(std::move(number));
    }
  // As many names as fit; of numbers, round ones.
  auto mark = [&](size_t count, double extent, const std::vector<std::string>& given, double room, const auto& add) {
    double of_each = extent / static_cast<double>(count);
    auto every = static_cast<size_t>(std::max(1.0, std::ceil(room / of_each)));
    if (given.empty()) every = round_step(every);
    for (size_t i = 0; i < count; i += every)
      add(name_of(given, i), (static_cast<double>(i) + 0.5) * of_each);
  };
  double widest_x = static_cast<double>(std::to_string(whole.columns).size());
  for (const std::string& name : o.x_names)
    widest_x = std::max(widest_x, static_cast<double>(display_width(name)));
  constexpr double kLetter = 7.5, kLine = 16;  // estimates: the font is not known here
  if (g.columns > 0)
    mark(whole.columns, right - left, o.x_names, kLetter * widest_x + 10,
         [&](const std::string& name, double at) { d.labels.push_back({{left + at, bottom + 20}, name}); });
  if (g.rows > 0)
    mark(whole.rows, bottom - top, o.y_names, kLine, [&](const std::string& name, double at) {
      d.labels.push_back({{left - 8, top + at + 4}, name, Anchor::End});
    });
  add_axis_labels(d, o, {left, top}, {right, bottom});
  // The colour bar.
  constexpr int kSteps = 64;
  double scale_left = right + 20, scale_width = 14, step = (bottom - top) / kSteps;
  for (int i = 0; i < kSteps; ++i)
    d.boxes.push_back({{scale_left, bottom - step * (i + 1)}, scale_width, step, colour_at((i + 0.5) / kSteps)});
  for (double v : ticks(colours, 6))
    d.labels.push_back({{scale_left + scale_width + 6, bottom - colours.part(v) * (bottom - top) + 4},
                        short_number(v),
                        Anchor::Start});
  return d;
}

std::string heat_map_text(const Grid& whole, const PlotOptions& o) {
  int label = 0;
  for (size_t r = 0; r < whole.rows; ++r)
    label = std::max(label, static_cast<int>(display_width(name_of(o.y_names, r))));
  constexpr int kCell = 2;  // characters, which are twice as high as wide
  Grid g = reduced(whole, static_cast<size_t>(std::max(o.height, 3)),
                   static_cast<size_t>(std::max((o.width - label - 2) / kCell, 3)));
  Axis colours = colours_of(g, o.colours);
  static constexpr const char* kShades[] = {"··", "░░", "▒▒", "▓▓", "██"};
  auto cell = [&](double part) {
    uint32_t c = colour_at(part);
    if (o.colour) return fmt::format("\x1b[48;2;{};{};{}m  \x1b[0m", c >> 16, c >> 8 & 0xFF, c & 0xFF);
    return std::string(kShades[std::clamp(static_cast<int>(part * 5), 0, 4)]);
  };
  std::string out = o.title.empty() ? "" : o.title + "\n";
  for (size_t r = 0; r < g.rows; ++r) {
    std::string name = name_of(o.y_names, r * whole.rows / g.rows);
    out +=
        std::string(static_cast<size_t>(std::max(0, label - static_cast<int>(display_width(name)))), ' ') + name + " ";
    for (size_t c = 0; c < g.columns; ++c)
      out += colours.shows(g.at(r, c)) ? cell(colours.part(g.at(r, c))) : "  ";
    out.resize(out.find_last_not_of(' ') + 1);
    out += "\n";
  }
  out += fmt::format("{:{}} {} ", "", label, short_number(colours.value(0)));
  for (int i = 0; i < 5; ++i)
    out += cell((i + 0.5) / 5);
  return out + " " + short_number(colours.value(1)) + "\n";
}

}  // namespace sheaf::builtins
