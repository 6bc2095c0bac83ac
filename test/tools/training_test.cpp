// Training runs as a user sees them: the bar on terminals of two widths, lines in a file, Ctrl-C, and continuing.
#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <functional>
#include <random>
#include <stdexcept>
#include <thread>

#include "run_sheaf.h"

namespace sheaf::tools {
namespace {

constexpr const char* kRun =
    "(def opt (adam {:lr 0.01}))\n"
    "(defn step [state i]\n"
    "  (let [[l g] ((value-and-grad (fn [w] (sum (** (- w 3) 2)))) (get state :w))\n"
    "        [w s] ((get opt :step) (get state :w) g (get state :s))]\n"
    "    (merge state {:w w :s s :loss l})))\n"
    "(defn run [path n] (training-loop {:w (zeros [4]) :s ((get opt :init) (zeros [4])) :loss 0.0} step\n"
    "  {:steps n :path path :every 1000000 :show (fn [s] {:loss (get s :loss)})}))\n";

// The output of a program on a terminal of `columns`, until it ends.
std::string on_terminal(const Sandbox& s, const std::string& file, unsigned short columns, const char* kind = "xterm") {
  winsize size{24, columns, 0, 0};
  int fd;
  pid_t pid = forkpty(&fd, nullptr, nullptr, &size);
  if (pid < 0) throw std::runtime_error("there is no terminal to be had: is /dev/pts mounted?");
  if (pid == 0) {
    if (chdir(s.dir().c_str()) != 0 || setenv("TERM", kind, 1) != 0) _exit(1);
    execl(SHEAF_BINARY, "sheaf", file.c_str(), nullptr);
    _exit(1);
  }
  std::string out;
  char buf[4096];
  for (ssize_t n; (n = read(fd, buf, sizeof buf)) > 0;)
    out.append(buf, static_cast<size_t>(n));
  close(fd);
  waitpid(pid, nullptr, 0);
  return out;
}

int columns_of(const std::string& line) {
  int n = 0;
  for (char c : line)
    n += (c & 0xC0) != 0x80;
  return n;
}

TEST(Training, BarFitsTheTerminal) {
  Sandbox s;
  s.write("a.shf",
          "(progress [i 40] [acc 0] {:show (fn [a] {:loss (/ a 7.0)})}\n"
          "  (do (when (= i 20) (print \"half way\")) (reduce + acc (range 40000))))\n");
  for (unsigned short columns : {80, 40}) {
    std::string out = on_terminal(s, "a.shf", columns);
    EXPECT_TRUE(contains(out, "half way\r\n")) << out;
    EXPECT_TRUE(contains(out, "\r\x1b[K")) << out;
    EXPECT_TRUE(contains(out, "100%")) << out;
    EXPECT_EQ(contains(out, "━"), columns == 80) << out;
    // Between carriage returns no line is wider than the terminal.
    std::string line;
    for (size_t i = 0; i < out.size(); ++i) {
      if (out[i] == '\r' || out[i] == '\n') {
        EXPECT_LT(columns_of(line), columns) << line;
        line.clear();
      } else if (out.compare(i, 3, "\x1b[K") == 0) {
        i += 2;
      } else {
        line += out[i];
      }
    }
  }
}

TEST(Training, BarFromBeginningToEnd) {
  Sandbox s;
  s.write("a.shf",
          "(try (progress [i 4] [acc 0] (if (= i 2) (error \"stop\") acc)) (catch e (print e)))\n(print \"after\")\n");
  // The bar appears before the first iteration ends, stays when an error ends the loop, and is not redrawn.
  std::string out = on_terminal(s, "a.shf", 80);
  EXPECT_TRUE(out.starts_with("  0% ─")) << out;
  EXPECT_TRUE(contains(out, "0/4  --:-- left\r\x1b[K 25%")) << out;
  EXPECT_TRUE(contains(out, "1/4  ")) << out;
  EXPECT_EQ(out.find('%', out.find("after")), std::string::npos) << out;
  // Without escape codes it is lines.
  out = on_terminal(s, "a.shf", 80, "dumb");
  EXPECT_FALSE(contains(out, "\x1b")) << out;
  EXPECT_TRUE(out.starts_with("1/4   25%")) << out;
  // A run with nothing left to do says so.
  s.write("b.shf", std::string(kRun) + "(run \"r\" 3) (run \"r\" 3) (print)");
  EXPECT_TRUE(contains(on_terminal(s, "b.shf", 80), "3/3  100%  done by an earlier run\r\n"));
}

TEST(Training, LinesInAFile) {
  Sandbox s;
  s.write("a.shf", "(progress [i 20] [acc 0] {:every 5 :show (fn [a] {:acc a})} (+ acc 1))");
  Result r = s.run("a.shf");
  EXPECT_TRUE(r.out.starts_with(" 5/20   25%  ")) << r.out;
  EXPECT_TRUE(contains(r.out, "  acc 5\n10/20   50%  ")) << r.out;
  EXPECT_FALSE(contains(r.out, "\r")) << r.out;
  // NaN and infinity are written as everywhere else.
  for (const auto& [x, text] : {std::pair("(- (/ 0.0 0.0))", "x NaN\n"), std::pair("(/ 1.0 0.0)", "x inf\n"),
                                std::pair("(/ -1.0 0.0)", "x -inf\n")}) {
    r = s.run(std::string("-c '(progress [i 1] [a 1.0] {:every 1 :show (fn [a] {:x a})} ") + x + ")'");
    EXPECT_TRUE(contains(r.out, text)) << r.out << r.err;
  }
  EXPECT_TRUE(contains(s.run("-c '(progress [i 2] [a 0] {:evry 1} a)'").err,
                       "progress: unknown option :evry. Known options: :every :show"));
}

// A program that runs meanwhile; what it prints is lost.
pid_t start(const Sandbox& s, const char* file, const std::function<void()>& prepare = [] {}) {
  pid_t pid = fork();
  if (pid < 0) throw std::runtime_error("fork failed");  // kill(-1) would end everything
  if (pid > 0) return pid;
  alarm(60);
  prepare();
  if (chdir(s.dir().c_str()) != 0 || !freopen("/dev/null", "w", stdout) || !freopen("err", "w", stderr)) _exit(1);
  setenv("HOME", s.dir().c_str(), 1);
  execl(SHEAF_BINARY, "sheaf", file, nullptr);
  _exit(1);
}

void wait_for(const std::function<bool()>& done) {
  for (int i = 0; i < 40000 && !done(); ++i)
    std::this_thread::sleep_for(std::chrono::microseconds(500));
}
void wait_for_file(const Sandbox& s, const char* name) {
  wait_for([&] { return fs::exists(s.dir() / name); });
}

// Its status as a shell shows it.
int status_of(pid_t pid) {
  int status = 0;
  waitpid(pid, &status, 0);
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
bool is_ended_by(pid_t pid, int signal) {
  int status = 0;
  waitpid(pid, &status, 0);
  return WIFSIGNALED(status) && WTERMSIG(status) == signal;
}

// A training run that reports when its first steps are over.
std::string endless_run() {
  std::string text = kRun;
  text.replace(text.find("(merge state"), std::strlen("(merge state"),
               "(when (= i 20) (io \"write\" \"running\" \"\"))\n    (merge state");
  return text + "(run \"r\" 100000000)\n";
}

// The saved state is a step of the run, and continues to the bits of an uninterrupted run.
void expect_continues(const Sandbox& s) {
  s.write("b.shf", std::string(kRun) +
                       "(let [n (get (load-checkpoint \"r\") :step)]\n"
                       "  (print (> n 0) (equal? (run \"r\" (+ n 5)) (run \"other\" (+ n 5)))))\n");
  Result r = s.run("b.shf");
  EXPECT_TRUE(contains(r.out, "true true\n")) << r.out << r.err;
}

TEST(Training, SignalsSaveAndEnd) {
  for (int signal : {SIGINT, SIGTERM, SIGHUP}) {
    Sandbox s;
    s.write("a.shf", endless_run());
    pid_t pid = start(s, "a.shf");
    wait_for_file(s, "running");
    kill(pid, signal);
    EXPECT_EQ(status_of(pid), 128 + signal);
    expect_continues(s);
  }
}

// The first step takes long while it is compiled.
TEST(Training, ASignalInTheFirstStepSaves) {
  for (bool saves : {true, false}) {
    Sandbox s;
    s.write("a.shf", std::string("(defn step [state i]\n"
                                 "  (io \"write\" \"running\" \"\")\n"
                                 "  (while (not (io \"exists\" \"go\")) [x 0] (+ x 1))\n"
                                 "  (assoc state :w (+ (:w state) 1.0)))\n"
                                 "(training-loop {:w [1 2]} step {:steps 100 :lines 0") +
                         (saves ? " :path \"r\"})" : "})"));
    pid_t pid = start(s, "a.shf");
    wait_for_file(s, "running");
    kill(pid, SIGTERM);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    s.write("go", "");
    EXPECT_EQ(status_of(pid), 128 + SIGTERM);
    if (saves)
      EXPECT_EQ(s.run("-c '(load-checkpoint \"r\")'").out, "{:step 1, :w [2. 3.]}\n");
    else
      EXPECT_TRUE(contains(s.read("err"), "interrupted after step 1; nothing is saved without a :path\n"));
  }
}

// Signals as `timeout` and shells send them. Of several pending signals the system delivers the lowest number first,
// whichever came first.
TEST(Training, CopiesOfASignalAreOneRequest) {
  Sandbox s;
  s.write("a.shf", endless_run());
  pid_t pid = start(s, "a.shf");
  wait_for_file(s, "running");
  for (int signal : {SIGTERM, SIGTERM, SIGHUP})
    kill(pid, signal), std::this_thread::sleep_for(std::chrono::microseconds(50));
  const int status = status_of(pid);
  EXPECT_TRUE(status == 128 + SIGTERM || status == 128 + SIGHUP) << status;
  expect_continues(s);
}

TEST(Training, ASecondSignalEndsAtOnce) {
  Sandbox s;
  s.write("a.shf", "(interrupted?) (io \"write\" \"running\" \"\") (while true [x 0] (+ x 1))");
  pid_t pid = start(s, "a.shf");
  wait_for_file(s, "running");
  kill(pid, SIGTERM);
  std::this_thread::sleep_for(std::chrono::milliseconds(1100));
  EXPECT_EQ(waitpid(pid, nullptr, WNOHANG), 0) << "the first is for the program";
  kill(pid, SIGTERM);
  EXPECT_TRUE(is_ended_by(pid, SIGTERM));
}

TEST(Training, ASignalEndsAProgramThatDoesNotAsk) {
  Sandbox s;
  s.write("never.shf", "(io \"write\" \"running\" \"\") (while true [x 0] (+ x 1))");
  s.write("after.shf", std::string(kRun) + "(run \"r\" 5) (io \"write\" \"running\" \"\") (while true [x 0] (+ x 1))");
  for (const char* program : {"never.shf", "after.shf"})
    for (int signal : {SIGTERM, SIGHUP}) {
      fs::remove(s.dir() / "running");
      pid_t pid = start(s, program);
      wait_for_file(s, "running");
      kill(pid, signal);
      EXPECT_TRUE(is_ended_by(pid, signal)) << program;
    }
}

TEST(Training, NohupIgnoresTheHangup) {
  Sandbox s;
  s.write("a.shf", endless_run());
  pid_t pid = start(s, "a.shf", [] { std::signal(SIGHUP, SIG_IGN); });
  wait_for_file(s, "running");
  kill(pid, SIGHUP);
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_EQ(waitpid(pid, nullptr, WNOHANG), 0);
  kill(pid, SIGTERM);
  EXPECT_EQ(status_of(pid), 128 + SIGTERM);
}

// A terminal that is closed sends SIGHUP, and can no longer be written to.
TEST(Training, AClosedTerminalSavesAndEnds) {
  Sandbox s;
  s.write("a.shf", endless_run());
  int fd;
  pid_t pid = forkpty(&fd, nullptr, nullptr, nullptr);
  ASSERT_GE(pid, 0) << "there is no terminal to be had: is /dev/pts mounted?";
  if (pid == 0) {
    alarm(60);
    if (chdir(s.dir().c_str()) != 0 || setenv("TERM", "xterm", 1) != 0) _exit(1);
    execl(SHEAF_BINARY, "sheaf", "a.shf", nullptr);
    _exit(1);
  }
  wait_for([&] {
    char buf[4096];
    for (pollfd p{fd, POLLIN, 0}; poll(&p, 1, 0) > 0 && read(fd, buf, sizeof buf) > 0;) {
    }
    return fs::exists(s.dir() / "running");
  });
  close(fd);
  EXPECT_EQ(status_of(pid), 128 + SIGHUP);
  expect_continues(s);
}

// In the last save as in any other: it is finished, and the code after the loop does not start.
TEST(Training, ControlCInTheLastSave) {
  Sandbox s;
  s.write("a.shf",
          "(training-loop {:w (zeros [40000000])} (fn [s i] s) {:steps 1 :path \"r\"})\n(print \"after\")\n(while true "
          "[x 0] (+ x 1))\n");
  pid_t pid = start(s, "a.shf");
  std::error_code error;
  wait_for([&] { return fs::exists(s.dir() / "r", error) && !fs::is_empty(s.dir() / "r", error); });
  kill(pid, SIGINT);
  EXPECT_EQ(status_of(pid), 130);
  s.write("b.shf", "(print (get (load-checkpoint \"r\") :step))\n");
  EXPECT_EQ(s.run("b.shf").out, "1\n");
}

// The loop checks for Ctrl-C; the code after it does not, and is ended by the signal.
TEST(Training, ControlCAfterTheLoop) {
  Sandbox s;
  s.write("a.shf", std::string(kRun) + "(run \"r\" 5)\n(print \"trained\")\n(while true [x 0] (+ x 1))\n");
  Result r = s.run("--version; timeout --preserve-status -k 20 -s INT 3 '" SHEAF_BINARY "' a.shf");
  EXPECT_EQ(r.status, 130);
  EXPECT_TRUE(contains(r.out, "trained\n")) << r.out << r.err;
}

// A run that is killed at any moment continues from its newest checkpoint to the same bits.
TEST(Training, KilledRunsContinue) {
  Sandbox s;
  std::string often = kRun;
  often.replace(often.find(":every 1000000"), std::strlen(":every 1000000"), ":every 7");
  s.write("a.shf", often + "(run \"r\" 400) (print \"done\")\n");
  int killed = 0;
  for (int round = 0; round < 8; ++round) {
    pid_t pid = start(s, "a.shf");
    std::this_thread::sleep_for(std::chrono::milliseconds(40 + 35 * round));
    kill(pid, SIGKILL);
    killed += is_ended_by(pid, SIGKILL);
  }
  s.write("b.shf", often + "(print (equal? (run \"r\" 400) (run \"whole\" 400)))\n");
  Result r = s.run("b.shf");
  EXPECT_TRUE(contains(r.out, "true\n")) << killed << " killed\n" << r.out << r.err;
}

// So does a run that SIGTERM ends at any moment: its newest checkpoint and its log are those of an uninterrupted run.
// SHEAF_COUNT: the number of moments.
TEST(Training, TerminatedRunsContinue) {
  Sandbox s;
  std::string often = kRun;
  often.replace(often.find(":every 1000000"), std::strlen(":every 1000000"),
                ":every 50 :log \"log.jsonl\" :log-every 3");
  s.write("a.shf", often + "(run \"r\" 3000)\n");
  const char* last = "r/step-00003000.safetensors";
  auto results = [&] { return s.read(last) + s.read("log.jsonl"); };
  auto clear = [&] { fs::remove_all(s.dir() / "r"), fs::remove(s.dir() / "log.jsonl"); };
  ASSERT_EQ(status_of(start(s, "a.shf")), 0) << s.read("err");  // leaves compiled code behind
  clear();
  auto begin = std::chrono::steady_clock::now();
  ASSERT_EQ(status_of(start(s, "a.shf")), 0) << s.read("err");
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  std::string whole = results();
  ASSERT_TRUE(fs::exists(s.dir() / last));
  const char* count = std::getenv("SHEAF_COUNT");
  const int moments = count ? std::atoi(count) : 50;
  uint32_t seed = std::random_device{}();
  std::printf("seed %u\n", seed);
  std::fflush(stdout);  // before there are others with the same buffer
  std::mt19937 random(seed);
  clear();
  for (int ended = 0, saved = 0;;) {
    pid_t pid = start(s, "a.shf");
    if (ended < moments) {
      std::this_thread::sleep_for(
          std::chrono::duration<double>(std::uniform_real_distribution<double>(0, seconds)(random)));
      kill(pid, SIGTERM);
    }
    int raw = 0;
    waitpid(pid, &raw, 0);
    // Before the loop checks, and when all is done, the signal itself ends the program.
    bool died = WIFSIGNALED(raw) && WTERMSIG(raw) == SIGTERM;
    bool left = WIFEXITED(raw) && WEXITSTATUS(raw) == 128 + SIGTERM;
    ended += died || left;
    saved += left;
    if (died || left) continue;
    ASSERT_TRUE(WIFEXITED(raw) && WEXITSTATUS(raw) == 0) << s.read("err") << "seed " << seed;
    ASSERT_TRUE(results() == whole) << ended << " signals, seed " << seed;
    if (ended < moments) {
      clear();
      continue;
    }
    EXPECT_GT(saved, 0);
    break;
  }
}

}  // namespace
}  // namespace sheaf::tools
