#include "tensor/size.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "support/mutex.h"
#include "tensor/saturated.h"
#include "tensor/size_facts.h"

namespace sheaf {
namespace {

int64_t floor_div_value(int64_t a, int64_t b) {
  if (b == 0) return 0;
  int64_t q = a / b;
  return (a % b != 0 && (a < 0) != (b < 0)) ? q - 1 : q;
}

int64_t apply(SizeOp op, int64_t a, int64_t b) {
  switch (op) {
    case SizeOp::Add: return saturated_add(a, b);
    case SizeOp::Mul: return saturated_mul(a, b);
    case SizeOp::FloorDiv: return floor_div_value(a, b);
    case SizeOp::Mod: return b == 0 ? 0 : a - b * floor_div_value(a, b);
    case SizeOp::Min: return std::min(a, b);
    case SizeOp::Max: return std::max(a, b);
    case SizeOp::Symbol: break;
  }
  return a;
}

bool is_value(Size s, int64_t v) { return s.is_const() && s.value() == v; }

}  // namespace

Size Size::of(SizeOp op, Size a, Size b) {
  static Mutex mu;
  static auto* interned = new std::map<std::tuple<SizeOp, int64_t, int64_t>, const SizeNode*>;
  MutexLock lock(mu);
  const SizeNode*& n = (*interned)[{op, a.bits_, b.bits_}];
  if (!n) n = new SizeNode{op, a, b};
  Size s;
  s.bits_ = reinterpret_cast<int64_t>(n);
  return s;
}

Size Size::symbol(uint32_t id) { return of(SizeOp::Symbol, Size(id), Size(0)); }

int64_t Size::eval(std::span<const int64_t> symbols) const {
  if (is_const()) return value();
  const SizeNode* n = node();
  if (n->op == SizeOp::Symbol) return symbols[n->a.value()];
  return apply(n->op, n->a.eval(symbols), n->b.eval(symbols));
}

// coefficient * factors; the factors are in a fixed order and none of them is a product.
struct SizeProduct {
  int64_t coefficient = 1;
  SmallVec<Size, 4> factors;

  static SizeProduct of(Size s) {
    SizeProduct p;
    p.multiply(s);
    return p;
  }
  void multiply(Size s) {
    if (s.is_const()) {
      coefficient = saturated_mul(coefficient, s.value());
    } else if (s.node()->op == SizeOp::Mul) {
      multiply(s.node()->a);
      multiply(s.node()->b);
    } else {
      factors.insert(
          std::upper_bound(factors.begin(), factors.end(), s, [](Size a, Size b) { return a.bits_ < b.bits_; }), s);
    }
  }
  bool same_factors(const SizeProduct& o) const {
    return std::equal(factors.begin(), factors.end(), o.factors.begin(), o.factors.end(),
                      [](Size a, Size b) { return a.is_same(b); });
  }
  // Cancels the divisor's factors; false if it does not divide exactly.
  bool divide(const SizeProduct& by) {
    if (by.coefficient == 0 || coefficient % by.coefficient != 0) return false;
    coefficient /= by.coefficient;
    for (Size f : by.factors) {
      auto it = std::find_if(factors.begin(), factors.end(), [&](Size g) { return g.is_same(f); });
      if (it == factors.end()) return false;
      factors.erase(it);
    }
    return true;
  }
  Size size() const {
    if (coefficient == 0 || factors.empty()) return Size(coefficient);
    Size s = factors[0];
    for (size_t i = 1; i < factors.size(); ++i)
      s = Size::of(SizeOp::Mul, s, factors[i]);
    return coefficient == 1 ? s : Size::of(SizeOp::Mul, s, Size(coefficient));
  }
};

// A sum of products with like terms combined.
struct SizeSum {
  std::vector<SizeProduct> terms;

  static SizeSum of(Size s) {
    SizeSum t;
    t.add(s);
    return t;
  }
  void add(Size s) {
    if (!s.is_const() && s.node()->op == SizeOp::Add) {
      add(s.node()->a);
      add(s.node()->b);
    } else {
      add(SizeProduct::of(s));
    }
  }
  void add(SizeProduct p) {
    if (p.coefficient == 0) return;
    for (auto it = terms.begin(); it != terms.end(); ++it) {
      if (!it->same_factors(p)) continue;
      it->coefficient = saturated_add(it->coefficient, p.coefficient);
      if (it->coefficient == 0) terms.erase(it);
      return;
    }
    auto before = [](const SizeProduct& a, const SizeProduct& b) {
      if (a.factors.empty() != b.factors.empty()) return b.factors.empty();  // the number comes last
      return std::lexicographical_compare(a.factors.begin(), a.factors.end(), b.factors.begin(), b.factors.end(),
                                          [](Size x, Size y) { return x.bits_ < y.bits_; });
    };
    terms.insert(std::upper_bound(terms.begin(), terms.end(), p, before), std::move(p));
  }
  bool divide(const SizeProduct& by) {
    for (SizeProduct& t : terms)
      if (!t.divide(by)) return false;
    return true;
  }
  Size size() const {
    if (terms.empty()) return Size(0);
    Size s = terms[0].size();
    for (size_t i = 1; i < terms.size(); ++i)
      s = Size::of(SizeOp::Add, s, terms[i].size());
    return s;
  }
};

Size operator+(Size a, Size b) {
  if (a.is_const() && b.is_const()) return Size(a.value() + b.value());
  SizeSum sum = SizeSum::of(a);
  sum.add(b);
  return sum.size();
}

Size operator-(Size a, Size b) { return a + b * Size(-1); }

Size operator*(Size a, Size b) {
  if (a.is_const() && b.is_const()) return Size(saturated_mul(a.value(), b.value()));
  // Distributes a number over a sum, so that differences cancel.
  if (b.is_const()) std::swap(a, b);
  if (a.is_const() && b.node()->op == SizeOp::Add) {
    SizeSum sum = SizeSum::of(b);
    if (a.value() == 0) return Size(0);
    for (SizeProduct& t : sum.terms)
      t.coefficient = saturated_mul(t.coefficient, a.value());
    return sum.size();
  }
  SizeProduct p = SizeProduct::of(a);
  p.multiply(b);
  return p.size();
}

namespace {

// a / b if the division is exact for all values of the symbols.
std::optional<Size> exact_quotient(Size a, Size b) {
  SizeSum sum = SizeSum::of(a);
  if (is_value(b, 0) || !sum.divide(SizeProduct::of(b))) return std::nullopt;
  return sum.size();
}

}  // namespace

Size floor_div(Size a, Size b) {
  if (a.is_const() && b.is_const()) return Size(apply(SizeOp::FloorDiv, a.value(), b.value()));
  auto exact = exact_quotient(a, b);  // divisors are positive sizes
  return exact ? *exact : Size::of(SizeOp::FloorDiv, a, b);
}

Size mod(Size a, Size b) {
  if (a.is_const() && b.is_const()) return Size(apply(SizeOp::Mod, a.value(), b.value()));
  return exact_quotient(a, b) ? Size(0) : Size::of(SizeOp::Mod, a, b);
}

Size min(Size a, Size b) {
  if (a.is_const() && b.is_const()) return Size(std::min(a.value(), b.value()));
  return a.is_same(b) ? a : Size::of(SizeOp::Min, a, b);
}

Size max(Size a, Size b) {
  if (a.is_const() && b.is_const()) return Size(std::max(a.value(), b.value()));
  return a.is_same(b) ? a : Size::of(SizeOp::Max, a, b);
}

std::string Size::str() const {
  if (is_const()) return std::to_string(value());
  const SizeNode* n = node();
  switch (n->op) {
    case SizeOp::Symbol: return "s" + std::to_string(n->a.value());
    case SizeOp::Add: return "(" + n->a.str() + " + " + n->b.str() + ")";
    case SizeOp::Mul: return "(" + n->a.str() + " * " + n->b.str() + ")";
    case SizeOp::FloorDiv: return "(" + n->a.str() + " // " + n->b.str() + ")";
    case SizeOp::Mod: return "(" + n->a.str() + " % " + n->b.str() + ")";
    case SizeOp::Min: return "min(" + n->a.str() + ", " + n->b.str() + ")";
    case SizeOp::Max: return "max(" + n->a.str() + ", " + n->b.str() + ")";
  }
  return "?";
}

Size num_elems(const Sizes& s) {
  Size n = 1;
  for (Size d : s)
    n = n * d;
  return n;
}

int64_t Size::value_now() const {
  SizeFacts* facts = SizeFacts::current();
  INVARIANT(facts, "size " << str() << " is not known here");
  return facts->value(*this);
}

bool Size::equal_now(Size a, Size b) {
  SizeFacts* facts = SizeFacts::current();
  return facts && facts->equal(a, b);
}

bool Size::less_now(Size a, Size b) {
  SizeFacts* facts = SizeFacts::current();
  INVARIANT(facts, "sizes " << a.str() << " and " << b.str() << " cannot be compared here");
  return facts->less(a, b);
}

Sizes to_sizes(const Dims& d) { return Sizes(d.begin(), d.end()); }

Dims to_dims(const Sizes& s) {
  Dims d;
  for (Size x : s)
    d.push_back(x.value());
  return d;
}

// Does not convert to Sizes: these hold 63 bits, and a message may mention a size that no memory holds.
std::string shape_text(const Dims& d) {
  std::string s = "[";
  for (size_t i = 0; i < d.size(); ++i)
    s += (i ? ", " : "") + std::to_string(d[i]);
  return s + "]";
}

std::string shape_text(const Sizes& d) {
  std::string s = "[";
  for (size_t i = 0; i < d.size(); ++i)
    s += (i ? ", " : "") + d[i].str();
  return s + "]";
}

std::string shape_x_text(const Dims& d) {
  std::string s;
  for (size_t i = 0; i < d.size(); ++i)
    s += (i ? "x" : "") + std::to_string(d[i]);
  return s;
}

}  // namespace sheaf
