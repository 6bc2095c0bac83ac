#include "formats/files.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>

#include "make_values.h"
#include "value/equal.h"
#include "value/print.h"

namespace sheaf::formats {
namespace {

using namespace testing_values;
namespace fs = std::filesystem;

class Files : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "sheaf_files_XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string at(const std::string& name) const { return folder_ + "/" + name; }
  size_t entries() const { return std::distance(fs::directory_iterator(folder_), {}); }
  std::string folder_;
};

TEST_F(Files, WriteAndRead) {
  write_file(at("a/b/c.txt"), "one");
  write_file(at("a/b/c.txt"), std::string("two\0three", 9));
  EXPECT_EQ(read_file(at("a/b/c.txt")), std::string("two\0three", 9));
  EXPECT_EQ(std::distance(fs::directory_iterator(at("a/b")), {}), 1);
  EXPECT_EQ(read_file("/proc/self/comm").empty(), false);
}

TEST_F(Files, ModesAndLinksStay) {
  write_file(at("f"), "1");
  ::chmod(at("f").c_str(), 0640);
  fs::create_symlink(at("f"), at("link"));
  write_file(at("link"), "2");
  EXPECT_TRUE(fs::is_symlink(at("link")));
  EXPECT_EQ(read_file(at("f")), "2");
  EXPECT_EQ(static_cast<unsigned>(fs::status(at("f")).permissions()), 0640u);
}

TEST_F(Files, ErrorsNameThePath) {
  EXPECT_EQ(message_of([&] { read_file(at("none")); }), "io read '" + at("none") + "': No such file or directory");
  EXPECT_EQ(message_of([&] { load_value(at("none")); }), "io load '" + at("none") + "': No such file or directory");
  EXPECT_EQ(message_of([&] { read_file(folder_); }), "io read '" + folder_ + "': Is a directory");
  write_file(at("f"), "{");
  EXPECT_EQ(message_of([&] { write_file(at("f/g"), "x"); }), "io write '" + at("f/g") + "': Not a directory");
  std::string start = "io load: parse '" + at("f") + "': parse error at line 1, column 2";
  EXPECT_EQ(message_of([&] { load_value(at("f")); }).substr(0, start.size()), start);
  EXPECT_EQ(message_of([&] { save_value(at("x.npy"), I(1)); }), "npy: cannot serialize int (only a tensor)");
  EXPECT_EQ(entries(), 1u);
}

// The system would end the path there.
TEST_F(Files, PathsWithANulCharacter) {
  write_file(at("f"), "1");
  std::string path = at("f") + std::string("\0x", 2), shown = at("f") + "\\0x': a path cannot hold a NUL character";
  EXPECT_EQ(message_of([&] { read_file(path); }), "io read '" + shown);
  EXPECT_EQ(message_of([&] { load_value(path); }), "io load '" + shown);
  EXPECT_EQ(message_of([&] { save_value(path, I(1)); }), "io save '" + shown);
  EXPECT_EQ(message_of([&] { append_file(path, "2", "io append"); }), "io append '" + shown);
  EXPECT_EQ(message_of([&] { map_elements(path, DType::U8, {}, 0); }), "io map '" + shown);
  EXPECT_EQ(read_file(at("f")), "1");
}

TEST_F(Files, FormatsByNameAndContent) {
  Value tensor = T(DType::I64, {2}, {1, 2});
  save_value(at("x.npy"), tensor);
  EXPECT_TRUE(tree_equal(load_value(at("x.npy")), tensor));
  save_value(at("x.safetensors"), D({{"w", L({tensor})}}));
  EXPECT_TRUE(tree_equal(load_value(at("x.safetensors")), D({{"w", L({tensor})}})));
  save_value(at("x.dat"), Tup({tensor, K("k")}));
  EXPECT_EQ(read_file(at("x.dat"))[0], '{');
  EXPECT_TRUE(tree_equal(load_value(at("x.dat")), Tup({tensor, K("k")})));
  write_file(at("p"), "\x80\x04K\x07.");
  EXPECT_TRUE(tree_equal(load_value(at("p")), I(7)));
  write_file(at("empty"), "");
  EXPECT_EQ(message_of([&] { load_value(at("empty")); }).substr(0, 15), "io load: parse ");
}

TEST_F(Files, DirectoriesOfArrays) {
  Value v = D({{"x", T(DType::I32, {2}, {1, 2})}, {"inner", D({{"y", T(DType::F64, {}, {0.1})}})}});
  save_value(at("d/"), v);
  write_file(at("d/note.txt"), "other files are left alone");
  EXPECT_TRUE(tree_equal(load_value(at("d")), v));
  EXPECT_EQ(message_of([&] { save_value(at("d/"), I(1)); }),
            "io save '" + at("d/") + "': a directory holds a dict of tensors, not int");
}

TEST_F(Files, ElementsOfAFile) {
  write_file(at("t"), std::string("\1\0\2\0\3\0\4\0", 8));
  EXPECT_TRUE(tree_equal(map_elements(at("t"), DType::U16, {}, 0), T(DType::U16, {4}, {1, 2, 3, 4})));
  EXPECT_TRUE(tree_equal(map_elements(at("t"), DType::U16, {-1, 2}, 0), T(DType::U16, {2, 2}, {1, 2, 3, 4})));
  EXPECT_TRUE(tree_equal(map_elements(at("t"), DType::U16, {}, 4), T(DType::U16, {2}, {3, 4})));
  auto error = [&](DType d, Dims s, uint64_t skip) {
    return message_of([&] { map_elements(at("t"), d, s, skip); }).substr(("io map '" + at("t") + "': ").size());
  };
  EXPECT_EQ(error(DType::U16, {3}, 0), "a shape of [3] needs 3 elements, the file has 4");
  EXPECT_EQ(error(DType::U16, {-1, 3}, 0), "4 elements do not fill rows of 3");
  EXPECT_EQ(error(DType::F64, {}, 4), "an offset of 4 bytes in a file of 8");
  EXPECT_EQ(error(DType::F32, {}, 12), "an offset of 12 bytes in a file of 8");
  write_file(at("t"), "abc");
  EXPECT_EQ(error(DType::U16, {}, 0), "3 bytes are not a whole number of u16 elements");
  write_file(at("t"), "");
  EXPECT_TRUE(tree_equal(map_elements(at("t"), DType::U16, {}, 0), T(DType::U16, {0}, {})));
}

// A file of 6 GB, most of which is a hole, opens without being read; its arrays are views of the file.
TEST_F(Files, LargeCheckpointsOpenAtOnce) {
  constexpr uint64_t kArray = uint64_t{3} << 30;
  std::string header = "{\"a\":{\"dtype\":\"F32\",\"shape\":[805306368],\"data_offsets\":[0," + std::to_string(kArray) +
                       "]},\"b\":{\"dtype\":\"BF16\",\"shape\":[3,536870912],\"data_offsets\":[" +
                       std::to_string(kArray) + "," + std::to_string(2 * kArray) + "]}}";
  header.resize((header.size() + 7) / 8 * 8, ' ');
  uint64_t n = header.size();
  write_file(at("big.safetensors"), std::string(reinterpret_cast<const char*>(&n), 8) + header);
  std::error_code error;
  fs::resize_file(at("big.safetensors"), 8 + n + 2 * kArray, error);
  if (error) GTEST_SKIP() << "no room for a sparse file: " << error.message();
  size_t before = memory_stats().live_bytes;
  auto start = std::chrono::steady_clock::now();
  Value v = load_value(at("big.safetensors"));
  double ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  EXPECT_LT(ms, 100);
  EXPECT_LT(memory_stats().live_bytes - before, size_t{1} << 20);
  const Tensor& b = v.as_dict().find(Name("b"))->as_tensor();
  EXPECT_FALSE(b.buffer->is_ours());
  EXPECT_EQ(b.buffer->size_bytes(), kArray);  // the bytes that a device would get
  EXPECT_EQ(element_as_double(b, b.num_elems() - 1), 0);
}

TEST_F(Files, AMappedFileStaysWhenItIsReplaced) {
  Value v = D({{"w", Value::tensor(zeros_tensor(DType::F32, {1 << 19}))}});
  save_value(at("m.safetensors"), v);
  Value loaded = load_value(at("m.safetensors"));
  save_value(at("m.safetensors"), D({{"w", T(DType::F32, {1}, {5})}}));
  EXPECT_TRUE(tree_equal(loaded, v));
}

// A disk that is full after some bytes: the old file stays and nothing else is left.
TEST_F(Files, AFailedSaveKeepsTheOldFile) {
  Value before = D({{"w", T(DType::F32, {2}, {1, 2})}, {"step", I(1)}}),
        large = D({{"w", Value::tensor(zeros_tensor(DType::F32, {100000}))}});
  save_value(at("c.safetensors"), before);
  for (uint64_t limit : {0, 1, 100, 4096, 65536, 399999}) {
    pid_t child = fork();
    ASSERT_GE(child, 0);  // kill(-1) would end everything
    if (child == 0) {
      std::signal(SIGXFSZ, SIG_IGN);
      rlimit r{limit, limit};
      setrlimit(RLIMIT_FSIZE, &r);
      std::string message = message_of([&] { save_value(at("c.safetensors"), large); });
      _exit(message == "io save '" + at("c.safetensors") + "': File too large" ? 0 : 1);
    }
    int status = 1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0) << limit;
    EXPECT_EQ(entries(), 1u) << limit;
    EXPECT_TRUE(tree_equal(load_value(at("c.safetensors")), before));
  }
}

// A process that is killed while it saves repeatedly: there is always a complete file.
TEST_F(Files, AKilledSaveKeepsAWholeFile) {
  save_value(at("k.safetensors"), D({{"step", I(0)}, {"w", Value::tensor(zeros_tensor(DType::I64, {20000}))}}));
  for (int round = 0; round < 20; ++round) {
    pid_t child = fork();
    ASSERT_GE(child, 0);  // kill(-1) would end everything
    if (child == 0) {
      for (int64_t i = 1;; ++i) {
        Tensor t = empty_tensor(DType::I64, {20000});
        std::fill(t.data_mut<int64_t>(), t.data_mut<int64_t>() + 20000, i);
        save_value(at("k.safetensors"), D({{"step", I(i)}, {"w", Value::tensor(t)}}));
      }
    }
    ::usleep(2000 + 1700 * round);
    ::kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    Value v = load_value(at("k.safetensors"));
    const Tensor& w = v.as_dict().find(Name("w"))->as_tensor();
    int64_t step = v.as_dict().find(Name("step"))->as_int();
    for (int64_t i : {int64_t{0}, int64_t{9999}, int64_t{19999}})
      EXPECT_EQ(element_as_int(w, i), step);
  }
}

TEST_F(Files, WeightsAreReadAhead) {
  save_value(at("w.safetensors"), D({{"w", Value::tensor(empty_tensor(DType::F32, {9 << 20}))}}));
  int fd = ::open(at("w.safetensors").c_str(), O_RDONLY);
  ::posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
  ::close(fd);
  Value v = load_value(at("w.safetensors"));
  const Tensor& w = v.as_dict().find(Name("w"))->as_tensor();
  std::vector<unsigned char> pages(w.buffer->size_bytes() / 4096);  // as many or more than there are
  auto missing = [&] {
    auto* const begin = const_cast<std::byte*>(w.buffer->host());
    EXPECT_EQ(::mincore(begin - reinterpret_cast<uintptr_t>(begin) % static_cast<uintptr_t>(sysconf(_SC_PAGESIZE)),
                        w.buffer->size_bytes() / 65536 * 65536, pages.data()),
              0);
    return std::count_if(
        pages.begin(),
        pages.begin() + static_cast<int64_t>(w.buffer->size_bytes() / 65536 * 65536 / sysconf(_SC_PAGESIZE)),
        [](unsigned char p) { return !(p & 1); });
  };
  const auto few = static_cast<int64_t>(pages.size() / 100);  // a busy system takes some pages back
  for (int i = 0; i < 1000 && missing() > few; ++i)
    ::usleep(10'000);
  EXPECT_LE(missing(), few);
  for (int i = 0; i < 20; ++i)
    load_value(at("w.safetensors"));  // freed while it is read ahead
}

struct Nothing final : FunctionObj {
  std::string text;
  const std::string& name() const override { return text; }
};

TEST_F(Files, FunctionsCannotBeSaved) {
  Value f = Value::object(Tag::Function, new Nothing);
  EXPECT_EQ(message_of([&] { save_value(at("x.json"), L({f})); }), "io save: cannot serialize functions");
  EXPECT_EQ(message_of([&] { save_value(at("x.safetensors"), f); }),
            "safetensors: cannot serialize function (only tensors and nested dicts/lists)");
  EXPECT_EQ(entries(), 0u);
}

}  // namespace
}  // namespace sheaf::formats
