// Files of other programs: the message names their format, whatever their file name.
#include "formats/signatures.h"

#include <filesystem>

#include "formats/files.h"
#include "make_values.h"
#include "value/equal.h"

namespace sheaf::formats {
namespace {

using namespace testing_values;
namespace fs = std::filesystem;

std::string kind_of(const std::string& bytes, const std::string& path = "x") {
  const Foreign* f = recognise(bytes, path);
  return f ? std::string(f->what) : "";
}
// A literal that may hold zero bytes, followed by some more.
template <size_t N>
std::string b(const char (&text)[N]) {
  return std::string(text, N - 1) + std::string(16, '\0');
}

TEST(Signatures, FirstBytes) {
  EXPECT_EQ(kind_of(b("GGUF\3")), "a GGUF model");
  EXPECT_EQ(kind_of(b("\x89HDF\r\n\x1a\n")), "an HDF5 file (Keras .h5, MATLAB 7.3)");
  EXPECT_EQ(kind_of(b("GIF89a")), "a GIF picture");
  EXPECT_EQ(kind_of(b("GIF89a\1")), "a GIF picture");
  EXPECT_EQ(kind_of(b("RIFF\1\2\3\4WEBPVP8")), "a WebP picture");
  EXPECT_EQ(kind_of(b("\0\0\0\x20"
                      "ftypisom")),
            "an MPEG-4 file");
  EXPECT_EQ(kind_of(b("\x1f\x8b\x08")), "a file compressed by gzip");
  EXPECT_EQ(kind_of(b("\x28\xb5\x2f\xfd")), "a file compressed by zstd");
  EXPECT_EQ(kind_of(std::string(257, '\0') + "ustar" + std::string(250, '\0')), "a tar archive");
  EXPECT_EQ(kind_of(b("SQLite format 3")), "an SQLite database");
  EXPECT_EQ(kind_of(b("\x08\x08\x12\x07pytorch")), "an ONNX model");
  EXPECT_EQ(kind_of(b("\x08\x07\x3a\x99\x01")), "an ONNX model");
  EXPECT_EQ(kind_of(b("\x08\x01\x12\x99\x02\x0a\x05")), "a TensorFlow SavedModel");
  EXPECT_EQ(kind_of(std::string(40, '\1') + "\x57\xfb\x80\x8b\x24\x75\x47\xdb"), "an index of a TensorFlow checkpoint");
  EXPECT_EQ(kind_of(b("\xff\xfe{\0}\0")), "UTF-16 text");
  EXPECT_EQ(kind_of("version https://git-lfs.github.com/spec/v1\noid sha256:0\n"),
            "the pointer that Git LFS leaves in place of a file");
  EXPECT_EQ(kind_of("<!DOCTYPE html><title>404</title>"), "a page of HTML");
  EXPECT_EQ(kind_of("(dp0\nS'a'\n"), "a pickle of protocol 0");
}

TEST(Signatures, TextIsNoBinaryFormat) {
  for (const char* text : {"BMI,age\n20,3\n", "ID3,name\n1,a\n", "ORC\n1\n", "GIF89a", "PAR1,x\n1,2\n", "{}", ""})
    EXPECT_EQ(kind_of(text), "") << text;
}

TEST(Signatures, NamesWhereBytesTellNothing) {
  EXPECT_EQ(kind_of(b("\x0a\x20\x0a\x05input"), "graph.pb"), "a TensorFlow graph");
  EXPECT_EQ(kind_of(b("\x83\xa6params"), "flax.msgpack"), "a MessagePack file (Flax)");
  EXPECT_EQ(kind_of("plain text", "notes.model"), "");
}

class ForeignFiles : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "sheaf_foreign_XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string at(const std::string& name) const { return folder_ + "/" + name; }
  // The message of loading a file with that name and those bytes, after "io load: parse 'PATH': ".
  std::string said(const std::string& name, const std::string& bytes) {
    write_file(at(name), bytes);
    return message(name);
  }
  std::string message(const std::string& name) {
    std::string start = "io load: parse '" + at(name) + "': ", whole = message_of([&] { load_value(at(name)); });
    return whole.starts_with(start) ? whole.substr(start.size()) : whole;
  }
  std::string folder_;
};

TEST_F(ForeignFiles, WhateverTheyAreCalled) {
  for (const char* name : {"x.json", "x.csv", "x.jsonl", "x.pt", "x.png", "x.safetensors", "x.npy", "x"})
    EXPECT_EQ(said(name, b("GIF89a\x01\x00")), "this is a GIF picture, which is not read here") << name;
  EXPECT_EQ(said("model.safetensors", "version https://git-lfs.github.com/spec/v1\n"),
            "this is the pointer that Git LFS leaves in place of a file, which is not read here");
}

TEST_F(ForeignFiles, Archives) {
  auto zip = [](std::initializer_list<const char*> names) {
    std::vector<ZipEntry> entries;
    for (const char* n : names)
      entries.push_back({n, "x"});
    return write_zip(entries);
  };
  EXPECT_EQ(said("m.pt", zip({"m/data.pkl", "m/code/__torch__.py", "m/constants.pkl"})),
            "this is a TorchScript archive (torch.jit.save), which is not read here");
  EXPECT_EQ(said("m.keras", zip({"metadata.json", "config.json", "model.weights.h5"})),
            "this is a Keras model, which is not read here");
  EXPECT_EQ(said("t.csv", zip({"[Content_Types].xml", "xl/workbook.xml"})),
            "this is an Excel workbook, which is not read here");
  EXPECT_EQ(said("x.json", zip({"a.txt", "b.txt"})),
            "this is a zip archive of 2 files, 'a.txt' first, and none is an array of NumPy");
}

TEST_F(ForeignFiles, NothingWeKnow) {
  EXPECT_EQ(said("x.json", b("\1\2\3")), "no format known here: it begins with the bytes 01 02 03 00 00 00 00 00");
  EXPECT_EQ(said("x.csv", b("\1\2\3")), "no format known here: it begins with the bytes 01 02 03 00 00 00 00 00");
  EXPECT_EQ(said("x.npy", b("\1\2\3")), "not a .npy file: it begins with the bytes 01 02 03 00 00 00 00 00");
  EXPECT_TRUE(said("x.txt", "some text").starts_with("parse error at line 1")) << said("x.txt", "some text");
}

TEST_F(ForeignFiles, Directories) {
  write_file(at("d/saved_model.pb"), "x");
  EXPECT_EQ(message("d"), "this is a TensorFlow SavedModel, which is not read here");
  write_file(at("e/notes.txt"), "x");
  EXPECT_EQ(message("e"), "the directory holds no .npy files");
}

// Supported formats load under any file name.
TEST_F(ForeignFiles, OursUnderOtherNames) {
  Value v = D({{"w", T(DType::F32, {2}, {1, 2})}});
  save_value(at("a.safetensors"), v);
  fs::rename(at("a.safetensors"), at("a.bin"));
  EXPECT_TRUE(tree_equal(load_value(at("a.bin")), v));
  save_value(at("a.npz"), v);
  fs::rename(at("a.npz"), at("a.json"));
  EXPECT_TRUE(tree_equal(load_value(at("a.json")), v));
  save_value(at("none.npz"), D({}));
  EXPECT_TRUE(tree_equal(load_value(at("none.npz")), D({})));
}

}  // namespace
}  // namespace sheaf::formats
