// A hash table keyed by pairs of numbers, for the innermost lookups: open addressing, keys and entries adjacent.
#pragma once
#include <cstdint>
#include <vector>

namespace sheaf::tokenizers {

class PairTable {
 public:
  struct Entry {
    int32_t id;
    uint32_t rank;
  };

  // Replaces an existing entry. Numbers are below 2^32 - 1.
  void insert(uint32_t left, uint32_t right, Entry e) {
    if (2 * (count_ + 1) > slots_.size()) grow();
    Slot& s = slots_[place(key_of(left, right))];
    count_ += s.key == kFree;
    s = {key_of(left, right), e};
  }
  const Entry* find(uint32_t left, uint32_t right) const {
    if (slots_.empty()) return nullptr;
    const Slot& s = slots_[place(key_of(left, right))];
    return s.key == kFree ? nullptr : &s.entry;
  }

 private:
  static constexpr uint64_t kFree = ~uint64_t{0};
  struct Slot {
    uint64_t key = kFree;
    Entry entry{};
  };
  static uint64_t key_of(uint32_t left, uint32_t right) { return uint64_t{left} << 32 | right; }
  // The slot of the key, or the free slot for it.
  size_t place(uint64_t key) const {
    uint64_t h = key * 0x9E3779B97F4A7C15;
    size_t at = (h ^ h >> 32) & (slots_.size() - 1);
    while (slots_[at].key != key && slots_[at].key != kFree)
      at = (at + 1) & (slots_.size() - 1);
    return at;
  }
  void grow() {
    std::vector<Slot> old(slots_.empty() ? 64 : 2 * slots_.size());
    old.swap(slots_);
    for (const Slot& s : old)
      if (s.key != kFree) slots_[place(s.key)] = s;
  }
  std::vector<Slot> slots_;  // a power of two
  size_t count_ = 0;
};

}  // namespace sheaf::tokenizers
