// Facts that a trace has assumed about symbolic sizes. A trace follows one call: where it must compare sizes, it uses
// the sizes of this call and records the answer as a fact. Other calls must agree with all facts to reuse the trace.
// One SizeFacts per thread is current at a time.
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

  // The facts in use on this thread; nullptr if no symbolic sizes are being handled.
  static SizeFacts*& current();
  struct Use {
    SizeFacts* before;
    explicit Use(SizeFacts& f) : before(current()) { current() = &f; }
    ~Use() { current() = before; }
    Use(const Use&) = delete;
  };

 private:
  bool remember(SizeFact::Kind kind, Size a, Size b, bool holds);
  // A lower bound of the expression over all symbol values, or INT64_MIN if none is easily found.
  int64_t at_least(Size s) const;
  std::vector<int64_t> now_, least_;
  std::vector<SizeFact> facts_;
};

}  // namespace sheaf
