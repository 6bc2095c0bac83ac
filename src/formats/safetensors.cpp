#include "formats/safetensors.h"

#include <fmt/format.h>
#include <xxhash.h>

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
                                {"I8", DType::I8},   {"U8", DType::U8},   {"I16", DType::I16},   {"U16", DType::U16},
                                {"C64", DType::C64}};

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

std::string checksum(std::string_view bytes) { return fmt::format("{:016x}", XXH3_64bits(bytes.data(), bytes.size())); }

// Names in the metadata.
constexpr const char *kStructure = "sheaf", *kHeaderSum = "sheaf.header", *kSums = "sheaf.xxh3",
                     *kOptions = "sheaf.options";

// The checksum of a header is part of it; while it is computed zeros stand in its place.
const std::string kNoSum(16, '0');
size_t place_of_sum(std::string_view header) {
  std::string before = fmt::format("\"{}\":\"", kHeaderSum);
  size_t at = header.find(before);
  return at == std::string_view::npos ? at : at + before.size();
}

void check_header(std::string_view header, const std::string& expected) {
  std::string text(header);
  size_t at = place_of_sum(text);
  if (at != std::string::npos && text.compare(at, kNoSum.size(), expected) == 0)
    text.replace(at, kNoSum.size(), kNoSum);
  std::string found = checksum(text);
  if (found != expected)
    throw runtime_error(fmt::format("the header has the checksum {}, expected {}", found, expected));
}

void check_data(const std::vector<Entry>& entries, std::string_view data, const std::string& sums) {
  Value expected = parse_json(sums, {.tagged = false});
  for (const Entry& e : entries) {
    const Value* sum = expected.is_dict() ? expected.as_dict().find(Name(e.key)) : nullptr;
    std::string found = checksum(data.substr(e.begin, e.end - e.begin));
    if (!sum || !sum->is_string() || sum->as_string() != found)
      throw runtime_error(fmt::format("tensor '{}' has the checksum {}, expected {}", e.key, found,
                                      sum && sum->is_string() ? sum->as_string() : "one"));
  }
}

struct Contents {
  std::vector<KeyedTensor> arrays;
  std::map<std::string, std::string> metadata;
  std::string about(const char* name) const {
    auto it = metadata.find(name);
    return it == metadata.end() ? "" : it->second;
  }
};

// A file whose header is whole says how long it should be.
void check_length(const Value& header, uint64_t data_bytes) {
  uint64_t end = 0;
  for (const DictEntry& e : header.as_dict().entries())
    if (e.key.str() != "__metadata__") end = std::max(end, parse_entry(e.key.str(), e.value, UINT64_MAX).end);
  if (end > data_bytes)
    throw runtime_error(fmt::format("the file ends early: {} bytes of data expected, {} there", end, data_bytes));
}

Contents read_contents(std::string_view bytes, const Ref<Buffer>& whole) {
  ByteReader in(bytes);
  auto header_bytes = in.number<uint64_t>();
  std::string_view header_text = in.take(header_bytes);
  Value header = parse_json(header_text, {.tagged = false});
  if (!header.is_dict()) throw runtime_error("the header is not a JSON object");
  std::string_view data = in.take(in.left());
  Contents out;
  const Value* metadata = header.as_dict().find(Name("__metadata__"));
  if (metadata && metadata->is_dict())
    for (const DictEntry& e : metadata->as_dict().entries())
      if (e.value.is_string()) out.metadata.emplace(e.key.str(), e.value.as_string());
  if (std::string sum = out.about(kHeaderSum); !sum.empty()) {
    check_header(header_text, sum);
    check_length(header, data.size());
  }
  std::vector<Entry> entries;
  for (const DictEntry& e : header.as_dict().entries())
    if (e.key.str() != "__metadata__") entries.push_back(parse_entry(e.key.str(), e.value, data.size()));
  std::vector<const Entry*> order;
  for (const Entry& e : entries)
    order.push_back(&e);
  check_layout(std::move(order), data.size());
  if (std::string sums = out.about(kSums); !sums.empty()) check_data(entries, data, sums);
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

Value value_of(Contents c) {
  std::string structure = c.about(kStructure);
  if (structure.empty()) return tree_from_keys(std::move(c.arrays));
  std::map<std::string, Value> arrays;
  for (KeyedTensor& t : c.arrays)
    arrays.emplace(std::move(t.key), std::move(t.value));
  return join_state(structure, arrays);
}

// Metadata in the order they are given; empty ones are left out.
using Metadata = std::vector<std::pair<const char*, std::string>>;

// Larger elements first: every array is then aligned, and can be used where it lies when the file is mapped.
std::vector<std::pair<std::string, Tensor>> in_file_order(const StateTree& tree) {
  std::vector<std::pair<std::string, Tensor>> order(tree.arrays.begin(), tree.arrays.end());
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    return size_bytes(a.second.dtype) > size_bytes(b.second.dtype);
  });
  return order;
}

SafetensorsFile describe(const std::vector<std::pair<std::string, Tensor>>& arrays, const Metadata& metadata) {
  SafetensorsFile file;
  std::string header, about;
  auto put = [](std::string& out, const std::string& key, const std::string& value) {
    out += fmt::format("{}{}:{}", out.empty() ? "" : ",", write_json(Value::string(key)), value);
  };
  for (const auto& [name, text] : metadata)
    if (!text.empty()) put(about, name, write_json(Value::string(text)));
  if (!about.empty()) put(header, "__metadata__", "{" + about + "}");
  uint64_t offset = 0;
  for (const auto& [key, t] : arrays) {
    uint64_t end = offset + raw_bytes(t).size();
    put(header, key,
        fmt::format("{{\"dtype\":\"{}\",\"shape\":[{}],\"data_offsets\":[{},{}]}}", name_for(t.dtype),
                    fmt::join(t.sizes, ","), offset, end));
    offset = end;
    file.arrays.push_back(t);
  }
  header = "{" + header + "}";
  header.append((8 - header.size() % 8) % 8, ' ');
  if (size_t at = place_of_sum(header); at != std::string::npos && !metadata.empty() && metadata[0].first == kHeaderSum)
    header.replace(at, kNoSum.size(), checksum(header));
  uint64_t length = header.size();
  file.header.assign(reinterpret_cast<const char*>(&length), sizeof length);
  file.header += header;
  return file;
}

}  // namespace

bool is_safetensors(std::string_view bytes) {
  if (bytes.size() < sizeof(uint64_t) + 2) return false;
  uint64_t header_bytes = ByteReader(bytes).number<uint64_t>();
  return header_bytes <= bytes.size() - sizeof header_bytes && bytes[sizeof header_bytes] == '{';
}

std::vector<KeyedTensor> parse_shard(std::string_view bytes, const Ref<Buffer>& whole) {
  return read_contents(bytes, whole).arrays;
}

Value parse_safetensors(std::string_view bytes, const Ref<Buffer>& whole) {
  return value_of(read_contents(bytes, whole));
}

Checkpoint parse_checkpoint(std::string_view bytes, const Ref<Buffer>& whole) {
  Contents c = read_contents(bytes, whole);
  std::string options = c.about(kOptions);
  Value saved_with = options.empty() ? make_dict({}) : join_state(options, {});
  return {value_of(std::move(c)), std::move(saved_with)};
}

SafetensorsFile describe_safetensors(const Value& v) {
  StateTree tree = split_state(v);
  return describe(in_file_order(tree), {{kStructure, tree.structure}});
}

SafetensorsFile describe_checkpoint(const Checkpoint& c) {
  StateTree tree = split_state(c.state);
  auto arrays = in_file_order(tree);
  std::vector<DictEntry> sums;
  for (const auto& [key, t] : arrays)
    sums.push_back({Name(key), Value::string(checksum(raw_bytes(t)))});
  return describe(arrays, {{kHeaderSum, kNoSum},
                           {kSums, write_json(make_dict(std::move(sums)), {.tagged = false})},
                           {kOptions, split_state(c.options).structure},
                           {kStructure, tree.structure}});
}

std::string write_safetensors(const Value& v) {
  SafetensorsFile file = describe_safetensors(v);
  std::string out = std::move(file.header);
  for (const Tensor& t : file.arrays)
    out += raw_bytes(t);
  return out;
}

}  // namespace sheaf::formats
