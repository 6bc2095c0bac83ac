// The structure is JSON: null, booleans, ints, floats and strings stand for themselves, arrays for lists; everything
// else is an object of one member: t (the name of an array), d (a dict), u (a tuple), k (a keyword), f (a float that
// JSON cannot write), b (a string that is not UTF-8, in hexadecimal).
#include "formats/state_tree.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "formats/json.h"
#include "support/error.h"
#include "value/dict.h"
#include "value/print.h"

namespace sheaf::formats {
namespace {

// A dict takes two levels of JSON.
constexpr int kMaxDepth = kMaxJsonDepth, kMaxStructured = kMaxJsonDepth / 2 - 10;

bool is_utf8(const std::string& s) {
  try {
    nlohmann::json(s).dump();
    return true;
  } catch (const nlohmann::json::exception&) {
    return false;
  }
}

std::string hex(const std::string& s) {
  std::string out;
  for (unsigned char c : s)
    out += fmt::format("{:02x}", c);
  return out;
}

std::string unhex(const std::string& s) {
  std::string out;
  if (s.size() % 2 != 0) throw runtime_error("its metadata hold half a byte");
  for (size_t i = 0; i < s.size(); i += 2) {
    int v = 0;
    for (char c : {s[i], s[i + 1]}) {
      int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
      if (digit < 0) throw runtime_error("its metadata hold text that is not hexadecimal");
      v = v * 16 + digit;
    }
    out += static_cast<char>(v);
  }
  return out;
}

std::string float_structure(float f) {
  if (std::isnan(f)) return "{\"f\":\"nan\"}";
  if (std::isinf(f)) return f > 0 ? "{\"f\":\"inf\"}" : "{\"f\":\"-inf\"}";
  return write_json(Value::floating(f));
}

class Splitter {
 public:
  StateTree run(const Value& v) {
    bool empty_dict = v.is_dict() && v.as_dict().size() == 0;
    walk(v, "", 0);
    if (plain_ || empty_dict)
      out_.structure.clear();
    else if (deepest_ > kMaxStructured)
      too_deep(kMaxStructured);
    return std::move(out_);
  }

 private:
  [[noreturn]] static void too_deep(int limit) {
    throw runtime_error("safetensors: cannot serialize values nested deeper than " + std::to_string(limit) + " levels");
  }

  std::string add(const std::string& path, const char* bare_name, Tensor t) {
    std::string key = path.empty() ? bare_name : path;
    if (path.empty() || key == "__metadata__") plain_ = false;
    while (key == "__metadata__" || out_.arrays.count(key))
      key += '~', plain_ = false;
    out_.arrays.emplace(key, contiguous(t));
    return key;
  }

  // Numbers are arrays too, for other programs; the structure is what we read.
  template <class Store>
  void number(const std::string& path, DType d, Store store, const std::string& text) {
    plain_ = false;
    Tensor t = empty_tensor(d, {});
    store(t.bytes());
    add(path, "value", std::move(t));
    out_.structure += text;
  }

  void walk(const Value& v, const std::string& path, int depth) {
    if (depth > kMaxDepth) too_deep(kMaxDepth);
    deepest_ = std::max(deepest_, depth);
    std::string& s = out_.structure;
    switch (v.tag()) {
      case Tag::Tensor: s += "{\"t\":" + write_json(Value::string(add(path, "tensor", v.as_tensor()))) + "}"; break;
      case Tag::Int: {
        DType d = v.as_int() == static_cast<int32_t>(v.as_int()) ? DType::I32 : DType::I64;
        number(path, d, [&](std::byte* p) { store_int(d, p, v.as_int()); }, std::to_string(v.as_int()));
        break;
      }
      case Tag::Float:
        number(
            path, DType::F32, [&](std::byte* p) { store_double(DType::F32, p, v.as_float()); },
            float_structure(v.as_float()));
        break;
      case Tag::Bool:
        number(
            path, DType::Bool, [&](std::byte* p) { store_int(DType::Bool, p, v.as_bool()); },
            v.as_bool() ? "true" : "false");
        break;
      case Tag::Nil: plain_ = false, s += "null"; break;
      case Tag::String:
        plain_ = false;
        s += is_utf8(v.as_string()) ? write_json(v) : "{\"b\":\"" + hex(v.as_string()) + "\"}";
        break;
      case Tag::Keyword: plain_ = false, s += "{\"k\":" + write_json(Value::string(v.as_keyword().str())) + "}"; break;
      case Tag::Tuple:
        plain_ = false;
        s += "{\"u\":";
        sequence(v, path, depth);
        s += '}';
        break;
      case Tag::List: sequence(v, path, depth); break;
      case Tag::Dict: dict(v, path, depth); break;
      case Tag::Traced: walk(v.as_traced()->concrete(), path, depth); break;
      default:
        throw runtime_error("safetensors: cannot serialize " + std::string(type_name(v)) +
                            " (only tensors and nested dicts/lists)");
    }
  }

  static std::string below(const std::string& path, const std::string& part) {
    return path.empty() ? part : path + "." + part;
  }

  void sequence(const Value& v, const std::string& path, int depth) {
    if (v.items().empty()) plain_ = false;
    out_.structure += '[';
    for (size_t i = 0; i < v.items().size(); ++i) {
      if (i > 0) out_.structure += ',';
      walk(v.items()[i], below(path, std::to_string(i)), depth + 1);
    }
    out_.structure += ']';
  }

  void dict(const Value& v, const std::string& path, int depth) {
    const DictObj& d = v.as_dict();
    bool like_list = true;  // keys 0…n-1 come back as a list; an empty dict is no array at all
    for (size_t i = 0; i < d.size(); ++i)
      like_list = like_list && d.find(Name(std::to_string(i)));
    if (like_list) plain_ = false;
    out_.structure += "{\"d\":{";
    bool first = true;
    for (const DictEntry& e : d.entries()) {
      const std::string& key = e.key.str();
      if (key.empty() || key.find('.') != std::string::npos || !is_utf8(key)) plain_ = false;
      out_.structure += (first ? "" : ",") + write_json(Value::string(key)) + ":";
      first = false;
      walk(e.value, below(path, key), depth + 1);
    }
    out_.structure += "}}";
  }

  StateTree out_;
  bool plain_ = true;
  int deepest_ = 0;
};

Value join(const Value& v, const std::map<std::string, Value>& arrays) {
  if (v.is_list()) {
    std::vector<Value> items;
    for (const Value& x : v.items())
      items.push_back(join(x, arrays));
    return Value::list(std::move(items));
  }
  if (!v.is_dict()) return v;
  if (v.as_dict().size() != 1) throw runtime_error("its metadata are damaged");
  const DictEntry& e = v.as_dict().entries()[0];
  const std::string& kind = e.key.str();
  if (kind == "d" && e.value.is_dict()) {
    std::vector<DictEntry> entries;
    for (const DictEntry& x : e.value.as_dict().entries())
      entries.push_back({x.key, join(x.value, arrays)});
    return make_dict(std::move(entries));
  }
  if (kind == "u" && e.value.is_list()) {
    Value list = join(e.value, arrays);
    return Value::tuple({list.items().begin(), list.items().end()});
  }
  if (!e.value.is_string()) throw runtime_error("its metadata are damaged");
  const std::string& text = e.value.as_string();
  if (kind == "t") {
    auto it = arrays.find(text);
    if (it == arrays.end()) throw runtime_error("its metadata name an array '" + text + "' that is not there");
    return it->second;
  }
  if (kind == "k") return Value::keyword(Name(text));
  if (kind == "b") return Value::string(unhex(text));
  if (kind == "f") return Value::floating(text == "nan" ? NAN : text == "inf" ? HUGE_VALF : -HUGE_VALF);
  throw runtime_error("its metadata are damaged");
}

}  // namespace

StateTree split_state(const Value& v) { return Splitter().run(v); }

Value join_state(std::string_view structure, const std::map<std::string, Value>& arrays) {
  return join(parse_json(structure, {.tagged = false}), arrays);
}

}  // namespace sheaf::formats
