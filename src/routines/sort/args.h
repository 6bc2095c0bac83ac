// Routines that sort or search rows, and scans along an axis (running sums, recurrences).
#pragma once
#include "routines/routine.h"
#include "tensor/dtype.h"

namespace sheaf::routines {

// Buffers: x [rows, n], values [rows, count], positions [rows, count] (i32); x may alias values.
template <class Int = int64_t>
struct SortArgs {
  static constexpr std::string_view kRoutine = "sort";
  DType dtype;
  Int rows, n;
  bool descending;
  Int count;
  static void fields(auto& self, auto&& f) {
    f(self.dtype), f(self.rows), f(self.n), f(self.descending), f(self.count);
  }
};

// Sorts each row, stably, NaN last, and keeps the first `count` elements.
void sort(const RoutineCall& call, const SortArgs<>& args);

enum class Running : uint8_t { Sum, Product, Maximum, Minimum };

// Buffers: x [outer, n, inner], y of the same shape.
template <class Int = int64_t>
struct CumulateArgs {
  static constexpr std::string_view kRoutine = "cumulate";
  DType dtype;
  Int outer, n, inner;
  Running what;
  static void fields(auto& self, auto&& f) { f(self.dtype), f(self.outer), f(self.n), f(self.inner), f(self.what); }
};

// The running sum, product, maximum or minimum along the middle axis; narrow floats are accumulated in f32.
//
// A row of more than kRunningBlock elements is divided into blocks, so that many processors can work on one row: each
// block has a chain from its first element on; another chain runs over the last values of the blocks. An element is the
// total of the blocks before it, combined with its value in its own block.
inline constexpr int64_t kRunningBlock = 2048;
void cumulate(const RoutineCall& call, const CumulateArgs<>& args);

// Buffers: factors, terms and s, all [outer, n, inner].
template <class Int = int64_t>
struct RecurrenceArgs {
  static constexpr std::string_view kRoutine = "recurrence";
  DType dtype;
  Int outer, n, inner;
  bool backward;
  static void fields(auto& self, auto&& f) { f(self.dtype), f(self.outer), f(self.n), f(self.inner), f(self.backward); }
};

// s_i = terms_i + factors_i s_{i-1} along the middle axis, s_0 = terms_0; or, its adjoint, s_i = terms_i +
// factors_{i+1} s_{i+1} from the last element backward. Floats only; for narrow floats s is accumulated in f32.
void recurrence(const RoutineCall& call, const RecurrenceArgs<>& args);

// Buffers: sorted [rows, n], x [rows, count], positions [rows, count] (i32).
template <class Int = int64_t>
struct SearchArgs {
  static constexpr std::string_view kRoutine = "search_sorted";
  DType dtype;
  Int rows, n, count;
  bool right;
  static void fields(auto& self, auto&& f) { f(self.dtype), f(self.rows), f(self.n), f(self.count), f(self.right); }
};

// The position at which each element of x would be inserted into its sorted row: before elements equal to it, or after
// them if `right`. NaN is greater than every number. An unsorted row is bisected in the same way.
void search_sorted(const RoutineCall& call, const SearchArgs<>& args);
// The same for the elements [begin, end) of x only.
void search_sorted_part(const RoutineCall& call, const SearchArgs<>& args, int64_t begin, int64_t end);

}  // namespace sheaf::routines
