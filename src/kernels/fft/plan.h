// What transforms of a length need, made once and kept: the most recently used plans, as long as they are small enough
// together. Thread-safe.
#pragma once
#include <cstdlib>
#include <memory>
#include <new>
#include <vector>

#include "kernels/fft/steps.h"
#include "routines/fft/stages.h"
#include "support/huge_pages.h"

namespace sheaf::kernels {

// Complex numbers, real and imaginary parts apart.
template <class T>
class Table {
 public:
  Table() = default;
  explicit Table(size_t size) : size_(size) {
    if (size == 0) return;
    numbers_.reset(reinterpret_cast<T*>(bytes() < kHugePage ? static_cast<std::byte*>(std::malloc(bytes()))
                                                            : allocate_huge_pages(bytes())));
    if (!numbers_) throw std::bad_alloc();
  }
  void set(size_t i, routines::Complex<T> z) { numbers_[i] = z.re, numbers_[size_ + i] = z.im; }
  size_t bytes() const { return 2 * sizeof(T) * size_; }
  ConstParts<T> parts() const { return {numbers_.get(), numbers_.get() + size_}; }

 private:
  struct Free {
    void operator()(T* p) const { std::free(p); }
  };
  size_t size_ = 0;
  std::unique_ptr<T[], Free> numbers_;
};

template <class T>
struct FftPlan {
  struct Step {
    int radix;
    int64_t s, m;         // the products of the radices before it and behind it
    ConstParts<T> roots;  // [radix - 1][m], as ColumnStep has them
  };
  int64_t n;
  std::vector<Step> steps;  // none where n is not smooth
  size_t left = 0;          // the first steps, on the rows of a matrix of `rows` rows and `columns` columns
  int64_t rows = 1, columns = 1;
  Table<T> roots;  // of the steps
  // Not smooth: a convolution by transforms of this plan (routines::Chirp).
  std::shared_ptr<const FftPlan> convolution;
  Table<T> chirp, filter;
};

template <class T>
std::shared_ptr<const FftPlan<T>> fft_plan(int64_t n);

// Roots of unity of 2 half, the first half / 2 + 1.
template <class T>
std::shared_ptr<const Table<T>> fold_roots(int64_t half);

}  // namespace sheaf::kernels
