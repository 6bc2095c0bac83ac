// A launch that makes rows of a matrix when they are wanted. Any thread may want some.
#pragma once
#include <memory>
#include <mutex>

#include "runtime/executable.h"

namespace sheaf::runtime {

class RowMaker {
 public:
  RowMaker(const Prologue& how, Executable::Pointers whole) : how_(how), whole_(std::move(whole)) {}
  // Where the first of them lies: until the thread wants others, or (`again`) as long as this lives.
  const std::byte* make(int64_t row, int64_t rows, bool again);
  MadeOf made_of() const;

 private:
  std::byte* place_for(int64_t row, int64_t rows, bool again);

  const Prologue& how_;
  const Executable::Pointers whole_;
  std::once_flag is_kept_;
  Ref<Buffer> kept_;  // the whole matrix, if it is read again
};

}  // namespace sheaf::runtime
