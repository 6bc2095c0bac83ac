#include "tools/memory_profile.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>

#include "runtime/device.h"
#include "support/machine_memory.h"
#include "support/mutex.h"
#include "tensor/tensor.h"

namespace sheaf::tools {
namespace {

size_t high_water_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<size_t>(usage.ru_maxrss) * 1024;
}

std::string size_text(double n) {
  if (n < 1024.0 * 1024) return fmt::format("{:.1f} KB", n / 1024);
  if (n < 1024.0 * 1024 * 1024) return fmt::format("{:.1f} MB", n / (1024.0 * 1024));
  return fmt::format("{:.2f} GB", n / (1024.0 * 1024 * 1024));
}

std::string delta_text(double n) { return (n < 0 ? "-" : "+") + size_text(n < 0 ? -n : n); }

}  // namespace

MemoryProfile::MemoryProfile() : sampler_(std::chrono::milliseconds(100), [this] { sample(); }) { checkpoint("start"); }

void MemoryProfile::sample() {
  const size_t bytes = resident_bytes();
  MutexLock lock(mu_);
  sampled_peak_ = std::max(sampled_peak_, bytes);
}

void MemoryProfile::checkpoint(std::string name) {
  Point p{std::move(name), resident_bytes()};
  MutexLock lock(mu_);
  points_.push_back(std::move(p));
}

std::string MemoryProfile::report() {
  MutexLock lock(mu_);
  size_t peak = std::max(high_water_bytes(), sampled_peak_);
  for (const Point& p : points_)
    peak = std::max(peak, p.rss_bytes);
  auto row = [](std::string_view name, std::string_view rss, std::string_view delta) {
    return fmt::format("  {:<20} | {:>10} | {:>10}\n", name, rss, delta);
  };
  std::string out =
      "Memory profile:\n" + row("Checkpoint", "RSS", "Delta") + fmt::format("  {:-<21}+{:-<12}+{:-<11}\n", "", "", "");
  double before = 0;  // in the previous row
  for (size_t i = 0; i < points_.size(); ++i) {
    // Training takes thousands of gradients: shows the first and last of a long run of equal events.
    size_t end = i + 1;
    while (end < points_.size() && points_[end].name == points_[i].name)
      ++end;
    if (i > 0 && points_[i - 1].name == points_[i].name && end - i > 1) {
      out += row(fmt::format("… {} more", end - i - 1), "", "");
      i = end - 1;
    }
    double rss = static_cast<double>(points_[i].rss_bytes);
    out += row(points_[i].name, size_text(rss), i == 0 ? "-" : delta_text(rss - before));
    before = rss;
  }
  out += row("peak", size_text(static_cast<double>(peak)),
             delta_text(static_cast<double>(peak) - static_cast<double>(points_[0].rss_bytes)));
  auto account = [&](std::string_view name, size_t peak_bytes, size_t live_bytes) {
    out += fmt::format("  {}: peak {}, live {}\n", name, size_text(static_cast<double>(peak_bytes)),
                       size_text(static_cast<double>(live_bytes)));
  };
  const MemoryStats stats = memory_stats();
  account("Tensors", stats.peak_bytes, stats.live_bytes);
  if (const runtime::Device* device = runtime::g_device) {
    const auto use = device->memory_use();
    account(fmt::format("Memory of {}", device->name()), use.peak, use.in_use);
  }
  return out;
}

}  // namespace sheaf::tools
