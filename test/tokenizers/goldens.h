// The goldens of make_goldens.py.
#pragma once
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

namespace sheaf::tokenizers {

inline std::string read_golden(const std::string& name) {
  std::ifstream in(std::string(TEST_DIR) + "/goldens/" + name, std::ios::binary);
  EXPECT_TRUE(in) << name;
  return {std::istreambuf_iterator<char>(in), {}};
}

inline const std::vector<std::string>& golden_strings() {
  static const auto* all = [] {
    auto* out = new std::vector<std::string>;
    std::istringstream in(read_golden("strings.jsonl"));
    for (std::string line; std::getline(in, line);) {
      nlohmann::json j = nlohmann::json::parse(line);
      if (j.is_string()) {
        out->push_back(j.get<std::string>());
        continue;
      }
      std::string hex = j["hex"], bytes;
      for (size_t i = 0; i < hex.size(); i += 2)
        bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
      out->push_back(bytes);
    }
    return out;
  }();
  return *all;
}

inline std::string hash_of(std::string_view bytes) {
  uint32_t h = 2166136261;
  for (char b : bytes)
    h = (h ^ static_cast<unsigned char>(b)) * 16777619;
  return fmt::format("{:08x}", h);
}

}  // namespace sheaf::tokenizers
