// Runs the program as a user would: a command line, standard input, its own home directory.
#pragma once
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace sheaf::tools {

namespace fs = std::filesystem;

struct Result {
  int status = -1;
  std::string out, err;
};

// A directory that is the current one and the home of the programs run in it, removed at the end.
class Sandbox {
 public:
  Sandbox() {
    std::string pattern = (fs::temp_directory_path() / "sheaf-test-XXXXXX").string();
    dir_ = mkdtemp(pattern.data());
  }
  ~Sandbox() {
    std::error_code ec;
    fs::remove_all(dir_, ec);
  }
  const fs::path& dir() const { return dir_; }

  void write(const std::string& name, const std::string& text) const { std::ofstream(dir_ / name) << text; }
  std::string read(const std::string& name) const {
    std::ifstream in(dir_ / name);
    std::stringstream text;
    text << in.rdbuf();
    return text.str();
  }
  // Runs shell text in the directory; the status as of wait().
  int shell(const std::string& text) const {
    // NOLINTNEXTLINE(bugprone-command-processor): redirection and jobs are what the tests want of it
    return std::system(("cd '" + dir_.string() + "' && " + text).c_str());
  }
  // `arguments` is shell text.
  Result run(const std::string& arguments, const std::string& input = "") const {
    write(".in", input);
    int status = shell("unset XDG_CACHE_HOME && HOME='" + dir_.string() + "' timeout 120 '" SHEAF_BINARY "' " +
                       arguments + " <.in >.out 2>.err");
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read(".out"), read(".err")};
  }

 private:
  fs::path dir_;
};

inline bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace sheaf::tools
