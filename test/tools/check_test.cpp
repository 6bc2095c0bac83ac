#include <gtest/gtest.h>

#include "run_sheaf.h"

namespace sheaf::tools {
namespace {

TEST(Check, ReportsWithoutRunning) {
  Sandbox s;
  s.write("a.shf", "(print \"runs\")\n(defn f [x] (+ x yy))\n(f 1 2)\n");
  Result r = s.run("check a.shf");
  EXPECT_EQ(r.status, 1);
  EXPECT_FALSE(contains(r.out, "runs\n"));
  EXPECT_TRUE(contains(r.out, "error: Undefined symbol: yy\n --> ")) << r.out;
  EXPECT_TRUE(contains(r.out, "a.shf:2:18\n")) << r.out;
  EXPECT_TRUE(r.out.ends_with("1 error in 1 file\n")) << r.out;
  s.write("good.shf", "(defn f [x] x)\n");
  r = s.run("check good.shf");
  EXPECT_EQ(r.status, 0);
  EXPECT_EQ(r.out + r.err, "");
  EXPECT_EQ(s.run("check").status, 1);
  EXPECT_EQ(s.run("check none.shf").status, 1);
  EXPECT_EQ(s.run("check --frob good.shf").status, 1);
}

// Their paths are read by the same code.
TEST(CheckAndFormat, Paths) {
  for (const std::string& command : {std::string("check"), std::string("fmt")}) {
    Sandbox s;
    s.write("bad.shf", "(+ 1");
    Result r = s.run(command + " none.shf bad.shf");
    EXPECT_EQ(r.status, 1);
    EXPECT_TRUE(contains(r.err, "sheaf: cannot read 'none.shf': No such file or directory\n")) << r.err;
    EXPECT_TRUE(contains(r.out + r.err, "Unclosed")) << "the file after it is read: " << r.out << r.err;
    s.write("good.shf", "(+ 1 2)\n");
    EXPECT_EQ(s.run(command + " none.shf good.shf").status, 1);
    r = s.run(command + " --frob good.shf");
    EXPECT_EQ(r.status, 1);
    EXPECT_TRUE(contains(r.err, command + ": unknown option '--frob'. Known options: --")) << r.err;
    r = s.run(command);
    EXPECT_TRUE(contains(r.err, command + " requires at least one file or folder, or - for standard input")) << r.err;
  }
}

TEST(Check, Json) {
  Sandbox s;
  Result r = s.run("check --json -", "(defn f [width]\n  (* widht \"\\q\"))\n");
  EXPECT_EQ(r.status, 1);
  EXPECT_EQ(std::count(r.out.begin(), r.out.end(), '\n'), 2) << r.out;
  for (const char* part : {"\"file\":\"<stdin>\"", "\"line\":2", "\"column\":6", "\"end\":{\"column\":11,\"line\":2}",
                           "\"severity\":\"error\"", "\"message\":\"Undefined symbol: widht\"",
                           "\"hint\":\"Check for typos: did you mean width?\"", "Unknown escape \\\\q"})
    EXPECT_TRUE(contains(r.out, part)) << part << "\n" << r.out;
}

TEST(Check, FoldersAndModules) {
  Sandbox s;
  fs::create_directories(s.dir() / "d" / ".hidden");
  s.write("d/m.shf", "(defn one [] 1)\n");
  s.write("d/a.shf", "(use m)\n(print (one) (two))\n");
  s.write("d/.hidden/b.shf", "(");
  Result r = s.run("check d");
  EXPECT_EQ(r.status, 1);
  EXPECT_TRUE(contains(r.out, "Unknown function: two")) << r.out;
  EXPECT_TRUE(r.out.ends_with("1 error in 2 files\n")) << r.out;
}

TEST(Load, WarnsBeforeItRuns) {
  Sandbox s;
  s.write("a.shf", "(defn show [x] (prnt x))\n(defn other [] (+ missing 1))\n(print \"runs\")\n(print (show 1))\n");
  Result r = s.run("a.shf");
  EXPECT_EQ(r.status, 1);
  EXPECT_EQ(r.out, "runs\n");
  EXPECT_TRUE(contains(r.err, "a.shf:1:17: warning: Unknown function: prnt. Check for typos: did you mean print?\n"))
      << r.err;
  EXPECT_TRUE(contains(r.err, "a.shf:2:19: warning: Undefined symbol: missing. Check for typos.\n")) << r.err;
  s.write("strict.shf", "(use strict)\n(print \"runs\")\n(defn other [] (+ missing 1))\n");
  r = s.run("strict.shf");
  EXPECT_EQ(r.status, 1);
  EXPECT_EQ(r.out, "");
  EXPECT_TRUE(contains(r.err, "error: Undefined symbol: missing\n")) << r.err;
  EXPECT_TRUE(contains(r.err, "(use strict) makes this warning an error")) << r.err;
}

TEST(Stdin, RunsAndFormats) {
  Sandbox s;
  Result r = s.run("- a b", "(print (args))\n(+ 1 2)\n");
  EXPECT_EQ(r.status, 0);
  EXPECT_EQ(r.out, "['a', 'b']\n3\n");
  r = s.run("-", "(print \"a\")\n(+ 1");
  EXPECT_EQ(r.status, 1);
  EXPECT_TRUE(contains(r.err, "<stdin>:2:1")) << r.err;
  r = s.run("fmt -", "(defn f [x]\n(+ x   1))\n");
  EXPECT_EQ(r.status, 0);
  EXPECT_EQ(r.out, "(defn f [x]\n  (+ x 1))\n");
  r = s.run("fmt --check -", "(+  1 2)\n");
  EXPECT_EQ(r.status, 1);
  EXPECT_EQ(r.out, "would format -\n");
  EXPECT_EQ(s.run("fmt --check -", "(+ 1 2)\n").status, 0);
  r = s.run("fmt -", "(+ 1");
  EXPECT_EQ(r.status, 1);
  EXPECT_EQ(r.out, "");
}

TEST(Format, Folders) {
  Sandbox s;
  fs::create_directories(s.dir() / "d" / "e");
  s.write("d/a.shf", "(+  1 2)\n");
  s.write("d/e/b.shf", "(+ 1  2)\n");
  s.write("d/notes.txt", "(+  1 2)\n");
  Result r = s.run("fmt --check d");
  EXPECT_EQ(r.status, 1);
  EXPECT_EQ(r.out, "would format d/a.shf\nwould format d/e/b.shf\n");
  EXPECT_EQ(s.run("fmt d").status, 0);
  EXPECT_EQ(s.read("d/a.shf") + s.read("d/e/b.shf"), "(+ 1 2)\n(+ 1 2)\n");
  EXPECT_EQ(s.read("d/notes.txt"), "(+  1 2)\n");
  EXPECT_EQ(s.run("fmt --check d").status, 0);
}

}  // namespace
}  // namespace sheaf::tools
