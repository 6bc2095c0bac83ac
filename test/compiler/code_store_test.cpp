#include "compiler/code_store.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <thread>

namespace sheaf::compiler {
namespace {

namespace fs = std::filesystem;

class CodeStore : public testing::Test {
 protected:
  CodeStore() {
    std::string pattern = (fs::temp_directory_path() / "sheaf-store-XXXXXX").string();
    dir_ = mkdtemp(pattern.data());
    set_code_folder(dir_ / "code");
  }
  ~CodeStore() override {
    set_code_folder({});
    set_code_folder_limit(kDefaultFolderBytes);
    fs::remove_all(dir_);
  }
  static codegen::NativeObject object(size_t bytes = 100, char fill = 'x') {
    return {std::string(bytes, fill), {{{"matmul", {1, 2, 3}, 7}, {"copy", {}, 0}}, {}}};
  }
  fs::path only_file() const {
    for (const auto& e : fs::directory_iterator(dir_ / "code"))
      return e.path();
    return {};
  }
  static std::string bytes_of(const fs::path& p) {
    std::ifstream in(p, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  fs::path dir_;
};

void expect_same(const codegen::NativeObject& a, const codegen::NativeObject& b) {
  EXPECT_EQ(a.elf, b.elf);
  ASSERT_EQ(a.calls.size(), b.calls.size());
  for (size_t k = 0; k < a.calls.size(); ++k) {
    ASSERT_EQ(a.calls[k].size(), b.calls[k].size());
    for (size_t i = 0; i < a.calls[k].size(); ++i) {
      EXPECT_EQ(a.calls[k][i].routine, b.calls[k][i].routine);
      EXPECT_EQ(a.calls[k][i].buffers, b.calls[k][i].buffers);
      EXPECT_EQ(a.calls[k][i].num_arguments, b.calls[k][i].num_arguments);
    }
  }
}

TEST_F(CodeStore, GivesBackWhatWasStored) {
  CodeKey key{{1, 2}};
  EXPECT_FALSE(load_code(key));
  EXPECT_FALSE(fs::exists(dir_ / "code"));  // a look-up creates nothing
  store_code(key, object(), "a kernel");
  auto back = load_code(key);
  ASSERT_TRUE(back);
  expect_same(*back, object());
  EXPECT_FALSE(load_code({{1, 3}}));
  auto files = stored_code();
  ASSERT_EQ(files.size(), 1u);
  EXPECT_EQ(files[0].label, "a kernel");
  EXPECT_EQ(files[0].problem, "");
  EXPECT_EQ(clear_stored_code(), 1u);
  EXPECT_FALSE(load_code(key));
}

TEST_F(CodeStore, IsPrivate) {
  store_code({{1, 2}}, object(), "k");
  EXPECT_EQ(fs::status(dir_ / "code").permissions(), fs::perms::owner_all);
  EXPECT_EQ(fs::status(only_file()).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  // A folder or file that others may write to holds code that others may have written.
  fs::permissions(only_file(), fs::perms::group_write, fs::perm_options::add);
  EXPECT_FALSE(load_code({{1, 2}}));
  store_code({{1, 2}}, object(), "k");
  EXPECT_TRUE(load_code({{1, 2}}));
  fs::permissions(dir_ / "code", fs::perms::others_write, fs::perm_options::add);
  EXPECT_FALSE(load_code({{1, 2}}));
}

TEST_F(CodeStore, CanBeCopied) {
  store_code({{1, 2}}, object(), "k");
  fs::copy(dir_ / "code", dir_ / "elsewhere");
  fs::remove_all(dir_ / "code");
  set_code_folder(dir_ / "elsewhere");
  fs::permissions(dir_ / "elsewhere", fs::perms::owner_all);
  auto back = load_code({{1, 2}});
  ASSERT_TRUE(back);
  expect_same(*back, object());
}

TEST_F(CodeStore, NoticesEveryAlteredByteAndEveryLength) {
  CodeKey key{{1, 2}};
  store_code(key, object(), "k");
  std::string good = bytes_of(only_file());
  fs::path path = only_file();
  auto put = [&](const std::string& bytes) {
    std::ofstream(path, std::ios::binary) << bytes, chmod(path.c_str(), 0600);
  };
  for (size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] ^= 0x10;
    put(bad);
    EXPECT_FALSE(load_code(key)) << "byte " << i;
    EXPECT_FALSE(fs::exists(path)) << "byte " << i;
    put(good.substr(0, i));
    EXPECT_FALSE(load_code(key)) << "length " << i;
  }
  put(good + "x");
  EXPECT_FALSE(load_code(key));
  // A whole file under the name of another.
  put(good);
  fs::rename(path, dir_ / "code" / (CodeKey{{5, 6}}.hex() + ".code"));
  EXPECT_FALSE(load_code({{5, 6}}));
}

TEST_F(CodeStore, StaysBelowItsLimitOldestUseFirst) {
  set_code_folder_limit(20000);
  for (uint64_t i = 0; i < 10; ++i) {
    store_code({{i, 0}}, object(1000), "k");
    timespec times[2] = {{1000000 + static_cast<time_t>(i) * 10, 0}, {1000000 + static_cast<time_t>(i) * 10, 0}};
    utimensat(AT_FDCWD, (dir_ / "code" / (CodeKey{{i, 0}}.hex() + ".code")).c_str(), times, 0);
  }
  EXPECT_TRUE(load_code({{0, 0}}));  // a use: now the newest
  for (uint64_t i = 10; i < 40; ++i)
    store_code({{i, 0}}, object(1000), "k");
  uint64_t total = 0;
  for (const auto& f : stored_code())
    total += f.bytes;
  EXPECT_LE(total, 20000u);
  EXPECT_GE(total, 8000u);
  EXPECT_FALSE(load_code({{1, 0}}));
  EXPECT_TRUE(load_code({{39, 0}}));
}

TEST_F(CodeStore, ManyWritersAndReaders) {
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      for (uint64_t i = 0; i < 100; ++i) {
        CodeKey key{{i % 10, 0}};
        if (t % 2)
          store_code(key, object(5000, static_cast<char>('a' + i % 10)), "k");
        else if (auto o = load_code(key); o && o->elf != std::string(5000, static_cast<char>('a' + i % 10)))
          ++wrong;
      }
    });
  for (auto& t : threads)
    t.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(stored_code().size(), 10u);
  size_t files = 0;
  for (const auto& e : fs::directory_iterator(dir_ / "code"))
    files += e.is_regular_file();
  EXPECT_EQ(files, 10u);  // nothing half-written is left behind
}

}  // namespace
}  // namespace sheaf::compiler
