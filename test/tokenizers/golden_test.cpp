// Every family against the `tokenizers` library, on strings that are hard for tokenizers (make_goldens.py made both),
// and single stages against single stages.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "goldens.h"
#include "tokenizers/characters.h"
#include "tokenizers/normalizer.h"
#include "tokenizers/pattern.h"
#include "tokenizers/splitter.h"
#include "tokenizers/tokenizer.h"
#include "tokenizers/train_bpe.h"

namespace {

using namespace sheaf::tokenizers;

std::string hash_of_ids(const Ids& ids) {
  std::string bytes;
  for (int32_t id : ids)
    for (int shift = 0; shift < 32; shift += 8)
      bytes += static_cast<char>(id >> shift & 0xFF);
  return hash_of(bytes);
}

class Family : public testing::TestWithParam<const char*> {};

TEST_P(Family, EqualsTheLibrary) {
  Tokenizer tok(read_golden(std::string(GetParam()) + ".json"));
  std::istringstream hashes(read_golden(std::string(GetParam()) + ".hashes"));
  Json shown = Json::parse(read_golden("ids.json"))[GetParam()];
  ASSERT_EQ(golden_strings().size(), 2000u);
  int wrong = 0;
  for (size_t i = 0; i < golden_strings().size(); ++i) {
    const std::string& s = golden_strings()[i];
    std::string plain, special, with, without;
    hashes >> plain >> special >> with >> without;
    Ids ids = tok.encode(s, false), all = tok.encode(s, true);
    std::string text_with = tok.decode(all, true), text_without = tok.decode(all, false);
    bool ok = hash_of_ids(ids) == plain && hash_of_ids(all) == special && hash_of(text_with) == with &&
              hash_of(text_without) == without;
    EXPECT_TRUE(ok) << "string " << i << ": " << Json(to_valid_utf8(s)).dump() << "\nids "
                    << (hash_of_ids(ids) == plain) << ", special " << (hash_of_ids(all) == special)
                    << ", text with special tokens " << (hash_of(text_with) == with) << ", without "
                    << (hash_of(text_without) == without) << "\nours   " << Json(ids).dump() << "\ntheirs "
                    << (i < shown.size() ? shown[i].dump() : "?") << "\ntext " << Json(text_with).dump();
    wrong += !ok;
    if (wrong > 10) FAIL() << "and more";
  }
}

INSTANTIATE_TEST_SUITE_P(Goldens, Family,
                         testing::Values("gpt2", "llama3", "bert", "t5", "llama2", "metaspace", "mixed"),
                         [](const auto& info) { return info.param; });

TEST(Stages, SplitAsTheLibrary) {
  Json j = Json::parse(read_golden("stages.json"));
  for (const Json& c : j["pieces"]) {
    Splitter splitter(c["pre_tokenizer"]);
    for (size_t i = 0; i < j["strings"].size(); ++i) {
      std::string text = j["strings"][i], all;
      bool first = true;
      if (!text.empty())
        splitter.split({text}, true, [&](AlignedView piece, bool) {
          if (!first) all += '\0';
          first = false;
          all += splitter.leaves_bytes() ? bytes_as_chars(piece).text : std::string(piece.text);
        });
      EXPECT_EQ(hash_of(all), c["hashes"][i].get<std::string>()) << c["pre_tokenizer"].dump() << "\n"
                                                                 << Json(text).dump() << "\n"
                                                                 << Json(all).dump();
    }
  }
}

TEST(Stages, NormaliseAsTheLibrary) {
  Json j = Json::parse(read_golden("stages.json"));
  for (const Json& c : j["normal"]) {
    Normalizer normalizer(c["normalizer"]);
    for (size_t i = 0; i < j["strings"].size(); ++i) {
      std::string text = j["strings"][i], normal = normalizer.apply(text);
      EXPECT_EQ(hash_of(normal), c["hashes"][i].get<std::string>()) << c["normalizer"].dump().substr(0, 100) << "\n"
                                                                    << Json(text).dump() << "\n"
                                                                    << Json(normal).dump();
    }
  }
}

TEST(Training, EqualsTheLibrary) {
  std::string text = read_golden("text.txt");
  BpeTraining options;
  options.vocabulary_size = 2000;
  options.special = {"<|endoftext|>"};
  options.pattern = kGpt2Pattern;
  Json ours = Json::parse(train_bpe({text}, options)), theirs = Json::parse(read_golden("gpt2.json"));
  EXPECT_EQ(ours["model"]["vocab"], theirs["model"]["vocab"]);
  EXPECT_EQ(ours["model"]["merges"], theirs["model"]["merges"]);
  EXPECT_EQ(ours["added_tokens"], theirs["added_tokens"]);
}

}  // namespace
