// Tokens by text and by id. Ids may have gaps.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

namespace sheaf::tokenizers {

class Vocabulary {
 public:
  static constexpr int32_t kNone = -1;
  // A text that already exists gets the new id; an id keeps its last text.
  void add(std::string token, int32_t id) {
    max_bytes_ = std::max(max_bytes_, token.size());
    largest_id_ = std::max(largest_id_, id);
    texts_[id] = token;
    ids_[std::move(token)] = id;
  }
  int32_t id_of(std::string_view token) const {
    auto it = ids_.find(token);
    return it == ids_.end() ? kNone : it->second;
  }
  // Returns nullptr if there is no such id.
  const std::string* text_of(int32_t id) const {
    auto it = texts_.find(id);
    return it == texts_.end() ? nullptr : &it->second;
  }
  size_t size() const { return ids_.size(); }
  size_t max_bytes() const { return max_bytes_; }  // length of the longest token
  int32_t largest_id() const { return largest_id_; }

 private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view s) const { return std::hash<std::string_view>{}(s); }
  };
  std::unordered_map<std::string, int32_t, Hash, std::equal_to<>> ids_;
  std::unordered_map<int32_t, std::string> texts_;
  size_t max_bytes_ = 0;
  int32_t largest_id_ = kNone;
};

}  // namespace sheaf::tokenizers
