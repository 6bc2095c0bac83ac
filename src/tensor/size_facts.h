// What code that handles expressions has assumed about them. A trace follows one call: where it must know how sizes
// compare, the answer is that of this call, and is remembered as a fact that other calls must agree with to use what
// was traced.
#pragma once
#include <vector>

#include "tensor/size.h"

namespace sheaf {

struct SizeFact {
  enum Kind : uint8_t { Equal, Less } kind;
  Size a, b;
  bool holds;
  bool agrees(std::span<const int64_t> symbols) const {
    int64_t x = a.eval(symbols), y = b.eval(symbols);
    return (kind == Equal ? x == y : x < y) == holds;
  }
};

class SizeFacts {
 public:
  // A new symbol; other calls may have any value from `least` on.
  Size add_symbol(int64_t now, int64_t least);

  bool equal(Size a, Size b);
  bool less(Size a, Size b);
  int64_t value(Size s);
  int64_t now(Size s) const { return s.eval(now_); }  // remembers nothing

  const std::vector<SizeFact>& facts() const { return facts_; }
  const std::vector<int64_t>& least() const { return least_; }

  // Those of this thread; nullptr when no sizes are in question.
  static SizeFacts*& current();
  struct Use {
    SizeFacts* before;
    explicit Use(SizeFacts& f) : before(current()) { current() = &f; }
    ~Use() { current() = before; }
    Use(const Use&) = delete;
  };

 private:
  bool remember(SizeFact::Kind kind, Size a, Size b, bool holds);
  // The least value an expression can have, or INT64_MIN when that is not easily said.
  int64_t at_least(Size s) const;
  std::vector<int64_t> now_, least_;
  std::vector<SizeFact> facts_;
};

}  // namespace sheaf
