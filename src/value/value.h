// The language's values: 16 bytes, a tag and a payload. Numbers, booleans, nil and keywords are inline; everything else
// is a counted object. Values are immutable to the language; an object may be changed in place only by the holder of
// its only reference (`unique()`), which is how lists grow and dicts update without copying.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/name.h"
#include "support/ref.h"
#include "tensor/tensor.h"

namespace sheaf {

enum class Tag : uint8_t {
  Nil,
  Bool,
  Int,
  Float,
  Keyword,
  Marker,   // the `...` of get and at
  Unbound,  // a parameter that a lenient call did not supply
  // From here on the payload is a counted Object.
  String,
  List,
  Tuple,
  Dict,
  Tensor,
  Function,
  Builtin,
  Traced,  // a scalar or tensor that stands for a graph node
  Atom,
  Opaque,
};

struct Object : Counted {
  virtual ~Object() = default;
};

// Deletes an object whose last reference is gone; deep structures are taken apart iteratively.
void destroy_object(const Object* o);

class Items;
struct StringObj;
struct ListObj;
struct DictObj;
struct TensorObj;
struct FunctionObj;
struct TracedObj;

class Value {
 public:
  Value() : tag_(Tag::Nil) { u_.i = 0; }
  static Value nil() { return {}; }
  static Value boolean(bool b) {
    Value v;
    v.tag_ = Tag::Bool;
    v.u_.i = b;
    return v;
  }
  static Value integer(int64_t i) {
    Value v;
    v.tag_ = Tag::Int;
    v.u_.i = i;
    return v;
  }
  static Value floating(float f) {
    Value v;
    v.tag_ = Tag::Float;
    v.u_.i = 0;
    v.u_.real.f = f;
    return v;
  }
  // To programs a float is an f32. One that was written or read with more digits keeps them, for where it meets f64.
  static Value floating_from(double d);
  static Value keyword(Name n) {
    Value v;
    v.tag_ = Tag::Keyword;
    v.u_.name = n.entry();
    return v;
  }
  static Value marker() {
    Value v;
    v.tag_ = Tag::Marker;
    return v;
  }
  static Value unbound(int64_t note = 0) {
    Value v;
    v.tag_ = Tag::Unbound;
    v.u_.i = note;
    return v;
  }
  static Value string(std::string s);
  static Value list(std::vector<Value> items);
  static Value tuple(std::vector<Value> items);
  static Value tensor(Tensor t);
  static Value object(Tag tag, const Object* o) {  // shares `o`
    Value v;
    v.tag_ = tag;
    v.u_.o = const_cast<Object*>(o);
    o->retain();
    return v;
  }

  Value(const Value& o) : tag_(o.tag_), u_(o.u_) {
    if (is_object()) u_.o->retain();
  }
  Value(Value&& o) noexcept : tag_(o.tag_), u_(o.u_) { o.tag_ = Tag::Nil; }
  ~Value() { drop(); }
  Value& operator=(const Value& o) {
    Value copy(o);
    swap(copy);
    return *this;
  }
  Value& operator=(Value&& o) noexcept {
    if (this != &o) {
      drop();
      tag_ = o.tag_;
      u_ = o.u_;
      o.tag_ = Tag::Nil;
    }
    return *this;
  }
  void swap(Value& o) noexcept {
    std::swap(tag_, o.tag_);
    std::swap(u_, o.u_);
  }

  Tag tag() const { return tag_; }
  bool is_object() const { return tag_ >= Tag::String; }
  bool is_nil() const { return tag_ == Tag::Nil; }
  bool is_bool() const { return tag_ == Tag::Bool; }
  bool is_int() const { return tag_ == Tag::Int; }
  bool is_float() const { return tag_ == Tag::Float; }
  bool is_number() const { return tag_ == Tag::Int || tag_ == Tag::Float; }
  bool is_keyword() const { return tag_ == Tag::Keyword; }
  bool is_string() const { return tag_ == Tag::String; }
  bool is_list() const { return tag_ == Tag::List; }
  bool is_tuple() const { return tag_ == Tag::Tuple; }
  bool is_seq() const { return tag_ == Tag::List || tag_ == Tag::Tuple; }
  bool is_dict() const { return tag_ == Tag::Dict; }
  bool is_tensor() const { return tag_ == Tag::Tensor; }
  bool is_traced() const { return tag_ == Tag::Traced; }
  bool is_callable() const { return tag_ == Tag::Function || tag_ == Tag::Builtin; }

  // The payload; the tag must fit.
  bool as_bool() const { return u_.i != 0; }
  int64_t as_int() const { return u_.i; }
  float as_float() const { return u_.real.f; }
  double as_double() const { return u_.real.rest == 0 ? u_.real.f : double_with_rest(); }  // Float, with all its digits
  bool has_more_digits() const { return u_.real.rest != 0; }                               // Float, than an f32 holds
  float number() const { return tag_ == Tag::Int ? static_cast<float>(u_.i) : u_.real.f; }  // Int or Float
  Name as_keyword() const { return Name::from_entry(u_.name); }
  Object* object() const { return u_.o; }
  const std::string& as_string() const;
  std::span<const Value> items() const;  // List or Tuple
  std::vector<Value> items_copy() const { return {items().begin(), items().end()}; }
  const DictObj& as_dict() const;
  const Tensor& as_tensor() const;
  FunctionObj* as_function() const { return reinterpret_cast<FunctionObj*>(u_.o); }
  TracedObj* as_traced() const { return reinterpret_cast<TracedObj*>(u_.o); }

  // True when this Value holds the only reference to its object.
  bool unique() const { return is_object() && u_.o->unique(); }
  // For in-place updates: the items of an unshared list (copying it first if it is shared).
  Items& mutable_items();
  DictObj& mutable_dict();

 private:
  void drop() {
    if (is_object() && u_.o->release()) destroy_object(u_.o);
  }
  double double_with_rest() const;

  Tag tag_;
  union {
    int64_t i;
    // `rest`: how many doubles the number is from f, or, when f is not near it (beyond the range of f32), where it is
    // kept.
    struct {
      float f;
      int32_t rest;
    } real;
    const Name::Entry* name;
    Object* o;
  } u_;
};
static_assert(sizeof(Value) == 16);

struct StringObj final : Object {
  std::string text;
  explicit StringObj(std::string t) : text(std::move(t)) {}
};

// The elements of a list: a vector with room in front as well, so that cons and rest of a list that nobody else holds
// cost no more than append.
class Items {
 public:
  Items(std::vector<Value> v) : all_(std::move(v)) {}
  Value* begin() { return all_.data() + head_; }
  Value* end() { return all_.data() + all_.size(); }
  size_t size() const { return all_.size() - head_; }
  Value& operator[](size_t i) { return all_[head_ + i]; }
  operator std::span<const Value>() const { return {all_.data() + head_, size()}; }
  void push_back(Value v) { all_.push_back(std::move(v)); }
  void append(std::span<const Value> more) { all_.insert(all_.end(), more.begin(), more.end()); }
  void push_front(Value v);
  void pop_front();  // of at least one

 private:
  std::vector<Value> all_;
  size_t head_ = 0;  // the first `head_` are free, and nil
};

struct ListObj final : Object {  // also tuples
  Items items;
  explicit ListObj(std::vector<Value> i) : items(std::move(i)) {}
};

struct TensorObj final : Object {
  Tensor tensor;
  explicit TensorObj(Tensor t) : tensor(std::move(t)) {}
};

// A number that no other code has or will have: an address could be that of other code one day.
uint64_t new_code_number();

// Anything callable. Closures live in eval, built-ins in builtins; both derive from this.
struct FunctionObj : Object {
  virtual const std::string& name() const = 0;  // "" for an anonymous function
  // For tracing: the number of the code (new_code_number), and the values it closed over (which may be replaced).
  virtual uint64_t code_number() const { return 0; }
  virtual const std::vector<Value>* captured() const { return nullptr; }
  virtual Value with_captured(std::vector<Value> values) const;
};

// A scalar or tensor whose value is a graph node (trace layer). `concrete` is what it stands for right now when that is
// known (tape mode), else nil.
struct TracedObj : Object {
  virtual Value concrete() const = 0;
  virtual std::string describe() const = 0;  // "f32[2x3]", "float" …
};

struct AtomObj final : Object {
  Value value;
};

inline Value FunctionObj::with_captured(std::vector<Value>) const { return Value(); }
inline const std::string& Value::as_string() const { return static_cast<StringObj*>(u_.o)->text; }
inline std::span<const Value> Value::items() const { return static_cast<ListObj*>(u_.o)->items; }
inline const Tensor& Value::as_tensor() const { return static_cast<TensorObj*>(u_.o)->tensor; }

// A keyword's or string's text as a dict key; only for those two tags.
inline Name key_name(const Value& v) { return v.is_keyword() ? v.as_keyword() : Name(v.as_string()); }
inline bool is_key(const Value& v) { return v.is_keyword() || v.is_string(); }

}  // namespace sheaf
