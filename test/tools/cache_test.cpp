// The disk cache of compiled code as a user meets it.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "run_sheaf.h"

namespace sheaf::tools {
namespace {

const char* kProgram = R"((defn f [x] (sum (* (tanh x) (+ x 1.0)) :axis 0))
(print (f (reshape (* 0.5 (arange 24)) [4 6]))))";

class Cache : public testing::Test {
 protected:
  Cache() { box_.write("p.shf", kProgram); }
  // Everything compiled at its first launch, so that a short program fills the cache.
  Result program(const std::string& options = "") {
    return box_.run("-v --jit=always --backend=native " + options + " p.shf");
  }
  size_t num_files(const std::string& folder) const {
    size_t n = 0;
    if (fs::exists(box_.dir() / folder))
      for (const auto& e : fs::directory_iterator(box_.dir() / folder))
        n += e.is_regular_file();
    return n;
  }
  // Queried from the program, not from the cache: a cache that keeps nothing must fail here.
  bool native() { return !contains(box_.run("--emit=llvm p.shf").out, "no LLVM"); }
  Sandbox box_;
};

TEST_F(Cache, SecondRunCompilesNothing) {
  Result cold = program();
  EXPECT_TRUE(contains(cold.err, "jit: compiling f [cpu]...")) << cold.err;
  if (!native()) GTEST_SKIP() << "no LLVM";
  size_t files = num_files(".cache/sheaf");
  EXPECT_EQ(fs::status(box_.dir() / ".cache/sheaf").permissions(), fs::perms::owner_all);
  Result warm = program();
  EXPECT_TRUE(contains(warm.err, "jit: f (cached)")) << warm.err;
  EXPECT_FALSE(contains(warm.err, "compiling")) << warm.err;
  EXPECT_EQ(cold.out, warm.out);
  EXPECT_EQ(num_files(".cache/sheaf"), files);
  // -vv looks at the compiler at work.
  EXPECT_TRUE(contains(box_.run("-vv --jit=always --backend=native p.shf").err, "jit: compiling f"));
}

TEST_F(Cache, CanBeMovedAndNamed) {
  if (!native()) GTEST_SKIP() << "no LLVM";
  fs::remove_all(box_.dir() / ".cache");
  program("--cache-dir a");
  EXPECT_GT(num_files("a"), 0u);
  EXPECT_FALSE(fs::exists(box_.dir() / ".cache"));
  fs::rename(box_.dir() / "a", box_.dir() / "b");
  EXPECT_TRUE(contains(program("--cache-dir b").err, "jit: f (cached)"));
  EXPECT_TRUE(contains(program("--cache-dir c").err, "jit: compiling f"));
}

TEST_F(Cache, DamagedFilesAreMadeAgain) {
  Result cold = program();
  if (!native()) GTEST_SKIP() << "no LLVM";
  size_t files = num_files(".cache/sheaf");
  for (bool truncate : {true, false}) {
    for (const auto& e : fs::directory_iterator(box_.dir() / ".cache/sheaf")) {
      if (truncate)
        fs::resize_file(e.path(), e.file_size() / 2);
      else
        std::fstream(e.path(), std::ios::in | std::ios::out | std::ios::binary)
                .seekp(static_cast<std::streamoff>(e.file_size() / 2))
            << "????";
    }
    Result again = program();
    EXPECT_TRUE(contains(again.err, "jit: compiling f")) << again.err;
    EXPECT_EQ(again.out, cold.out);
    EXPECT_EQ(num_files(".cache/sheaf"), files);
    EXPECT_TRUE(contains(program().err, "jit: f (cached)"));
  }
}

TEST_F(Cache, ProcessesShareIt) {
  std::string one = "HOME=. '" SHEAF_BINARY "' --jit=always --backend=native --cache-dir shared p.shf > ";
  EXPECT_EQ(box_.shell("for i in 1 2 3 4; do " + one +
                       "out$i & done; wait; cat out1 out2 out3 out4 | sort -u | wc -l > lines"),
            0);
  std::string distinct = box_.read("lines");
  EXPECT_EQ(std::stoi(distinct), 1) << distinct;  // six numbers, in one line
  if (!native()) GTEST_SKIP() << "no LLVM";
  EXPECT_TRUE(contains(program("--cache-dir shared").err, "jit: f (cached)"));
}

TEST_F(Cache, Commands) {
  EXPECT_TRUE(contains(box_.run("cache list").out, "0 kernels"));
  program();
  if (!native()) GTEST_SKIP() << "no LLVM";
  EXPECT_TRUE(contains(box_.run("cache list").out, "kernels, ")) << box_.run("cache list").out;
  EXPECT_TRUE(contains(box_.run("cache list").out, " of f\n")) << box_.run("cache list").out;
  Result explained = box_.run("cache explain");
  EXPECT_TRUE(contains(explained.out, ": usable")) << explained.out;
  EXPECT_TRUE(contains(explained.out, "LLVM"));
  EXPECT_TRUE(contains(box_.run("cache clear").out, "removed "));
  EXPECT_EQ(num_files(".cache/sheaf"), 0u);
  EXPECT_EQ(box_.run("cache").status, 1);
  EXPECT_EQ(box_.run("cache frob").status, 1);
}

TEST_F(Cache, AFolderOpenToOthersIsNotUsed) {
  fs::create_directory(box_.dir() / "open");
  chmod((box_.dir() / "open").c_str(), 0777);
  Result r = program("--cache-dir open");
  EXPECT_EQ(r.status, 0);
  EXPECT_EQ(num_files("open"), 0u);
}

}  // namespace
}  // namespace sheaf::tools
