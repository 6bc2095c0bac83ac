// Interned names: keywords, dict keys, symbols. Two Names are equal iff their pointers are; entries are never freed.
#pragma once
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

namespace sheaf {

class Name {
 public:
  Name() = default;
  explicit Name(std::string_view text);
  const std::string& str() const { return entry_->text; }
  uint64_t hash() const { return entry_->hash; }
  explicit operator bool() const { return entry_ != nullptr; }
  friend bool operator==(Name a, Name b) { return a.entry_ == b.entry_; }
  // Byte order of the texts (the order in which dicts iterate), not of the addresses.
  friend bool operator<(Name a, Name b) { return a.entry_ != b.entry_ && a.entry_->text < b.entry_->text; }

  struct Entry {
    std::string text;
    uint64_t hash;
  };
  const Entry* entry() const { return entry_; }
  static Name from_entry(const Entry* e) {
    Name n;
    n.entry_ = e;
    return n;
  }

 private:
  const Entry* entry_ = nullptr;
};

struct NameHash {
  size_t operator()(Name n) const { return n.hash(); }
};

}  // namespace sheaf
