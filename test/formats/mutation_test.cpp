// Damaged files: whatever the bytes, a loader returns a value or throws a UserError, and memory stays within a constant
// times the size of the file.
#include <gtest/gtest.h>
#include <malloc.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <new>

#include "common/mutate.h"
#include "formats/compressed.h"
#include "formats/csv.h"
#include "formats/files.h"
#include "formats/jpeg.h"
#include "formats/json.h"
#include "formats/npy.h"
#include "formats/parquet.h"
#include "formats/pickle.h"
#include "formats/png.h"
#include "formats/safetensors.h"
#include "formats/torch.h"
#include "formats/wav.h"
#include "support/error.h"

namespace {

// Bytes held through operator new, on any thread; tensors have their own account (memory_stats).
std::atomic<size_t> g_live = 0, g_peak = 0;

void* counted(size_t n) {
  void* p = std::malloc(n);
  if (!p) throw std::bad_alloc();
  size_t bytes = malloc_usable_size(p), live = g_live.fetch_add(bytes) + bytes, peak = g_peak;
  while (live > peak && !g_peak.compare_exchange_weak(peak, live)) {
  }
  return p;
}

}  // namespace

void* operator new(size_t n) { return counted(n); }
void* operator new[](size_t n) { return counted(n); }
void* operator new(size_t n, const std::nothrow_t&) noexcept {  // sorts ask for their scratch space this way
  try {
    return counted(n);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
void operator delete(void* p) noexcept {
  if (p) g_live -= malloc_usable_size(p);
  std::free(p);
}
void operator delete[](void* p) noexcept { operator delete(p); }
void operator delete(void* p, size_t) noexcept { operator delete(p); }
void operator delete[](void* p, size_t) noexcept { operator delete(p); }

namespace sheaf::formats {
namespace {

using fuzz::below;
using fuzz::mutate_once;
using fuzz::Random;

void run(const char* suffix, Value (*parse)(std::string_view)) {
  std::vector<std::string> seeds;
  for (const auto& e : std::filesystem::directory_iterator(std::string(TEST_DIR) + "/goldens"))
    if (e.path().string().ends_with(suffix)) seeds.push_back(read_file(e.path().string()));
  std::sort(seeds.begin(), seeds.end());  // directory order is not the same everywhere
  ASSERT_FALSE(seeds.empty());
  size_t limit = memory_stats().limit_bytes;
  int loaded = 0;
  for (uint64_t seed = 0; seed < 20000; ++seed) {
    Random rng(seed);
    std::string bytes = seeds[below(rng, seeds.size())];
    for (size_t n = 1 + below(rng, 4); n > 0; --n)
      mutate_once(bytes, rng);
    set_memory_limit(memory_stats().live_bytes + 128 * (bytes.size() + 4096));
    size_t before = g_live;
    g_peak = before;
    try {
      parse(bytes);
      ++loaded;
    } catch (const UserError& e) {
      ASSERT_EQ(e.message.find("bytes asked for"), std::string::npos) << "seed " << seed << ": " << e.message;
      ASSERT_NE(e.message, "") << "seed " << seed;
    } catch (const std::exception& e) {
      FAIL() << "seed " << seed << ": " << e.what();
    }
    ASSERT_LT(g_peak - before, 1024 * (bytes.size() + 1024)) << "seed " << seed;
  }
  set_memory_limit(limit);
  EXPECT_GT(loaded, 100);
}

TEST(Mutations, Json) {
  run(".json", [](std::string_view s) { return parse_json(s); });
}
TEST(Mutations, Safetensors) {
  run(".safetensors", [](std::string_view s) { return parse_safetensors(s); });
}
TEST(Mutations, Pickle) {
  run(".pkl", [](std::string_view s) { return parse_pickle(s); });
}
TEST(Mutations, Torch) { run(".pt", parse_torch); }
TEST(Mutations, Csv) {
  run(".csv", [](std::string_view s) { return parse_csv(s); });
}
TEST(Mutations, Gzip) {
  run(".gz", [](std::string_view s) { return Value::string(is_compressed(s) ? decompress(s) : ""); });
}
TEST(Mutations, Zstd) {
  run(".zst", [](std::string_view s) { return Value::string(is_compressed(s) ? decompress(s) : ""); });
}
TEST(Mutations, JsonLines) { run(".jsonl", parse_json_lines); }
TEST(Mutations, Png) { run(".png", parse_png); }
TEST(Mutations, Jpeg) { run(".jpg", parse_jpeg); }
TEST(Mutations, Parquet) {
  run(".parquet", [](std::string_view s) { return parse_parquet(s); });
}
TEST(Mutations, Wav) { run(".wav", parse_wav); }
TEST(Mutations, Npy) {
  run(".npy", [](std::string_view s) { return parse_npy(s); });
}
TEST(Mutations, Npz) {
  run(".npz", [](std::string_view s) { return parse_npz(s); });
}

}  // namespace
}  // namespace sheaf::formats
