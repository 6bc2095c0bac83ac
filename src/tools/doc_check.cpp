// Runs the examples of the reference, each in its own session.
#include <fmt/format.h>

#include <cctype>
#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "builtins/host/output.h"
#include "builtins/host/process.h"
#include "tools/reference.h"
#include "tools/watch.h"
#include "value/print.h"

namespace sheaf::tools {
namespace {

namespace fs = std::filesystem;

struct Outcome {
  std::string output, error;
};

Outcome run_example(const std::string& code) {
  Outcome o;
  std::string* previous = builtins::set_capture(&o.output);
  try {
    eval::Session session;
    Value v = session.run_text(code);
    if (!is_silent(v)) o.output += render(v);
  } catch (const UserError& e) {
    o.error = e.message;
  } catch (const builtins::GuardBreach& b) {
    o.error = b.message;
  } catch (const builtins::ExitRequest&) {
  } catch (const std::exception& e) {
    o.error = fmt::format("internal error: {}", e.what());
  }
  builtins::set_capture(previous);
  while (o.output.ends_with('\n'))
    o.output.pop_back();
  return o;
}

// Equal up to blanks and small differences of numbers.
bool nearly_equal(const std::string& a, const std::string& b) {
  const char *p = a.c_str(), *q = b.c_str();
  auto blank = [](char c) { return c == ' ' || c == '\n'; };
  auto number = [](const char* s) { return std::isdigit(static_cast<unsigned char>(s[*s == '-' || *s == '.'])); };
  for (;;) {
    while (blank(*p))
      ++p;
    while (blank(*q))
      ++q;
    if (!*p || !*q) return *p == *q;
    if (number(p) && number(q)) {
      char *p_end, *q_end;
      double x = std::strtod(p, &p_end), y = std::strtod(q, &q_end);
      if (std::fabs(x - y) > 1e-6 + 1e-5 * std::fabs(y)) return false;
      p = p_end;
      q = q_end;
    } else if (*p++ != *q++) {
      return false;
    }
  }
}

std::string without_blanks(const std::string& s) {
  std::string out;
  for (char c : s)
    if (c != ' ' && c != '\n') out += c;
  return out;
}

bool holds(const DocExample& x, const Outcome& o) {
  if (x.mark == "!!") return o.error.starts_with(x.result);
  if (!o.error.empty()) return false;
  if (x.mark == "~>") return nearly_equal(o.output, x.result);
  // Doc strings indent continuation lines to their own column.
  return x.mark.empty() || without_blanks(o.output) == without_blanks(x.result);
}

// The working folder of examples, which may write files.
class ScratchFolder {
 public:
  ScratchFolder() : before_(fs::current_path()) {
    std::string pattern = (fs::temp_directory_path() / "sheaf-doc-XXXXXX").string();
    here_ = mkdtemp(pattern.data());
    fs::current_path(here_);
  }
  ~ScratchFolder() {
    std::error_code error;
    fs::current_path(before_, error);
    fs::remove_all(here_, error);
  }

 private:
  fs::path before_, here_;
};

}  // namespace

int check_examples(const std::string& only) {
  ScratchFolder scratch;
  eval::Session session;
  int passed = 0, failed = 0;
  for (const DocEntry& e : reference_entries(session)) {
    if (!only.empty() && e.name != only) continue;
    for (const DocExample& x : e.examples) {
      Outcome o = run_example(x.code);
      if (holds(x, o)) {
        ++passed;
        continue;
      }
      ++failed;
      builtins::write_out(fmt::format("{}: {}\n  expected {} {}\n  got      {}{}\n", e.name, x.code, x.mark, x.result,
                                      o.error.empty() ? "=> " : "!! ", o.error.empty() ? o.output : o.error));
    }
  }
  builtins::write_out(fmt::format("{} examples hold, {} do not\n", passed, failed));
  builtins::flush_out();
  return failed ? 1 : 0;
}

}  // namespace sheaf::tools
