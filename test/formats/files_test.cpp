#include "formats/files.h"

#include <sys/stat.h>
#include <unistd.h>

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
