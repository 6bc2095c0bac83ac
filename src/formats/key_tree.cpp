#include "formats/key_tree.h"

#include <algorithm>
#include <map>
#include <memory>

#include "support/error.h"
#include "value/dict.h"

namespace sheaf::formats {
namespace {

constexpr int kMaxDepth = 1000;

struct Level {
  std::map<std::string, std::unique_ptr<Level>> levels;
  std::map<std::string, Value> leaves;
};

// Entries come in key order, so "a" precedes "a.b".
void insert(Level& root, const std::string& key, Value value) {
  Level* level = &root;
  size_t begin = 0;
  for (int depth = 0;; ++depth) {
    if (depth > kMaxDepth) throw runtime_error("a key has more than " + std::to_string(kMaxDepth) + " parts");
    size_t dot = key.find('.', begin);
    if (dot == std::string::npos) break;
    std::string part = key.substr(begin, dot - begin);
    if (level->leaves.count(part)) break;
    auto& next = level->levels[part];
    if (!next) next = std::make_unique<Level>();
    level = next.get();
    begin = dot + 1;
  }
  level->leaves.emplace(key.substr(begin), std::move(value));
}

Value to_value(Level& level) {
  std::map<std::string, Value> all = std::move(level.leaves);
  for (auto& [key, sub] : level.levels)
    all.emplace(key, to_value(*sub));
  std::vector<Value> items;
  for (size_t i = 0; i < all.size(); ++i) {
    auto it = all.find(std::to_string(i));
    if (it == all.end()) break;
    items.push_back(it->second);
  }
  if (!all.empty() && items.size() == all.size()) return Value::list(std::move(items));
  std::vector<DictEntry> entries;
  for (auto& [key, value] : all)
    entries.push_back({Name(key), std::move(value)});
  return make_dict(std::move(entries));
}

}  // namespace

Value tree_from_keys(std::vector<KeyedTensor> entries) {
  std::sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) { return a.key < b.key; });
  Level root;
  for (KeyedTensor& e : entries)
    insert(root, e.key, std::move(e.value));
  return to_value(root);
}

}  // namespace sheaf::formats
