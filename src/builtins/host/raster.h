// A pixel image on which antialiased shapes of round strokes are painted.
#pragma once
#include <cstdint>
#include <vector>

#include "builtins/host/point.h"
#include "tensor/tensor.h"

namespace sheaf::builtins {

class Raster {
 public:
  Raster(int width, int height, uint32_t paper);

  // Adds a stroke from a to b, in pixels, to the next shape to be painted; a dot if they are equal.
  void stroke(Point a, Point b, double width);
  // Paints the whole shape at once, so that overlaps of strokes do not show.
  void paint(uint32_t colour);

  // Fills a box between two corners; its edges are rounded to pixels.
  void fill(Point from, Point to, uint32_t colour);

  Tensor picture() const;  // u8 [height, width, 3]

 private:
  int width_, height_;
  std::vector<uint8_t> pixels_;
  std::vector<float> cover_;              // coverage by the shape, 0 to 1
  int left_, top_, right_ = 0, end_ = 0;  // bounds of its nonzero part
};

}  // namespace sheaf::builtins
