// Facts about tokens besides their ids, and texts truncated and padded: against the `tokenizers` library
// (make_encoding_goldens.py).
#include <gtest/gtest.h>

#include "goldens.h"
#include "support/error.h"
#include "tokenizers/characters.h"
#include "tokenizers/documents.h"
#include "tokenizers/tokenizer.h"

namespace {

using namespace sheaf::tokenizers;
using Offsets = Tokenizer::Request::Offsets;

std::string row_text(const Encoding& e) {
  std::string out;
  for (size_t i = 0; i < e.size(); ++i)
    out += fmt::format("{}{},{},{},{},{},{},{}", i > 0 ? ";" : "", e.ids[i], e.types[i],
                       static_cast<int>(e.sequences[i] == Encoding::kNone), static_cast<int>(!e.is_padding(i)),
                       e.offsets[i].start, e.offsets[i].end, e.words[i]);
  return out;
}

const Json& goldens() {
  static const Json* all = new Json(Json::parse(read_golden("encodings.json")));
  return *all;
}

Tokenizer tokenizer_of(const Json& golden) {
  Json document = Json::parse(read_golden(golden["base"].get<std::string>() + ".json"));
  document.update(golden["patch"]);
  return Tokenizer(document.dump());
}

class Encodings : public testing::TestWithParam<const char*> {};

TEST_P(Encodings, OfTextsEqualTheLibrary) {
  const Json& golden = goldens()["tokenizers"][GetParam()];
  Tokenizer tok = tokenizer_of(golden);
  std::string hashes = golden["strings"];
  int wrong = 0;
  for (size_t i = 0; i < golden_strings().size(); i += 2) {
    const std::string& s = golden_strings()[i];
    std::string row = row_text(tok.encode_rows(s, nullptr, {.special = true, .offsets = Offsets::Chars})[0]);
    std::string theirs = hashes.substr(i / 2 * 8, 8);
    bool same = theirs == "--------" || hash_of(row) == theirs;
    EXPECT_TRUE(same) << "string " << i << ": " << Json(to_valid_utf8(s)).dump() << "\n" << row;
    wrong += !same;
    if (wrong > 5) FAIL() << "and more";
  }
}

// One of the library's words.
bool has(const Json& j, const char* key, const char* word) { return j[key].get<std::string>() == word; }

std::string answer(const Tokenizer& tok, const Json& request) {
  Truncation t;
  Tokenizer::Request how{.special = request["special"], .offsets = Offsets::Chars, .overflow = true};
  if (const Json& j = request["truncation"]; !j.is_null()) {
    t.max_length = j["max_length"];
    t.stride = j["stride"];
    t.side = has(j, "direction", "left") ? Side::Left : Side::Right;
    t.strategy = has(j, "strategy", "only_first")    ? Truncation::Strategy::OnlyFirst
                 : has(j, "strategy", "only_second") ? Truncation::Strategy::OnlySecond
                                                     : Truncation::Strategy::LongestFirst;
    how.truncation = &t;
  }
  std::vector<Encoding> all;
  std::vector<size_t> counts;
  for (size_t i = 0; i < request["texts"].size(); ++i) {
    const std::string& text = golden_strings()[request["texts"][i]];
    std::string_view second;
    if (!request["pairs"].is_null()) second = golden_strings()[request["pairs"][i]];
    for (Encoding& e : tok.encode_rows(text, request["pairs"].is_null() ? nullptr : &second, how))
      all.push_back(std::move(e));
    counts.push_back(all.size());
  }
  if (const Json& j = request["padding"]; !j.is_null()) {
    Padding p;
    p.side = has(j, "direction", "left") ? Side::Left : Side::Right;
    p.id = j["pad_id"];
    p.type = j["pad_type_id"];
    if (!j["length"].is_null()) p.length = j["length"];
    if (!j["pad_to_multiple_of"].is_null()) p.multiple = j["pad_to_multiple_of"];
    pad(all, p);
  }
  std::string out;
  for (size_t i = 0, row = 0; i < counts.size(); ++i)
    for (bool is_first = true; row < counts[i]; ++row, is_first = false)
      out += (is_first ? (i > 0 ? "/" : "") : "|") + row_text(all[row]);
  return out;
}

TEST_P(Encodings, OfRequestsEqualTheLibrary) {
  const Json& golden = goldens()["tokenizers"][GetParam()];
  Tokenizer tok = tokenizer_of(golden);
  for (size_t i = 0; i < goldens()["requests"].size(); ++i) {
    const Json &request = goldens()["requests"][i], &theirs = golden["answers"][i];
    if (theirs == "--------") continue;
    std::string ours;
    try {
      ours = answer(tok, request);
    } catch (const sheaf::UserError& e) {
      EXPECT_TRUE(theirs.is_null()) << request.dump() << "\n" << e.message;
      continue;
    }
    EXPECT_EQ(hash_of(ours), theirs.is_null() ? "" : theirs.get<std::string>()) << request.dump() << "\n" << ours;
  }
}

// Offsets in bytes mark the same characters.
TEST_P(Encodings, BytesAndCharactersAgree) {
  Tokenizer tok = tokenizer_of(goldens()["tokenizers"][GetParam()]);
  for (size_t i = 0; i < golden_strings().size(); i += 7) {
    const std::string& s = golden_strings()[i];
    CharOffsets chars(s);
    Encoding bytes = tok.encode_rows(s, nullptr, {.special = true, .offsets = Offsets::Bytes})[0];
    Encoding in_chars = tok.encode_rows(s, nullptr, {.special = true, .offsets = Offsets::Chars})[0];
    ASSERT_EQ(bytes.ids, in_chars.ids);
    ASSERT_EQ(bytes.ids, tok.encode(s, true));
    for (size_t t = 0; t < bytes.size(); ++t)
      EXPECT_EQ((Span{chars.char_at(bytes.offsets[t].start), chars.char_at(bytes.offsets[t].end)}), in_chars.offsets[t])
          << s;
  }
}

// The document's settings, as "enable_truncation" and "enable_padding" of the library write them.
TEST(Settings, AreReadFromTheDocument) {
  Json document = Json::parse(read_golden("bert.json"));
  document["truncation"] = {{"direction", "Left"}, {"max_length", 9}, {"strategy", "OnlySecond"}, {"stride", 2}};
  document["padding"] = {{"strategy", {{"Fixed", 12}}},
                         {"direction", "Left"},
                         {"pad_to_multiple_of", 8},
                         {"pad_id", 4},
                         {"pad_type_id", 1},
                         {"pad_token", "[MASK]"}};
  Tokenizer tok(document.dump());
  ASSERT_TRUE(tok.truncation() && tok.padding());
  EXPECT_EQ(tok.truncation()->max_length, 9u);
  EXPECT_EQ(tok.truncation()->stride, 2u);
  EXPECT_EQ(tok.truncation()->side, Side::Left);
  EXPECT_EQ(tok.truncation()->strategy, Truncation::Strategy::OnlySecond);
  EXPECT_EQ(tok.padding()->length, 12u);
  EXPECT_EQ(tok.padding()->multiple, 8u);
  EXPECT_EQ(tok.padding()->side, Side::Left);
  EXPECT_EQ(tok.padding()->id, 4);
  EXPECT_EQ(tok.padding()->type, 1);
  EXPECT_EQ(tok.padding()->token, "[MASK]");
  document["truncation"] = document["padding"] = nullptr;
  Tokenizer plain(document.dump());
  EXPECT_FALSE(plain.truncation() || plain.padding());
  for (const char* key : {"truncation", "padding"}) {
    Json damaged = document;
    damaged[key] = {{"strategy", "Half"}, {"max_length", 3}};
    EXPECT_THROW(Tokenizer(damaged.dump()), sheaf::UserError);
  }
}

// BERT's own file gives the tokenizer that the library saves for it.
TEST(Documents, WordPiecesEqualTheLibrary) {
  Json vocab = Json::parse(read_golden("bert.json"))["model"]["vocab"];
  std::vector<std::string> tokens(vocab.size());
  for (const auto& [token, id] : vocab.items())
    tokens[id.get<size_t>()] = token;
  std::string lines;
  for (const std::string& token : tokens)
    lines += token + "\r\n";
  Tokenizer ours(document_of_word_pieces(lines, "")), theirs(read_golden("bert.json"));
  for (const std::string& s : golden_strings()) {
    ASSERT_EQ(ours.encode(s, true), theirs.encode(s, true));
    ASSERT_EQ(ours.decode(ours.encode(s, true), false), theirs.decode(theirs.encode(s, true), false));
  }
}

TEST(Documents, WordPiecesKeepUpperCaseWhereTheVocabularyHasIt) {
  std::string upper = "[PAD]\n[UNK]\nHello\nhello\n##s\n", lower = "[PAD]\n[UNK]\nhello\n";
  EXPECT_EQ(Tokenizer(document_of_word_pieces(upper, "")).encode("Hellos hello", false), (Ids{2, 4, 3}));
  EXPECT_EQ(Tokenizer(document_of_word_pieces(lower, "")).encode("Hello hi", true), (Ids{2, 1}));
  EXPECT_EQ(Tokenizer(document_of_word_pieces(upper, R"({"do_lower_case": true})")).encode("Hello", false), (Ids{3}));
  EXPECT_EQ(Tokenizer(document_of_word_pieces("<u>\na\n", R"({"unk_token": {"content": "<u>"}})")).encode("b a", false),
            (Ids{0, 1}));
  EXPECT_THROW(document_of_word_pieces("\n", ""), sheaf::UserError);
  EXPECT_THROW(document_of_word_pieces("a\n", "[]"), sheaf::UserError);
}

TEST(Documents, RobertaPutsItsTokensAroundTexts) {
  std::string vocab = R"({"<s>":0,"<pad>":1,"</s>":2,"<unk>":3,"a":4,"b":5,"ab":6,"<mask>":7})";
  Tokenizer tok(document_of_merges(vocab, "#version: 0.2\na b\n"));
  EXPECT_EQ(tok.encode("ab<mask>b", true), (Ids{0, 6, 7, 5, 2}));
  std::string_view second = "b";
  EXPECT_EQ(tok.encode_rows("a", &second, {.special = true})[0].ids, (Ids{0, 4, 2, 2, 5, 2}));
}

INSTANTIATE_TEST_SUITE_P(Goldens, Encodings,
                         testing::Values("gpt2", "llama3", "bert", "t5", "llama2", "metaspace", "mixed", "roberta",
                                         "roberta-plain", "gpt2-trims", "bert-processing", "nfkc", "nfc", "nfkd",
                                         "chain", "bytes"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
