// Compares text with the expectations written in a file.
// Usage: check FILE < text
//   # CHECK: text        the next line that contains it, at or after the last match
//   # CHECK-NEXT: text   the line right after the last match
//   # CHECK-NOT: text    no line between the matches around it contains it
//   # CHECK-LABEL: text  as CHECK; captures are forgotten
// [[NAME:regex]] captures, [[NAME]] is the captured text, {{regex}} matches; everything else is literal, and any blanks
// match any blanks.
#include <cstdio>
#include <fstream>
#include <iostream>
#include <map>
#include <regex>
#include <string>
#include <vector>

namespace {

struct Check {
  enum Kind { Plain, Next, Not, Label } kind;
  std::string pattern;
  int line;
};

std::string squeezed(const std::string& s) {
  std::string out;
  for (char c : s) {
    bool blank = c == ' ' || c == '\t';
    if (blank && (out.empty() || out.back() == ' ')) continue;
    out += blank ? ' ' : c;
  }
  while (!out.empty() && out.back() == ' ')
    out.pop_back();
  return out;
}

std::vector<Check> read_checks(const char* path) {
  std::vector<Check> checks;
  std::ifstream in(path);
  std::string line;
  const std::pair<const char*, Check::Kind> kinds[] = {{"CHECK: ", Check::Plain},
                                                       {"CHECK-NEXT: ", Check::Next},
                                                       {"CHECK-NOT: ", Check::Not},
                                                       {"CHECK-LABEL: ", Check::Label}};
  for (int number = 1; std::getline(in, line); ++number)
    for (auto& [marker, kind] : kinds)
      if (size_t at = line.find(marker); at != std::string::npos && line.find('#') < at)
        checks.push_back({kind, squeezed(line.substr(at + std::string(marker).size())), number});
  return checks;
}

std::string escaped(const std::string& s) {
  std::string out;
  for (char c : s) {
    if (std::string("\\^$.|?*+()[]{}").find(c) != std::string::npos) out += '\\';
    out += c;
  }
  return out;
}

// The pattern as a regular expression; the names of its capture groups in order.
std::string to_regex(const std::string& p, const std::map<std::string, std::string>& known,
                     std::vector<std::string>& names) {
  std::string out;
  for (size_t i = 0; i < p.size();) {
    if (p.compare(i, 2, "{{") == 0) {
      size_t end = p.find("}}", i);
      out += "(?:" + p.substr(i + 2, end - i - 2) + ")";
      i = end + 2;
    } else if (p.compare(i, 2, "[[") == 0) {
      size_t end = p.find("]]", i), colon = p.find(':', i);
      if (colon != std::string::npos && colon < end) {
        names.push_back(p.substr(i + 2, colon - i - 2));
        out += "(" + p.substr(colon + 1, end - colon - 1) + ")";
      } else {
        auto it = known.find(p.substr(i + 2, end - i - 2));
        out += it == known.end() ? "\\b\\B" : escaped(it->second);
      }
      i = end + 2;
    } else {
      out += escaped(p.substr(i, 1));
      ++i;
    }
  }
  return out;
}

// The exit status.
int check(const char* file) {
  std::vector<Check> checks = read_checks(file);
  if (checks.empty()) return std::fprintf(stderr, "%s: no CHECK lines\n", file), 1;
  std::vector<std::string> lines;
  for (std::string line; std::getline(std::cin, line);)
    lines.push_back(squeezed(line));
  std::map<std::string, std::string> captured;
  size_t next = 0;
  std::vector<std::pair<const Check*, std::regex>> forbidden;
  auto fail = [&](const Check& c, const char* why) {
    std::fprintf(stderr, "%s:%d: %s: %s\nbehind line %zu of:\n", file, c.line, why, c.pattern.c_str(), next);
    for (const std::string& l : lines)
      std::fprintf(stderr, "  %s\n", l.c_str());
    return 1;
  };
  auto clean = [&](size_t from, size_t to) -> const Check* {
    for (auto& [check, regex] : forbidden)
      for (size_t i = from; i < to; ++i)
        if (std::regex_search(lines[i], regex)) return check;
    return nullptr;
  };
  for (const Check& c : checks) {
    if (c.kind == Check::Label) captured.clear();
    std::vector<std::string> names;
    std::regex regex(to_regex(c.pattern, captured, names));
    if (c.kind == Check::Not) {
      forbidden.emplace_back(&c, regex);
      continue;
    }
    size_t at = next, end = c.kind == Check::Next ? std::min(next + 1, lines.size()) : lines.size();
    std::smatch m;
    while (at < end && !std::regex_search(lines[at], m, regex))
      ++at;
    if (at == end) return fail(c, "not found");
    if (const Check* bad = clean(next, at)) return fail(*bad, "found");
    forbidden.clear();
    for (size_t k = 0; k < names.size(); ++k)
      captured[names[k]] = m[k + 1];
    next = at + 1;
  }
  if (const Check* bad = clean(next, lines.size())) return fail(*bad, "found");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return std::fprintf(stderr, "usage: check FILE < text\n"), 2;
  try {
    return check(argv[1]);
  } catch (const std::exception& e) {
    return std::fprintf(stderr, "%s: %s\n", argv[1], e.what()), 1;
  }
}
