// A size or offset: a number, or an expression over symbols whose values are known only at run time. Expressions are
// interned and simplified when built, so equal expressions are the same pointer. Constants cost no allocation.
#pragma once
#include <cstdint>
#include <functional>
#include <string>

#include "support/error.h"
#include "support/small_vec.h"

namespace sheaf {

enum class SizeOp : uint8_t { Symbol, Add, Mul, FloorDiv, Mod, Min, Max };
struct SizeNode;

class Size {
 public:
  // The lowest bit tells numbers from expressions. A number that does not fit in the other 63 bits saturates: no memory
  // holds such a size.
  constexpr Size(int64_t v = 0) : bits_((v > kLargest ? kLargest : v < -kLargest ? -kLargest : v) << 1 | 1) {}
  static constexpr int64_t kLargest = INT64_MAX >> 1;
  static Size symbol(uint32_t id);  // the id is an index into the values given to `eval`
  bool is_const() const { return bits_ & 1; }
  // The number. An expression has one only while SizeFacts are in use; these then record that its value was read.
  int64_t value() const { return is_const() ? bits_ >> 1 : value_now(); }
  const SizeNode* node() const { return reinterpret_cast<const SizeNode*>(bits_); }
  int64_t eval(std::span<const int64_t> symbols) const;
  bool is_same(Size o) const { return bits_ == o.bits_; }
  // Expressions that are not the same pointer are compared by SizeFacts; without SizeFacts they count as different.
  friend bool operator==(Size a, Size b) { return a.bits_ == b.bits_ || (!(a.bits_ & b.bits_ & 1) && equal_now(a, b)); }
  friend bool operator<(Size a, Size b) { return a.is_const() && b.is_const() ? a.bits_ < b.bits_ : less_now(a, b); }
  friend bool operator>(Size a, Size b) { return b < a; }
  friend bool operator<=(Size a, Size b) { return !(b < a); }
  friend bool operator>=(Size a, Size b) { return !(a < b); }
  friend Size operator+(Size a, Size b);
  friend Size operator-(Size a, Size b);
  friend Size operator*(Size a, Size b);
  friend Size floor_div(Size a, Size b);
  friend Size mod(Size a, Size b);
  friend Size min(Size a, Size b);
  friend Size max(Size a, Size b);
  uint64_t hash() const { return static_cast<uint64_t>(bits_) * 0x9E3779B97F4A7C15ull; }
  std::string str() const;  // "3", "s0", "(s0 * 4)"

 private:
  friend struct SizeProduct;
  friend struct SizeSum;
  static Size of(SizeOp op, Size a, Size b);
  int64_t value_now() const;
  static bool equal_now(Size a, Size b);
  static bool less_now(Size a, Size b);
  int64_t bits_;
};

struct SizeNode {
  SizeOp op;
  Size a, b;  // a: the symbol's id
};

using Sizes = SmallVec<Size, 6>;
using Dims = SmallVec<int64_t, 6>;

Size num_elems(const Sizes& s);
Sizes to_sizes(const Dims& d);
// Every entry must be a constant.
Dims to_dims(const Sizes& s);
std::string shape_text(const Dims& d);  // "[2, 3]" as messages spell it
std::string shape_text(const Sizes& d);
std::string shape_x_text(const Dims& d);  // "2x3", "" for rank 0

}  // namespace sheaf
