// A picture of pixels on which shapes of round strokes are painted, with soft edges.
#pragma once
#include <cstdint>
#include <vector>

#include "builtins/host/point.h"
#include "tensor/tensor.h"

namespace sheaf::builtins {

class Raster {
 public:
  Raster(int width, int height, uint32_t paper);

  // Adds a stroke from a to b, in pixels, to the shape that is next painted; a dot where they are one.
  void stroke(Point a, Point b, double width);
  // Paints the shape in one go, so that strokes which meet do not show.
  void paint(uint32_t colour);

  // Paints a box between two corners, whose edges are rounded to pixels.
  void fill(Point from, Point to, uint32_t colour);

  Tensor picture() const;  // u8 [height, width, 3]

 private:
  int width_, height_;
  std::vector<uint8_t> pixels_;
  std::vector<float> cover_;              // by the shape, 0 to 1
  int left_, top_, right_ = 0, end_ = 0;  // the part of it that is not 0
};

}  // namespace sheaf::builtins
