// Renders a drawing as SVG.
#include <fmt/format.h>

#include "builtins/host/plot_drawing.h"

namespace sheaf::builtins {
namespace {

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

std::string path_of(const Line& line) {
  std::string out;
  for (const std::vector<Point>& run : line.runs) {
    out += fmt::format("M{:.1f} {:.1f}", run[0].x, run[0].y);
    for (size_t i = 1; i < run.size(); ++i)
      out += fmt::format("L{:.1f} {:.1f}", run[i].x, run[i].y);
    if (run.size() == 1) out += "h0";
  }
  return out;
}

std::string element_of(const Line& line) {
  std::string look = fmt::format("stroke=\"#{:06x}\"", line.colour);
  if (line.dash > 0) look += fmt::format(" stroke-dasharray=\"{} {}\"", line.dash, line.gap);
  if (line.width != 1) look += fmt::format(" stroke-width=\"{}\"", line.width);
  if (line.round) look += " stroke-linecap=\"round\" stroke-linejoin=\"round\"";
  return fmt::format("<path d=\"{}\" fill=\"none\" {}/>\n", path_of(line), look);
}

std::string element_of(const Box& box) {
  return fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"#{:06x}\"/>\n",
                     box.at.x, box.at.y, box.width, box.height, box.colour);
}

std::string element_of(const Label& label) {
  std::string place = label.upward
                          ? fmt::format("transform=\"translate({:.1f} {:.1f}) rotate(-90)\"", label.at.x, label.at.y)
                          : fmt::format("x=\"{:.1f}\" y=\"{:.1f}\"", label.at.x, label.at.y);
  static constexpr const char* kAnchors[] = {"start", "middle", "end"};
  std::string look = fmt::format(" text-anchor=\"{}\"", kAnchors[static_cast<int>(label.anchor)]);
  if (label.size != 13) look += fmt::format(" font-size=\"{}\"", label.size);
  if (label.bold) look += " font-weight=\"600\"";
  if (label.colour != kInk) look += fmt::format(" fill=\"#{:06x}\"", label.colour);
  return fmt::format("<text {}{}>{}</text>\n", place, look, escaped(label.text));
}

}  // namespace

std::string svg_of(const Drawing& d) {
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" "
      "font-family=\"system-ui, sans-serif\" font-size=\"13\" fill=\"#{2:06x}\">\n"
      "<rect width=\"{0}\" height=\"{1}\" fill=\"#{3:06x}\"/>\n",
      d.width, d.height, kInk, kPaper);
  auto add_all = [&](const auto& elements) {
    for (const auto& e : elements)
      out += element_of(e);
  };
  add_all(d.grid);
  // Antialiased edges of adjacent cells would let the background shine through between them.
  if (!d.boxes.empty()) out += "<g shape-rendering=\"crispEdges\">\n";
  add_all(d.boxes);
  if (!d.boxes.empty()) out += "</g>\n";
  add_all(d.lines);
  add_all(d.labels);
  return out + "</svg>\n";
}

}  // namespace sheaf::builtins
