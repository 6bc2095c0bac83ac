// `sheaf test`: runs the deftest forms of files.
#include <fmt/format.h>

#include <chrono>
#include <fstream>
#include <iterator>

#include "builtins/host/output.h"
#include "builtins/host/process.h"
#include "eval/session.h"
#include "tools/commands.h"
#include "tools/read_file.h"
#include "tools/terminal.h"
#include "tools/watch.h"

namespace sheaf::tools {
namespace {

// True if a file mentions tests: a program without any must not run just to find that out, it may train for an hour.
bool mentions_tests(const std::string& path) {
  std::ifstream file(path);
  std::string text((std::istreambuf_iterator<char>(file)), {});
  return text.find("deftest") != std::string::npos;
}

struct Tally {
  int passed = 0, failed = 0;
};

void run_one(eval::Session& session, const eval::TestCase& test, const Watch& watch, Tally& tally) {
  auto start = std::chrono::steady_clock::now();
  builtins::clear_interrupts();
  bool ok = true;
  try {
    session.run_test(test);
  } catch (...) {
    ok = false;
    builtins::write_out(fmt::format("FAIL {}\n", test.name));
    watch.report_exception();
  }
  (ok ? tally.passed : tally.failed) += 1;
  double ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  if (ok) builtins::write_out(fmt::format("ok   {} ({:.1f} ms)\n", test.name, ms));
  builtins::flush_out();
}

void run_file(const std::string& path, const std::string& only, const Watch& watch, Tally& tally) {
  if (!check_readable(path)) {
    ++tally.failed;
    return;
  }
  // A file that fails to run counts as a failed test.
  try {
    eval::Session session;
    session.run_file(path);
    const std::vector<eval::TestCase> tests = session.tests();  // running one may add others
    for (const eval::TestCase& t : tests)
      if (t.name.find(only) != std::string::npos) run_one(session, t, watch, tally);
  } catch (...) {
    builtins::write_out(fmt::format("FAIL {}\n", path));
    watch.report_exception();
    ++tally.failed;
  }
}

}  // namespace

int run_tests(const Options& o) {
  std::string only;
  std::vector<std::string> words;
  for (size_t i = 0; i < o.words.size(); ++i) {
    const std::string& w = o.words[i];
    if (w == "--only") {
      if (++i == o.words.size()) throw UsageError("--only requires an argument");
      only = o.words[i];
    } else if (w.starts_with("--")) {
      throw UsageError(fmt::format("test: unknown option '{}'. Known options: --only", w));
    } else {
      words.push_back(w);
    }
  }
  if (words.empty()) throw UsageError("test requires at least one file or directory");
  Watch watch(o);
  Tally tally;
  for (const std::string& f : programs_in(words, mentions_tests))
    run_file(f, only, watch, tally);
  if (!only.empty() && tally.passed + tally.failed == 0)
    throw UsageError(fmt::format("test: no test has '{}' in its name", only));
  builtins::write_out(fmt::format("{} passed, {} failed\n", tally.passed, tally.failed));
  builtins::flush_out();
  watch.report_profiles();
  return tally.failed ? 1 : 0;
}

}  // namespace sheaf::tools
