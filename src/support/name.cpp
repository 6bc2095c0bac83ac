#include "support/name.h"

#include <xxhash.h>

#include <mutex>
#include <unordered_map>

namespace sheaf {
namespace {

struct Hasher {
  size_t operator()(std::string_view s) const { return XXH3_64bits(s.data(), s.size()); }
};

struct Table {
  std::mutex mu;
  std::unordered_map<std::string_view, const Name::Entry*, Hasher> entries;  // keys view into the entries
};

Table& table() {
  static auto* t = new Table;
  return *t;
}

}  // namespace

Name::Name(std::string_view text) {
  Table& t = table();
  std::lock_guard lock(t.mu);
  auto it = t.entries.find(text);
  if (it != t.entries.end()) {
    entry_ = it->second;
    return;
  }
  auto* e = new Entry{std::string(text), Hasher()(text)};
  t.entries.emplace(e->text, e);
  entry_ = e;
}

}  // namespace sheaf
