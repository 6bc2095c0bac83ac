// Dicts map names to values and iterate in byte order of the key. Small ones are a sorted array; large ones add a hash
// index and are sorted when someone iterates, so building 200,000 entries is not quadratic.
#pragma once
#include <span>
#include <unordered_map>

#include "value/value.h"

namespace sheaf {

struct DictEntry {
  Name key;
  Value value;
};

struct DictObj final : Object {
  size_t size() const { return entries_.size(); }
  const Value* find(Name key) const;
  void set(Name key, Value value);
  void erase(Name key);
  // In key order.
  std::span<const DictEntry> entries() const;
  // For moving values out of, or replacing them in, a dict that nobody else holds.
  std::span<DictEntry> mutable_entries();

 private:
  static constexpr size_t kSmall = 24;
  void sort() const;
  size_t lower_bound(Name key) const;
  mutable std::vector<DictEntry> entries_;
  mutable std::unordered_map<const Name::Entry*, uint32_t> index_;  // used above kSmall entries
  mutable bool sorted_ = true;
};

inline const DictObj& Value::as_dict() const { return *static_cast<DictObj*>(u_.o); }
Value make_dict(std::vector<DictEntry> entries);  // later duplicates win
Value empty_dict();

}  // namespace sheaf
