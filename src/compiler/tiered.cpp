#include "compiler/tiered.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <thread>
#include <utility>

#include "codegen/llvm/native.h"
#include "compiler/made_for.h"
#include "compiler/pipeline.h"
#include "loop/regions.h"
#include "runtime/thread_pool.h"
#include "support/mutex.h"
#include "support/phases.h"

namespace sheaf::compiler {
namespace {

std::atomic<Executor> g_executor{Executor::Auto};

std::string& function_in_work() {
  thread_local std::string function;
  return function;
}

// A plan compiles its kernels once they have spent this together.
constexpr int64_t kWorthNs = 10'000'000;
// A batch omits kernels that have spent less than this. It is small on purpose: a kernel that would earn its code a few
// runs later is better compiled now, in parallel with the others, than missed by the next start.
constexpr int64_t kSmallNs = kWorthNs / 50;
// At most this many native versions of one kernel: some for patterns of strides, one for each length of short rows.
// Programs that need more stay in the block executor.
constexpr int kMaxVersions = 8 + static_cast<int>(loop::kShortRow);
// A kernel of a graph waits this many times longer before it is compiled by itself.
constexpr int64_t kPatienceInGraph = 8;

int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// Runs shorter than this are timed once in kSampled.
constexpr int64_t kQuickNs = 5000;
constexpr int kSampled = 16;

bool computes(const loop::Block& b) {
  return std::any_of(b.begin(), b.end(),
                     [](const loop::Stmt& s) { return s.kind == loop::Stmt::Store || computes(s.body); });
}

int64_t num_math(const loop::Kernel& k) {
  return std::count_if(k.values.begin(), k.values.end(), [](const loop::Inst& i) { return i.op >= loop::Op::Exp; });
}

// Measured with LLVM 22 on a Neoverse-N1: 3 ms, and 0.15 for each value; an elementary function becomes some 20 values.
int64_t estimated_compile_ns(const loop::Kernel& k) {
  return 3'000'000 + 150'000 * (static_cast<int64_t>(k.values.size()) + 20 * num_math(k));
}

}  // namespace

void set_executor(Executor e) { g_executor = e; }

int SampledTime::weight() const {
  if (last_ns_.load(std::memory_order_relaxed) >= kQuickNs) return 1;
  thread_local uint32_t turn = 0;
  return ++turn % kSampled == 0 ? kSampled : 0;
}

int64_t SampledTime::add(int64_t ns, int weight) {
  // A run during which the thread was descheduled says nothing about the work: it counts as a slow run, and does not
  // stand for the runs that were not timed.
  constexpr int64_t kSlow = 8;
  int64_t last = std::min(ns, last_ns_.exchange(ns, std::memory_order_relaxed));
  ns = std::min(ns, kSlow * std::max<int64_t>(last, kQuickNs)) + last * (weight - 1);
  return sum_.fetch_add(ns, std::memory_order_relaxed) + ns;
}

const std::string& made_for() { return function_in_work(); }
MadeFor::MadeFor(const std::string& function) : before_(std::exchange(function_in_work(), function)) {}
MadeFor::~MadeFor() { function_in_work() = std::move(before_); }

TieredKernel::TieredKernel(loop::Kernel kernel, KernelUse use, std::string text)
    : kernel_(std::move(kernel)),
      made_for_(made_for()),
      strides_(kernel_),
      short_rows_(kernel_),
      worth_compiling_(computes(kernel_.body) && (is_enabled("expand-math") || num_math(kernel_) == 0)),
      compile_ns_(estimated_compile_ns(kernel_)),
      patience_(use == KernelUse::InGraph ? kPatienceInGraph : 1),
      text_(std::move(text)) {}

TieredKernel::~TieredKernel() {
  for (const Version* v = versions_.load(); v;)
    delete std::exchange(v, v->next);
}

TieredKernel::Pattern TieredKernel::pattern(std::span<const int64_t> sizes) const {
  uint64_t p = 1;
  for (int i : strides_.indices())
    p = p * 3 + (sizes[i] == 0 ? 0 : sizes[i] == 1 ? 1 : 2);
  return {p, short_rows_.pattern(sizes)};
}

const TieredKernel::Version* TieredKernel::find(Pattern pattern) const {
  for (const Version* v = versions_.load(std::memory_order_acquire); v; v = v->next)
    if (v->pattern == pattern) return v;
  return nullptr;
}

std::vector<passes::KnownSize> TieredKernel::known_sizes(std::span<const int64_t> sizes) const {
  if (!is_enabled("specialize")) return {};
  std::vector<passes::KnownSize> known = strides_.known(sizes);
  short_rows_.add_known(sizes, known);
  return known;
}

loop::Kernel TieredKernel::specialized(std::span<const int64_t> sizes) const {
  return run_native_passes(kernel_, known_sizes(sizes));
}

const std::string& TieredKernel::text() const {
  std::call_once(printed_, [&] {
    if (text_.empty()) text_ = loop::print(kernel_);
  });
  return text_;
}

CodeKey TieredKernel::key(std::span<const int64_t> sizes) const { return code_key(text(), known_sizes(sizes)); }

void TieredKernel::install(Pattern pattern, NativeCode code) const {
  MutexLock lock(installing_);
  const Version* known = find(pattern);
  if (known && (known->code || !code)) return;
  int count = 1;
  for (const Version* v = versions_.load(); v; v = v->next)
    ++count;
  if (code) block_time_.reset();
  versions_.store(new Version{pattern, std::move(code), versions_.load()}, std::memory_order_release);
  if (count >= 2 * kMaxVersions) failed_ = true;
}

// Returns code that exists in memory or on disk. Each pattern is looked up once.
const runtime::CpuKernel* TieredKernel::ready_code(std::span<const int64_t> sizes) const {
  Pattern p = pattern(sizes);
  if (const Version* v = find(p)) return v->code.get();
  if (!is_compilable() || !codegen::native_available()) return nullptr;
  install(p, find_code(key(sizes)));
  return find(p)->code.get();
}

bool TieredKernel::is_native(std::span<const int64_t> sizes) const {
  return g_executor.load(std::memory_order_relaxed) != Executor::Block && worth_compiling_ && ready_code(sizes);
}

const runtime::CpuKernel* TieredKernel::compile(std::span<const int64_t> sizes) const {
  Pattern p = pattern(sizes);
  try {
    install(p, find_or_make_code(key(sizes), [&] { return specialized(sizes); }, made_for_));
  } catch (...) {
    failed_ = true;
    if (g_executor == Executor::Native) throw;  // tests select this mode to see the error
    return nullptr;
  }
  return find(p)->code.get();
}

const codegen::BlockKernel& TieredKernel::block() const {
  if (const codegen::BlockKernel* ready = block_ready_.load(std::memory_order_acquire)) return *ready;
  MutexLock lock(installing_);
  if (!block_) {
    Phase phase("block");
    block_ = codegen::BlockKernel::compile(kernel_);
    block_ready_.store(block_.get(), std::memory_order_release);
  }
  return *block_;
}

// True if this run alone is clearly worth more than compiling: tens of millions of elements need not run slowly first.
bool TieredKernel::takes_long(std::span<const int64_t> sizes) const {
  constexpr double kClearly = 2;
  return block().estimated_ns(sizes) > kClearly * runtime::num_threads() * static_cast<double>(patience_ * compile_ns_);
}

int TieredKernel::run_block(std::span<std::byte* const> buffers, std::span<const int64_t> sizes,
                            int64_t& payload) const {
  loop::CheckRecord check;
  block().run(buffers, sizes, check);
  payload = check.payload;
  return check.site;
}

int TieredKernel::run(std::span<std::byte* const> buffers, std::span<const int64_t> sizes, int64_t& payload) const {
  Executor executor = g_executor.load(std::memory_order_relaxed);
  if (executor == Executor::Block || !worth_compiling_) return run_block(buffers, sizes, payload);
  if (const runtime::CpuKernel* native = ready_code(sizes)) return native->run(buffers, sizes, payload);
  if (!is_compilable() || !codegen::native_available()) return run_block(buffers, sizes, payload);
  if (executor == Executor::Native || takes_long(sizes)) {
    if (const runtime::CpuKernel* native = compile(sizes)) return native->run(buffers, sizes, payload);
    return run_block(buffers, sizes, payload);
  }
  int weight = block_time_.weight();
  if (!weight) return run_block(buffers, sizes, payload);
  int64_t start = now_ns();
  int site = run_block(buffers, sizes, payload);
  if (block_time_.add(now_ns() - start, weight) > patience_ * compile_ns_) {
    Phase phase("native");
    compile(sizes);
  }
  return site;
}

void compile_natively(const runtime::Plan& plan, int64_t min_block_ns) {
  struct Job {
    const TieredKernel* kernel;
    std::span<const int64_t> sizes;
  };
  std::vector<Job> jobs;
  std::set<CodeKey> seen;
  each_launch(plan, [&](const runtime::Launch& l) {
    auto* k = dynamic_cast<const TieredKernel*>(l.kernel.get());
    if (!k || !k->is_compilable() || k->block_ns() < min_block_ns || k->is_native(l.sizes)) return;
    if (seen.insert(k->key(l.sizes)).second) jobs.push_back({k, l.sizes});
  });
  if (jobs.empty()) return;
  Phase phase("native");
  // Longest first, so that no thread starts a long job at the end.
  std::sort(jobs.begin(), jobs.end(),
            [](const Job& a, const Job& b) { return a.kernel->compile_ns() > b.kernel->compile_ns(); });
  std::atomic<size_t> next{0};
  auto work = [&] {
    for (size_t i; (i = next++) < jobs.size();)
      jobs[i].kernel->compile(jobs[i].sizes);
  };
  // Not on the pool's workers: they must stay free for kernels of other threads, and LLVM needs a deep stack.
  std::vector<std::thread> others;
  size_t threads = std::min<size_t>(jobs.size(), static_cast<size_t>(runtime::num_threads()));
  for (size_t i = 1; i < threads; ++i)
    others.emplace_back(work);
  work();
  for (std::thread& t : others)
    t.join();
}

void PlanTier::after_run(const runtime::Plan& plan, int64_t elapsed_ns, int weight) {
  if (g_executor.load(std::memory_order_relaxed) != Executor::Auto || !codegen::native_available()) return;
  if (spent_.add(elapsed_ns, weight) < kWorthNs) return;
  spent_.reset();
  int64_t block_ns = 0;
  std::set<const runtime::CpuKernel*> seen;
  each_launch(plan, [&](const runtime::Launch& l) {
    if (auto* k = dynamic_cast<const TieredKernel*>(l.kernel.get()); k && seen.insert(k).second)
      block_ns += k->block_ns();
  });
  if (block_ns >= kWorthNs) compile_natively(plan, kSmallNs);
}

}  // namespace sheaf::compiler
