// Feeds damaged bytes to the reader and the file loaders: they must return a value or an error of the language. Usage:
// fuzz_bytes [--inputs N] [--seed S] [--kind
// reader|json|jsonl|safetensors|pickle|torch|npy|npz|zip|csv|png|jpeg|parquet|wav] Input i is made from the seed S + i,
// so a failure is replayed by --seed THAT --inputs 1.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string_view>

#include "advice/report.h"
#include "common/mutate.h"
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
#include "formats/zip.h"
#include "fuzz/harness.h"
#include "fuzz/wild_programs.h"
#include "support/error.h"
#include "syntax/formatter.h"
#include "syntax/reader.h"
#include "tensor/tensor.h"

namespace {

using namespace fuzz;
using namespace sheaf;

constexpr size_t kMemoryBytes = size_t{256} << 20;
// The process keeps all texts that it has read, so a long run is several processes one after the other.
constexpr uint64_t kInputsPerProcess = 50'000;

struct Target {
  const char* name;
  const char* suffix;  // of the undamaged files; nullptr: the programs of the language cases
  void (*take)(const std::string& bytes);
};

void read_text(const std::string& text) {
  uint32_t source = add_source("fuzz", text, SourceKind::File);
  syntax::completeness(text);
  syntax::read_all(source);
}

const Target kTargets[] = {
    {"reader", nullptr, read_text},
    {"json", ".json", [](const std::string& s) { formats::parse_json(s); }},
    {"safetensors", ".safetensors", [](const std::string& s) { formats::parse_safetensors(s); }},
    {"pickle", ".pkl", [](const std::string& s) { formats::parse_pickle(s); }},
    {"torch", ".pt", [](const std::string& s) { formats::parse_torch(s); }},
    {"jsonl", ".jsonl", [](const std::string& s) { formats::parse_json_lines(s); }},
    {"csv", ".csv", [](const std::string& s) { formats::parse_csv(s); }},
    {"png", ".png", [](const std::string& s) { formats::parse_png(s); }},
    {"jpeg", ".jpg", [](const std::string& s) { formats::parse_jpeg(s); }},
    {"parquet", ".parquet", [](const std::string& s) { formats::parse_parquet(s); }},
    {"wav", ".wav", [](const std::string& s) { formats::parse_wav(s); }},
    {"npy", ".npy", [](const std::string& s) { formats::parse_npy(s); }},
    {"npz", ".npz", [](const std::string& s) { formats::parse_npz(s); }},
    {"zip", ".npz", [](const std::string& s) { formats::read_zip(s); }},
};

std::vector<std::string> undamaged(const Target& t) {
  if (!t.suffix) return read_corpus(CORPUS_DIR);
  std::vector<std::string> files;
  for (const auto& e : std::filesystem::directory_iterator(GOLDENS_DIR))
    if (e.path().string().ends_with(t.suffix)) files.push_back(formats::read_file(e.path().string()));
  std::sort(files.begin(), files.end());  // directory order is not the same everywhere
  return files;
}

// The number of accepted inputs; stops the process at the first failure.
uint64_t run_block(const Target& t, const std::vector<std::string>& files, uint64_t seed, uint64_t count) {
  uint64_t accepted = 0;
  for (uint64_t s = seed; s < seed + count; ++s) {
    Random rng(s);
    std::string bytes = files[below(rng, files.size())];
    for (size_t n = 1 + below(rng, 4); n > 0; --n)
      mutate_once(bytes, rng);
    set_current(s, t.name);
    if (s % 1024 == 0) limit_time(60, 0);  // of processor time: the machine may be busy
    try {
      t.take(bytes);
      ++accepted;
    } catch (const UserError& e) {
      if (e.message.empty() || advice::report(e).empty()) fail(s, t.name, "an error without a message");
    } catch (const std::exception& e) {
      fail(s, t.name, e.what());
    }
    if (failures()) std::exit(1);
  }
  limit_time(0, 0);
  return accepted;
}

bool run_target(const Target& t, uint64_t seed, uint64_t inputs) {
  std::vector<std::string> files = undamaged(t);
  if (files.empty()) return std::printf("%s: there is nothing to damage\n", t.name), false;
  uint64_t accepted = 0;
  for (uint64_t done = 0; done < inputs; done += kInputsPerProcess) {
    uint64_t count = std::min(kInputsPerProcess, inputs - done);
    int channel[2];
    if (pipe(channel) != 0) return false;
    std::fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
      uint64_t n = run_block(t, files, seed + done, count);
      _exit(write(channel[1], &n, sizeof n) == sizeof n ? 0 : 1);
    }
    close(channel[1]);
    uint64_t n = 0;
    int status = 1;
    bool told = read(channel[0], &n, sizeof n) == sizeof n;
    close(channel[0]);
    waitpid(child, &status, 0);
    if (!told || status != 0)
      return std::printf("%s: failed within seeds %llu to %llu\n", t.name, static_cast<unsigned long long>(seed + done),
                         static_cast<unsigned long long>(seed + done + count - 1)),
             false;
    accepted += n;
  }
  std::printf("%s: %llu inputs from seed %llu, %llu accepted, no failure\n", t.name,
              static_cast<unsigned long long>(inputs), static_cast<unsigned long long>(seed),
              static_cast<unsigned long long>(accepted));
  std::fflush(stdout);
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  uint64_t seed = 1, inputs = 1000;
  std::string kind;
  for (int i = 1; i + 1 < argc; i += 2) {
    std::string_view option = argv[i];
    if (option == "--seed")
      seed = std::strtoull(argv[i + 1], nullptr, 10);
    else if (option == "--inputs")
      inputs = std::strtoull(argv[i + 1], nullptr, 10);
    else if (option == "--kind")
      kind = argv[i + 1];
    else
      return std::fprintf(stderr, "fuzz_bytes: unknown option %s\n", argv[i]), 2;
  }
  CrashHandlers handlers;
  set_memory_limit(kMemoryBytes);
  bool ok = true, any = false;
  for (const Target& t : kTargets) {
    if (!kind.empty() && kind != t.name) continue;
    any = true;
    ok &= run_target(t, seed, inputs);
  }
  return ok && any ? 0 : 1;
}
