// A map from byte strings to numbers, walked one byte at a time from the start of a text.
#pragma once
#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "tokenizers/pair_table.h"

namespace sheaf::tokenizers {

class ByteTrie {
 public:
  static constexpr int32_t kNone = -1;
  ByteTrie() { first_.fill(kNone); }

  // A string that already exists gets the new number. Ignores empty strings.
  void insert(std::string_view key, int32_t number) {
    if (key.empty()) return;
    int32_t& start = first_[static_cast<unsigned char>(key[0])];
    if (start == kNone) start = add_node();
    int32_t node = start;
    for (char c : key.substr(1)) {
      int32_t next = step(node, c);
      if (next == kNone) {
        next = add_node();
        children_.insert(static_cast<uint32_t>(node), static_cast<unsigned char>(c), {next, 0});
      }
      node = next;
    }
    numbers_[static_cast<size_t>(node)] = number;
  }

  // Calls f(length, number) for each string that is a prefix of `text`, shortest first.
  template <class F>
  void for_each_prefix(std::string_view text, F&& f) const {
    if (text.empty()) return;
    int32_t node = first_[static_cast<unsigned char>(text[0])];
    for (size_t n = 1; node != kNone; ++n) {
      if (int32_t number = numbers_[static_cast<size_t>(node)]; number != kNone) f(n, number);
      if (n == text.size()) return;
      node = step(node, text[n]);
    }
  }

  bool may_start(char c) const { return first_[static_cast<unsigned char>(c)] != kNone; }
  bool empty() const { return numbers_.empty(); }

 private:
  int32_t add_node() {
    numbers_.push_back(kNone);
    return static_cast<int32_t>(numbers_.size()) - 1;
  }
  int32_t step(int32_t node, char c) const {
    const PairTable::Entry* e = children_.find(static_cast<uint32_t>(node), static_cast<unsigned char>(c));
    return e ? e->id : kNone;
  }
  std::array<int32_t, 256> first_;
  std::vector<int32_t> numbers_;  // of each node
  PairTable children_;            // (node, byte) to node
};

}  // namespace sheaf::tokenizers
