#include <gtest/gtest.h>

#include "builtins/host/plot_text.h"
#include "builtins/host/progress_text.h"

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
  std::string svg = plot_svg({{"a<b", {0, 1, 2}, {1, 10, 100}}}, {.title = "x & y", .log_y = true});
  EXPECT_TRUE(svg.starts_with("<svg "));
  EXPECT_TRUE(svg.ends_with("</svg>\n"));
  EXPECT_NE(svg.find("a&lt;b"), std::string::npos);
  EXPECT_NE(svg.find("x &amp; y"), std::string::npos);
  EXPECT_NE(svg.find(">100</text>"), std::string::npos) << svg;
}

// The names stand above the curves, in as many rows as they need; a seventh curve is told from the first by its dashes.
TEST(Plot, SvgLegend) {
  std::vector<Curve> curves;
  for (int i = 0; i < 7; ++i)
    curves.push_back({"a name of twenty-two " + std::to_string(i), {0, 1}, {0, 1.0 * i}});
  std::string svg = plot_svg(curves, {.title = "many"});
  EXPECT_NE(svg.find("<path d=\"M72 46h14\""), std::string::npos) << svg;
  EXPECT_NE(svg.find("<path d=\"M72 86h14\" stroke=\"#1f6feb\" stroke-dasharray=\"7 4\""), std::string::npos) << svg;
  EXPECT_NE(svg.find("M72 106V380H696"), std::string::npos) << svg;
}

}  // namespace
}  // namespace sheaf::builtins
