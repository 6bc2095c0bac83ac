#include "formats/pickle.h"

#include "make_values.h"
#include "value/equal.h"
#include "value/print.h"

namespace sheaf::formats {
namespace {

using namespace testing_values;

std::string error(std::string bytes) {
  return message_of([&] { parse_pickle(bytes); });
}
// A pickle given as a literal that may hold zero bytes.
template <size_t N>
std::string p(const char (&text)[N]) {
  return std::string("\x80\x02") + std::string(text, N - 1);
}

TEST(Pickle, Numbers) {
  EXPECT_TRUE(tree_equal(parse_pickle(p("J\xff\xff\xff\xff.")), I(-1)));
  EXPECT_TRUE(tree_equal(parse_pickle(p("K\xff.")), I(255)));
  EXPECT_TRUE(tree_equal(parse_pickle(p("M\x01\x02.")), I(513)));
  EXPECT_TRUE(tree_equal(parse_pickle(p("\x8a\x00.")), I(0)));
  EXPECT_TRUE(tree_equal(parse_pickle(p("\x8a\x01\x80.")), I(-128)));
  EXPECT_TRUE(tree_equal(parse_pickle(p("\x8a\x09\xff\xff\xff\xff\xff\xff\xff\x7f\x00.")), I(INT64_MAX)));
  EXPECT_EQ(error(p("\x8a\x09\xff\xff\xff\xff\xff\xff\xff\xff\x00.")), "pickle: an int does not fit 64 bits");
  EXPECT_TRUE(tree_equal(parse_pickle(p("G\x3f\xf8\0\0\0\0\0\0.")), F(1.5f)));
}

TEST(Pickle, TheMemoHoldsObjectsThatStillGrow) {
  // m = []; [m, m] with m appended to after it was stored
  Value v = parse_pickle(p("]q\0K\1ah\0\x86."));
  EXPECT_EQ(render(v), "([1], [1])");
  EXPECT_EQ(v.items()[0].object(), v.items()[1].object());
}

const std::string kOnly = "; only tensors, numbers, text and containers of them are read";
std::string skipped(const std::string& bytes) { return render(parse_pickle(bytes, Objects::Skip)); }

TEST(Pickle, ObjectsAreErrorsThatNameClassAndKey) {
  EXPECT_EQ(error(p("cos\nsystem\nX\x04\0\0\0true\x85R.")),
            "pickle: the whole is an object of class os.system" + kOnly);
  EXPECT_EQ(error(p("cos\nsystem\n.")), "pickle: the whole is the class or function os.system" + kOnly);
  EXPECT_EQ(error(p("(K\1cm\nC\n)R}bt.")), "pickle: '1' is an object of class m.C" + kOnly);
  // {"a": [{3: C()}]}, made by NEWOBJ and by the function of protocol 1; with items put into it
  EXPECT_EQ(error(p("}U\1a]}K\3cm\nC\n)\x81}U\1xK\1sbsas.")), "pickle: 'a.0.3' is an object of class m.C" + kOnly);
  EXPECT_EQ(error(p("ccopy_reg\n_reconstructor\ncm\nC\nc__builtin__\nobject\nN\x87R.")),
            "pickle: the whole is an object of class m.C" + kOnly);
  EXPECT_EQ(error(p("cm\nC\n)\x81(K\1K\2e.")), "pickle: the whole is an object of class m.C" + kOnly);
}

TEST(Pickle, ObjectsMayBeSkipped) {
  EXPECT_EQ(skipped(p("cos\nsystem\nX\x04\0\0\0true\x85R.")), "nil");
  EXPECT_EQ(skipped(p("cos\nsystem\n.")), "nil");
  EXPECT_EQ(skipped(p("(cm\nC\n)R}bK\1t.")), "(nil, 1)");
  EXPECT_EQ(skipped(p("](cm\nC\n)}\x92K\1e.")), "[nil, 1]");
}

TEST(Pickle, ContainersOfPython) {
  EXPECT_EQ(render(parse_pickle(p("ccollections\nCounter\n}U\1aK\2s\x85R."))), "{:a 2}");
  EXPECT_EQ(render(parse_pickle(p("ccollections\ndefaultdict\nc__builtin__\nlist\n\x85RU\1aK\2s."))), "{:a 2}");
  EXPECT_EQ(render(parse_pickle(p("c__builtin__\nset\n](K\1K\2e\x85R."))), "[1, 2]");
  EXPECT_EQ(render(parse_pickle(p("cbuiltins\nfrozenset\n](K\1K\2e\x85R."))), "[1, 2]");
  EXPECT_EQ(render(parse_pickle(p("(K\1K\2\x91."))), "[1, 2]");
  EXPECT_EQ(render(parse_pickle(p("ccollections\ndeque\n)K\5\x86RK\1a."))), "[1]");
}

TEST(Pickle, TypesAndDevices) {
  EXPECT_EQ(render(parse_pickle(p("ctorch\nfloat16\n."))), ":f16");
  EXPECT_EQ(render(parse_pickle(p("cnumpy\ndtype\nU\2i8\x85R."))), ":i64");
  EXPECT_EQ(render(parse_pickle(p("ctorch\ndevice\nU\4cudaK\1\x86R."))), "cuda:1");
  EXPECT_EQ(render(parse_pickle(p("ctorch\ndevice\nU\3cpu\x85R."))), "cpu");
  EXPECT_EQ(render(parse_pickle(p("ctorch\nSize\nK\2K\3\x86\x85R."))), "(2, 3)");
  EXPECT_EQ(error(p("ctorch\ncomplex128\n.")), "pickle: the whole is the class or function torch.complex128" + kOnly);
}

TEST(Pickle, KeysOfTwoKindsWithOneSpelling) {
  EXPECT_EQ(error(p("}(K\1K\2U\0011K\3u.")), "pickle: a dict has both the int and the text '1' as keys");
  EXPECT_EQ(render(parse_pickle(p("}(K\1K\2K\1K\3u."))), "{:1 3}");
}

TEST(Pickle, TensorsOfPickleDump) {
  EXPECT_EQ(
      error(p("}U\1wctorch._utils\n_rebuild_tensor_v2\n(ctorch.storage\n_load_from_bytes\nC\1x\x85R"
              "K\0K\1\x85K\1\x85\x89NtRs.")),
      "torch: tensor 'w': it was written by pickle.dump, which hides its data; in Python, use torch.save(…, path)");
}

TEST(Pickle, BadFiles) {
  EXPECT_EQ(error(p("Y.")), "pickle: unsupported opcode 0x59 ('Y') at offset 2");
  EXPECT_EQ(error(p("\xfe.")), "pickle: unsupported opcode 0xfe ('?') at offset 2");
  EXPECT_EQ(error("\x80\x06."), "pickle: unsupported protocol 6");
  EXPECT_EQ(error(p(".")), "pickle: the stack ran empty");
  EXPECT_EQ(error(p("(.")), "pickle: the stack ran empty");
  EXPECT_EQ(error(p("K\1(a.")), "pickle: the stack ran empty");
  EXPECT_EQ(error(p("t.")), "pickle: a mark is missing");
  EXPECT_EQ(error(p("h\5.")), "pickle: nothing was stored as number 5");
  EXPECT_EQ(error(p("]q\0h\0a.")), "pickle: a value contains itself");
  EXPECT_EQ(error(p("}(NNu.")), "pickle: a dict key is neither a string nor an int");
  EXPECT_EQ(error(p("}(Nu.")), "pickle: a dict key without a value");
  EXPECT_EQ(error(p("K\1K\2a.")), "pickle: items are appended to something else than a list");
  EXPECT_EQ(error(p("X\xff\xff\xff\xff.")), "the file ends early: 4294967295 bytes expected at offset 7, 1 left");
  EXPECT_EQ(error(p("cnumpy.core.multiarray\n_reconstruct\n)R.")), "pickle: an array without its data");
  EXPECT_EQ(error(p("cnumpy\ndtype\nX\x03\0\0\0c16\x85Rq\0"
                    "cnumpy.core.multiarray\nscalar\nh\0U\x08xxxxxxxx\x86R.")),
            "pickle: unsupported array dtype 'c16'");
  EXPECT_EQ(error(p("cnumpy\ndtype\nX\x02\0\0\0f4\x85Rq\0"
                    "cnumpy.core.multiarray\nscalar\nh\0U\x03xxx\x86R.")),
            "pickle: an array of shape [] needs 4 bytes, its data has 3");
}

TEST(Pickle, DeepNestingIsFine) {
  std::string bytes = p("");
  for (int i = 0; i < 300000; ++i)
    bytes += ']';
  for (int i = 0; i < 299999; ++i)
    bytes += 'a';
  Value v = parse_pickle(bytes + ".");
  EXPECT_EQ(v.items().size(), 1u);
}

TEST(Pickle, RepeatedUseOfBytesIsLimited) {
  // One string of 100 kB, encoded repeatedly: every time a new object in Python.
  std::string text(100000, 'x');
  uint32_t n = text.size();
  std::string bytes = p("X") + std::string(reinterpret_cast<const char*>(&n), 4) + text;
  bytes += std::string("q\0", 2) + "c_codecs\nencode\nq\1";
  for (int i = 0; i < 1000; ++i)
    bytes += std::string("h\1h\0\x85R", 6);
  EXPECT_EQ(error(bytes + "."), "pickle: the contents are far larger than the file");
}

}  // namespace
}  // namespace sheaf::formats
