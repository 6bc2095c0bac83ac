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
  Table<T> out;
  for (const auto& z : values)
    out.append(z);
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
  std::vector<size_t> begins;
  int64_t s = 1;
  for (int r : stages.radices) {
    const int64_t m = n / (s * r);
    begins.push_back(plan.roots.re.size());
    plan.steps.push_back({r, s, m, {nullptr, nullptr}});
    if (m > 1)
      for (int64_t k = 1; k < r; ++k)
        for (int64_t p = 0; p < m; ++p)
          plan.roots.append(roots[static_cast<size_t>(s * p * k)]);
    s *= r;
  }
  for (size_t i = 0; i < begins.size(); ++i)
    plan.steps[i].roots = plan.roots.parts() + static_cast<int64_t>(begins[i]);
  plan.left = stages.left, plan.rows = stages.left_product, plan.columns = n / plan.rows;
  return plan;
}

template <class T>
size_t bytes_of(const Table<T>& t) {
  return 2 * sizeof(T) * t.re.size();
}

}  // namespace

template <class T>
std::shared_ptr<const FftPlan<T>> fft_plan(int64_t n) {
  static Kept<FftPlan<T>> kept;
  return kept.get(n, make_plan<T>, [](const FftPlan<T>& p) {
    return sizeof(p) + bytes_of(p.roots) + bytes_of(p.chirp) + bytes_of(p.filter);
  });
}

template <class T>
std::shared_ptr<const Table<T>> fold_roots(int64_t half) {
  static Kept<Table<T>> kept;
  auto make = [](int64_t half) {
    Table<T> out;
    for (int64_t k = 0; 2 * k <= half; ++k)
      out.append(routines::root_of_unity<T>(k, 2 * half));
    return out;
  };
  return kept.get(half, make, [](const Table<T>& t) { return sizeof(t) + bytes_of(t); });
}

template std::shared_ptr<const FftPlan<float>> fft_plan(int64_t);
template std::shared_ptr<const FftPlan<double>> fft_plan(int64_t);
template std::shared_ptr<const Table<float>> fold_roots(int64_t);
template std::shared_ptr<const Table<double>> fold_roots(int64_t);

}  // namespace sheaf::kernels
