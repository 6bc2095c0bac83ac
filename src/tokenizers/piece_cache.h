// Caches the ids of pieces, and optionally the span of the piece that each stands for: text repeats itself, and a
// lookup is far cheaper than merging again. One thread at a time; a cache is used either always or never with spans.
#pragma once
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "tokenizers/aligned_text.h"

namespace sheaf::tokenizers {

class PieceCache {
 public:
  static constexpr size_t kMaxPieceBytes = 64;  // longer ones rarely repeat

  // The ids of the piece and, unless `spans` is nullptr, their spans. On a miss, calls make(out, spans), which appends
  // them, and stores the result.
  template <class Make>
  void append(std::string_view piece, std::vector<int32_t>& out, std::vector<Span>* spans, Make&& make) {
    if (piece.size() > kMaxPieceBytes) return make(out, spans);
    if (slots_.empty() || texts_.size() > kMaxTextBytes || ids_.size() > kMaxIds || 2 * count_ > slots_.size())
      make_room();
    uint32_t hash = hash_of(piece);
    size_t at = hash & (slots_.size() - 1);
    for (;; at = (at + 1) & (slots_.size() - 1)) {
      const Slot& s = slots_[at];
      if (s.text_bytes == 0) break;
      if (s.hash != hash || s.text_bytes != piece.size() ||
          std::memcmp(texts_.data() + s.text, piece.data(), piece.size()) != 0)
        continue;
      out.insert(out.end(), ids_.begin() + s.ids, ids_.begin() + s.ids + s.num_ids);
      if (spans) spans->insert(spans->end(), spans_.begin() + s.ids, spans_.begin() + s.ids + s.num_ids);
      return;
    }
    size_t before = out.size();
    make(out, spans);
    slots_[at] = {hash, static_cast<uint32_t>(texts_.size()), static_cast<uint32_t>(ids_.size()),
                  static_cast<uint16_t>(piece.size()), static_cast<uint16_t>(out.size() - before)};
    texts_.insert(texts_.end(), piece.begin(), piece.end());
    ids_.insert(ids_.end(), out.begin() + static_cast<std::ptrdiff_t>(before), out.end());
    if (spans)
      spans_.insert(spans_.end(), spans->end() - static_cast<std::ptrdiff_t>(out.size() - before), spans->end());
    ++count_;
  }

 private:
  static constexpr size_t kMaxSlots = 1 << 18, kMaxTextBytes = 4 << 20, kMaxIds = 1 << 20;
  struct Slot {
    uint32_t hash, text, ids;
    uint16_t text_bytes = 0, num_ids;  // 0 bytes: free
  };
  static uint32_t hash_of(std::string_view s) {
    uint64_t h = s.size() * 0x9E3779B97F4A7C15;
    auto mix = [&](uint64_t word) {
      h = (h ^ word) * 0xD6E8FEB86659FD93;
      h ^= h >> 32;
    };
    uint64_t word = 0;
    for (; s.size() > 8; s.remove_prefix(8)) {
      std::memcpy(&word, s.data(), 8);
      mix(word);
    }
    word = 0;
    std::memcpy(&word, s.data(), s.size());
    mix(word);
    return static_cast<uint32_t>(h ^ h >> 29);
  }
  // Grows; once at the maximal size it is cleared instead, and frequent pieces soon return.
  void make_room() {
    bool full = slots_.size() >= kMaxSlots || texts_.size() > kMaxTextBytes || ids_.size() > kMaxIds;
    std::vector<Slot> old(full ? slots_.size() : slots_.empty() ? 1 << 10 : 2 * slots_.size());
    old.swap(slots_);
    if (full) {
      texts_.clear();
      ids_.clear();
      spans_.clear();
      count_ = 0;
      return;
    }
    for (const Slot& s : old) {
      if (s.text_bytes == 0) continue;
      size_t at = s.hash & (slots_.size() - 1);
      while (slots_[at].text_bytes != 0)
        at = (at + 1) & (slots_.size() - 1);
      slots_[at] = s;
    }
  }
  std::vector<Slot> slots_;  // a power of two
  std::vector<char> texts_;
  std::vector<int32_t> ids_;
  std::vector<Span> spans_;  // one per id, or none
  size_t count_ = 0;
};

}  // namespace sheaf::tokenizers
