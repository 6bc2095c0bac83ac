// Compares the output of a program with the expected output.
#pragma once
#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

#include "value/value.h"

namespace sheaf {

// Equal up to small differences of numbers: relative 2e-6, absolute 1e-7.
inline bool nearly_equal(const std::string& a, const std::string& b, double relative = 2e-6, double absolute = 1e-7) {
  const char *p = a.c_str(), *q = b.c_str();
  auto is_digit = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; };
  auto starts_number = [&](const char* s) { return is_digit(*s) || ((*s == '-' || *s == '.') && is_digit(s[1])); };
  for (;;) {
    while (*p == ' ')
      ++p;
    while (*q == ' ')
      ++q;
    if (!*p || !*q) return *p == *q;
    if (starts_number(p) && starts_number(q)) {
      char *pe, *qe;
      double x = std::strtod(p, &pe), y = std::strtod(q, &qe);
      if (std::fabs(x - y) > absolute + relative * std::max(std::fabs(x), std::fabs(y))) return false;
      p = pe;
      q = qe;
    } else if (*p++ != *q++) {
      return false;
    }
  }
}

// Without spaces at the ends of lines.
inline std::vector<std::string> split_lines(const std::string& text) {
  std::vector<std::string> lines;
  size_t at = 0;
  while (at < text.size()) {
    size_t end = std::min(text.find('\n', at), text.size());
    std::string line = text.substr(at, end - at);
    while (!line.empty() && line.back() == ' ')
      line.pop_back();
    lines.push_back(std::move(line));
    at = end + 1;
  }
  return lines;
}

// Values that a program does not print as its result.
inline bool is_silent(const Value& v) {
  if (v.is_nil()) return true;
  if (!v.is_list()) return false;
  for (const Value& x : v.items())
    if (!x.is_nil()) return false;
  return true;
}

}  // namespace sheaf
