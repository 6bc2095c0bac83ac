// A launch that runs on parts of a matrix as they are made. Any thread may bring a part.
#pragma once
#include <atomic>
#include <memory>

#include "runtime/executable.h"

namespace sheaf::runtime {

class PartTaker {
 public:
  PartTaker(const Epilogue& how, Executable::Pointers whole);
  void take(const Part& part);
  // After the last part: runs on what is left.
  void finish();

 private:
  void run(const Part& part) const;
  void run_units(int64_t first, int64_t last);
  void add_to_unit(int64_t unit, int64_t elements);

  const Epilogue& how_;
  const Executable::Pointers whole_;
  const int64_t units_;
  std::unique_ptr<std::atomic<int32_t>[]> complete_;  // elements, by unit
};

}  // namespace sheaf::runtime
