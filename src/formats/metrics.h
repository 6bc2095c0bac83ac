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

// What a training that goes on from `step` does first: entries of later steps, which will come again, and one that was
// not written to its end are removed. Says what it did; empty: nothing.
std::string cut_metrics(const std::string& path, int64_t step);
// What one that begins does: a log with entries of steps already keeps them, under another name. Says so; empty:
// nothing.
std::string begin_metrics(const std::string& path);

// The pieces of an event file: a record with its checksums, and the bytes of an Event message.
std::string event_record(std::string_view event);
std::string version_event(double wall_seconds);
std::string scalar_event(double wall_seconds, int64_t step, const std::vector<Metric>& metrics);
uint32_t crc32c(std::string_view bytes);

}  // namespace sheaf::formats
