// Metrics of a run, by step: JSON lines, or TensorBoard's event files.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace sheaf::formats {

struct Metric {
  std::string name;
  double value;
};

// `path` ending in .jsonl: one line {"step":…, …}. Else a directory, in which this process has one event file.
void append_metrics(const std::string& path, int64_t step, const std::vector<Metric>& metrics);

// For a training run that resumes at `step`: removes entries of later steps, which will be written again, and an
// incomplete last entry. Returns a description of what it did; empty: nothing.
std::string cut_metrics(const std::string& path, int64_t step);
// For a training run that starts: renames a log that already has entries. Returns a description; empty: nothing to do.
std::string begin_metrics(const std::string& path);

// The parts of an event file: a record with its checksums, and the bytes of an Event message.
std::string event_record(std::string_view event);
std::string version_event(double wall_seconds);
std::string scalar_event(double wall_seconds, int64_t step, const std::vector<Metric>& metrics);
uint32_t crc32c(std::string_view bytes);

}  // namespace sheaf::formats
