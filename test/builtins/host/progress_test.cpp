#include <gtest/gtest.h>

#include "builtins/host/plot_drawing.h"
#include "builtins/host/plot_text.h"
#include "builtins/host/progress_text.h"
#include "formats/png.h"

namespace sheaf::builtins {
namespace {

TEST(Progress, FitsTheLine) {
  Progress p{420, 1000, 0, 35, {{"loss", "0.1234"}}};
  EXPECT_EQ(progress_bar(p, 80), " 42% ━━━━━━━━━━━━╸─────────────────  420/1000  12.0/s  00:49 left  loss 0.1234");
  EXPECT_EQ(progress_bar(p, 60), " 42% ━━━━╸──────  420/1000  12.0/s  00:49 left  loss 0.1234");
  EXPECT_EQ(progress_bar(p, 40), " 42%  420/1000  00:49 left  loss 0.1234");
  EXPECT_EQ(progress_bar(p, 30), " 42%  00:49 left  loss 0.1234");
  EXPECT_EQ(progress_bar(p, 12), " 42%  loss ");
  EXPECT_EQ(progress_line(p), " 420/1000   42%  12.0/s  00:49 left  loss 0.1234");
}

TEST(Progress, Ends) {
  EXPECT_EQ(progress_bar({0, 10, 0, 0, {}}, 40), "  0% ────────────────  0/10  --:-- left");
  EXPECT_EQ(progress_bar({10, 10, 0, 5000, {}}, 50), "100% ━━━━━━━━━━━━━━  10/10  500.0 s each  1:23:20");
  EXPECT_EQ(progress_bar({60, 100, 50, 10, {}}, 40), " 60% ━━━━───  60/100  1.0/s  00:40 left");
  EXPECT_EQ(progress_bar({0, 0, 0, 0, {}}, 30), "100% ━━━━━━━━━━━━  0/0  00:00");
}

TEST(Plot, CurvesApart) {
  PlotOptions o;
  o.width = 30;
  o.height = 4;
  std::string text = plot_text({{"a", {0, 1, 2}, {0, 1, 2}}, {"b", {0, 1, 2}, {2, 1, 0}}}, o);
  EXPECT_NE(text.find("* a   o b"), std::string::npos) << text;
  EXPECT_EQ(plot_text({{"", {0, 1}, {1, 1}}}, o).find("nan"), std::string::npos);
  EXPECT_NE(plot_text({{"", {}, {}}}, o).find("┤"), std::string::npos);
}

TEST(Plot, Svg) {
  std::string svg =
      svg_of(plot_drawing({{"a<b", {0, 1, 2}, {1, 10, 100}}}, {.title = "x & y", .y = {.label = "up", .log = true}}));
  EXPECT_TRUE(svg.starts_with("<svg "));
  EXPECT_TRUE(svg.ends_with("</svg>\n"));
  EXPECT_NE(svg.find("a&lt;b"), std::string::npos);
  EXPECT_NE(svg.find("x &amp; y"), std::string::npos);
  EXPECT_NE(svg.find(">100</text>"), std::string::npos) << svg;
  EXPECT_NE(svg.find("rotate(-90)\" text-anchor=\"middle\">up</text>"), std::string::npos) << svg;
}

// The names are above the curves, in as many rows as they need; dashes distinguish a seventh curve from the first.
TEST(Plot, SvgLegend) {
  std::vector<Curve> curves;
  for (int i = 0; i < 7; ++i)
    curves.push_back({"a name of twenty-two " + std::to_string(i), {0, 1}, {0, 1.0 * i}});
  std::string svg = svg_of(plot_drawing(curves, {.title = "many"}));
  EXPECT_NE(svg.find("<path d=\"M72.0 46.0L86.0 46.0\""), std::string::npos) << svg;
  EXPECT_NE(svg.find("<path d=\"M72.0 86.0L86.0 86.0\" fill=\"none\" stroke=\"#1f6feb\" stroke-dasharray=\"7 4\""),
            std::string::npos)
      << svg;
  EXPECT_NE(svg.find("M72.0 106.0L72.0 380.0L696.0 380.0"), std::string::npos) << svg;
}

TEST(Plot, TicksAreRound) {
  auto of = [](double lo, double hi, bool log) { return ticks(axis_of({lo, hi}, {.log = log}), 6); };
  EXPECT_EQ(of(0, 12, false), (std::vector<double>{0, 2, 4, 6, 8, 10, 12}));
  EXPECT_EQ(of(1, 1e6, true), (std::vector<double>{1, 10, 100, 1e3, 1e4, 1e5, 1e6}));
  EXPECT_EQ(of(0.5, 40, true), (std::vector<double>{0.5, 1, 2, 5, 10, 20}));
  EXPECT_EQ(of(2, 6, true), (std::vector<double>{2, 3, 4, 5, 6}));
  EXPECT_EQ(of(1e-300, 1e300, true).size(), 7u);
  EXPECT_LE(of(1e17, 1e17 + 64, false).size(), 25u);
}

TEST(Plot, SegmentsAreClipped) {
  auto clipped = [](double x0, double y0, double x1, double y1) -> std::vector<double> {
    if (!clip(x0, y0, x1, y1)) return {};
    return {x0, y0, x1, y1};
  };
  EXPECT_EQ(clipped(0.25, 0.5, 0.75, 1), (std::vector<double>{0.25, 0.5, 0.75, 1}));
  EXPECT_EQ(clipped(-1, 0.5, 2, 0.5), (std::vector<double>{0, 0.5, 1, 0.5}));
  EXPECT_EQ(clipped(0.5, 2, 0.5, -2), (std::vector<double>{0.5, 1, 0.5, 0}));
  EXPECT_EQ(clipped(2, 2, 3, 3), std::vector<double>());
  EXPECT_EQ(clipped(-1, 0.5, 0.5, 2), std::vector<double>());
  EXPECT_EQ(clipped(1, 1, 1, 1), (std::vector<double>{1, 1, 1, 1}));
  EXPECT_EQ(clipped(1.5, 1, 1.5, 1), std::vector<double>());
}

// The same drawing in pixels: curves in their colours where they should be, text where labels are.
TEST(Plot, Png) {
  std::vector<Curve> curves = {{"flat", {0, 1}, {1, 1}}, {"rising", {0, 1}, {0, 2}}};
  Drawing d = plot_drawing(curves, {.title = "Two", .x = {.label = "x"}, .y = {.label = "é"}});
  Tensor t = formats::parse_png(png_of(d)).as_tensor();
  ASSERT_EQ(t.sizes, (Dims{864, 1440, 3}));
  auto pixel = [&](double x, double y) {
    const uint8_t* p = t.data<uint8_t>() + 3 * (static_cast<int64_t>(2 * y) * 1440 + static_cast<int64_t>(2 * x));
    return uint32_t{p[0]} << 16 | uint32_t{p[1]} << 8 | p[2];
  };
  double top = d.lines.back().runs[0][1].y, middle = (top + 380) / 2;
  EXPECT_EQ(pixel(5, 5), kPaper);
  EXPECT_EQ(pixel(72 + 624 / 4.0, middle), 0x1f6febu);
  EXPECT_EQ(pixel(72 + 624 / 4.0, (3 * 380 + top) / 4), 0xd1242fu);
  EXPECT_EQ(pixel(79, 46), 0x1f6febu);  // the legend
  auto ink = [&](double left, double right, double above, double below) {
    int n = 0;
    for (double y = above; y < below; y += 0.5)
      for (double x = left; x < right; x += 0.5)
        n += pixel(x, y) == kInk;
    return n;
  };
  EXPECT_GT(ink(330, 390, 10, 28), 50);    // the title
  EXPECT_GT(ink(380, 390, 410, 424), 10);  // the name of the x axis
  EXPECT_GT(ink(5, 22, 200, 240), 10);     // a box for a letter that the font does not have
  EXPECT_EQ(ink(100, 300, 405, 424), 0);
}

// Nothing is cut off or drawn outside, whatever the numbers.
TEST(Plot, PngOfOddCurves) {
  for (const Curve& c : {Curve{"", {}, {}}, Curve{"", {0}, {NAN}}, Curve{"one", {3}, {1e30}},
                         Curve{std::string(300, 'w'), {0, 1, 2}, {-1e-30, INFINITY, 1e-30}}})
    EXPECT_TRUE(formats::is_png(png_of(plot_drawing({c}, {.title = "\x01 \xff"}))));
}

}  // namespace
}  // namespace sheaf::builtins
