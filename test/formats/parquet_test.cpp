// Parquet tables that are refused, parts of tables, and the packed blocks in them. What loads is compared with the
// program that wrote it in golden_test.cpp.
#include "formats/parquet.h"

#include <gtest/gtest.h>

#include "formats/block_codecs.h"
#include "formats/files.h"
#include "formats/parquet_values.h"
#include "support/error.h"
#include "value/dict.h"
#include "value/print.h"

namespace sheaf::formats {
namespace {

std::string golden(const std::string& name) { return read_file(std::string(TEST_DIR) + "/goldens/" + name); }

template <class F>
std::string message_of(F&& f) {
  try {
    f();
  } catch (const UserError& e) {
    return e.message;
  }
  return "nothing was wrong";
}

TEST(Parquet, ColumnsByName) {
  std::string types = golden("types.parquet");
  Value v = parse_parquet(types, {"money", "three"});
  EXPECT_EQ(render(v),
            "{:money [       1.23       -0.01 99999999.99          0.], "
            ":three ['abc', 'def', 'ghi', 'jkl']}");
  EXPECT_EQ(message_of([&] { parse_parquet(types, {"Money"}); }), "parquet: there is no column 'Money'");
}

TEST(Parquet, NestedColumnsAreRefusedByName) {
  std::string nested = golden("nested.parquet");
  EXPECT_EQ(message_of([&] { parse_parquet(nested); }),
            "parquet: column 'list.list.element' is nested: only flat columns are read");
  EXPECT_EQ(message_of([&] { parse_parquet(nested, {"struct.x"}); }),
            "parquet: column 'struct.x' is nested: only flat columns are read");
  EXPECT_EQ(render(parse_parquet(nested, {"flat"})), "{:flat [1.5 2.5]}");
}

TEST(Parquet, DamageIsSeen) {
  std::string whole = golden("zstd-2.parquet");
  EXPECT_EQ(message_of([&] { parse_parquet(whole.substr(0, whole.size() - 1)); }),
            "parquet: the file ends early: its last bytes should say where its description is");
  for (size_t n = 4; n + 1 < whole.size(); n += 131)
    EXPECT_TRUE(message_of([&] { parse_parquet(whole.substr(0, n)); }).starts_with("parquet: ")) << n;
  // A flipped bit of a page: the page's checksum detects it.
  std::string changed = whole;
  changed[60] = static_cast<char>(changed[60] ^ 4);
  EXPECT_TRUE(message_of([&] { parse_parquet(changed); }).starts_with("parquet: column '"))
      << message_of([&] { parse_parquet(changed); });
}

std::string bytes(std::initializer_list<int> list) {
  std::string out;
  for (int b : list)
    out += static_cast<char>(b);
  return out;
}

TEST(Parquet, RunsOfNumbersOfSomeBits) {
  using parquet::decode_runs;
  // Five times 1; then, in a group of eight bits, 1 0 1 of which three are taken.
  EXPECT_EQ(decode_runs(bytes({5 << 1, 1, 1 << 1 | 1, 0b101}), 1, 8), (std::vector<uint32_t>{1, 1, 1, 1, 1, 1, 0, 1}));
  EXPECT_EQ(decode_runs(bytes({2 << 1, 0x34, 0x12}), 13, 2), (std::vector<uint32_t>{0x1234, 0x1234}));
  EXPECT_EQ(decode_runs(bytes({1 << 1 | 1, 0x88, 0xc6, 0xfa}), 3, 8), (std::vector<uint32_t>{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(decode_runs(bytes({3 << 1}), 0, 3), (std::vector<uint32_t>{0, 0, 0}));
  // A definition level that is neither 0 nor 1, an empty run, too few bytes, too many bits.
  EXPECT_THROW(decode_runs(bytes({5 << 1, 3}), 1, 5), UserError);
  EXPECT_THROW(decode_runs(bytes({0, 1}), 1, 5), UserError);
  EXPECT_THROW(decode_runs(bytes({2 << 1, 1}), 1, 5), UserError);
  EXPECT_THROW(decode_runs(bytes({1 << 1 | 1}), 1, 5), UserError);
  EXPECT_THROW(decode_runs(bytes({2, 0, 0, 0, 0, 0}), 33, 1), UserError);
}

TEST(Snappy, UnpacksEveryElement) {
  EXPECT_EQ(unpack_snappy(bytes({0}), 0), "");
  EXPECT_EQ(unpack_snappy(bytes({3, 2 << 2}) + "abc", 3), "abc");
  // A literal of 61 bytes has its length in a byte of its own; a copy of one byte before itself repeats it.
  EXPECT_EQ(unpack_snappy(bytes({61, 60 << 2, 60}) + std::string(61, 'x'), 61), std::string(61, 'x'));
  EXPECT_EQ(unpack_snappy(bytes({9, 0, 'a', 1 | 4 << 2, 1}), 9), "aaaaaaaaa");
  EXPECT_EQ(unpack_snappy(bytes({6, 2 << 2, 'a', 'b', 'c', 2 | 2 << 2, 3, 0}), 6), "abcabc");
  EXPECT_EQ(unpack_snappy(bytes({6, 2 << 2, 'a', 'b', 'c', 3 | 2 << 2, 3, 0, 0, 0}), 6), "abcabc");
  for (const std::string& damaged :
       {bytes({}), bytes({4}), bytes({3, 2 << 2, 'a'}), bytes({9, 0, 'a', 1 | 4 << 2, 2}), bytes({2, 0, 'a'}),
        bytes({1, 2 << 2, 'a', 'b', 'c'}), bytes({255, 255, 255, 255, 255, 255})})
    EXPECT_THROW(unpack_snappy(damaged, 3), UserError);
  EXPECT_THROW(unpack_snappy(bytes({3, 2 << 2}) + "abc", 4), UserError);
  EXPECT_THROW(unpack_snappy(bytes({0xff, 0xff, 0xff, 0xff, 0x0f, 0}), 0xffffffff), UserError);
}

TEST(Lz4, UnpacksBlocks) {
  EXPECT_EQ(unpack_lz4(bytes({0x30}) + "abc", 3), "abc");
  EXPECT_EQ(unpack_lz4(bytes({0x12, 'a', 1, 0, 0x10, 'b'}), 8), "aaaaaaab");
  EXPECT_EQ(unpack_lz4(bytes({0xf0, 5}) + std::string(20, 'y'), 20), std::string(20, 'y'));
  EXPECT_EQ(unpack_lz4(bytes({0x1f, 'a', 1, 0, 3, 0x10, 'b'}), 24), std::string(23, 'a') + "b");
  EXPECT_THROW(unpack_lz4(bytes({0x30, 'a'}), 3), UserError);
  EXPECT_THROW(unpack_lz4(bytes({0x12, 'a', 2, 0, 0x10, 'b'}), 8), UserError);
  EXPECT_THROW(unpack_lz4(bytes({0x30}) + "abc", 2), UserError);
}

}  // namespace
}  // namespace sheaf::formats
