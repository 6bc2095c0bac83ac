// Dicts map names to values and iterate in byte order of the key. Small ones are a sorted array; large ones add a hash
// index and are sorted on iteration, so building 200,000 entries is not quadratic. Once several threads exist, a shared
// dict is never sorted in place: others may be reading it.
#pragma once
#include <atomic>
#include <span>
#include <unordered_map>

#include "value/value.h"

namespace sheaf {

struct DictEntry {
  Name key;
  Value value;
};

struct DictObj final : Object {
  DictObj() = default;
  DictObj(const DictObj& o) : Object(o), entries_(o.entries_), index_(o.index_), sorted_(o.sorted_) {}
  ~DictObj() override { delete in_order_.load(); }
  size_t size() const { return entries_.size(); }
  const Value* find(Name key) const;
  void set(Name key, Value value);
  void erase(Name key);
  // In key order.
  std::span<const DictEntry> entries() const;
  // For a dict with a single owner: to move values out or replace them.
  std::span<DictEntry> mutable_entries();

 private:
  static constexpr size_t kSmall = 24;
  using Entries = std::vector<DictEntry>;
  void sort_in_place() const;
  Entries& unshared();  // the entries, for modification by the single owner
  size_t lower_bound(Name key) const;
  mutable Entries entries_;
  mutable std::unordered_map<const Name::Entry*, uint32_t> index_;  // used above kSmall entries
  mutable bool sorted_ = true;
  mutable std::atomic<const Entries*> in_order_ = nullptr;  // sorted copy of a shared dict
};

inline const DictObj& Value::as_dict() const { return *static_cast<DictObj*>(u_.o); }
Value make_dict(std::vector<DictEntry> entries);  // the last of duplicate keys wins
Value empty_dict();

}  // namespace sheaf
