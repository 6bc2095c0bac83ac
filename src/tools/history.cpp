#include "tools/history.h"

#include <cstdlib>
#include <fstream>
#include <utility>

namespace sheaf::tools {
namespace {

constexpr size_t kMaxEntries = 10'000;
constexpr const char* kHeader = "#V2";

std::string escaped(const std::string& s) {
  std::string out;
  for (char c : s) {
    if (c == '\n')
      out += "\\n";
    else if (c == '\\')
      out += "\\\\";
    else
      out += c;
  }
  return out;
}

std::string unescaped(const std::string& s) {
  std::string out;
  for (size_t i = 0; i < s.size(); ++i) {
    if (s[i] != '\\' || i + 1 == s.size())
      out += s[i];
    else
      out += s[++i] == 'n' ? '\n' : s[i];
  }
  return out;
}

}  // namespace

std::string History::default_path() {
  const char* home = std::getenv("HOME");
  return home && *home ? std::string(home) + "/.sheaf_history" : "";
}

History::History(std::string path) : path_(std::move(path)) {
  std::ifstream in(path_);
  std::string line;
  bool first = true;
  while (std::getline(in, line)) {
    if (std::exchange(first, false) && line == kHeader) continue;
    if (!line.empty()) entries_.push_back(unescaped(line));
  }
  if (entries_.size() <= kMaxEntries) return;
  in.close();
  entries_.erase(entries_.begin(), entries_.end() - kMaxEntries / 2);
  std::ofstream out(path_, std::ios::trunc);
  out << kHeader << "\n";
  for (const std::string& e : entries_)
    out << escaped(e) << "\n";
}

void History::add(const std::string& entry) {
  if (entry.empty() || (!entries_.empty() && entries_.back() == entry)) return;
  entries_.push_back(entry);
  if (path_.empty()) return;
  std::ofstream out(path_, std::ios::app);
  if (out.tellp() == 0) out << kHeader << "\n";
  out << escaped(entry) << "\n";
}

}  // namespace sheaf::tools
