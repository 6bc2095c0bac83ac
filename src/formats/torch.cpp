#include "formats/torch.h"

#include <fmt/format.h>

#include <memory>
#include <unordered_map>
#include <unordered_set>

#include "formats/byte_reader.h"
#include "formats/pickle.h"
#include "formats/pickle_node.h"
#include "formats/raw_array.h"

namespace sheaf::formats {
namespace {

using pickle::Kind;
using pickle::Node;

[[noreturn]] void fail(const std::string& message) { throw runtime_error("torch: " + message); }

// The pickle of the number 0x1950a86a20f9469cfc6c, with which files of the older layout start.
constexpr std::string_view kLegacyMagic{"\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.", 15};

// A persistent id is ('storage', type, key, location, number of elements, …); only type and key matter.
struct StorageId {
  std::string type, key;
};

StorageId storage_id(const Node* id) {
  if (id->kind != Kind::Tuple || id->items.size() < 5 || id->items[0]->text != "storage")
    fail("an unknown kind of reference");
  const Node *type = id->items[1], *key = id->items[2];
  std::string name = key->kind == Kind::Int ? std::to_string(key->integer) : key->text;
  return {type->text, name};
}

using Storages = std::unordered_map<std::string, std::string_view>;

pickle::PersistentLoad loader(const Storages& storages, const Ref<Buffer>& whole) {
  auto seen = std::make_shared<std::unordered_set<std::string>>();
  return [&storages, whole, seen](pickle::Nodes& nodes, const Node* id) {
    StorageId s = storage_id(id);
    auto it = storages.find(s.key);
    if (it == storages.end()) throw pickle::TensorFault{s.key, "storage '" + s.key + "' is missing"};
    if (seen->insert(s.key).second) nodes.allow(it->second.size());
    Node* n = nodes.make(Kind::Storage);
    n->text = s.type;
    n->key = s.key;
    n->bytes = it->second;
    n->whole = whole;
    return n;
  };
}

std::string_view entry_named(const std::vector<ZipEntry>& entries, std::string_view end) {
  for (const ZipEntry& e : entries)
    if (e.name.ends_with(end)) return e.name;
  return {};
}

}  // namespace

bool is_torch_archive(const std::vector<ZipEntry>& entries) { return !entry_named(entries, "/data.pkl").empty(); }

Value parse_torch_archive(const std::vector<ZipEntry>& entries, const Ref<Buffer>& whole, Objects objects) {
  std::string_view pickle_name = entry_named(entries, "/data.pkl");
  if (pickle_name.empty())
    fail(entries.empty() ? "the archive is empty"
                         : fmt::format("the archive holds no data.pkl; its first entry is '{}'", entries[0].name));
  std::string prefix(pickle_name.substr(0, pickle_name.size() - std::string_view("data.pkl").size()));
  Storages storages;
  std::string_view program;
  bool in_place = true;  // tensors can be views of the file; if any entry had to be inflated, all are copied
  for (const ZipEntry& e : entries) {
    if (e.name == pickle_name)
      program = e.data;
    else if (e.name.starts_with(prefix + "data/"))
      storages[std::string(e.name.substr(prefix.size() + 5))] = e.data;
    else if (e.name == prefix + "byteorder" && e.data != "little")
      fail("the file is not little-endian");
    in_place &= !e.inflated || e.name == pickle_name;
  }
  return parse_pickle(program, objects, loader(storages, in_place ? whole : Ref<Buffer>()));
}

bool is_torch_legacy(std::string_view bytes) { return bytes.starts_with(kLegacyMagic); }

// Consecutive pickles: the magic number, the version, facts about the machine, the object, the keys of its storages;
// then for each key the number of elements and their bytes. Element sizes are only known from the object, so it is read
// twice.
Value parse_torch_legacy(std::string_view bytes, const Ref<Buffer>& whole, Objects objects) {
  size_t at = kLegacyMagic.size();
  auto next = [&](const pickle::PersistentLoad& load) {
    size_t used = 0;
    Value v = parse_pickle(bytes.substr(at), objects, load, &used);
    at += used;
    return v;
  };
  auto none = [](pickle::Nodes& nodes, const Node*) { return nodes.make(Kind::Nil); };
  next(none);
  next(none);
  size_t object_at = at;
  std::unordered_map<std::string, std::string> types;
  next([&](pickle::Nodes& nodes, const Node* id) {
    StorageId s = storage_id(id);
    if (pickle::torch_element_bytes(s.type) == 0)
      throw pickle::TensorFault{s.key, "unsupported dtype '" + s.type + "'"};
    types[s.key] = s.type;
    return nodes.make(Kind::Pending);
  });
  Value keys = next(none);
  if (!keys.is_list()) fail("the list of storages is missing");
  ByteReader in(bytes.substr(at));
  Storages storages;
  for (const Value& k : keys.items()) {
    if (!k.is_string()) fail("a storage's key is not text");
    auto type = types.find(k.as_string());
    auto count = in.number<uint64_t>();
    if (type == types.end()) fail("a storage that nothing uses");
    if (count > in.left()) fail("the file ends early, in storage '" + k.as_string() + "'");
    storages[k.as_string()] = in.take(count * pickle::torch_element_bytes(type->second));
  }
  at = object_at;
  return next(loader(storages, whole));
}

Value parse_torch(std::string_view bytes) {
  if (is_torch_legacy(bytes)) return parse_torch_legacy(bytes);
  return parse_torch_archive(read_zip(bytes));
}

}  // namespace sheaf::formats
