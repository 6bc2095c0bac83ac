#include "formats/safetensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "formats/byte_reader.h"
#include "formats/json.h"
#include "formats/key_tree.h"
#include "formats/raw_array.h"
#include "value/dict.h"
#include "value/print.h"

namespace sheaf::formats {
namespace {

constexpr int kMaxDepth = 1000;

struct NamedType {
  std::string_view name;
  DType dtype;
};
constexpr NamedType kTypes[] = {{"F32", DType::F32}, {"F64", DType::F64}, {"BF16", DType::BF16}, {"F16", DType::F16},
                                {"I32", DType::I32}, {"I64", DType::I64}, {"U32", DType::U32},   {"BOOL", DType::Bool},
                                {"I8", DType::I8},   {"U8", DType::U8},   {"I16", DType::I16},   {"U16", DType::U16}};

DType type_named(const std::string& name) {
  for (const NamedType& t : kTypes)
    if (t.name == name) return t.dtype;
  throw runtime_error("unsupported dtype '" + name + "'");
}

std::string_view name_for(DType d) {
  for (const NamedType& t : kTypes)
    if (t.dtype == d) return t.name;
  return "";
}

// The non-negative integers of a header's list.
Dims numbers(const Value* v, const std::string& key, const char* what) {
  Dims out;
  bool ok = v && v->is_list();
  if (ok)
    for (const Value& n : v->items()) {
      ok = ok && n.is_int() && n.as_int() >= 0;
      out.push_back(ok ? n.as_int() : 0);
    }
  if (!ok) throw runtime_error(fmt::format("'{}' has no valid {}", key, what));
  return out;
}

struct Entry {
  std::string key;
  DType dtype;
  Dims sizes;
  uint64_t begin, end;
};

Entry parse_entry(const std::string& key, const Value& v, uint64_t data_bytes) {
  if (!v.is_dict()) throw runtime_error("'" + key + "' is not described by an object");
  const DictObj& d = v.as_dict();
  const Value* dtype = d.find(Name("dtype"));
  if (!dtype || !dtype->is_string()) throw runtime_error("'" + key + "' has no valid dtype");
  Entry e{key, type_named(dtype->as_string()), numbers(d.find(Name("shape")), key, "shape"), 0, 0};
  Dims range = numbers(d.find(Name("data_offsets")), key, "data_offsets");
  if (range.size() != 2 || range[0] > range[1] || static_cast<uint64_t>(range[1]) > data_bytes)
    throw runtime_error(fmt::format("'{}' lies outside the file's {} bytes of data", key, data_bytes));
  e.begin = range[0];
  e.end = range[1];
  return e;
}

void check_overlap(std::vector<const Entry*> entries) {
  std::sort(entries.begin(), entries.end(), [](const Entry* a, const Entry* b) {
    return std::pair(a->begin, a->end) < std::pair(b->begin, b->end);
  });
  for (size_t i = 1; i < entries.size(); ++i)
    if (entries[i]->begin < entries[i - 1]->end)
      throw runtime_error("'" + entries[i - 1]->key + "' and '" + entries[i]->key + "' overlap");
}

void flatten(const Value& v, const std::string& path, int depth, std::map<std::string, Tensor>& out) {
  if (depth > kMaxDepth)
    throw runtime_error("safetensors: cannot serialize values nested deeper than " + std::to_string(kMaxDepth) + " levels");
  auto add = [&](const char* bare_name, Tensor t) {
    std::string key = path.empty() ? bare_name : path;
    if (!out.emplace(key, contiguous(t)).second) throw runtime_error("safetensors: two entries are named '" + key + "'");
  };
  auto scalar = [&](DType d, auto store) {
    Tensor t = empty_tensor(d, {});
    store(t.bytes());
    add("value", std::move(t));
  };
  auto below = [&](const std::string& part) { return path.empty() ? part : path + "." + part; };
  switch (v.tag()) {
    case Tag::Tensor: add("tensor", v.as_tensor()); break;
    case Tag::Int: {
      bool small = v.as_int() == static_cast<int32_t>(v.as_int());
      DType d = small ? DType::I32 : DType::I64;
      scalar(d, [&](std::byte* p) { store_int(d, p, v.as_int()); });
      break;
    }
    case Tag::Float: scalar(DType::F32, [&](std::byte* p) { store_double(DType::F32, p, v.as_float()); }); break;
    case Tag::Bool: scalar(DType::Bool, [&](std::byte* p) { store_int(DType::Bool, p, v.as_bool()); }); break;
    case Tag::List: case Tag::Tuple:
      for (size_t i = 0; i < v.items().size(); ++i) flatten(v.items()[i], below(std::to_string(i)), depth + 1, out);
      break;
    case Tag::Dict:
      for (const DictEntry& e : v.as_dict().entries()) flatten(e.value, below(e.key.str()), depth + 1, out);
      break;
    case Tag::Traced: flatten(v.as_traced()->concrete(), path, depth, out); break;
    default:
      throw runtime_error("safetensors: cannot serialize " + std::string(type_name(v)) +
                          " (only tensors and nested dicts/lists)");
  }
}

}  // namespace

Value parse_safetensors(std::string_view bytes) {
  ByteReader in(bytes);
  auto header_bytes = in.number<uint64_t>();
  Value header = parse_json(in.take(header_bytes), {.tagged = false});
  if (!header.is_dict()) throw runtime_error("the header is not a JSON object");
  std::string_view data = in.take(in.left());
  std::vector<Entry> entries;
  for (const DictEntry& e : header.as_dict().entries())
    if (e.key.str() != "__metadata__") entries.push_back(parse_entry(e.key.str(), e.value, data.size()));
  std::vector<const Entry*> order;
  for (const Entry& e : entries) order.push_back(&e);
  check_overlap(std::move(order));
  std::vector<KeyedTensor> out;
  for (const Entry& e : entries) {
    RawType type{e.dtype, size_bytes(e.dtype)};
    try {
      out.push_back({e.key, Value::tensor(tensor_from_raw(type, e.sizes, data.substr(e.begin, e.end - e.begin)))});
    } catch (UserError& error) {
      error.message = "'" + e.key + "': " + error.message;
      throw;
    }
  }
  return tree_from_keys(std::move(out));
}

std::string write_safetensors(const Value& v) {
  std::map<std::string, Tensor> tensors;  // in key order, which is also the order of the data
  flatten(v, "", 0, tensors);
  std::string header = "{";
  uint64_t offset = 0;
  for (const auto& [key, t] : tensors) {
    uint64_t end = offset + raw_bytes(t).size();
    std::string shape;
    for (int64_t d : t.sizes) shape += (shape.empty() ? "" : ",") + std::to_string(d);
    if (header.size() > 1) header += ',';
    header += fmt::format("{}:{{\"dtype\":\"{}\",\"shape\":[{}],\"data_offsets\":[{},{}]}}",
                          write_json(Value::string(key)), name_for(t.dtype), shape, offset, end);
    offset = end;
  }
  header += '}';
  header.append((8 - header.size() % 8) % 8, ' ');
  uint64_t length = header.size();
  std::string out(reinterpret_cast<const char*>(&length), sizeof length);
  out.reserve(8 + length + offset);
  out += header;
  for (const auto& [key, t] : tensors) out += raw_bytes(t);
  return out;
}

}  // namespace sheaf::formats
