#include "formats/safetensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "formats/byte_reader.h"
#include "formats/json.h"
#include "formats/raw_array.h"
#include "formats/state_tree.h"
#include "value/dict.h"
#include "value/print.h"

namespace sheaf::formats {
namespace {

struct NamedType {
  std::string_view name;
  DType dtype;
};
constexpr NamedType kTypes[] = {{"F32", DType::F32}, {"F64", DType::F64}, {"BF16", DType::BF16}, {"F16", DType::F16},
                                {"I32", DType::I32}, {"I64", DType::I64}, {"U32", DType::U32},   {"BOOL", DType::Bool},
                                {"I8", DType::I8},   {"U8", DType::U8},   {"I16", DType::I16},   {"U16", DType::U16}};

DType type_named(const std::string& name, const std::string& key) {
  for (const NamedType& t : kTypes)
    if (t.name == name) return t.dtype;
  throw runtime_error(fmt::format("'{}' has the unsupported dtype '{}'", key, name));
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
  Entry e{key, type_named(dtype->as_string(), key), numbers(d.find(Name("shape")), key, "shape"), 0, 0};
  Dims range = numbers(d.find(Name("data_offsets")), key, "data_offsets");
  if (range.size() != 2 || range[0] > range[1] || static_cast<uint64_t>(range[1]) > data_bytes)
    throw runtime_error(fmt::format("'{}' lies outside the file's {} bytes of data", key, data_bytes));
  e.begin = range[0];
  e.end = range[1];
  return e;
}

// The tensors take up the data from end to end, as the format has it: no byte belongs to two of them, none to nobody.
void check_layout(std::vector<const Entry*> entries, uint64_t data_bytes) {
  std::sort(entries.begin(), entries.end(),
            [](const Entry* a, const Entry* b) { return std::pair(a->begin, a->end) < std::pair(b->begin, b->end); });
  auto unclaimed = [](uint64_t from, uint64_t to) {
    throw runtime_error(fmt::format("bytes {} to {} of the data belong to no tensor", from, to));
  };
  uint64_t end = 0;
  for (size_t i = 0; i < entries.size(); end = entries[i++]->end) {
    if (entries[i]->begin < end)
      throw runtime_error("'" + entries[i - 1]->key + "' and '" + entries[i]->key + "' overlap");
    if (entries[i]->begin > end) unclaimed(end, entries[i]->begin);
  }
  if (end < data_bytes) unclaimed(end, data_bytes);
}

struct Contents {
  std::vector<KeyedTensor> arrays;
  std::string structure;  // of "sheaf" in the metadata
};

Contents read_contents(std::string_view bytes, const Ref<Buffer>& whole) {
  ByteReader in(bytes);
  auto header_bytes = in.number<uint64_t>();
  Value header = parse_json(in.take(header_bytes), {.tagged = false});
  if (!header.is_dict()) throw runtime_error("the header is not a JSON object");
  std::string_view data = in.take(in.left());
  Contents out;
  std::vector<Entry> entries;
  for (const DictEntry& e : header.as_dict().entries()) {
    if (e.key.str() != "__metadata__") {
      entries.push_back(parse_entry(e.key.str(), e.value, data.size()));
      continue;
    }
    const Value* ours = e.value.is_dict() ? e.value.as_dict().find(Name("sheaf")) : nullptr;
    if (ours && ours->is_string()) out.structure = ours->as_string();
  }
  std::vector<const Entry*> order;
  for (const Entry& e : entries)
    order.push_back(&e);
  check_layout(std::move(order), data.size());
  for (const Entry& e : entries) {
    RawType type{e.dtype, size_bytes(e.dtype)};
    try {
      out.arrays.push_back(
          {e.key, Value::tensor(tensor_from_raw(type, e.sizes, data.substr(e.begin, e.end - e.begin), false, whole))});
    } catch (UserError& error) {
      error.message = "'" + e.key + "': " + error.message;
      throw;
    }
  }
  return out;
}

}  // namespace

std::vector<KeyedTensor> parse_shard(std::string_view bytes, const Ref<Buffer>& whole) {
  return read_contents(bytes, whole).arrays;
}

Value parse_safetensors(std::string_view bytes, const Ref<Buffer>& whole) {
  Contents c = read_contents(bytes, whole);
  if (c.structure.empty()) return tree_from_keys(std::move(c.arrays));
  std::map<std::string, Value> arrays;
  for (KeyedTensor& t : c.arrays)
    arrays.emplace(std::move(t.key), std::move(t.value));
  return join_state(c.structure, arrays);
}

SafetensorsFile describe_safetensors(const Value& v) {
  StateTree tree = split_state(v);
  SafetensorsFile file;
  std::string header = "{";
  if (!tree.structure.empty())
    header += "\"__metadata__\":{\"sheaf\":" + write_json(Value::string(tree.structure)) + "}";
  // Larger elements first: every array is then aligned, and can be used where it lies when the file is mapped.
  std::vector<std::pair<const std::string*, const Tensor*>> order;
  for (const auto& [key, t] : tree.arrays)
    order.emplace_back(&key, &t);
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    return size_bytes(a.second->dtype) > size_bytes(b.second->dtype);
  });
  uint64_t offset = 0;
  for (const auto& [key, t] : order) {
    uint64_t end = offset + raw_bytes(*t).size();
    std::string shape;
    for (int64_t d : t->sizes)
      shape += (shape.empty() ? "" : ",") + std::to_string(d);
    if (header.size() > 1) header += ',';
    header += fmt::format("{}:{{\"dtype\":\"{}\",\"shape\":[{}],\"data_offsets\":[{},{}]}}",
                          write_json(Value::string(*key)), name_for(t->dtype), shape, offset, end);
    offset = end;
    file.arrays.push_back(*t);
  }
  header += '}';
  header.append((8 - header.size() % 8) % 8, ' ');
  uint64_t length = header.size();
  file.header.assign(reinterpret_cast<const char*>(&length), sizeof length);
  file.header += header;
  return file;
}

std::string write_safetensors(const Value& v) {
  SafetensorsFile file = describe_safetensors(v);
  std::string out = std::move(file.header);
  for (const Tensor& t : file.arrays)
    out += raw_bytes(t);
  return out;
}

}  // namespace sheaf::formats
