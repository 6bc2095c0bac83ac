// The prompt, on a pipe and on a terminal.
#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>

#include <chrono>
#include <stdexcept>
#include <thread>

#include "run_sheaf.h"

namespace sheaf::tools {
namespace {

TEST(ReplPipe, ResultsAndStreams) {
  Sandbox s;
  Result r = s.run("", "(+ 1 2)\n[[1 2]\n [3 4]]\n\"hello\"\nnil\n(tensor 5.0)\n*2\n");
  EXPECT_EQ(r.status, 0);
  EXPECT_EQ(r.out,
            "=> 3\n"
            "=> tensor f32[2x2] = [[1. 2.]\n"
            "                      [3. 4.]]\n"
            "=> hello\n"
            "=> tensor f32[] = 5.\n");
  EXPECT_EQ(r.err, "Sheaf 2.2.0 (:h for help)\nBye!\n");
}

TEST(ReplPipe, LastResultsAndError) {
  Sandbox s;
  Result r = s.run("", "1\n2\n3\n(list *1 *2 *3)\n(car 1)\n(get *e :message)\n");
  EXPECT_TRUE(r.out.ends_with("=> [3, 2, 1]\n=> Unknown function: car\n")) << r.out;
  EXPECT_TRUE(contains(r.err, "error: Unknown function: car\n --> <repl>:1:1\n  |\n1 | (car 1)"));
}

// Arrays in globals are inputs of compiled code: another value needs no other code, and is seen.
TEST(ReplPipe, CompiledCodeOutlivesItsData) {
  Sandbox s;
  Result r = s.run("-v --jit=on",
                   "(def w [1.0 2.0])\n(defn g [x] (sum (* x w)))\n(defn h [p x] (with-params [p] (sum (* x a "
                   "w))))\n(def x [1.0 1.0])\n"
                   "(g x)\n(g x)\n(h {:a 2.0} x)\n(h {:a 2.0} x)\n"
                   "(def w [10.0 20.0])\n(g x)\n(g x)\n(h {:a 2.0} x)\n(h {:a 2.0} x)\n"
                   "(def w 7.0)\n(g x)\n(h {:a 2.0} x)\n");
  EXPECT_TRUE(contains(r.out,
                       "=> 3.0\n=> 3.0\n=> 6.0\n=> 6.0\n=> tensor f32[2] = [10. 20.]\n=> 30.0\n=> 30.0\n=> 60.0\n=> "
                       "60.0\n=> 7.0\n=> 14.0\n=> 28.0\n"))
      << r.out;
  for (std::string name : {"g", "h"}) {
    std::string line = "jit: compiling " + name + " ";
    size_t first = r.err.find(line);
    EXPECT_NE(first, std::string::npos) << r.err;
    EXPECT_EQ(r.err.find(line, first + 1), std::string::npos) << r.err;
  }
}

TEST(ReplPipe, RedefinitionReachesDependants) {
  Sandbox s;
  Result r = s.run(
      "",
      "(defn f [] 1)\n(defn g [x] (+ (f) (sum x)))\n(g [1])\n(defn f [] 10)\n(g [1])\n(defn sum [x] 100)\n(g [1])\n"
      "(defn late [] (+ later 1))\n(def later 5)\n(late)\n");
  EXPECT_TRUE(contains(r.out, "=> 2.0\n=> <fn:f>\n=> 11.0\n=> <fn:sum>\n=> 110\n")) << r.out;
  EXPECT_TRUE(r.out.ends_with("=> 5\n=> 6\n")) << r.out;
  EXPECT_TRUE(contains(r.err, "warning: sum hides the built-in sum\n"));
  EXPECT_TRUE(contains(r.err, "note: late cannot run yet: Undefined symbol: later\n"));
}

// Aliases and private names of one line hold for the next ones.
TEST(ReplPipe, ModulesAndPrivateNames) {
  Sandbox s;
  s.write("lib.shf", "(def k 10)\n(defn scaled [x] (* x k))\n");
  Result r =
      s.run("", "(use lib :as l :only [scaled])\n(scaled 2)\nl/k\nk\n(def k 3)\n(scaled k)\n(defn- own [] 4)\n(own)\n");
  EXPECT_EQ(r.out, "=> 20\n=> 10\n=> 3\n=> 30\n=> <fn:own>\n=> 4\n") << r.err;
  EXPECT_TRUE(contains(r.err, "error: Undefined symbol: k\n")) << r.err;
}

TEST(ReplPipe, Commands) {
  Sandbox s;
  s.write("lib.shf", "(def data (list 1 2))\n(defn size [] (len data))\n");
  Result r = s.run("",
                   ":help let\n:h nothing-like-it\n(defn f [x] (* x 2))\n(def k 3)\n:env\n:reg\n:show f\n:show "
                   "k\n:show zork\n:frob\n:type [1 2]\n"
                   ":load lib.shf\n(size)\n:q\n(print \"unreached\")\n");
  EXPECT_TRUE(r.out.starts_with("\n  let\n  ---\n")) << r.out;
  // All functions, the library's too, then the variables; then the functions again.
  EXPECT_TRUE(contains(r.out, "Functions:\n  ")) << r.out;
  size_t variables = r.out.find("Variables:\n  k = 3\n  ");
  ASSERT_NE(variables, std::string::npos) << r.out;
  for (const char* line : {"\n  f\n", "\n  relu\n"}) {
    EXPECT_TRUE(contains(r.out.substr(0, variables), line)) << r.out;
    EXPECT_TRUE(contains(r.out.substr(variables), line)) << r.out;
  }
  EXPECT_TRUE(contains(r.out, "\n(defn f [x] (* x 2))\n3\ntensor f32[2]\n=> <fn:size>\n=> 2\n")) << r.out;
  EXPECT_FALSE(contains(r.out, "unreached"));
  for (const char* line :
       {"No help found for 'nothing-like-it'.\n", "Unknown symbol: zork\n", "Unknown command: :frob\n"})
    EXPECT_TRUE(contains(r.err, line));
  r = s.run("", ":show relu\n");
  EXPECT_EQ(r.out, "(defn relu [x] (maximum x 0.0))\n");
  r = s.run("", ":list\n");
  EXPECT_TRUE(r.out.starts_with("Sheaf built-in functions ("));
  EXPECT_TRUE(contains(r.out, "\n- relu\n"));
}

TEST(ReplPipe, GuardsAndExit) {
  Sandbox s;
  Result r = s.run("--guard no-nan", "(defn f [x] (log x))\n(f 0)\n(guard :range [0 1] 5)\n(+ 1 1)\n(exit 3)\n");
  EXPECT_EQ(r.status, 3);
  EXPECT_TRUE(r.out.ends_with("=> 2\n"));
  EXPECT_TRUE(contains(r.err, "Guard Breached: NoNan"));
  EXPECT_TRUE(contains(r.err, "Function: f\n"));
  EXPECT_TRUE(contains(r.err, "Guard Breached: Range"));
}

TEST(ReplPipe, UnfinishedInputIsReported) {
  Sandbox s;
  Result r = s.run("", "(+ 1");
  EXPECT_TRUE(contains(r.err, "error: Unclosed (+ ...)"));
}

TEST(ReplPipe, ShortCommands) {
  Sandbox s;
  Result r = s.run("",
                   "?relu\n??relu\n??let\n!echo from the shell\n!exit 3\n!cat\n!=\n(defn softer [x] x)\n:apropos "
                   "SOFT\n:apropos zork\n??\n!\n:apropos\n");
  EXPECT_TRUE(r.out.starts_with("\n  relu\n  ----\n")) << r.out;
  EXPECT_TRUE(contains(r.out,
                       "(defn relu [x] (maximum x 0.0))\nlet is a special form: (let [pattern value …] body …)\n"
                       "from the shell\n=> <builtin:!=>\n"))
      << r.out;
  // Names come before mentions.
  size_t named = r.out.find("\n  softer "), mentioned = r.out.find("\n  cross-entropy-loss ");
  EXPECT_LT(named, mentioned) << r.out;
  EXPECT_NE(mentioned, std::string::npos) << r.out;
  for (const char* line :
       {"exit status 3\n", "Nothing about 'zork'.\n", "Usage: ??NAME\n", "Usage: !COMMAND\n", "Usage: :apropos WORD\n"})
    EXPECT_TRUE(contains(r.err, line)) << r.err;
  // Nothing is paged on a pipe.
  EXPECT_FALSE(contains(s.run("", ":list\n").out, "-- more"));
}

// The program on a terminal of its own.
class Terminal {
 public:
  explicit Terminal(const Sandbox& s, const char* pager = nullptr) {
    winsize size{24, 80, 0, 0};
    pid_ = forkpty(&fd_, nullptr, nullptr, &size);
    if (pid_ < 0) throw std::runtime_error("there is no terminal to be had: is /dev/pts mounted?");
    if (pid_ == 0) {
      setenv("HOME", s.dir().c_str(), 1);
      setenv("TERM", "xterm", 1);
      pager ? setenv("PAGER", pager, 1) : unsetenv("PAGER");
      if (chdir(s.dir().c_str()) == 0) execl(SHEAF_BINARY, "sheaf", nullptr);
      _exit(127);
    }
  }
  ~Terminal() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    close(fd_);
  }
  void type(const std::string& keys) {
    EXPECT_EQ(write(fd_, keys.data(), keys.size()), static_cast<ssize_t>(keys.size()));
  }
  // Reads until `text` has come since the last call; false after 20 seconds.
  bool expect(const std::string& text) {
    auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    size_t at;
    while ((at = seen_.find(text)) == std::string::npos) {
      pollfd p{fd_, POLLIN, 0};
      if (std::chrono::steady_clock::now() > end) return false;
      if (poll(&p, 1, 1000) <= 0) continue;
      char buffer[4096];
      ssize_t n = read(fd_, buffer, sizeof buffer);
      if (n <= 0) return seen_.find(text) != std::string::npos;
      seen_.append(buffer, static_cast<size_t>(n));
    }
    seen_.erase(0, at + text.size());
    return true;
  }

 private:
  int fd_ = -1;
  pid_t pid_ = -1;
  std::string seen_;
};

TEST(ReplTerminal, EditsCompletesAndSurvivesInterrupts) {
  Sandbox s;
  s.write("lib.shf", "(defn- hidden-helper [x] x) (defn hidden-not [x] (hidden-helper x))");
  {
    Terminal t(s);
    ASSERT_TRUE(t.expect("sheaf> "));
    t.type(
        "(+ 40 3\x7f"
        "2)\r");
    EXPECT_TRUE(t.expect("=> 42"));
    ASSERT_TRUE(t.expect("sheaf> "));
    t.type("(linsp\x7f\t");
    EXPECT_TRUE(t.expect("linspace"));
    t.type("\x03");
    EXPECT_TRUE(t.expect("^C (use :quit to exit)"));
    // Private functions of the library and of modules are not offered: there is one word left.
    ASSERT_TRUE(t.expect("sheaf> "));
    t.type("(use lib)\r");
    ASSERT_TRUE(t.expect("sheaf> "));
    t.type("(adam-\t");
    EXPECT_TRUE(t.expect("adam-step"));
    t.type(" (hidden-\t");
    EXPECT_TRUE(t.expect("hidden-not"));
    t.type("\x03");
    EXPECT_TRUE(t.expect("^C (use :quit to exit)"));
    ASSERT_TRUE(t.expect("sheaf> "));
    t.type("(do\r7)\r");
    EXPECT_TRUE(t.expect("     > "));
    EXPECT_TRUE(t.expect("=> 7"));
    ASSERT_TRUE(t.expect("sheaf> "));
    t.type("(while true [x 0] (+ x 1))\r");
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    t.type("\x03");
    EXPECT_TRUE(t.expect("error: Interrupted"));
    ASSERT_TRUE(t.expect("sheaf> "));
    t.type("(for [i (range 8)] (zeros '[100 100]))\r");
    EXPECT_TRUE(t.expect("8 tensors, 80,000 parameters"));
    EXPECT_TRUE(t.expect("[0-7] each f32[100x100]"));
    ASSERT_TRUE(t.expect("sheaf> "));
    t.type("\x04");
    EXPECT_TRUE(t.expect("Bye!"));
  }
  EXPECT_TRUE(s.read(".sheaf_history").starts_with("#V2\n(+ 40 2)\n(use lib)\n(do\\n  7)\n"))
      << s.read(".sheaf_history");
}

TEST(ReplTerminal, CompletesPathsOptionsAndKeywords) {
  Sandbox s;
  fs::create_directory(s.dir() / "data");
  s.write("data/train.csv", "a,b\n");
  s.write("data/test.csv", "a,b\n");
  s.write("model.npz", "");
  Terminal t(s);
  ASSERT_TRUE(t.expect("sheaf> "));
  auto typed = [&](const std::string& keys, const std::string& shown) {
    t.type(keys);
    EXPECT_TRUE(t.expect(shown + "\033[0m\r")) << keys;  // the end of the entry, not a hint
    t.type("\x03");
    EXPECT_TRUE(t.expect("^C (use :quit to exit)"));
    ASSERT_TRUE(t.expect("sheaf> "));
  };
  // A file closes its string, a folder does not.
  typed("(io \"load\" \"mo\t", "\"model.npz\"");
  typed("(io \"load\" \"da\ttr\t", "\"data/train.csv\"");
  typed(":load da\tte\t", "data/test.csv");
  typed("!cat da\tte\t", "data/test.csv");
  // Options of built-ins, of library functions, of their dicts, and keys of the user's data.
  typed("(sum [[1 2]] :ax\t", ":axis");
  typed("(save-checkpoint \"run\" state :k\t", ":keep");
  typed("(adamw {:lr 0.1 :ma\t", ":mask");
  t.type("(def config {:model {:width-of-rows 3}})\r");
  ASSERT_TRUE(t.expect("sheaf> "));
  typed("(:wid\t", ":width-of-rows");
  typed("[1 2] :bf\t", ":bf16");
  // Names of the entry itself, and names after commands.
  typed("(defn f [learning-rate] (* lear\t", "learning-rate");
  typed("?linsp\t", "?linspace");
  typed(":show linsp\t", "linspace");
  typed(":apr\t", ":apropos");
  t.type("(io \"load\" \"data/t\t\t");
  EXPECT_TRUE(t.expect("test.csv   train.csv\r"));
  t.type("\x15(sum [[1 2]] \t\t");
  EXPECT_TRUE(t.expect(":axis      :dtype     :keepdims\r"));
  t.type("\x15(\t\t");
  EXPECT_TRUE(t.expect("\r\n… and "));  // not more than the screen holds
}

TEST(ReplTerminal, HintsAtSignatures) {
  Sandbox s;
  Terminal t(s);
  ASSERT_TRUE(t.expect("sheaf> "));
  // Below the entry, dim, with the cursor moved back up.
  t.type("(sum [1 2] ");
  EXPECT_TRUE(t.expect("\r\n\033[2m(sum x [:axis k] [:keepdims] [:DTYPE])\033[0m\033[1A"));
  t.type(":axis 0)\r");
  EXPECT_TRUE(t.expect("= 3."));
  ASSERT_TRUE(t.expect("sheaf> "));
  t.type("(defn area [width height] (* width height))\r");
  ASSERT_TRUE(t.expect("sheaf> "));
  t.type("(area ");
  EXPECT_TRUE(t.expect("\033[2m(area width height)\033[0m"));
  t.type("(+ 1 1) ");  // the inner call is over: the outer one's again
  EXPECT_TRUE(t.expect("\033[2m(area width height)\033[0m"));
  t.type("\x15(adamw {");
  EXPECT_TRUE(t.expect("\033[2m(adamw options) :b1"));
  // Cut to the row.
  t.type("\x15(defn many [a-rather-long-name another-rather-long-name a-third-rather-long-name one-more] 1)\r");
  ASSERT_TRUE(t.expect("sheaf> "));
  t.type("(many ");
  EXPECT_TRUE(
      t.expect("\033[2m(many a-rather-long-name another-rather-long-name a-third-rather-long-name one…\033[0m"));
}

TEST(ReplTerminal, LongTextsArePaged) {
  Sandbox s;
  {
    Terminal t(s);
    ASSERT_TRUE(t.expect("sheaf> "));
    t.type(":list\r");
    EXPECT_TRUE(t.expect("Sheaf built-in functions ("));
    EXPECT_TRUE(t.expect("-- more: "));
    t.type(" ");
    EXPECT_TRUE(t.expect("Compilation:"));
    EXPECT_TRUE(t.expect("-- more: "));
    t.type("\r");
    EXPECT_TRUE(t.expect("-- more: "));
    t.type("q");
    ASSERT_TRUE(t.expect("sheaf> "));
    t.type("(+ 40 2)\r");
    EXPECT_TRUE(t.expect("=> 42"));
    // Long lines are broken between words.
    ASSERT_TRUE(t.expect("sheaf> "));
    t.type("(defn f \"" + std::string(76, 'x') + " and yyy\" [x] x)\r");
    ASSERT_TRUE(t.expect("=> <fn:f>"));
    t.type("?f\r");
    EXPECT_TRUE(t.expect("  " + std::string(76, 'x') + "\r\n  and yyy\r\n"));
  }
  Terminal t(s, "sed 's/^/paged: /'");
  ASSERT_TRUE(t.expect("sheaf> "));
  t.type(":list\r");
  EXPECT_TRUE(t.expect("paged: - relu"));
  ASSERT_TRUE(t.expect("sheaf> "));
  t.type("?relu\r");
  EXPECT_TRUE(t.expect("\n  relu\r\n"));
}

}  // namespace
}  // namespace sheaf::tools
