#include "compiler/gpu_modules.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "compiler/made_for.h"
#include "runtime/nvrtc.h"
#include "support/error.h"
#include "support/phases.h"

namespace sheaf::compiler {
namespace {

// NVRTC gains nothing from more threads (measured on 16 processors).
constexpr size_t kMaxThreads = 12;

}  // namespace

// The key omits the compiler's version: stored kernels also serve machines without NVRTC.
CodeKey GpuModules::key_of(const GpuText& text) const {
  const std::string all = fmt::format("cuda {}\n{}", device_.architecture(), text.text);
  const XXH128_hash_t hash = XXH3_128bits(all.data(), all.size());
  return {{hash.high64, hash.low64}};
}

void* GpuModules::find(const CodeKey& key) const {
  MutexLock lock(mu_);
  auto it = functions_.find(key);
  return it == functions_.end() ? nullptr : it->second;
}

// One thread creates a function; others that need the same one wait.
void* GpuModules::make(const CodeKey& key, const GpuText& text) {
  {
    MutexLock lock(mu_);
    while (in_work_.count(key))
      made_.wait(mu_);
    if (auto it = functions_.find(key); it != functions_.end()) return it->second;
    in_work_.insert(key);
  }
  struct Done {
    GpuModules& m;
    const CodeKey& key;
    ~Done() {
      MutexLock lock(m.mu_);
      m.in_work_.erase(key);
      m.made_.notify_all();
    }
  } done{*this, key};
  std::optional<codegen::NativeObject> object = load_code(key);
  if (!object) {
    const runtime::Nvrtc& nvrtc = runtime::Nvrtc::find();
    if (!nvrtc.missing().empty())
      throw runtime_error(
          fmt::format("--device {}: a kernel must be compiled, and {}", device_.name(), nvrtc.missing()));
    Phase phase("nvrtc");
    runtime::Nvrtc::Result made = nvrtc.compile(text.text, device_.architecture());
    INVARIANT(made.ok, "NVRTC refuses the text of a kernel\n" << made.log << "\n" << text.text);
    object = codegen::NativeObject{std::move(made.cubin), {}};
    store_code(key, *object, fmt::format("{} for {}", made_for(), device_.architecture()));
  }
  void* const function = device_.load(object->elf, text.name);
  MutexLock lock(mu_);
  return functions_[key] = function;
}

void* GpuModules::function(const GpuText& text) {
  const CodeKey key = key_of(text);
  void* const known = find(key);
  return known ? known : make(key, text);
}

void GpuModules::prepare(std::span<const GpuText> texts) {
  std::map<CodeKey, const GpuText*> missing;
  for (const GpuText& t : texts)
    if (const CodeKey key = key_of(t); !find(key)) missing.emplace(key, &t);
  if (missing.size() < 2) return;  // a single one is compiled at its first launch
  const std::vector<std::pair<CodeKey, const GpuText*>> work(missing.begin(), missing.end());
  std::atomic<size_t> next = 0;
  Mutex mu;
  std::exception_ptr failure;
  const std::string function = made_for();
  std::vector<std::jthread> threads;
  const size_t processors = std::max(1u, std::thread::hardware_concurrency());
  for (size_t t = 0; t < std::min({work.size(), processors, kMaxThreads}); ++t)
    threads.emplace_back([&] {
      const MadeFor of(function);
      try {
        for (size_t i; (i = next++) < work.size();)
          make(work[i].first, *work[i].second);
      } catch (...) {
        MutexLock lock(mu);
        failure = std::current_exception();
      }
    });
  threads.clear();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace sheaf::compiler
