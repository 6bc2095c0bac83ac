#include "value/equal.h"

#include <cmath>
#include <cstring>

#include "tensor/complex_element.h"
#include "value/dict.h"
#include "value/print.h"

namespace sheaf {
namespace {

// Values nest without limit, so both comparisons keep their own stack of pairs still to compare.
struct Pair {
  Value a, b;
};

void push_items(std::vector<Pair>& todo, std::span<const Value> a, std::span<const Value> b) {
  for (size_t i = a.size(); i-- > 0;)
    todo.push_back({a[i], b[i]});
}

// What a traced value stands for now; any other value unchanged.
Value resolved(const Value& v) { return v.is_traced() ? v.as_traced()->concrete() : v; }

const std::string& key_text(const Value& v) { return v.is_string() ? v.as_string() : v.as_keyword().str(); }

bool is_array(const Value& v) { return v.is_number() || v.is_bool() || v.is_tensor(); }

// A float beside an array of f64 comes with all its digits.
Tensor as_array(const Value& v, const Value& beside) {
  if (v.is_tensor()) return contiguous(v.as_tensor());
  bool wide = beside.is_tensor() && beside.as_tensor().dtype == DType::F64;
  DType d = !v.is_float() ? DType::I64 : wide ? DType::F64 : DType::F32;
  Tensor t = empty_tensor(d, {});
  if (v.is_float())
    store_double(d, t.bytes_mut(), v.as_double());
  else
    *t.data_mut<int64_t>() = v.as_int();
  return t;
}

int64_t load_int(DType d, const std::byte* p) {
  if (d != DType::I64) return static_cast<int64_t>(load_double(d, p));
  int64_t v;
  std::memcpy(&v, p, sizeof v);
  return v;
}

// Integers compare exactly; otherwise both sides take the promoted type first, as arithmetic would.
bool arrays_equal(const Tensor& a, const Tensor& b) {
  if (!(a.sizes == b.sizes)) return false;
  bool complex = is_complex(a.dtype) || is_complex(b.dtype);
  bool integral = !complex && !is_float(a.dtype) && !is_float(b.dtype);
  bool wide = a.dtype == DType::F64 || b.dtype == DType::F64;
  const std::byte *p = a.bytes(), *q = b.bytes();
  for (int64_t n = a.num_elems(); n > 0; --n, p += size_bytes(a.dtype), q += size_bytes(b.dtype)) {
    if (integral) {
      if (load_int(a.dtype, p) != load_int(b.dtype, q)) return false;
      continue;
    }
    if (complex) {
      if (std::complex<float>(load_complex(a.dtype, p)) != std::complex<float>(load_complex(b.dtype, q))) return false;
      continue;
    }
    double x = load_double(a.dtype, p), y = load_double(b.dtype, q);
    if (wide ? x != y : static_cast<float>(x) != static_cast<float>(y)) return false;
  }
  return true;
}

// `=` of two lists. Inside them types must agree, and tensors, dicts and functions are never equal.
bool lists_equal(const Value& a0, const Value& b0) {
  std::vector<Pair> todo{{a0, b0}};
  while (!todo.empty()) {
    Value a = resolved(todo.back().a), b = resolved(todo.back().b);
    todo.pop_back();
    if (is_key(a) && is_key(b)) {
      if (key_text(a) != key_text(b)) return false;
      continue;
    }
    if (a.tag() != b.tag()) return false;
    switch (a.tag()) {
      case Tag::Nil: break;
      case Tag::Bool:
      case Tag::Int:
        if (a.as_int() != b.as_int()) return false;
        break;
      case Tag::Float:
        if (a.as_float() != b.as_float()) return false;
        break;
      case Tag::List:
      case Tag::Tuple:
        if (a.items().size() != b.items().size()) return false;
        push_items(todo, a.items(), b.items());
        break;
      default: return false;
    }
  }
  return true;
}

bool same_bits_or_nan(double a, double b) {
  return std::memcmp(&a, &b, sizeof a) == 0 || (std::isnan(a) && std::isnan(b));
}

bool tensors_identical(const Tensor& a0, const Tensor& b0) {
  if (a0.dtype != b0.dtype || !(a0.sizes == b0.sizes)) return false;
  Tensor a = contiguous(a0), b = contiguous(b0);
  int64_t bytes = a.num_elems() * size_bytes(a.dtype);
  if (bytes == 0 || std::memcmp(a.bytes(), b.bytes(), bytes) == 0) return true;
  if (!is_inexact(a.dtype)) return false;
  const DType part = is_complex(a.dtype) ? DType::F32 : a.dtype;
  for (int64_t i = 0; i < bytes; i += size_bytes(part))
    if (!same_bits_or_nan(load_double(part, a.bytes() + i), load_double(part, b.bytes() + i))) return false;
  return true;
}

// Compares two values of the same tag, leaving their children in `todo`.
bool same_node(const Value& a, const Value& b, std::vector<Pair>& todo) {
  if (a.is_object() && a.object() == b.object()) return true;
  switch (a.tag()) {
    case Tag::Nil:
    case Tag::Marker:
    case Tag::Unbound: return true;
    case Tag::Bool:
    case Tag::Int: return a.as_int() == b.as_int();
    case Tag::Float: return same_bits_or_nan(a.as_float(), b.as_float());
    case Tag::Keyword: return a.as_keyword() == b.as_keyword();
    case Tag::String: return a.as_string() == b.as_string();
    case Tag::Tensor: return tensors_identical(a.as_tensor(), b.as_tensor());
    case Tag::List:
    case Tag::Tuple:
      if (a.items().size() != b.items().size()) return false;
      push_items(todo, a.items(), b.items());
      return true;
    case Tag::Dict: {
      auto x = a.as_dict().entries(), y = b.as_dict().entries();
      if (x.size() != y.size()) return false;
      for (size_t i = 0; i < x.size(); ++i) {
        if (!(x[i].key == y[i].key)) return false;
        todo.push_back({x[i].value, y[i].value});
      }
      return true;
    }
    default: return false;  // functions, atoms and the like are equal only to themselves
  }
}

}  // namespace

bool language_equal(const Value& a0, const Value& b0) {
  Value a = resolved(a0), b = resolved(b0);
  if (is_key(a) || is_key(b)) return is_key(a) && is_key(b) && key_text(a) == key_text(b);
  if (a.is_nil() || b.is_nil()) return a.is_nil() && b.is_nil();
  if (a.is_list() || b.is_list()) return a.is_list() && b.is_list() && lists_equal(a, b);
  for (const Value* v : {&a, &b})
    if (!is_array(*v)) throw runtime_error("Expected a number, got " + short_text(*v));
  if (a.is_int() && b.is_int()) return a.as_int() == b.as_int();
  return arrays_equal(as_array(a, b), as_array(b, a));
}

bool tree_equal(const Value& a0, const Value& b0) {
  std::vector<Pair> todo{{a0, b0}};
  while (!todo.empty()) {
    Value a = resolved(todo.back().a), b = resolved(todo.back().b);
    todo.pop_back();
    if (a.tag() != b.tag() || !same_node(a, b, todo)) return false;
  }
  return true;
}

bool truthy(const Value& v) {
  switch (v.tag()) {
    case Tag::Nil: return false;
    case Tag::Bool:
    case Tag::Int: return v.as_int() != 0;
    case Tag::Float: return v.as_float() != 0;
    case Tag::Tensor:
      return v.as_tensor().rank() > 0 || load_complex(v.as_tensor().dtype, v.as_tensor().bytes()) != 0.0;
    case Tag::Traced: {
      Value now = v.as_traced()->concrete();
      INVARIANT(!now.is_nil(), "truth of a traced " << v.as_traced()->describe());
      return truthy(now);
    }
    default: return true;
  }
}

}  // namespace sheaf
