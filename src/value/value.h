// The language's values: 16 bytes, a tag and a payload. Numbers, booleans, nil and keywords are inline; all others are
// counted objects. Values are immutable to the language; only the holder of an object's single reference (`unique()`)
// may change it in place, so lists grow and dicts update without copying.
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
  Unbound,  // a parameter for which a lenient call passed no argument
  // From here on the payload is a counted Object.
  String,
  List,
  Tuple,
  Dict,
  Tensor,
  Function,
  Builtin,
  Traced,  // a scalar or tensor that is represented by a graph node
  Atom,
  Opaque,
};

struct Object : Counted {
  virtual ~Object() = default;
};

// Deletes an object after its last release; frees deep structures iteratively.
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
  // To programs a float is an f32. A float written or read with more digits keeps them, for operations in f64.
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
  static Value object(Tag tag, const Object* o) {  // adds a reference to `o`
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

  // Access to the payload; the caller checks the tag.
  bool as_bool() const { return u_.i != 0; }
  int64_t as_int() const { return u_.i; }
  float as_float() const { return u_.real.f; }
  double as_double() const { return u_.real.rest == 0 ? u_.real.f : double_with_rest(); }  // Float: with all digits
  bool has_more_digits() const { return u_.real.rest != 0; }                               // Float: more than f32 holds
  float number() const { return tag_ == Tag::Int ? static_cast<float>(u_.i) : u_.real.f; }  // of an Int or Float
  Name as_keyword() const { return Name::from_entry(u_.name); }
  Object* object() const { return u_.o; }
  const std::string& as_string() const;
  std::span<const Value> items() const;  // List or Tuple
  std::vector<Value> items_copy() const { return {items().begin(), items().end()}; }
  const DictObj& as_dict() const;
  const Tensor& as_tensor() const;
  FunctionObj* as_function() const { return reinterpret_cast<FunctionObj*>(u_.o); }
  TracedObj* as_traced() const { return reinterpret_cast<TracedObj*>(u_.o); }

  // True if this Value holds the only reference to its object.
  bool unique() const { return is_object() && u_.o->unique(); }
  // The items for an in-place update; copies a shared list first.
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
    // `rest`: the distance from f to the number, in units of double; or, if no f32 is near (beyond its range), the
    // index under which the number is stored.
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

// The elements of a list: a vector with free space at both ends, so that cons and rest of an unshared list cost no more
// than append.
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
  void pop_front();  // must not be empty

 private:
  std::vector<Value> all_;
  size_t head_ = 0;  // the first `head_` slots are free, and nil
};

struct ListObj final : Object {  // also tuples
  Items items;
  explicit ListObj(std::vector<Value> i) : items(std::move(i)) {}
};

struct TensorObj final : Object {
  Tensor tensor;
  explicit TensorObj(Tensor t) : tensor(std::move(t)) {}
};

// Returns a number that no other code ever has. An address could be reused by later code.
uint64_t new_code_number();

// Anything callable. Closures live in eval, built-ins in builtins; both derive from this.
struct FunctionObj : Object {
  virtual const std::string& name() const = 0;  // "" for an anonymous function
  // For tracing: the number of the code (new_code_number), and the captured values (which may be replaced).
  virtual uint64_t code_number() const { return 0; }
  virtual const std::vector<Value>* captured() const { return nullptr; }
  virtual Value with_captured(std::vector<Value> values) const;
};

// A scalar or tensor that is represented by a graph node (trace layer). `concrete` is its current value if that is
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

// The text of a keyword or string as a dict key; only for those two tags.
inline Name key_name(const Value& v) { return v.is_keyword() ? v.as_keyword() : Name(v.as_string()); }
inline bool is_key(const Value& v) { return v.is_keyword() || v.is_string(); }

}  // namespace sheaf
