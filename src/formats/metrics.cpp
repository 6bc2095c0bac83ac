#include "formats/metrics.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cmath>
#include <map>

#include "formats/files.h"
#include "formats/json.h"
#include "support/mutex.h"

namespace sheaf::formats {
namespace {

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

// Checksums are stored rotated and shifted, so that a checksum of bytes that hold checksums stays a good one.
uint32_t masked(uint32_t crc) { return (crc >> 15 | crc << 17) + 0xa282ead8u; }

double wall_seconds() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// The event file of a directory, begun at its first use.
std::string event_file(const std::string& directory) {
  static auto* mu = new Mutex;
  static auto* files = new std::map<std::string, std::string>;
  MutexLock lock(*mu);
  std::string& path = (*files)[directory];
  if (path.empty()) {
    char host[256] = "host";
    ::gethostname(host, sizeof host - 1);
    double now = wall_seconds();
    path = fmt::format("{}/events.out.tfevents.{:.0f}.{}.{}.{}", directory, std::floor(now), host, ::getpid(),
                       files->size());
    append_file(path, event_record(version_event(now)), "log-metrics");
  }
  return path;
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
  if (!path.ends_with(".jsonl")) {
    append_file(event_file(path), event_record(scalar_event(wall_seconds(), step, metrics)), "log-metrics");
    return;
  }
  std::string line = fmt::format("{{\"step\":{}", step);
  for (const Metric& m : metrics)
    line += "," + write_json(Value::string(m.name)) + ":" +
            write_json(Value::floating(static_cast<float>(m.value)), {.tagged = false});
  append_file(path, line + "}\n", "log-metrics");
}

}  // namespace sheaf::formats
