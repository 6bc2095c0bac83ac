// Small random damage to bytes, for the fuzzers of the file formats and of the reader.
#pragma once
#include <algorithm>
#include <cstdint>
#include <iterator>
#include <random>
#include <string>

namespace fuzz {

using Random = std::mt19937_64;

inline size_t below(Random& rng, size_t n) { return n == 0 ? 0 : rng() % n; }

inline void mutate_once(std::string& s, Random& rng) {
  if (s.empty()) {
    s.push_back(static_cast<char>(rng()));
    return;
  }
  size_t at = below(rng, s.size());
  switch (rng() % 8) {
    case 0: s[at] ^= static_cast<char>(1 << rng() % 8); break;
    case 1: s[at] = static_cast<char>(rng()); break;
    case 2: s.resize(at); break;
    case 3: s.erase(at, 1 + below(rng, 16)); break;
    case 4: s.insert(at, s.substr(below(rng, s.size()), 1 + below(rng, 64))); break;
    case 5: s.insert(at, 1 + below(rng, 8), static_cast<char>(rng())); break;
    case 6: {
      static constexpr uint64_t kEdges[] = {0,
                                            1,
                                            0x7f,
                                            0x80,
                                            0xff,
                                            0x7fff,
                                            0xffff,
                                            0x7fffffff,
                                            0x80000000,
                                            0xffffffff,
                                            0x7fffffffffffffff,
                                            0x8000000000000000,
                                            0xffffffffffffffff};
      uint64_t v = kEdges[below(rng, std::size(kEdges))];
      size_t width = std::min<size_t>(size_t{1} << rng() % 4, s.size() - at);
      s.replace(at, width, reinterpret_cast<const char*>(&v), width);
      break;
    }
    default: {
      // A digit, as headers in text hold sizes and offsets.
      size_t digit = s.find_first_of("0123456789", at);
      if (digit != std::string::npos) s.replace(digit, 1, std::to_string(rng() >> rng() % 64));
      break;
    }
  }
}

}  // namespace fuzz
