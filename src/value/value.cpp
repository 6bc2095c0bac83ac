#include "value/value.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <memory>
#include <unordered_map>

#include "support/mutex.h"
#include "value/dict.h"

namespace sheaf {
namespace {

// Numbers without a nearby f32, interned like names: there are few, 1e300 and the like.
class FarNumbers {
 public:
  int32_t place_of(double d) {
    MutexLock lock(mu_);
    auto [it, is_new] = places_.emplace(std::bit_cast<uint64_t>(d), static_cast<int32_t>(numbers_.size()));
    if (is_new) numbers_.push_back(d);
    return it->second;
  }
  double at(int32_t place) {
    MutexLock lock(mu_);
    return numbers_[static_cast<size_t>(place)];
  }

 private:
  Mutex mu_;
  std::unordered_map<uint64_t, int32_t> places_ GUARDED_BY(mu_);
  std::vector<double> numbers_ GUARDED_BY(mu_);
};

FarNumbers& far_numbers() {
  static auto* numbers = new FarNumbers;
  return *numbers;
}

// A double rounds to a normal f32 within half an ulp of it, which is 2^28 doubles.
constexpr int32_t kFarRest = 1 << 30;

}  // namespace

Value Value::floating_from(double d) {
  Value v = floating(static_cast<float>(d));
  double near = v.u_.real.f;
  if (near == d || std::isnan(d)) return v;
  if (std::isnormal(v.u_.real.f))
    v.u_.real.rest = static_cast<int32_t>(std::bit_cast<int64_t>(d) - std::bit_cast<int64_t>(near));
  else
    v.u_.real.rest = kFarRest + far_numbers().place_of(d);
  return v;
}

double Value::double_with_rest() const {
  if (u_.real.rest >= kFarRest) return far_numbers().at(u_.real.rest - kFarRest);
  return std::bit_cast<double>(std::bit_cast<int64_t>(static_cast<double>(u_.real.f)) + u_.real.rest);
}

uint64_t new_code_number() {
  static std::atomic<uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

void destroy_object(const Object* o) {
  // A list of a million nested lists must not recurse through a million destructors: past a small depth they are
  // queued.
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

void Items::push_front(Value v) {
  if (head_ == 0) {
    head_ = std::max<size_t>(4, all_.size());
    all_.insert(all_.begin(), head_, Value());
  }
  all_[--head_] = std::move(v);
}

void Items::pop_front() {
  all_[head_++] = Value();
  if (head_ > 16 && head_ > 2 * size()) {  // mostly free space
    all_.erase(all_.begin(), all_.begin() + head_);
    head_ = 0;
  }
}

Items& Value::mutable_items() {
  if (!unique()) *this = object(tag_, new ListObj(items_copy()));
  return static_cast<ListObj*>(u_.o)->items;
}

DictObj& Value::mutable_dict() {
  if (!unique()) *this = object(Tag::Dict, new DictObj(as_dict()));
  return *static_cast<DictObj*>(u_.o);
}

size_t DictObj::lower_bound(Name key) const {
  return std::lower_bound(entries_.begin(), entries_.end(), key, [](const DictEntry& e, Name k) { return e.key < k; }) -
         entries_.begin();
}

const Value* DictObj::find(Name key) const {
  if (entries_.size() <= kSmall) {
    for (const DictEntry& e : entries_)
      if (e.key == key) return &e.value;
    return nullptr;
  }
  if (index_.empty()) {  // sorted, and unchanged since
    size_t at = lower_bound(key);
    return at < entries_.size() && entries_[at].key == key ? &entries_[at].value : nullptr;
  }
  auto it = index_.find(key.entry());
  return it == index_.end() ? nullptr : &entries_[it->second].value;
}

DictObj::Entries& DictObj::unshared() {
  if (in_order_.load(std::memory_order_relaxed)) delete in_order_.exchange(nullptr);
  return entries_;
}

void DictObj::set(Name key, Value value) {
  Entries& entries = unshared();
  if (const Value* old = find(key)) {
    const_cast<Value&>(*old) = std::move(value);
    return;
  }
  if (entries.size() < kSmall) {
    entries.insert(entries.begin() + lower_bound(key), DictEntry{key, std::move(value)});
    return;
  }
  if (index_.empty())
    for (uint32_t i = 0; i < entries.size(); ++i)
      index_[entries[i].key.entry()] = i;
  sorted_ = sorted_ && entries.back().key < key;
  index_[key.entry()] = static_cast<uint32_t>(entries.size());
  entries.push_back({key, std::move(value)});
}

void DictObj::erase(Name key) {
  Entries& entries = unshared();
  sort_in_place();
  for (size_t i = 0; i < entries.size(); ++i) {
    if (!(entries[i].key == key)) continue;
    entries.erase(entries.begin() + i);
    index_.clear();
    return;
  }
}

namespace {

// The first eight bytes as a number with the order of the text: most comparisons need no more.
uint64_t leading_bytes(const std::string& text) {
  uint64_t p = 0;
  for (size_t i = 0; i < 8; ++i)
    p = p << 8 | (i < text.size() ? static_cast<unsigned char>(text[i]) : 0);
  return p;
}

struct SortKey {
  uint64_t leading;
  uint32_t at;
};

std::vector<SortKey> key_order(std::span<const DictEntry> entries) {
  std::vector<SortKey> order(entries.size());
  for (uint32_t i = 0; i < entries.size(); ++i)
    order[i] = {leading_bytes(entries[i].key.str()), i};
  std::sort(order.begin(), order.end(), [&](const SortKey& a, const SortKey& b) {
    return a.leading != b.leading ? a.leading < b.leading : entries[a.at].key < entries[b.at].key;
  });
  return order;
}

}  // namespace

void DictObj::sort_in_place() const {
  if (sorted_) return;
  Entries sorted;
  sorted.reserve(entries_.size());
  for (const SortKey& k : key_order(entries_))
    sorted.push_back(std::move(entries_[k.at]));
  entries_ = std::move(sorted);
  index_.clear();
  sorted_ = true;
}

std::span<const DictEntry> DictObj::entries() const {
  if (sorted_) return entries_;
  if (!counts_are_atomic() || unique()) {
    sort_in_place();
    return entries_;
  }
  if (const Entries* copy = in_order_.load(std::memory_order_acquire)) return *copy;
  auto copy = std::make_unique<Entries>();
  copy->reserve(entries_.size());
  for (const SortKey& k : key_order(entries_))
    copy->push_back(entries_[k.at]);
  const Entries* first = nullptr;
  if (!in_order_.compare_exchange_strong(first, copy.get(), std::memory_order_acq_rel)) return *first;
  return *copy.release();
}

std::span<DictEntry> DictObj::mutable_entries() {
  unshared();
  sort_in_place();
  return entries_;
}

Value empty_dict() { return Value::object(Tag::Dict, new DictObj); }

Value make_dict(std::vector<DictEntry> entries) {
  auto* d = new DictObj;
  Value v = Value::object(Tag::Dict, d);
  for (DictEntry& e : entries)
    d->set(e.key, std::move(e.value));
  return v;
}

}  // namespace sheaf
