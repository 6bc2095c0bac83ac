// The lines typed at the prompt, kept in ~/.sheaf_history. One entry per line of the file; newlines and backslashes in
// an entry are written \n and \\.
#pragma once
#include <string>
#include <vector>

namespace sheaf::tools {

class History {
 public:
  // "" keeps nothing on disk.
  explicit History(std::string path);
  // Remembers an entry (not twice in a row) and appends it to the file.
  void add(const std::string& entry);
  const std::vector<std::string>& entries() const { return entries_; }

  // $HOME/.sheaf_history, or "" without a home.
  static std::string default_path();

 private:
  std::string path_;
  std::vector<std::string> entries_;
};

}  // namespace sheaf::tools
