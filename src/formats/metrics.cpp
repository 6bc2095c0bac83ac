#include "formats/metrics.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <map>

#include "formats/byte_reader.h"
#include "formats/files.h"
#include "formats/json.h"
#include "support/mutex.h"

namespace sheaf::formats {
namespace {

namespace fs = std::filesystem;

template <class T>
void put(std::string& out, T v) {
  out.append(reinterpret_cast<const char*>(&v), sizeof v);
}

// Protocol buffers: a field is its number and kind, then a varint, 8 bytes, 4 bytes, or a length and bytes.
void put_varint(std::string& out, uint64_t v) {
  for (; v >= 0x80; v >>= 7)
    out += static_cast<char>(v | 0x80);
  out += static_cast<char>(v);
}
void put_bytes_field(std::string& out, int number, std::string_view bytes) {
  put_varint(out, static_cast<uint64_t>(number) << 3 | 2);
  put_varint(out, bytes.size());
  out += bytes;
}
void put_wall_time(std::string& out, double seconds) {
  put_varint(out, 1 << 3 | 1);
  put(out, seconds);
}

// Checksums are stored rotated and offset, so that a checksum over bytes that contain checksums stays effective.
uint32_t masked(uint32_t crc) { return (crc >> 15 | crc << 17) + 0xa282ead8u; }

double wall_seconds() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

constexpr std::string_view kEventFile = "events.out.tfevents.", kOldEventFile = "events.out.old.";

struct EventFiles {
  Mutex mu;
  std::map<std::string, std::string> paths GUARDED_BY(mu);  // of this process, by directory
};
EventFiles& event_files() {
  static auto* f = new EventFiles;
  return *f;
}

// The event file of a directory, created on first use.
std::string event_file(const std::string& directory) {
  EventFiles& files = event_files();
  MutexLock lock(files.mu);
  std::string& path = files.paths[directory];
  if (path.empty()) {
    char host[256] = "host";
    ::gethostname(host, sizeof host - 1);
    double now = wall_seconds();
    static std::atomic<int> begun{0};
    path = fmt::format("{}/{}{:.0f}.{}.{}.{}", directory, kEventFile, std::floor(now), host, ::getpid(), ++begun);
    append_file(path, event_record(version_event(now)), "log-metrics");
  }
  return path;
}

bool is_lines(const std::string& path) { return path.ends_with(".jsonl"); }

// The existing files of a log.
std::vector<std::string> files_of_log(const std::string& path) {
  std::vector<std::string> out;
  std::error_code error;
  if (is_lines(path)) {
    if (fs::exists(path, error)) out.push_back(path);
    return out;
  }
  for (fs::directory_iterator it(path, error), end; !error && it != end; it.increment(error))
    if (it->path().filename().native().starts_with(kEventFile)) out.push_back(it->path().string());
  std::sort(out.begin(), out.end());
  return out;
}

// TensorBoard reads every file with "tfevents" in its name.
std::string old_event_file(const fs::path& file) {
  std::string rest = file.filename().string().substr(kEventFile.size());
  fs::path name = file.parent_path() / (std::string(kOldEventFile) + rest);
  std::error_code error;
  fs::rename(file, name, error);
  if (error) throw runtime_error(fmt::format("log-metrics '{}': {}", file.string(), error.message()));
  return name.string();
}

// The part of a log to keep, and how much is dropped.
struct Kept {
  std::string text;
  int64_t later = 0;  // entries of later steps
  bool torn = false;  // an incomplete entry
};

// The step of a line written by append_metrics; -1 for any other line.
int64_t step_of_line(std::string_view line) {
  constexpr std::string_view kStart = "{\"step\":";
  int64_t step = -1;
  if (line.starts_with(kStart)) std::from_chars(line.data() + kStart.size(), line.data() + line.size(), step);
  return step;
}

Kept cut_lines(std::string_view text, int64_t step) {
  Kept out;
  while (!text.empty()) {
    size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    bool unfinished = end == std::string_view::npos && !line.ends_with('}');
    if (unfinished && (line.starts_with('{') || line.starts_with('\0')))
      out.torn = true;
    else if (step_of_line(line) > step)
      ++out.later;
    else
      out.text += std::string(line) + "\n";
  }
  return out;
}

uint64_t take_varint(ByteReader& in) {
  uint64_t v = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    auto byte = in.number<uint8_t>();
    v |= static_cast<uint64_t>(byte & 0x7F) << shift;
    if (byte < 0x80) break;
  }
  return v;
}

// The step of an Event message; 0 if it has none.
int64_t step_of_event(std::string_view event) {
  ByteReader in(event);
  while (in.left() > 0) {
    uint64_t field = take_varint(in);
    switch (field & 7) {
      case 0: {
        uint64_t v = take_varint(in);
        if (field >> 3 == 2) return static_cast<int64_t>(v);
        break;
      }
      case 1: in.take(8); break;
      case 2: in.take(take_varint(in)); break;
      case 5: in.take(4); break;
      default: return 0;
    }
  }
  return 0;
}

Kept cut_events(std::string_view bytes, int64_t step) {
  Kept out;
  ByteReader in(bytes);
  try {
    while (in.left() > 0) {
      size_t begin = in.position();
      std::string_view length = in.take(8);
      if (in.number<uint32_t>() != masked(crc32c(length))) throw runtime_error("the length of a record is damaged");
      std::string_view event = in.take(ByteReader(length).number<uint64_t>());
      if (in.number<uint32_t>() != masked(crc32c(event)))
        out.torn = true;
      else if (step_of_event(event) > step)
        ++out.later;
      else
        out.text += bytes.substr(begin, in.position() - begin);
    }
  } catch (const UserError&) {
    out.torn = true;  // the rest cannot be read
  }
  return out;
}

}  // namespace

uint32_t crc32c(std::string_view bytes) {
  static const auto table = [] {
    std::array<uint32_t, 256> t{};
    for (uint32_t i = 0; i < 256; ++i) {
      uint32_t c = i;
      for (int k = 0; k < 8; ++k)
        c = c & 1 ? c >> 1 ^ 0x82f63b78u : c >> 1;  // Castagnoli's polynomial, reversed
      t[i] = c;
    }
    return t;
  }();
  uint32_t c = ~0u;
  for (unsigned char b : bytes)
    c = table[(c ^ b) & 0xFF] ^ c >> 8;
  return ~c;
}

std::string event_record(std::string_view event) {
  std::string length, out;
  put(length, static_cast<uint64_t>(event.size()));
  out = length;
  put(out, masked(crc32c(length)));
  out += event;
  put(out, masked(crc32c(event)));
  return out;
}

std::string version_event(double wall) {
  std::string out;
  put_wall_time(out, wall);
  put_bytes_field(out, 3, "brain.Event:2");
  return out;
}

std::string scalar_event(double wall, int64_t step, const std::vector<Metric>& metrics) {
  std::string summary;
  for (const Metric& m : metrics) {
    std::string value;
    put_bytes_field(value, 1, m.name);
    put_varint(value, 2 << 3 | 5);
    put(value, static_cast<float>(m.value));
    put_bytes_field(summary, 1, value);
  }
  std::string out;
  put_wall_time(out, wall);
  put_varint(out, 2 << 3 | 0);
  put_varint(out, static_cast<uint64_t>(step));
  put_bytes_field(out, 5, summary);
  return out;
}

void append_metrics(const std::string& path, int64_t step, const std::vector<Metric>& metrics) {
  if (!is_lines(path)) {
    append_file(event_file(path), event_record(scalar_event(wall_seconds(), step, metrics)), "log-metrics");
    return;
  }
  std::string line = fmt::format("{{\"step\":{}", step);
  for (const Metric& m : metrics)
    line += "," + write_json(Value::string(m.name)) + ":" +
            write_json(Value::floating(static_cast<float>(m.value)), {.tagged = false});
  append_file(path, line + "}\n", "log-metrics");
}

std::string cut_metrics(const std::string& path, int64_t step) {
  Kept all;
  for (const std::string& file : files_of_log(path)) {
    std::string before = read_file(file, "log-metrics");
    Kept kept = is_lines(path) ? cut_lines(before, step) : cut_events(before, step);
    if (kept.text != before) write_file(file, kept.text, "log-metrics");
    all.later += kept.later;
    all.torn = all.torn || kept.torn;
  }
  if (all.later == 0 && !all.torn) return "";
  std::string what;
  if (all.later > 0) what = fmt::format("{} later {}", all.later, all.later == 1 ? "entry" : "entries");
  if (all.torn) what += what.empty() ? "a torn entry" : " and a torn one";
  return fmt::format("{}: cut back to step {}: removed {}", path, step, what);
}

std::string begin_metrics(const std::string& path) {
  std::string names;
  for (const std::string& file : files_of_log(path)) {
    std::string text = read_file(file, "log-metrics");
    Kept kept = is_lines(path) ? cut_lines(text, 0) : cut_events(text, 0);
    if (kept.later == 0 && !kept.torn) continue;
    std::string name = is_lines(path) ? set_aside(file, ".old", "log-metrics") : old_event_file(file);
    names += (names.empty() ? "" : ", ") + name;
  }
  if (names.empty()) return "";
  EventFiles& ours = event_files();
  MutexLock lock(ours.mu);
  ours.paths.erase(path);
  return fmt::format("{} has the log of another training: kept as {}", path, names);
}

}  // namespace sheaf::formats
