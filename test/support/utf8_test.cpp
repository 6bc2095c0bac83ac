#include "support/utf8.h"

#include <gtest/gtest.h>

#include <string>

namespace sheaf {
namespace {

TEST(Utf8, TakesCharactersOfEveryLength) {
  for (const char* text :
       {"", "a", "é", "日本", "\U0001F600", "\x7F\xC2\x80\xDF\xBF\xE0\xA0\x80\xEF\xBF\xBF\xF0\x90\x80\x80",
        "\xED\x9F\xBF\xEE\x80\x80", "\xF4\x8F\xBF\xBF", "long enough for eight bytes at a time, twice é"})
    EXPECT_TRUE(is_utf8(text)) << text;
  EXPECT_TRUE(is_utf8(std::string(20, '\0')));
}

TEST(Utf8, RefusesWhatIsBrokenAndSaysWhere) {
  for (std::string bad :
       {"\x80", "\xC0\xAF", "\xC1\xBF", "\xE0\x9F\xBF", "\xED\xA0\x80", "\xF0\x8F\xBF\xBF", "\xF4\x90\x80\x80",
        "\xF5\x80\x80\x80", "\xFF", "\xC3", "\xE2\x82", "\xE2\x28\xA1", "\xF0\x9F\x98"}) {
    EXPECT_FALSE(is_utf8(bad));
    for (std::string before : {"", "é", "12345678"})
      EXPECT_EQ(valid_prefix(before + bad + "x"), before.size());
  }
}

TEST(Utf8, MeasuresABrokenCharacter) {
  auto measured = [](std::string_view s) { return std::pair(measure_char(s).num_bytes, measure_char(s).is_whole); };
  EXPECT_EQ(measured("ab"), std::pair(size_t{1}, true));
  EXPECT_EQ(measured("日本"), std::pair(size_t{3}, true));
  EXPECT_EQ(measured("\xE2\x82x"), std::pair(size_t{2}, false));
  EXPECT_EQ(measured("\x80\x80"), std::pair(size_t{1}, false));
}

}  // namespace
}  // namespace sheaf
