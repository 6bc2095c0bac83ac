// Reports of errors as a terminal shows them, for every program of test/errors (typical mistakes).
#include <gtest/gtest.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utf8proc.h>

#include <algorithm>
#include <regex>

#include "run_sheaf.h"

namespace sheaf::tools {
namespace {

// The program's output on a terminal of this width.
std::string on_terminal(const fs::path& program, unsigned short columns, bool no_color = false) {
  winsize size{24, columns, 0, 0};
  int fd = -1;
  pid_t pid = forkpty(&fd, nullptr, nullptr, &size);
  if (pid < 0) throw std::runtime_error("there is no terminal to be had: is /dev/pts mounted?");
  if (pid == 0) {
    setenv("TERM", "xterm", 1);
    no_color ? setenv("NO_COLOR", "1", 1) : unsetenv("NO_COLOR");
    if (chdir(program.parent_path().c_str()) == 0) execl(SHEAF_BINARY, "sheaf", program.filename().c_str(), nullptr);
    _exit(127);
  }
  std::string out;
  char buffer[4096];
  for (ssize_t n; (n = read(fd, buffer, sizeof buffer)) > 0;)
    out.append(buffer, static_cast<size_t>(n));
  waitpid(pid, nullptr, 0);
  close(fd);
  out.erase(std::remove(out.begin(), out.end(), '\r'), out.end());
  return out;
}

std::string uncoloured(const std::string& text) {
  static const std::regex colour("\033\\[[0-9;]*m");
  return std::regex_replace(text, colour, "");
}

int64_t columns_of(const std::string& line) {
  int64_t columns = 0;
  const auto* at = reinterpret_cast<const utf8proc_uint8_t*>(line.data());
  for (size_t left = line.size(); left > 0;) {
    utf8proc_int32_t c = 0;
    utf8proc_ssize_t n = std::max<utf8proc_ssize_t>(utf8proc_iterate(at, static_cast<utf8proc_ssize_t>(left), &c), 1);
    columns += utf8proc_charwidth(c);
    at += n;
    left -= static_cast<size_t>(n);
  }
  return columns;
}

void expect_fits(const std::string& text, int64_t columns, const fs::path& program) {
  std::stringstream lines(uncoloured(text));
  for (std::string line; std::getline(lines, line);)
    EXPECT_LE(columns_of(line), columns) << program << ": " << line;
}

// The first line that begins so has this colour.
void expect_painted(const std::string& text, const std::string& begin, const std::string& colour) {
  std::stringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (uncoloured(line).starts_with(begin)) {
      EXPECT_TRUE(line.starts_with(colour)) << line;
      return;
    }
}

TEST(Report, FitsTerminalsAndIsPaintedByRole) {
  Sandbox s;
  size_t count = 0;
  for (const auto& entry : fs::directory_iterator(ERRORS_DIR)) {
    if (entry.path().extension() != ".shf") continue;
    fs::path program = s.dir() / entry.path().filename();  // under a short name
    fs::copy_file(entry.path(), program);
    std::string narrow = on_terminal(program, 80);
    expect_fits(narrow, 80, program);
    expect_painted(narrow, "error: ", "\033[1;35m");
    expect_painted(narrow, " --> ", "\033[36m");
    expect_painted(narrow, "1 |", "\033[2m");
    expect_painted(narrow, "  = hint: ", "\033[32m");
    expect_painted(narrow, "  = in ", "\033[2m");
    EXPECT_TRUE(contains(narrow, "\033[1;31m^")) << narrow;
    if (++count % 8 != 0) continue;
    expect_fits(on_terminal(program, 200), 200, program);
    EXPECT_FALSE(contains(on_terminal(program, 80, true), "\033"));
    EXPECT_FALSE(contains(s.run(program.filename().string()).err, "\033"));
  }
  EXPECT_GE(count, 100u);
}

TEST(Report, WarningsFitAndArePainted) {
  Sandbox s;
  s.write("w.shf", "(print (mean (= [1 2] [1 3])))\n");
  std::string text = on_terminal(s.dir() / "w.shf", 80);
  expect_fits(text, 80, "w.shf");
  EXPECT_TRUE(contains(text, "w.shf:1:8\033[0m\033[33m: warning: mean of a single bool")) << text;
}

}  // namespace
}  // namespace sheaf::tools
