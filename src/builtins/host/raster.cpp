#include "builtins/host/raster.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace sheaf::builtins {

Raster::Raster(int width, int height, uint32_t paper)
    : width_(width),
      height_(height),
      pixels_(static_cast<size_t>(width) * height * 3),
      cover_(static_cast<size_t>(width) * height),
      left_(width),
      top_(height) {
  for (size_t i = 0; i < pixels_.size(); ++i)
    pixels_[i] = static_cast<uint8_t>(paper >> (16 - 8 * (i % 3)));
}

void Raster::stroke(Point a, Point b, double width) {
  double reach = width / 2 + 0.5;
  auto inside = [](double v, int limit) { return static_cast<int>(std::clamp(v, 0.0, static_cast<double>(limit))); };
  int left = inside(std::floor(std::min(a.x, b.x) - reach), width_),
      right = inside(std::ceil(std::max(a.x, b.x) + reach) + 1, width_);
  int top = inside(std::floor(std::min(a.y, b.y) - reach), height_),
      end = inside(std::ceil(std::max(a.y, b.y) + reach) + 1, height_);
  double dx = b.x - a.x, dy = b.y - a.y, length2 = dx * dx + dy * dy;
  for (int y = top; y < end; ++y)
    for (int x = left; x < right; ++x) {
      double px = x + 0.5 - a.x, py = y + 0.5 - a.y;
      double along = length2 > 0 ? std::clamp((px * dx + py * dy) / length2, 0.0, 1.0) : 0;
      double distance = std::hypot(px - along * dx, py - along * dy);
      float& cover = cover_[static_cast<size_t>(y) * width_ + x];
      cover = std::max(cover, static_cast<float>(std::clamp(reach - distance, 0.0, 1.0)));
    }
  left_ = std::min(left_, left);
  right_ = std::max(right_, right);
  top_ = std::min(top_, top);
  end_ = std::max(end_, end);
}

void Raster::paint(uint32_t colour) {
  for (int y = top_; y < end_; ++y)
    for (int x = left_; x < right_; ++x) {
      size_t at = static_cast<size_t>(y) * width_ + x;
      for (int channel = 0; channel < 3; ++channel) {
        uint8_t& p = pixels_[3 * at + channel];
        auto full = static_cast<uint8_t>(colour >> (16 - 8 * channel));
        p = static_cast<uint8_t>(std::lround(static_cast<float>(p) + cover_[at] * static_cast<float>(full - p)));
      }
      cover_[at] = 0;
    }
  left_ = width_;
  top_ = height_;
  right_ = end_ = 0;
}

void Raster::fill(Point from, Point to, uint32_t colour) {
  auto inside = [](double v, int limit) { return static_cast<int>(std::clamp(std::round(v), 0.0, 1.0 * limit)); };
  int left = inside(from.x, width_), right = inside(to.x, width_);
  for (int y = inside(from.y, height_), end = inside(to.y, height_); y < end; ++y)
    for (int x = left; x < right; ++x)
      for (int channel = 0; channel < 3; ++channel)
        pixels_[3 * (static_cast<size_t>(y) * static_cast<size_t>(width_) + static_cast<size_t>(x)) +
                static_cast<size_t>(channel)] = static_cast<uint8_t>(colour >> (16 - 8 * channel));
}

Tensor Raster::picture() const {
  Tensor t = empty_tensor(DType::U8, {height_, width_, 3});
  std::memcpy(t.bytes_mut(), pixels_.data(), pixels_.size());
  return t;
}

}  // namespace sheaf::builtins
