// Reads members of a tokenizer document and checks their types, so that a damaged file gives a message with the
// location.
#pragma once
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "support/error.h"

namespace sheaf::tokenizers {

using Json = nlohmann::json;

// The member, or nullptr if it is missing or null.
inline const Json* find_member(const Json& object, const char* key) {
  if (!object.is_object()) return nullptr;
  auto it = object.find(key);
  return it == object.end() || it->is_null() ? nullptr : &*it;
}

inline const Json& member(const Json& object, const char* key, std::string_view where) {
  const Json* found = find_member(object, key);
  if (!found) throw runtime_error(fmt::format("{} has no \"{}\"", where, key));
  return *found;
}

inline std::string text_of(const Json& v, std::string_view what) {
  if (!v.is_string()) throw runtime_error(fmt::format("{} is not a string", what));
  return v.get<std::string>();
}

inline std::string text_member(const Json& object, const char* key, std::string_view where) {
  return text_of(member(object, key, where), fmt::format("\"{}\" of {}", key, where));
}

inline std::string text_member_or(const Json& object, const char* key, std::string_view where, std::string fallback) {
  return find_member(object, key) ? text_member(object, key, where) : fallback;
}

inline bool bool_member(const Json& object, const char* key, std::string_view where, bool fallback) {
  const Json* found = find_member(object, key);
  if (!found) return fallback;
  if (!found->is_boolean()) throw runtime_error(fmt::format("\"{}\" of {} is neither true nor false", key, where));
  return found->get<bool>();
}

// An integer in 0 … 2^31 - 2: a token id, a count.
inline int32_t count_of(const Json& v, std::string_view what) {
  if (!v.is_number_integer()) throw runtime_error(fmt::format("{} is not a whole number", what));
  bool fits =
      v.is_number_unsigned() ? v.get<uint64_t>() < 0x7FFFFFFF : v.get<int64_t>() >= 0 && v.get<int64_t>() < 0x7FFFFFFF;
  if (!fits) throw runtime_error(fmt::format("{} is {}: out of range", what, v.dump()));
  return v.get<int32_t>();
}

inline int32_t count_member_or(const Json& object, const char* key, std::string_view where, int32_t fallback) {
  const Json* found = find_member(object, key);
  return found ? count_of(*found, fmt::format("\"{}\" of {}", key, where)) : fallback;
}

inline const Json& list_member(const Json& object, const char* key, std::string_view where) {
  const Json& v = member(object, key, where);
  if (!v.is_array()) throw runtime_error(fmt::format("\"{}\" of {} is not a list", key, where));
  return v;
}

// Calls f for each part of `json` in order; a "Sequence" (with its parts under `list_key`) is flattened.
template <class F>
void for_each_part(const Json& json, const char* list_key, std::string_view where, F&& f, int depth = 0) {
  if (depth > 32) throw runtime_error(fmt::format("{}: sequences within sequences, more than 32 deep", where));
  if (text_member(json, "type", where) != "Sequence") return f(json);
  for (const Json& part : list_member(json, list_key, where))
    for_each_part(part, list_key, where, f, depth + 1);
}

}  // namespace sheaf::tokenizers
