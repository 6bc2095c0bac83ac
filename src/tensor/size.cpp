#include "tensor/size.h"

#include <map>
#include <mutex>
#include <tuple>

namespace sheaf {
namespace {

int64_t floor_div_value(int64_t a, int64_t b) {
  if (b == 0) return 0;
  int64_t q = a / b;
  return (a % b != 0 && (a < 0) != (b < 0)) ? q - 1 : q;
}

int64_t apply(SizeOp op, int64_t a, int64_t b) {
  switch (op) {
    case SizeOp::Add: return a + b;
    case SizeOp::Mul: return a * b;
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
  static std::mutex mu;
  static auto* interned = new std::map<std::tuple<SizeOp, int64_t, int64_t>, const SizeNode*>;
  std::lock_guard lock(mu);
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

Size operator+(Size a, Size b) {
  if (a.is_const() && b.is_const()) return Size(a.value() + b.value());
  if (is_value(a, 0)) return b;
  if (is_value(b, 0)) return a;
  if (a.is_const() || (!b.is_const() && b.bits_ < a.bits_)) std::swap(a, b);
  // (x + c1) + c2 = x + (c1 + c2)
  if (b.is_const() && a.node()->op == SizeOp::Add && a.node()->b.is_const()) return a.node()->a + (a.node()->b + b);
  if (a == b * Size(-1)) return Size(0);
  return Size::of(SizeOp::Add, a, b);
}

Size operator-(Size a, Size b) { return a == b ? Size(0) : a + b * Size(-1); }

Size operator*(Size a, Size b) {
  if (a.is_const() && b.is_const()) return Size(a.value() * b.value());
  if (is_value(a, 0) || is_value(b, 0)) return Size(0);
  if (is_value(a, 1)) return b;
  if (is_value(b, 1)) return a;
  if (a.is_const() || (!b.is_const() && b.bits_ < a.bits_)) std::swap(a, b);
  if (b.is_const() && a.node()->op == SizeOp::Mul && a.node()->b.is_const()) return a.node()->a * (a.node()->b * b);
  return Size::of(SizeOp::Mul, a, b);
}

Size floor_div(Size a, Size b) {
  if (a.is_const() && b.is_const()) return Size(apply(SizeOp::FloorDiv, a.value(), b.value()));
  if (is_value(b, 1)) return a;
  if (a == b) return Size(1);  // sizes that are divided by are positive
  if (!a.is_const() && a.node()->op == SizeOp::Mul) {
    if (a.node()->a == b) return a.node()->b;
    if (a.node()->b == b) return a.node()->a;
  }
  return Size::of(SizeOp::FloorDiv, a, b);
}

Size mod(Size a, Size b) {
  if (a.is_const() && b.is_const()) return Size(apply(SizeOp::Mod, a.value(), b.value()));
  if (is_value(b, 1) || a == b) return Size(0);
  if (!a.is_const() && a.node()->op == SizeOp::Mul && (a.node()->a == b || a.node()->b == b)) return Size(0);
  return Size::of(SizeOp::Mod, a, b);
}

Size min(Size a, Size b) {
  if (a.is_const() && b.is_const()) return Size(std::min(a.value(), b.value()));
  return a == b ? a : Size::of(SizeOp::Min, a, b);
}

Size max(Size a, Size b) {
  if (a.is_const() && b.is_const()) return Size(std::max(a.value(), b.value()));
  return a == b ? a : Size::of(SizeOp::Max, a, b);
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
  for (Size d : s) n = n * d;
  return n;
}

Sizes to_sizes(const Dims& d) { return Sizes(d.begin(), d.end()); }

Dims to_dims(const Sizes& s) {
  Dims d;
  for (Size x : s) {
    INVARIANT(x.is_const(), "size " << x.str() << " is not known here");
    d.push_back(x.value());
  }
  return d;
}

// Not by way of Sizes: those hold 63 bits, and a message may speak of a size that no memory holds.
std::string shape_text(const Dims& d) {
  std::string s = "[";
  for (size_t i = 0; i < d.size(); ++i) s += (i ? ", " : "") + std::to_string(d[i]);
  return s + "]";
}

std::string shape_text(const Sizes& d) {
  std::string s = "[";
  for (size_t i = 0; i < d.size(); ++i) s += (i ? ", " : "") + d[i].str();
  return s + "]";
}

std::string shape_x_text(const Dims& d) {
  std::string s;
  for (size_t i = 0; i < d.size(); ++i) s += (i ? "x" : "") + std::to_string(d[i]);
  return s;
}

}  // namespace sheaf
