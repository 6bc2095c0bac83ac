// Sheaf from C++17 on: handles that free themselves and errors as exceptions, over sheaf.h, which says what is shared,
// what is safe from which thread, and who owns a tensor's memory.
//
//   sheaf::api::Session s;
//   s.eval("(defn scale [x k] (* x k))");
//   std::vector<float> data{1, 2, 3};
//   sheaf::api::Value y = s.call("scale", sheaf::api::Value::view(data.data(), {3}), 2);
//   float first = y.tensor<float>().data()[0];
#ifndef SHEAF_SHEAF_HPP
#define SHEAF_SHEAF_HPP
#include <sheaf/dlpack.h>
#include <sheaf/sheaf.h>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <initializer_list>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

namespace sheaf::api {

class Error : public std::exception {
 public:
  explicit Error(sheaf_error* e) : e_(e, sheaf_error_free) {}
  const char* what() const noexcept override { return sheaf_error_message(e_.get()); }
  std::string kind() const { return sheaf_error_kind(e_.get()); }
  std::string message() const { return sheaf_error_message(e_.get()); }
  std::string file() const { return sheaf_error_file(e_.get()); }
  int line() const { return sheaf_error_line(e_.get()); }
  int column() const { return sheaf_error_column(e_.get()); }
  std::string report() const { return sheaf_error_report(e_.get()); }
  int exit_code() const { return sheaf_error_exit_code(e_.get()); }

 private:
  std::shared_ptr<sheaf_error> e_;
};

inline void check(sheaf_error* e) {
  if (e) throw Error(e);
}

namespace detail {

template <class T>
constexpr DLDataType dl_type() {
  static_assert(std::is_arithmetic_v<T>, "elements are numbers or bools");
  constexpr auto bits = static_cast<uint8_t>(8 * sizeof(T));
  if constexpr (std::is_same_v<T, bool>)
    return {kDLBool, 8, 1};
  else if constexpr (std::is_floating_point_v<T>)
    return {kDLFloat, bits, 1};
  else if constexpr (std::is_signed_v<T>)
    return {kDLInt, bits, 1};
  else
    return {kDLUInt, bits, 1};
}

// Memory of the host on its way into Sheaf.
struct Lent {
  DLManagedTensor managed{};
  std::vector<int64_t> shape, strides;
  std::function<void()> release;
};

}  // namespace detail

// The memory of a tensor, kept alive by this object. Read-only: values are immutable.
template <class T>
class TensorView {
 public:
  explicit TensorView(DLManagedTensor* m) : m_(m, [](DLManagedTensor* p) { p->deleter(p); }) {}
  const T* data() const {
    return reinterpret_cast<const T*>(static_cast<const char*>(m_->dl_tensor.data) + m_->dl_tensor.byte_offset);
  }
  int rank() const { return m_->dl_tensor.ndim; }
  int64_t size(int axis) const { return m_->dl_tensor.shape[axis]; }
  int64_t stride(int axis) const { return m_->dl_tensor.strides[axis]; }  // in elements
  std::vector<int64_t> shape() const { return {m_->dl_tensor.shape, m_->dl_tensor.shape + rank()}; }
  template <class... I>
  const T& operator()(I... index) const {
    int64_t at = 0;
    int axis = 0;
    ((at += static_cast<int64_t>(index) * stride(axis++)), ...);
    return data()[at];
  }

 private:
  std::shared_ptr<DLManagedTensor> m_;
};

// A value of the language; copying shares it.
class Value {
 public:
  Value() : Value(own(sheaf_nil())) {}
  Value(std::nullptr_t) : Value() {}
  Value(bool b) : Value(own(sheaf_bool(b))) {}
  template <class T, std::enable_if_t<std::is_integral_v<T> && !std::is_same_v<T, bool>, int> = 0>
  Value(T i) : Value(own(sheaf_int(static_cast<int64_t>(i)))) {}
  template <class T, std::enable_if_t<std::is_floating_point_v<T>, int> = 0>
  Value(T x) : Value(own(sheaf_float(static_cast<double>(x)))) {}
  Value(std::string_view s) : Value(own(sheaf_string(s.data(), s.size()))) {}
  Value(const std::string& s) : Value(std::string_view(s)) {}
  Value(const char* s) : Value(std::string_view(s)) {}
  static Value own(sheaf_value* v) {
    if (!v) throw std::bad_alloc();
    return Value(v, 0);
  }
  static Value keyword(const std::string& name) { return own(sheaf_keyword(name.c_str())); }
  static Value list(const std::vector<Value>& items) { return own(sheaf_list(handles(items).data(), items.size())); }
  static Value tuple(const std::vector<Value>& items) { return own(sheaf_tuple(handles(items).data(), items.size())); }
  static Value dict(const std::vector<std::pair<std::string, Value>>& entries) {
    std::vector<const char*> keys;
    std::vector<sheaf_value*> values;
    for (const auto& [k, v] : entries) {
      keys.push_back(k.c_str());
      values.push_back(v.get());
    }
    return own(sheaf_dict(keys.data(), values.data(), entries.size()));
  }
  // A tensor over memory of the host, row-major unless strides are given. `release` is called once when Sheaf no longer
  // needs it, on any thread; without it the memory must outlive every value that may show it.
  template <class T>
  static Value view(const T* data, std::vector<int64_t> shape, std::function<void()> release = {},
                    std::vector<int64_t> strides = {}) {
    auto lent = std::make_unique<detail::Lent>();
    lent->shape = std::move(shape);
    lent->strides = std::move(strides);
    lent->release = std::move(release);
    DLTensor& d = lent->managed.dl_tensor;
    d.data = const_cast<T*>(data);
    d.device = {kDLCPU, 0};
    d.ndim = static_cast<int32_t>(lent->shape.size());
    d.dtype = detail::dl_type<T>();
    d.shape = lent->shape.data();
    d.strides = lent->strides.empty() ? nullptr : lent->strides.data();
    lent->managed.manager_ctx = lent.get();
    lent->managed.deleter = [](DLManagedTensor* m) {
      std::unique_ptr<detail::Lent> l(static_cast<detail::Lent*>(m->manager_ctx));
      if (l->release) l->release();
    };
    Value v = from_dlpack(&lent->managed);
    (void)lent.release();  // the deleter frees it
    return v;
  }
  // Takes over `m`, unless it throws.
  static Value from_dlpack(DLManagedTensor* m) {
    sheaf_value* v = nullptr;
    check(sheaf_from_dlpack(m, &v));
    return own(v);
  }
  // The caller calls its deleter.
  DLManagedTensor* to_dlpack() const {
    DLManagedTensor* m = nullptr;
    check(sheaf_to_dlpack(get(), &m));
    return m;
  }
  // The same where the tensor is: on a GPU, or here.
  DLManagedTensor* to_dlpack_on_device() const {
    DLManagedTensor* m = nullptr;
    check(sheaf_to_dlpack_on_device(get(), &m));
    return m;
  }

  sheaf_kind kind() const { return sheaf_kind_of(get()); }
  bool is_nil() const { return kind() == SHEAF_NIL; }
  bool as_bool() const { return sheaf_get_bool(get()) != 0; }
  int64_t as_int() const { return sheaf_get_int(get()); }
  double as_float() const { return sheaf_get_float(get()); }
  std::string as_text() const {
    size_t size = 0;
    const char* text = sheaf_get_text(get(), &size);
    return text ? std::string(text, size) : std::string();
  }
  size_t size() const { return sheaf_size(get()); }
  Value operator[](size_t index) const { return own(sheaf_item(get(), index)); }
  std::string key(size_t index) const { return sheaf_dict_key(get(), index); }
  // nil when there is no such key.
  Value get(const std::string& key) const {
    sheaf_value* v = sheaf_dict_get(get(), key.c_str());
    return v ? own(v) : Value();
  }
  // std::bad_cast when its elements are of another type.
  template <class T>
  TensorView<T> tensor() const {
    DLManagedTensor* m = to_dlpack();
    TensorView<T> view(m);
    constexpr DLDataType want = detail::dl_type<T>();
    if (m->dl_tensor.dtype.code != want.code || m->dl_tensor.dtype.bits != want.bits) throw std::bad_cast();
    return view;
  }
  // As `print` shows it.
  std::string text() const { return own(sheaf_text_of(get())).as_text(); }
  sheaf_value* get() const { return v_.get(); }

  static std::vector<sheaf_value*> handles(const std::vector<Value>& values) {
    std::vector<sheaf_value*> out;
    for (const Value& v : values)
      out.push_back(v.get());
    return out;
  }

 private:
  Value(sheaf_value* v, int) : v_(v, sheaf_value_free) {}
  std::shared_ptr<sheaf_value> v_;
};

class Session {
 public:
  Session() : s_(sheaf_new(), sheaf_free) {
    if (!s_) throw std::bad_alloc();
  }
  Value eval(const std::string& text) {
    return result([&](sheaf_value** out) { return sheaf_eval(s_.get(), text.c_str(), out); });
  }
  Value run_file(const std::string& path) {
    return result([&](sheaf_value** out) { return sheaf_run_file(s_.get(), path.c_str(), out); });
  }
  Value lookup(const std::string& name) {
    return result([&](sheaf_value** out) { return sheaf_lookup(s_.get(), name.c_str(), out); });
  }
  template <class... A>
  Value call(const std::string& name, const A&... args) {
    return call_list(name, {Value(args)...});
  }
  Value call_list(const std::string& name, const std::vector<Value>& args) {
    auto a = Value::handles(args);
    return result([&](sheaf_value** out) { return sheaf_call(s_.get(), name.c_str(), a.data(), a.size(), out); });
  }
  template <class... A>
  Value apply(const Value& function, const A&... args) {
    std::vector<Value> all{Value(args)...};
    auto a = Value::handles(all);
    return result([&](sheaf_value** out) { return sheaf_apply(s_.get(), function.get(), a.data(), a.size(), out); });
  }
  void interrupt() { sheaf_interrupt(s_.get()); }
  sheaf_session* get() const { return s_.get(); }

 private:
  template <class F>
  static Value result(F&& f) {
    sheaf_value* v = nullptr;
    check(f(&v));
    return Value::own(v);
  }
  std::unique_ptr<sheaf_session, void (*)(sheaf_session*)> s_;
};

}  // namespace sheaf::api
#endif
