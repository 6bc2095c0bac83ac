// Numbers of a run, step by step: JSON lines, or the event files of TensorBoard.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace sheaf::formats {

struct Metric {
  std::string name;
  double value;
};

// `path` ending in .jsonl: one line {"step":…, …}. Otherwise a directory, in which this process keeps one event file.
void append_metrics(const std::string& path, int64_t step, const std::vector<Metric>& metrics);

// The pieces of an event file: a record with its checksums, and the bytes of an Event message.
std::string event_record(std::string_view event);
std::string version_event(double wall_seconds);
std::string scalar_event(double wall_seconds, int64_t step, const std::vector<Metric>& metrics);
uint32_t crc32c(std::string_view bytes);

}  // namespace sheaf::formats
