#include "compiler/tiered.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <thread>

#include "codegen/llvm/native.h"
#include "passes/loop/expand_math.h"

namespace sheaf::compiler {
namespace {

std::atomic<Backend> g_backend{Backend::Auto};

// About what compiling a kernel costs.
constexpr int64_t kWorthNs = 10'000'000;
// A batch leaves out kernels with less than this part of the time.
constexpr int64_t kSmallPart = 100;
// Programs that ask for more stride patterns of one kernel than this keep to the block executor.
constexpr int kMaxVersions = 8;

int64_t now_ns() { return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

bool computes(const loop::Block& b) {
  return std::any_of(b.begin(), b.end(), [](const loop::Stmt& s) { return s.kind == loop::Stmt::Store || computes(s.body); });
}

}  // namespace

void set_backend(Backend b) { g_backend = b; }

TieredKernel::TieredKernel(loop::Kernel kernel)
    : kernel_(std::move(kernel)), strides_(kernel_), worth_compiling_(computes(kernel_.body)), block_(codegen::BlockKernel::compile(kernel_)) {}

TieredKernel::~TieredKernel() {
  for (const Version* v = versions_.load(); v;) delete std::exchange(v, v->next);
}

uint64_t TieredKernel::pattern(std::span<const int64_t> sizes) const {
  uint64_t p = 1;
  for (int i : strides_.indices()) p = p * 3 + (sizes[i] == 0 ? 0 : sizes[i] == 1 ? 1 : 2);
  return p;
}

const runtime::Kernel* TieredKernel::find(uint64_t pattern) const {
  for (const Version* v = versions_.load(std::memory_order_acquire); v; v = v->next)
    if (v->pattern == pattern) return v->code.get();
  return nullptr;
}

loop::Kernel TieredKernel::specialized(std::span<const int64_t> sizes) const {
  return passes::expand_math(passes::specialize(kernel_, strides_.known(sizes)));
}

void TieredKernel::install(uint64_t pattern, std::shared_ptr<const runtime::Kernel> code) const {
  int count = 0;
  for (const Version* v = versions_.load(); v; v = v->next) ++count;
  versions_.store(new Version{pattern, std::move(code), versions_.load()}, std::memory_order_release);
  block_ns_.store(0, std::memory_order_relaxed);
  if (count + 1 >= kMaxVersions) failed_ = true;
}

const runtime::Kernel* TieredKernel::compile_one(std::span<const int64_t> sizes) const {
  std::lock_guard lock(compiling_);
  uint64_t p = pattern(sizes);
  if (const runtime::Kernel* known = find(p)) return known;
  try {
    loop::Kernel kernels[] = {specialized(sizes)};
    install(p, codegen::load_native_object(codegen::make_native_object(kernels), codegen::find_fast_routine)[0]);
  } catch (...) {
    failed_ = true;
    if (g_backend == Backend::Native) throw;  // asked for by tests, who want to know
  }
  return find(p);
}

int TieredKernel::run_block(std::span<std::byte* const> buffers, std::span<const int64_t> sizes, int64_t& payload) const {
  loop::CheckRecord check;
  block_->run(buffers, sizes, check);
  payload = check.payload;
  return check.site;
}

int TieredKernel::run(std::span<std::byte* const> buffers, std::span<const int64_t> sizes, int64_t& payload) const {
  Backend backend = g_backend.load(std::memory_order_relaxed);
  if (backend == Backend::Block || !worth_compiling_) return run_block(buffers, sizes, payload);
  if (versions_.load(std::memory_order_relaxed))
    if (const runtime::Kernel* native = find(pattern(sizes))) return native->run(buffers, sizes, payload);
  if (!codegen::native_available() || failed_.load(std::memory_order_relaxed)) return run_block(buffers, sizes, payload);
  if (backend == Backend::Native) {
    if (const runtime::Kernel* native = compile_one(sizes)) return native->run(buffers, sizes, payload);
    return run_block(buffers, sizes, payload);
  }
  int64_t start = now_ns();
  int site = run_block(buffers, sizes, payload);
  int64_t ns = now_ns() - start;
  if (block_ns_.fetch_add(ns, std::memory_order_relaxed) + ns > kWorthNs) compile_one(sizes);
  return site;
}

void compile_natively(std::span<const runtime::Launch> launches, int64_t min_block_ns) {
  struct Job {
    const TieredKernel* kernel;
    std::span<const int64_t> sizes;
    std::unique_lock<std::mutex> lock;
    loop::Kernel specialized;
  };
  std::vector<Job> jobs;
  std::set<std::pair<const TieredKernel*, uint64_t>> seen;
  for (const runtime::Launch& l : launches) {
    auto* k = dynamic_cast<const TieredKernel*>(l.kernel.get());
    if (!k || !k->worth_compiling_ || k->failed_ || k->block_ns() < min_block_ns || k->is_native(l.sizes)) continue;
    if (!seen.emplace(k, k->pattern(l.sizes)).second) continue;
    jobs.push_back({k, l.sizes, {}, {}});
  }
  // One lock for each kernel, in the order of their addresses; a kernel that another thread is compiling is left to it.
  std::sort(jobs.begin(), jobs.end(), [](const Job& a, const Job& b) { return a.kernel < b.kernel; });
  for (size_t i = 0; i < jobs.size(); ++i) {
    if (i > 0 && jobs[i].kernel == jobs[i - 1].kernel) continue;
    jobs[i].lock = std::unique_lock(jobs[i].kernel->compiling_, std::try_to_lock);
  }
  std::vector<Job*> mine;
  for (size_t i = 0, first = 0; i < jobs.size(); ++i) {
    if (jobs[i].kernel != jobs[first].kernel) first = i;
    if (!jobs[first].lock.owns_lock() || jobs[i].kernel->is_native(jobs[i].sizes)) continue;
    jobs[i].specialized = jobs[i].kernel->specialized(jobs[i].sizes);
    mine.push_back(&jobs[i]);
  }
  if (mine.empty()) return;
  // Two halves of about the same size.
  std::sort(mine.begin(), mine.end(), [](const Job* a, const Job* b) { return a->specialized.values.size() > b->specialized.values.size(); });
  auto compile = [&](size_t first) {
    std::vector<loop::Kernel> kernels;
    for (size_t i = first; i < mine.size(); i += 2) kernels.push_back(std::move(mine[i]->specialized));
    if (kernels.empty()) return;
    try {
      auto code = codegen::load_native_object(codegen::make_native_object(kernels), codegen::find_fast_routine);
      for (size_t i = first; i < mine.size(); i += 2) mine[i]->kernel->install(mine[i]->kernel->pattern(mine[i]->sizes), code[i / 2]);
    } catch (...) {
      for (size_t i = first; i < mine.size(); i += 2) mine[i]->kernel->failed_ = true;
    }
  };
  std::thread other([&] { compile(1); });
  compile(0);
  other.join();
}

void ExecutableTier::after_run(std::span<const runtime::Launch> launches, int64_t elapsed_ns) {
  if (g_backend.load(std::memory_order_relaxed) != Backend::Auto || !codegen::native_available()) return;
  if (spent_ns_.fetch_add(elapsed_ns, std::memory_order_relaxed) + elapsed_ns < kWorthNs) return;
  spent_ns_ = 0;
  int64_t block_ns = 0;
  std::set<const runtime::Kernel*> seen;
  for (const runtime::Launch& l : launches)
    if (auto* k = dynamic_cast<const TieredKernel*>(l.kernel.get()); k && seen.insert(k).second) block_ns += k->block_ns();
  if (block_ns >= kWorthNs) compile_natively(launches, block_ns / kSmallPart);
}

}  // namespace sheaf::compiler
