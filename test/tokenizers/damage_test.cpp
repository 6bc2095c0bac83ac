// Damaged documents: the loader returns a usable tokenizer or throws a UserError that says why not.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "common/mutate.h"
#include "support/error.h"
#include "tokenizers/characters.h"
#include "tokenizers/documents.h"
#include "tokenizers/tokenizer.h"
#include "tokenizers/train_bpe.h"

namespace {

using namespace sheaf::tokenizers;
using fuzz::below;
using fuzz::Random;

const char* const kNames[] = {"gpt2", "llama3", "bert", "t5", "llama2", "metaspace", "mixed"};
const char* const kText =
    "It's a  test\xff <s>[MASK] naïve ｆ日本 12345 👨‍👩‍👧 e\u0301<0x41>\n\n\tHello";

// A golden tokenizer with few tokens, so that most damage hits something else.
Json small_document(const std::string& name) {
  std::ifstream in(std::string(TEST_DIR) + "/goldens/" + name + ".json");
  Json doc = Json::parse(in);
  Json& model = doc["model"];
  if (model["vocab"].is_array()) {
    model["vocab"].erase(model["vocab"].begin() + 60, model["vocab"].end());
    return doc;
  }
  Json vocab = Json::object();
  for (const auto& [token, id] : model["vocab"].items())
    if (id < 298) vocab[token] = id;
  model["vocab"] = vocab;
  if (model.contains("merges")) model["merges"] = Json::array();
  if (name == "gpt2" || name == "llama3") {
    vocab["in"] = 298;
    model["vocab"] = vocab;
    model["merges"] = Json::array({Json::array({"i", "n"})});
  }
  return doc;
}

void collect(Json& j, std::vector<Json*>& out) {
  out.push_back(&j);
  if (j.is_structured())
    for (Json& child : j)
      collect(child, out);
}

void damage(Json& doc, Random& rng) {
  const Json odd[] = {nullptr,
                      true,
                      0,
                      -1,
                      4294967296,
                      1e300,
                      "",
                      "x",
                      "\u2581",
                      "Sequence",
                      "ByteLevel",
                      "(",
                      "[[^a]]",
                      "(a*)*b",
                      "\\",
                      Json::array(),
                      Json::object(),
                      {"a", "b"},
                      {{"type", "Sequence"}}};
  std::vector<Json*> nodes;
  for (const char* part : {"added_tokens", "normalizer", "pre_tokenizer", "post_processor", "decoder"})
    if (below(rng, 2)) collect(doc[part], nodes);
  if (nodes.empty()) collect(doc["model"], nodes);
  Json& target = *nodes[below(rng, nodes.size())];
  switch (below(rng, 4)) {
    case 0: target = odd[below(rng, std::size(odd))]; break;
    case 1: target = Json(*nodes[below(rng, nodes.size())]); break;
    case 2:
      if (target.is_object() && !target.empty())
        target.erase(std::next(target.begin(), static_cast<std::ptrdiff_t>(below(rng, target.size()))).key());
      else if (target.is_array() && !target.empty())
        target.push_back(target[below(rng, target.size())]);
      else if (target.is_number())
        target = static_cast<int64_t>(rng() >> below(rng, 64));
      break;
    default:
      if (target.is_string()) {
        std::string s = target;
        fuzz::mutate_once(s, rng);
        target = to_valid_utf8(s);
      } else {
        target = odd[below(rng, std::size(odd))];
      }
  }
}

// 1: made, 0: refused.
int use(const std::string& document) {
  try {
    Tokenizer tok(document);
    try {
      Ids ids = tok.encode(kText, true);
      Truncation cut{.max_length = 7, .stride = 1};
      std::string_view second = kText;
      auto rows = tok.encode_rows(kText, &second,
                                  {.special = true,
                                   .offsets = Tokenizer::Request::Offsets::Bytes,
                                   .truncation = tok.truncation() ? &*tok.truncation() : &cut,
                                   .overflow = true});
      pad(rows, Padding{});
      tok.decode(ids, true);
      tok.decode(std::vector<int32_t>{0, 1, 2, 65, 259}, false);
    } catch (const sheaf::UserError&) {
    }
    return 1;
  } catch (const sheaf::UserError& e) {
    EXPECT_FALSE(e.message.empty());
    return 0;
  }
}

TEST(Damage, Structure) {
  std::vector<Json> seeds;
  for (const char* name : kNames)
    seeds.push_back(small_document(name));
  seeds[2]["truncation"] = {{"direction", "Right"}, {"max_length", 6}, {"strategy", "LongestFirst"}, {"stride", 1}};
  seeds[2]["padding"] = {{"strategy", {{"Fixed", 12}}}, {"direction", "Left"}, {"pad_id", 0}, {"pad_token", "[PAD]"}};
  for (const Json& s : seeds)
    EXPECT_EQ(use(s.dump()), 1);
  int made = 0;
  for (uint64_t seed = 0; seed < 4000; ++seed) {
    SCOPED_TRACE(seed);
    Random rng(seed);
    Json doc = seeds[below(rng, seeds.size())];
    for (size_t n = 1 + below(rng, 3); n > 0; --n)
      damage(doc, rng);
    made += use(doc.dump());
  }
  EXPECT_GT(made, 400);   // not all damage is fatal,
  EXPECT_LT(made, 3800);  // and most is seen
}

TEST(Damage, Bytes) {
  std::string list = "0\ta\n1\t\"\\n\"\n2\tab\n3\t b\n", merges = "#version: 0.2\na b\nab a\n",
              vocab = R"({"a":0,"b":1,"ab":2,"aba":3})";
  std::string whole = small_document("t5").dump();
  for (uint64_t seed = 0; seed < 4000; ++seed) {
    SCOPED_TRACE(seed);
    Random rng(seed);
    std::string* target = seed % 4 == 0 ? &list : seed % 4 == 1 ? &merges : seed % 4 == 2 ? &vocab : &whole;
    std::string before = *target;
    for (size_t n = 1 + below(rng, 3); n > 0; --n)
      fuzz::mutate_once(*target, rng);
    try {
      use(seed % 4 == 0 ? document_of_list(list) : seed % 4 == 3 ? whole : document_of_merges(vocab, merges));
    } catch (const sheaf::UserError&) {
    }
    *target = before;
  }
}

TEST(Utf8, BrokenCharactersBecomeOneMarkEach) {
  EXPECT_EQ(to_valid_utf8("a\xff"
                          "b\xe2\x82"
                          "c\xed\xa0\x80\xf0\x9f\x98"),
            "a\uFFFDb\uFFFDc\uFFFD\uFFFD\uFFFD\uFFFD");
  EXPECT_EQ(sheaf::valid_prefix("12345678\xc3\xa9 \xc3"), 11u);
}

TEST(Documents, SpecialTokensMustBeText) {
  BpeTraining options;
  options.special = {"<pad\xb1"};
  EXPECT_THROW(train_bpe({"text"}, options), sheaf::UserError);
}

TEST(Documents, ListsAndMerges) {
  Tokenizer list(document_of_list("5\ta\n7\tab\n9\t\"\\n\"\r\n"));
  EXPECT_EQ(list.encode("abaa\n", false), (Ids{7, 5, 5, 9}));
  EXPECT_EQ(list.decode(Ids{7, 9, 5}, false), "ab\na");
  EXPECT_THROW(list.encode("c", false), sheaf::UserError);
  EXPECT_THROW(list.decode(Ids{6}, false), sheaf::UserError);
  Tokenizer bytes(document_of_list("0\t\u0120\n1\t\u0120a\n2\ta\n"));
  EXPECT_EQ(bytes.encode("a a ", false), (Ids{2, 1, 0}));
  EXPECT_EQ(bytes.decode(Ids{1, 2}, false), " aa");
  Tokenizer merges(document_of_merges(R"({"a":0,"b":1,"ab":2,"<|endoftext|>":3})", "#version: 0.2\na b\n"));
  EXPECT_EQ(merges.encode("abba<|endoftext|>", false), (Ids{2, 1, 0, 3}));
  EXPECT_EQ(merges.vocabulary_size(), 4u);
}

}  // namespace
