#include "kernels/gemm/autotune.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <optional>
#include <unordered_map>

#include "support/mutex.h"

namespace sheaf::kernels {
namespace {

constexpr double kRoundsMs = 40;  // for all algorithms together
constexpr int kLeastRounds = 3, kMostRounds = 40;
constexpr double kClearly = 0.98;          // of the default's time: a smaller gain would not be reproducible
constexpr int64_t kStaysCached = 1 << 20;  // bytes that the previous step leaves in the core's caches
constexpr int64_t kForgotten = 64 << 20;   // bytes that evict everything else from the caches

struct Hash {
  size_t operator()(const GemmKey& w) const {
    int64_t words[] = {static_cast<int64_t>(w.dtype), w.m, w.n, w.k, w.a_minor, w.a_k, w.b_minor, w.b_k};
    return XXH3_64bits(words, sizeof words);
  }
};

std::atomic<bool> enabled{false};
Mutex measuring;  // one product at a time: concurrent measurements would disturb each other
SharedMutex mu;
std::unordered_map<GemmKey, size_t, Hash> chosen GUARDED_BY(mu);
std::unordered_map<std::string, TunedWork> known GUARDED_BY(mu);  // from earlier runs, by the name of the work
std::vector<TunedWork> met GUARDED_BY(mu);
std::function<void(const std::string&)> tell GUARDED_BY(mu);
std::string only;  // for tests, in one thread

std::string text_of(const GemmKey& w) {
  return fmt::format("{} {}x{}x{} {},{} {},{}", sheaf::name_of(w.dtype), w.m, w.k, w.n, w.a_minor, w.a_k, w.b_k,
                     w.b_minor);
}

// A result line: the name of the work, the chosen algorithm, then each algorithm with its milliseconds; tab-separated.
std::string line_of(const TunedWork& t) {
  std::string out = t.work + "\t" + t.timings[t.chosen].algorithm;
  for (const auto& timing : t.timings)
    out += fmt::format("\t{}={:.6f}", timing.algorithm, timing.ms);
  return out;
}

// Parses a result line; nullopt if it is malformed, as it may have been truncated.
std::optional<TunedWork> from_line(std::string_view line) {
  std::vector<std::string_view> parts;
  for (size_t at = 0, tab; at <= line.size(); at = tab + 1) {
    tab = std::min(line.find('\t', at), line.size());
    parts.push_back(line.substr(at, tab - at));
  }
  if (parts.size() < 3) return std::nullopt;
  TunedWork out{std::string(parts[0]), {}, 0, false};
  bool found = false;
  for (size_t i = 2; i < parts.size(); ++i) {
    size_t equal = parts[i].find('=');
    double ms = 0;
    if (equal == parts[i].npos) return std::nullopt;
    std::string_view number = parts[i].substr(equal + 1), name = parts[i].substr(0, equal);
    if (std::from_chars(number.begin(), number.end(), ms).ptr != number.end() || number.empty()) return std::nullopt;
    if (name == parts[1]) out.chosen = out.timings.size(), found = true;
    out.timings.push_back({std::string(name), ms});
  }
  return found ? std::optional(out) : std::nullopt;
}

double ms_of(auto&& f) {
  auto start = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

double median(std::vector<double> x) {
  auto middle = x.begin() + std::ssize(x) / 2;
  std::nth_element(x.begin(), middle, x.end());
  return *middle;
}

// Times algorithms in alternation; returns the median of each. Evicts operands larger than the core's caches before
// each run, since in a program they come from memory.
class Stopwatch {
 public:
  Stopwatch(const GemmKey& w, runtime::function_ref<void(size_t)> run)
      : run_(run), far_((w.m * w.k + w.k * w.n + w.m * w.n) * int64_t(size_bytes(w.dtype)) > kStaysCached) {
    if (far_) memory_.resize(kForgotten / sizeof(uint64_t));
  }

  std::vector<double> alternate(const std::vector<size_t>& algorithms) {
    std::vector<std::vector<double>> times(algorithms.size());
    double spent = 0;
    for (int round = 0; round < kLeastRounds || (round < kMostRounds && spent < kRoundsMs); ++round)
      for (size_t i = 0; i < algorithms.size(); ++i) {
        if (far_) forget();
        times[i].push_back(ms_of([&] { run_(algorithms[i]); }));
        spent += times[i].back();
      }
    std::vector<double> out;
    for (auto& t : times)
      out.push_back(median(std::move(t)));
    return out;
  }

 private:
  void forget() {
    for (uint64_t& x : memory_)
      ++x;
  }

  runtime::function_ref<void(size_t)> run_;
  bool far_;
  std::vector<uint64_t> memory_;
};

TunedWork measure(const GemmKey& work, std::span<const std::string_view> algorithms,
                  runtime::function_ref<void(size_t)> run) {
  TunedWork out{text_of(work), {}, 0, true};
  std::vector<size_t> all;
  for (size_t i = 0; i < algorithms.size(); ++i)
    run(i), all.push_back(i);
  Stopwatch watch(work, run);
  std::vector<double> times = watch.alternate(all);
  for (size_t i = 0; i < algorithms.size(); ++i)
    out.timings.push_back({std::string(algorithms[i]), times[i]});
  size_t best = std::min_element(times.begin(), times.end()) - times.begin();
  if (best != 0 && times[best] < kClearly * times[0]) {
    std::vector<double> again = watch.alternate({0, best});
    if (again[1] < kClearly * again[0]) out.chosen = best;
  }
  return out;
}

}  // namespace

void start_tuning(std::string_view lines, std::function<void(const std::string&)> found) {
  WriterLock lock(mu);
  while (!lines.empty()) {
    size_t end = std::min(lines.find('\n'), lines.size());
    if (auto t = from_line(lines.substr(0, end))) known[t->work] = std::move(*t);
    lines.remove_prefix(std::min(end + 1, lines.size()));
  }
  tell = std::move(found);
  enabled = true;
}

std::vector<TunedWork> tuned_work() {
  ReaderLock lock(mu);
  return met;
}

namespace {
thread_local int without_tuning = 0;
}

WithoutTuning::WithoutTuning() { ++without_tuning; }
WithoutTuning::~WithoutTuning() { --without_tuning; }

bool tuning() { return enabled.load(std::memory_order_relaxed) && without_tuning == 0; }

void force_algorithm(std::string_view name) {
  only = name;
  enabled = !only.empty();
}

size_t fastest_algorithm(const GemmKey& work, std::span<const std::string_view> algorithms,
                         runtime::function_ref<void(size_t)> run) {
  if (!only.empty()) {
    size_t i = std::find(algorithms.begin(), algorithms.end(), only) - algorithms.begin();
    return i < algorithms.size() ? i : 0;
  }
  auto look = [&]() -> std::optional<size_t> {
    ReaderLock lock(mu);
    auto at = chosen.find(work);
    return at == chosen.end() ? std::nullopt : std::optional(at->second);
  };
  if (auto i = look()) return *i;
  MutexLock one(measuring);
  if (auto i = look()) return *i;
  TunedWork found;
  {
    ReaderLock lock(mu);
    if (auto at = known.find(text_of(work)); at != known.end()) found = at->second;
  }
  // The stored result may be from a build with other algorithms.
  auto same = [&] { return std::ranges::equal(found.timings, algorithms, {}, &TunedWork::Timing::algorithm); };
  if (!same()) found = measure(work, algorithms, run);
  WriterLock lock(mu);
  chosen.emplace(work, found.chosen);
  met.push_back(found);
  if (found.measured && tell) tell(line_of(found));
  return found.chosen;
}

}  // namespace sheaf::kernels
