#include "builtins/host/progress_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace sheaf::builtins {
namespace {

constexpr int kMostBar = 30, kLeastBar = 6;

std::string clock_text(double seconds) {
  if (!(seconds < 360000)) return "--:--";
  auto s = static_cast<int64_t>(std::ceil(seconds));
  if (s >= 3600) return fmt::format("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60);
  return fmt::format("{:02}:{:02}", s / 60, s % 60);
}

std::string rate_text(const Progress& p) {
  if (p.done <= p.first || p.seconds <= 0) return "";
  double rate = static_cast<double>(p.done - p.first) / p.seconds;
  if (rate >= 1000) return fmt::format("{:.0f}/s", rate);
  return rate >= 1 ? fmt::format("{:.1f}/s", rate) : fmt::format("{:.1f} s each", 1 / rate);
}

std::string left_text(const Progress& p) {
  if (p.done == p.total) return clock_text(p.seconds);
  if (p.done <= p.first) return "--:-- left";
  return clock_text(p.seconds / static_cast<double>(p.done - p.first) * static_cast<double>(p.total - p.done)) +
         " left";
}

std::string values_text(const Progress& p) {
  std::string s;
  for (const auto& [name, value] : p.values)
    s += (s.empty() ? "" : "  ") + name + (name.empty() ? "" : " ") + value;
  return s;
}

int percent(const Progress& p) {
  return p.total > 0 ? static_cast<int>(100.0 * static_cast<double>(p.done) / static_cast<double>(p.total)) : 100;
}

// The width of UTF-8 text without wide characters.
int columns(const std::string& s) {
  return static_cast<int>(std::count_if(s.begin(), s.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

std::string cut(const std::string& s, int width) {
  size_t at = 0;
  for (int used = 0; at < s.size(); ++at)
    if ((s[at] & 0xC0) != 0x80 && ++used > width) break;
  return s.substr(0, at);
}

std::string joined(const std::vector<std::string>& parts) {
  std::string s;
  for (const std::string& part : parts)
    if (!part.empty()) s += (s.empty() ? "" : "  ") + part;
  return s;
}

std::string bar(const Progress& p, int width) {
  int halves = p.total > 0 ? static_cast<int>(2.0 * width * static_cast<double>(p.done) / static_cast<double>(p.total))
                           : 2 * width;
  std::string s;
  for (int i = 0; i < width; ++i)
    s += 2 * i + 1 < halves ? "━" : 2 * i < halves ? "╸" : "─";
  return s;
}

}  // namespace

std::string progress_bar(const Progress& p, int width) {
  int room = width - 1;  // a full line would wrap
  std::string part = fmt::format("{:>3}%", percent(p)), count = fmt::format("{}/{}", p.done, p.total),
              rate = rate_text(p), left = left_text(p), values = values_text(p);
  std::string rest = joined({count, rate, left, values});
  int free = room - columns(part) - columns(rest) - 3;
  if (free >= kLeastBar) return part + " " + bar(p, std::min(free, kMostBar)) + "  " + rest;
  for (const auto& shorter :
       {joined({part, count, rate, left, values}), joined({part, count, left, values}), joined({part, left, values})})
    if (columns(shorter) <= room) return shorter;
  return cut(joined({part, values}), room);
}

std::string progress_line(const Progress& p) {
  return joined({fmt::format("{:>{}}/{}", p.done, std::to_string(p.total).size(), p.total),
                 fmt::format("{:>3}%", percent(p)), rate_text(p), left_text(p), values_text(p)});
}

}  // namespace sheaf::builtins
