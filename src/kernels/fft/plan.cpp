#include "kernels/fft/plan.h"

#include <list>

#include "support/mutex.h"

namespace sheaf::kernels {
namespace {

// The most recently used of what make(n) gave: kEntries at most, of kBytes in all, or the last one alone.
template <class Made>
class Kept {
 public:
  template <class Make, class Size>
  std::shared_ptr<const Made> get(int64_t n, Make&& make, Size&& size) {
    {
      MutexLock lock(mu_);
      for (auto it = entries_.begin(); it != entries_.end(); ++it)
        if (it->n == n) {
          entries_.splice(entries_.begin(), entries_, it);
          return entries_.front().made;
        }
    }
    auto made = std::make_shared<const Made>(make(n));
    MutexLock lock(mu_);
    entries_.push_front({n, made, size(*made)});
    size_t bytes = 0, count = 0;
    auto it = entries_.begin();
    while (it != entries_.end() && (count == 0 || (count < kEntries && bytes + it->bytes <= kBytes)))
      bytes += it->bytes, ++count, ++it;
    entries_.erase(it, entries_.end());
    return made;
  }

 private:
  static constexpr size_t kBytes = 64 << 20, kEntries = 64;
  struct Entry {
    int64_t n;
    std::shared_ptr<const Made> made;
    size_t bytes;
  };
  Mutex mu_;
  std::list<Entry> entries_ GUARDED_BY(mu_);
};

template <class T>
Table<T> table_of(const std::vector<routines::Complex<T>>& values) {
  Table<T> out(values.size());
  for (size_t i = 0; i < values.size(); ++i)
    out.set(i, values[i]);
  return out;
}

template <class T>
FftPlan<T> make_plan(int64_t n) {
  FftPlan<T> plan{.n = n};
  const routines::Stages stages = routines::stages_of(n);
  if (!stages.smooth) {
    routines::Chirp<T> chirp = routines::chirp_of<T>(n);
    plan.convolution = fft_plan<T>(chirp.length);
    plan.chirp = table_of(chirp.factors), plan.filter = table_of(chirp.filter);
    return plan;
  }
  const auto roots = routines::roots_of_unity<T>(n);
  size_t count = 0;
  int64_t s = 1;
  for (int r : stages.radices) {
    const int64_t m = n / (s * r);
    plan.steps.push_back({r, s, m, {nullptr, nullptr}});
    if (m > 1) count += static_cast<size_t>((r - 1) * m);
    s *= r;
  }
  plan.roots = Table<T>(count);
  size_t at = 0;
  for (auto& step : plan.steps) {
    if (step.m == 1) continue;
    step.roots = plan.roots.parts() + static_cast<int64_t>(at);
    for (int64_t k = 1; k < step.radix; ++k)
      for (int64_t p = 0; p < step.m; ++p)
        plan.roots.set(at++, roots[static_cast<size_t>(step.s * p * k)]);
  }
  plan.left = stages.left, plan.rows = stages.left_product, plan.columns = n / plan.rows;
  return plan;
}

}  // namespace

template <class T>
std::shared_ptr<const FftPlan<T>> fft_plan(int64_t n) {
  static Kept<FftPlan<T>> kept;
  return kept.get(n, make_plan<T>,
                  [](const FftPlan<T>& p) { return sizeof(p) + p.roots.bytes() + p.chirp.bytes() + p.filter.bytes(); });
}

template <class T>
std::shared_ptr<const Table<T>> fold_roots(int64_t half) {
  static Kept<Table<T>> kept;
  auto make = [](int64_t half) {
    Table<T> out(static_cast<size_t>(half / 2 + 1));
    for (int64_t k = 0; 2 * k <= half; ++k)
      out.set(static_cast<size_t>(k), routines::root_of_unity<T>(k, 2 * half));
    return out;
  };
  return kept.get(half, make, [](const Table<T>& t) { return sizeof(t) + t.bytes(); });
}

template std::shared_ptr<const FftPlan<float>> fft_plan(int64_t);
template std::shared_ptr<const FftPlan<double>> fft_plan(int64_t);
template std::shared_ptr<const Table<float>> fold_roots(int64_t);
template std::shared_ptr<const Table<double>> fold_roots(int64_t);

}  // namespace sheaf::kernels
