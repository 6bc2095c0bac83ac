#include "tokenizers/documents.h"

#include <charconv>
#include <nlohmann/json.hpp>
#include <set>

#include "tokenizers/characters.h"
#include "tokenizers/fields.h"
#include "tokenizers/pattern.h"

namespace sheaf::tokenizers {
namespace {

using Ordered = nlohmann::ordered_json;  // files keep the order that other programs write

Ordered byte_level(bool use_regex) {
  return {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", use_regex}};
}

Ordered added_token(int64_t id, std::string_view text) {
  return {{"id", id},        {"content", text},     {"single_word", false}, {"lstrip", false},
          {"rstrip", false}, {"normalized", false}, {"special", true}};
}

Ordered bpe_model(Ordered vocab, Ordered merges) {
  return {{"type", "BPE"},
          {"dropout", nullptr},
          {"unk_token", nullptr},
          {"continuing_subword_prefix", nullptr},
          {"end_of_word_suffix", nullptr},
          {"fuse_unk", false},
          {"byte_fallback", false},
          {"ignore_merges", false},
          {"vocab", std::move(vocab)},
          {"merges", std::move(merges)}};
}

std::string document(Ordered added, Ordered pre_tokenizer, Ordered decoder, Ordered model) {
  Ordered out = {{"version", "1.0"},          {"truncation", nullptr},
                 {"padding", nullptr},        {"added_tokens", std::move(added)},
                 {"normalizer", nullptr},     {"pre_tokenizer", std::move(pre_tokenizer)},
                 {"post_processor", nullptr}, {"decoder", std::move(decoder)},
                 {"model", std::move(model)}};
  try {
    return out.dump(1);
  } catch (const Ordered::type_error&) {
    throw runtime_error("a token or the pattern is not valid UTF-8");
  }
}

// Writes texts with the longest token that fits, from the left; `bytes`: tokens are in the byte alphabet.
std::string longest_match(Ordered vocab, bool bytes) {
  Ordered model = {{"type", "WordPiece"},
                   {"unk_token", ""},
                   {"continuing_subword_prefix", ""},
                   {"max_input_chars_per_word", 0x7FFFFFFE},
                   {"vocab", std::move(vocab)}};
  Ordered decoder = bytes ? byte_level(false) : Ordered{{"type", "Fuse"}};
  return document(Ordered::array(), bytes ? byte_level(false) : Ordered(nullptr), std::move(decoder), std::move(model));
}

template <class F>
void for_each_line(std::string_view text, F&& f) {
  for (size_t number = 1; !text.empty(); ++number) {
    size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    f(line, number);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

}  // namespace

std::string document_of_merges(std::string_view vocab_json, std::string_view merges, std::string_view merges_name) {
  Ordered vocab;
  try {
    vocab = Ordered::parse(vocab_json);
  } catch (const Ordered::exception& e) {
    throw runtime_error(std::string("the vocabulary is not JSON: ") + e.what());
  }
  if (!vocab.is_object()) throw runtime_error("the vocabulary does not map tokens to ids");
  Ordered added = Ordered::array();
  // The end of a text is a token of its own in the files of GPT-2, though nothing in them says so.
  if (auto it = vocab.find("<|endoftext|>"); it != vocab.end() && it->is_number_unsigned())
    added.push_back(added_token(it->get<int64_t>(), it.key()));
  std::string text = to_valid_utf8(merges);
  Ordered pairs = Ordered::array();
  for_each_line(text, [&](std::string_view line, size_t number) {
    if (line.empty() || (number == 1 && line.starts_with("#version"))) return;
    size_t space = line.find(' ');
    if (space == std::string_view::npos || space == 0 || space + 1 == line.size() ||
        line.find(' ', space + 1) != std::string_view::npos)
      throw runtime_error(fmt::format("line {} of '{}' is not two tokens: '{}'", number, merges_name, line));
    pairs.push_back({line.substr(0, space), line.substr(space + 1)});
  });
  return document(std::move(added), byte_level(true), byte_level(true), bpe_model(std::move(vocab), std::move(pairs)));
}

std::string document_of_list(std::string_view lines) {
  std::string text = to_valid_utf8(lines);
  Ordered vocab = Ordered::object();
  std::vector<std::pair<std::string, int32_t>> tokens;
  bool byte_spaces = false, spaces = false;
  for_each_line(text, [&](std::string_view line, size_t number) {
    if (line.empty()) return;
    size_t tab = line.find('\t');
    int32_t id = -1;
    bool is_id = tab != std::string_view::npos &&
                 std::from_chars(line.data(), line.data() + tab, id).ptr == line.data() + tab && id >= 0;
    if (!is_id) throw runtime_error(fmt::format("line {} is not an id, a tab and a token", number));
    std::string token(line.substr(tab + 1));
    if (token.size() >= 2 && token.starts_with('"') && token.ends_with('"')) {
      Json quoted = Json::parse(token, nullptr, false);
      if (quoted.is_string()) token = quoted.get<std::string>();
    }
    spaces |= token.find(' ') != std::string::npos;
    byte_spaces |= token.find("\u0120") != std::string::npos;
    tokens.emplace_back(std::move(token), id);
  });
  if (tokens.empty()) throw runtime_error("the list of tokens is empty");
  std::unordered_map<std::string, int32_t> ids;  // the first line of a token counts
  for (auto& [token, id] : tokens)
    ids.emplace(token, id);
  for (auto& [token, id] : ids)
    vocab.get_ref<Ordered::object_t&>().emplace_back(token, id);
  return longest_match(std::move(vocab), byte_spaces && !spaces);
}

std::string document_of_characters(std::string_view text) {
  std::string valid = to_valid_utf8(text);
  std::set<int32_t> codes;
  for_each_char(valid, [&](int32_t code) { codes.insert(code); });
  if (codes.empty()) throw runtime_error("the text is empty");
  Ordered vocab = Ordered::object();
  for (int32_t code : codes) {
    std::string token;
    append_char(token, code);
    vocab.get_ref<Ordered::object_t&>().emplace_back(token, vocab.size());
  }
  return longest_match(std::move(vocab), false);
}

std::string document_of_bpe(const std::vector<std::string>& tokens, size_t num_special,
                            const std::vector<std::pair<std::string, std::string>>& merges, std::string_view pattern) {
  Ordered added = Ordered::array(), vocab = Ordered::object(), pairs = Ordered::array();
  for (size_t i = 0; i < num_special; ++i)
    added.push_back(added_token(static_cast<int64_t>(i), tokens[i]));
  // Tokens differ, so that they need not be looked for among those before.
  for (size_t i = 0; i < tokens.size(); ++i)
    vocab.get_ref<Ordered::object_t&>().emplace_back(tokens[i], i);
  for (const auto& [left, right] : merges)
    pairs.push_back({left, right});
  bool gpt2 = pattern == kGpt2Pattern;
  Ordered split = {{"type", "Split"}, {"pattern", {{"Regex", pattern}}}, {"behavior", "Isolated"}, {"invert", false}};
  Ordered pre_tokenizer =
      gpt2 ? byte_level(true) : Ordered{{"type", "Sequence"}, {"pretokenizers", {std::move(split), byte_level(false)}}};
  return document(std::move(added), std::move(pre_tokenizer), byte_level(true),
                  bpe_model(std::move(vocab), std::move(pairs)));
}

}  // namespace sheaf::tokenizers
