#include "tensor/size_facts.h"

#include <algorithm>

namespace sheaf {

SizeFacts*& SizeFacts::current() {
  thread_local SizeFacts* facts = nullptr;
  return facts;
}

Size SizeFacts::add_symbol(int64_t now, int64_t least) {
  now_.push_back(now);
  least_.push_back(least);
  return Size::symbol(static_cast<uint32_t>(now_.size() - 1));
}

int64_t SizeFacts::at_least(Size s) const {
  if (s.is_const()) return s.value();
  const SizeNode* n = s.node();
  if (n->op == SizeOp::Symbol) return least_[n->a.value()];
  int64_t a = at_least(n->a), b = at_least(n->b);
  // Bounds of large sizes could overflow; comparisons that matter have small bounds.
  constexpr int64_t kLarge = 1 << 30;
  auto is_small = [](int64_t x) { return x > -kLarge && x < kLarge; };
  if (!is_small(a) || !is_small(b) || (n->op != SizeOp::Add && (a < 0 || b < 0))) return INT64_MIN;
  switch (n->op) {
    case SizeOp::Add: return a + b;
    case SizeOp::Mul: return a * b;
    case SizeOp::Max: return std::max(a, b);
    case SizeOp::Min: return std::min(a, b);
    default: return 0;
  }
}

bool SizeFacts::remember(SizeFact::Kind kind, Size a, Size b, bool holds) {
  for (const SizeFact& f : facts_)
    if (f.kind == kind && f.a.is_same(a) && f.b.is_same(b)) return holds;
  facts_.push_back({kind, a, b, holds});
  return holds;
}

bool SizeFacts::equal(Size a, Size b) {
  Size difference = a - b;
  if (difference.is_const()) return difference.value() == 0;
  if (a.is_const()) std::swap(a, b);
  if (b.is_const() && b.value() < at_least(a)) return false;
  return remember(SizeFact::Equal, a, b, now(a) == now(b));
}

bool SizeFacts::less(Size a, Size b) {
  Size difference = a - b;
  if (difference.is_const()) return difference.value() < 0;
  if (b.is_const() && at_least(a) >= b.value()) return false;
  if (a.is_const() && at_least(b) > a.value()) return true;
  return remember(SizeFact::Less, a, b, now(a) < now(b));
}

int64_t SizeFacts::value(Size s) {
  int64_t v = now(s);
  remember(SizeFact::Equal, s, Size(v), true);
  return v;
}

}  // namespace sheaf
