#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "formats/json.h"
#include "formats/raw_array.h"
#include "value/dict.h"
#include "value/print.h"

namespace sheaf::formats {
namespace {

// An array or object that is not yet complete.
struct Frame {
  bool is_object = false;
  std::vector<Value> items;   // of an array
  std::vector<double> exact;  // its numbers as doubles, for "data" arrays: f64 must not pass through f32
  bool keeps_exact = false;
  std::vector<DictEntry> entries;  // of an object
  std::vector<double> data;        // the exact numbers of its "data" member
  Name key;
};

const Value* member(const Frame& f, std::string_view key) {
  const Value* found = nullptr;
  for (const DictEntry& e : f.entries)
    if (e.key.str() == key) found = &e.value;
  return found;
}

Dims shape_of(const Value& v) {
  Dims out;
  for (const Value& d : v.items()) {
    if (!d.is_int() || d.as_int() < 0) throw runtime_error("a tensor's shape holds " + short_text(d));
    out.push_back(d.as_int());
  }
  return out;
}

Value tensor_of_frame(const Frame& f) {
  const Value *data = member(f, "data"), *dtype = member(f, "dtype"), *shape = member(f, "shape");
  if (!data || !data->is_list() || !dtype || !dtype->is_string() || !shape || !shape->is_list())
    throw runtime_error("a \"__tensor\" needs \"data\", \"dtype\" and \"shape\"");
  auto type = dtype_from_name(dtype->as_string());
  if (!type) throw runtime_error("unsupported dtype '" + dtype->as_string() + "'");
  Dims sizes = shape_of(*shape);
  auto items = data->items();
  if (checked_file_elems(sizes) != static_cast<int64_t>(items.size()))
    throw runtime_error(fmt::format("a tensor of shape {} has {} elements", shape_text(sizes), items.size()));
  Tensor t = empty_tensor(*type, sizes);
  std::byte* p = t.bytes_mut();
  for (size_t i = 0; i < items.size(); ++i, p += size_bytes(*type)) {
    const Value& v = items[i];
    if (v.is_int() && *type == DType::I64)
      store_int(*type, p, v.as_int());
    else if (v.is_number() || v.is_bool())
      store_double(*type, p, f.data[i]);
    else if (v.is_nil())
      store_double(*type, p, std::nan(""));  // the encoding of non-finite numbers
    else
      throw runtime_error("a tensor's data holds " + short_text(v));
  }
  return Value::tensor(std::move(t));
}

Value untagged(Frame& f) {
  if (const Value* is_tensor = member(f, "__tensor"); is_tensor && is_tensor->is_bool() && is_tensor->as_bool())
    return tensor_of_frame(f);
  if (f.entries.size() == 1) {
    const DictEntry& e = f.entries[0];
    if (e.key.str() == "__keyword" && e.value.is_string()) return Value::keyword(Name(e.value.as_string()));
    if (e.key.str() == "__tuple" && e.value.is_list()) return Value::tuple(e.value.items_copy());
  }
  return make_dict(std::move(f.entries));
}

// nlohmann's parser keeps its own stack and calls these; `open_` is ours.
class Builder {
 public:
  explicit Builder(const JsonOptions& options) : options_(options) {}
  Value result() { return std::move(result_); }

  bool null() { return add(Value::nil()); }
  bool boolean(bool b) { return add(Value::boolean(b), b); }
  bool number_integer(int64_t i) { return add(Value::integer(i), static_cast<double>(i)); }
  bool number_unsigned(uint64_t u) {
    return u <= INT64_MAX ? number_integer(static_cast<int64_t>(u)) : number_float(static_cast<double>(u), {});
  }
  bool number_float(double d, const std::string&) { return add(Value::floating_from(d), d); }
  bool string(std::string& s) { return add(Value::string(std::move(s))); }
  bool binary(std::vector<uint8_t>&) { return false; }
  bool start_object(size_t) { return open(true); }
  bool start_array(size_t) { return open(false); }
  bool key(std::string& k) {
    open_.back().key = Name(k);
    return true;
  }
  bool end_object() {
    Frame f = std::move(open_.back());
    open_.pop_back();
    return add(options_.tagged ? untagged(f) : make_dict(std::move(f.entries)));
  }
  bool end_array() {
    Frame f = std::move(open_.back());
    open_.pop_back();
    if (f.keeps_exact) open_.back().data = std::move(f.exact);
    return add(Value::list(std::move(f.items)));
  }
  bool parse_error(size_t, const std::string&, const nlohmann::detail::exception& e) {
    std::string_view text = e.what();  // "[json.exception.parse_error.101] parse error at line 1, column 2: …"
    size_t close = text.find("] ");
    if (close != std::string_view::npos) text.remove_prefix(close + 2);
    throw runtime_error(std::string(text));
  }

 private:
  bool open(bool is_object) {
    if (open_.size() >= kMaxJsonDepth)
      throw runtime_error("JSON nested deeper than " + std::to_string(kMaxJsonDepth) + " levels");
    Frame f;
    f.is_object = is_object;
    f.keeps_exact =
        options_.tagged && !is_object && !open_.empty() && open_.back().is_object && open_.back().key.str() == "data";
    open_.push_back(std::move(f));
    return true;
  }
  bool add(Value v, double exact = 0) {
    if (open_.empty()) {
      result_ = std::move(v);
      return true;
    }
    Frame& f = open_.back();
    if (f.keeps_exact) f.exact.push_back(exact);
    if (f.is_object)
      f.entries.push_back({f.key, std::move(v)});
    else
      f.items.push_back(std::move(v));
    return true;
  }

  const JsonOptions& options_;
  std::vector<Frame> open_;
  Value result_;
};

}  // namespace

Value parse_json(std::string_view text, const JsonOptions& options) {
  Builder builder(options);
  nlohmann::json::sax_parse(text.begin(), text.end(), &builder);
  return builder.result();
}

}  // namespace sheaf::formats
