#include "support/name.h"

#include <xxhash.h>

#include <vector>

#include "support/mutex.h"

namespace sheaf {
namespace {

// Open addressing with the hash next to the pointer, so that a probe costs one cache line: a program that creates
// 200,000 keys looks each one up a few times.
class Table {
 public:
  const Name::Entry* intern(std::string_view text) {
    uint64_t hash = XXH3_64bits(text.data(), text.size());
    MutexLock lock(mu_);
    if (2 * (count_ + 1) > slots_.size()) grow();
    Slot& s = find(hash, text);
    if (!s.entry) {
      if (entries_.empty() || entries_.back().size() == kBlock) entries_.emplace_back().reserve(kBlock);
      entries_.back().push_back({std::string(text), hash});
      s = {hash, &entries_.back().back()};
      ++count_;
    }
    return s.entry;
  }

 private:
  struct Slot {
    uint64_t hash = 0;
    const Name::Entry* entry = nullptr;
  };

  Slot& find(uint64_t hash, std::string_view text) REQUIRES(mu_) {
    size_t mask = slots_.size() - 1;
    for (size_t i = hash & mask;; i = (i + 1) & mask)
      if (!slots_[i].entry || (slots_[i].hash == hash && slots_[i].entry->text == text)) return slots_[i];
  }

  void grow() REQUIRES(mu_) {
    std::vector<Slot> old(slots_.empty() ? 1024 : 2 * slots_.size());
    old.swap(slots_);
    size_t mask = slots_.size() - 1;
    for (const Slot& s : old) {  // all texts are distinct, so none is compared: they are elsewhere in memory
      if (!s.entry) continue;
      size_t i = s.hash & mask;
      while (slots_[i].entry)
        i = (i + 1) & mask;
      slots_[i] = s;
    }
  }

  static constexpr size_t kBlock = 256;

  Mutex mu_;
  std::vector<std::vector<Name::Entry>> entries_ GUARDED_BY(mu_);  // blocks that never move
  std::vector<Slot> slots_ GUARDED_BY(mu_);
  size_t count_ GUARDED_BY(mu_) = 0;
};

}  // namespace

Name::Name(std::string_view text) {
  static auto* table = new Table;
  entry_ = table->intern(text);
}

}  // namespace sheaf
