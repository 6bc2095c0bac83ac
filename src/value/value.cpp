#include "value/value.h"

#include <algorithm>
#include <mutex>

#include "value/dict.h"

namespace sheaf {

void destroy_object(const Object* o) {
  // A list of a million nested lists must not recurse a million destructors: past a small depth the rest is queued.
  constexpr int kMaxDepth = 64;
  thread_local int depth = 0;
  thread_local std::vector<const Object*> pending;
  if (depth >= kMaxDepth) {
    pending.push_back(o);
    return;
  }
  ++depth;
  delete o;
  if (depth == 1) {
    while (!pending.empty()) {
      const Object* next = pending.back();
      pending.pop_back();
      delete next;
    }
  }
  --depth;
}

Value Value::string(std::string s) { return object(Tag::String, new StringObj(std::move(s))); }
Value Value::list(std::vector<Value> items) { return object(Tag::List, new ListObj(std::move(items))); }
Value Value::tuple(std::vector<Value> items) { return object(Tag::Tuple, new ListObj(std::move(items))); }
Value Value::tensor(Tensor t) { return object(Tag::Tensor, new TensorObj(std::move(t))); }

std::vector<Value>& Value::mutable_items() {
  if (!unique()) *this = object(tag_, new ListObj(items()));
  return static_cast<ListObj*>(u_.o)->items;
}

DictObj& Value::mutable_dict() {
  if (!unique()) *this = object(Tag::Dict, new DictObj(as_dict()));
  return *static_cast<DictObj*>(u_.o);
}

size_t DictObj::lower_bound(Name key) const {
  return std::lower_bound(entries_.begin(), entries_.end(), key,
                          [](const DictEntry& e, Name k) { return e.key < k; }) - entries_.begin();
}

const Value* DictObj::find(Name key) const {
  if (entries_.size() <= kSmall) {
    for (const DictEntry& e : entries_)
      if (e.key == key) return &e.value;
    return nullptr;
  }
  if (index_.empty()) {  // sorted, and not added to since
    size_t at = lower_bound(key);
    return at < entries_.size() && entries_[at].key == key ? &entries_[at].value : nullptr;
  }
  auto it = index_.find(key.entry());
  return it == index_.end() ? nullptr : &entries_[it->second].value;
}

void DictObj::set(Name key, Value value) {
  if (const Value* old = find(key)) {
    const_cast<Value&>(*old) = std::move(value);
    return;
  }
  if (entries_.size() < kSmall) {
    entries_.insert(entries_.begin() + lower_bound(key), DictEntry{key, std::move(value)});
    return;
  }
  if (index_.empty())
    for (uint32_t i = 0; i < entries_.size(); ++i) index_[entries_[i].key.entry()] = i;
  sorted_ = sorted_ && entries_.back().key < key;
  index_[key.entry()] = static_cast<uint32_t>(entries_.size());
  entries_.push_back({key, std::move(value)});
}

void DictObj::erase(Name key) {
  sort();
  for (size_t i = 0; i < entries_.size(); ++i) {
    if (!(entries_[i].key == key)) continue;
    entries_.erase(entries_.begin() + i);
    index_.clear();
    return;
  }
}

namespace {

// The first eight bytes as a number that orders like the text: most comparisons need no more.
uint64_t leading_bytes(const std::string& text) {
  uint64_t p = 0;
  for (size_t i = 0; i < 8; ++i) p = p << 8 | (i < text.size() ? static_cast<unsigned char>(text[i]) : 0);
  return p;
}

}  // namespace

void DictObj::sort() const {
  // Sorting on demand changes only the representation, but two threads may ask at once.
  static std::mutex mu;
  std::lock_guard lock(mu);
  if (sorted_) return;
  struct Key {
    uint64_t leading;
    uint32_t at;
  };
  std::vector<Key> order(entries_.size());
  for (uint32_t i = 0; i < entries_.size(); ++i) order[i] = {leading_bytes(entries_[i].key.str()), i};
  std::sort(order.begin(), order.end(), [&](const Key& a, const Key& b) {
    return a.leading != b.leading ? a.leading < b.leading : entries_[a.at].key < entries_[b.at].key;
  });
  std::vector<DictEntry> sorted;
  sorted.reserve(entries_.size());
  for (const Key& k : order) sorted.push_back(std::move(entries_[k.at]));
  entries_ = std::move(sorted);
  index_.clear();
  sorted_ = true;
}

std::span<const DictEntry> DictObj::entries() const {
  if (entries_.size() > kSmall) sort();
  return entries_;
}

std::span<DictEntry> DictObj::mutable_entries() {
  if (entries_.size() > kSmall) sort();
  return entries_;
}

Value empty_dict() { return Value::object(Tag::Dict, new DictObj); }

Value make_dict(std::vector<DictEntry> entries) {
  auto* d = new DictObj;
  Value v = Value::object(Tag::Dict, d);
  for (DictEntry& e : entries) d->set(e.key, std::move(e.value));
  return v;
}

}  // namespace sheaf
