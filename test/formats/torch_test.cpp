// Faulty checkpoints: the message names the tensor.
#include "formats/torch.h"

#include <cmath>

#include "formats/files.h"
#include "make_values.h"
#include "value/equal.h"

namespace sheaf::formats {
namespace {

using namespace testing_values;

const std::string kGoldens = std::string(TEST_DIR) + "/goldens/";

// A checkpoint of PyTorch whose entries can be changed.
struct Archive {
  std::string bytes;
  std::vector<std::pair<std::string, std::string>> entries;
  explicit Archive(const std::string& name) : bytes(read_file(kGoldens + name)) {
    for (const ZipEntry& e : read_zip(bytes))
      entries.emplace_back(e.name, e.data);
  }
  std::string& operator[](const std::string& end) {
    for (auto& [name, data] : entries)
      if (name.ends_with(end)) return data;
    throw std::runtime_error("no entry " + end);
  }
  void remove(const std::string& end) {
    std::erase_if(entries, [&](const auto& e) { return e.first.ends_with(end); });
  }
  std::string message() const {
    std::vector<ZipEntry> out;
    for (const auto& [name, data] : entries)
      out.push_back({name, data});
    return message_of([&] { parse_torch(write_zip(out)); });
  }
};

void replace(std::string& text, const std::string& from, const std::string& to) {
  size_t at = text.find(from);
  ASSERT_NE(at, std::string::npos) << from;
  text.replace(at, from.size(), to);
}

TEST(Torch, FaultsNameTheTensor) {
  Archive a("torch-state.pt");
  a.remove("data/0");
  EXPECT_EQ(a.message(), "torch: tensor '0.weight': storage '0' is missing");
  a = Archive("torch-state.pt");
  a["data/1"].resize(8);
  EXPECT_EQ(a.message(),
            "torch: tensor '0.bias': shape [4] with strides [1] reaches outside storage '1' of 2 elements");
  a = Archive("torch-state.pt");
  replace(a["data.pkl"], "ctorch\nFloatStorage\n", "ctorch\nComplexDoubleStorage\n");
  EXPECT_EQ(a.message(), "torch: tensor '0.weight': unsupported dtype 'torch.ComplexDoubleStorage'");
  // Inside what makes a parameter of it.
  a = Archive("torch-parameter.pt");
  a.remove("data/0");
  EXPECT_EQ(a.message(), "torch: tensor 'w': storage '0' is missing");
}

TEST(Torch, FaultsOfTheOlderLayout) {
  std::string bytes = read_file(kGoldens + "torch-state-old.pt");
  replace(bytes, "ctorch\nFloatStorage\n", "ctorch\nComplexDoubleStorage\n");
  EXPECT_EQ(message_of([&] { parse_torch(bytes); }),
            "torch: tensor '0.weight': unsupported dtype 'torch.ComplexDoubleStorage'");
}

TEST(Torch, ATensorWithoutAKeyIsKnownByItsStorage) {
  // A list of one _rebuild_tensor_v2(storage x, …).
  Archive a("torch-state.pt");
  a["data.pkl"] =
      "\x80\2](ctorch._utils\n_rebuild_tensor_v2\n((U\7storagectorch\nFloatStorage\nU\1"
      "xU\3cpuK\4tQK\1K\4\x85K\1\x85\x89tRe.";
  EXPECT_EQ(a.message(), "torch: a tensor of storage 'x': storage 'x' is missing");
}

// The program of the pickle that we write.
std::string written(const Value& v) {
  std::string bytes = write_torch(v);
  for (const ZipEntry& e : read_zip(bytes))
    if (e.name.ends_with("data.pkl")) return std::string(e.data);
  return "";
}

TEST(Torch, KeysOfAnOptimizerStayInts) {
  Value state = D({{"0", I(7)}, {"-2", I(2)}});
  EXPECT_EQ(written(state), std::string("\x80\2}(J\xfe\xff\xff\xffJ\2\0\0\0J\0\0\0\0J\7\0\0\0u.", 26));
  EXPECT_TRUE(tree_equal(parse_torch(write_torch(state)), state));
  // Not if one of the names is not a number, or is spelt in another way.
  for (const char* other : {"a", "01", "+1", "1.0", "", "9223372036854775808"}) {
    Value mixed = D({{"0", I(7)}, {other, I(2)}});
    EXPECT_NE(written(mixed).find(std::string("X\1\0\0\0"
                                              "0",
                                              6)),
              std::string::npos)
        << other;
    EXPECT_TRUE(tree_equal(parse_torch(write_torch(mixed)), mixed)) << other;
  }
}

TEST(Torch, FloatsArriveAsTheDigitsSay) {
  // BINFLOAT of 0.1, and not of 0.10000000149011612.
  EXPECT_EQ(written(F(0.1f)), "\x80\2G\x3f\xb9\x99\x99\x99\x99\x99\x9a.");
  for (float f : {0.1f, 1e-3f, 3e-4f, 1e38f, 1e-45f, -16777217.0f, 0.0f, INFINITY})
    EXPECT_TRUE(tree_equal(parse_torch(write_torch(F(f))), F(f))) << f;
  EXPECT_TRUE(tree_equal(parse_torch(write_torch(I(INT64_MIN))), I(INT64_MIN)));
}

TEST(Torch, ArchivesThatHoldSomethingElse) {
  Archive a("torch-state.pt");
  a.remove("data.pkl");
  EXPECT_TRUE(a.message().starts_with("torch: the archive holds no data.pkl; its first entry is '")) << a.message();
  a.entries.clear();
  EXPECT_EQ(a.message(), "torch: the archive is empty");
}

}  // namespace
}  // namespace sheaf::formats
