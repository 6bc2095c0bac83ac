#include "tokenizers/documents.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <optional>
#include <set>
#include <tuple>
#include <unordered_map>

#include "tokenizers/characters.h"
#include "tokenizers/fields.h"
#include "tokenizers/pattern.h"

namespace sheaf::tokenizers {
namespace {

// JSON text, one part per line, members in the order of the calls: keeps the order that other programs write.
class JsonText {
 public:
  template <class F>
  void object(F&& members) {
    nest('{', '}', members);
  }
  template <class F>
  void array(F&& items) {
    nest('[', ']', items);
  }
  // Starts a member; its value follows.
  JsonText& key(std::string_view name) {
    begin();
    quote(name);
    out_ += ": ";
    has_key_ = true;
    return *this;
  }
  void text(std::string_view s) {
    begin();
    quote(s);
  }
  void number(int64_t n) { plain(std::to_string(n)); }
  void flag(bool b) { plain(b ? "true" : "false"); }
  void null() { plain("null"); }
  // Appends raw JSON.
  void plain(std::string_view json) {
    begin();
    out_ += json;
  }
  std::string take() { return std::move(out_); }

 private:
  template <class F>
  void nest(char open, char close, F& parts) {
    begin();
    out_ += open;
    ++depth_;
    is_first_ = true;
    parts();
    --depth_;
    if (!is_first_) new_line();
    out_ += close;
    is_first_ = false;
  }
  void begin() {
    if (!std::exchange(has_key_, false) && depth_ > 0) {
      if (!is_first_) out_ += ',';
      new_line();
    }
    is_first_ = false;
  }
  void new_line() {
    out_ += '\n';
    out_.append(depth_, ' ');
  }
  void quote(std::string_view s) {
    if (!is_utf8(s)) throw runtime_error("a token or the pattern is not valid UTF-8");
    constexpr std::string_view kShort = "\b\t\n\f\r\"\\", kLetters = "btnfr\"\\";
    out_ += '"';
    for (char c : s) {
      if (size_t at = kShort.find(c); at != std::string_view::npos)
        (out_ += '\\') += kLetters[at];
      else if (static_cast<unsigned char>(c) < 0x20)
        out_ += fmt::format("\\u{:04x}", static_cast<int>(c));
      else
        out_ += c;
    }
    out_ += '"';
  }

  std::string out_;
  size_t depth_ = 0;
  bool is_first_ = true, has_key_ = false;
};

using Part = std::function<void(JsonText&)>;

void nothing(JsonText& j) { j.null(); }

Part byte_level(bool use_regex) {
  return [=](JsonText& j) {
    j.object([&] {
      j.key("type").text("ByteLevel");
      j.key("add_prefix_space").flag(false);
      j.key("trim_offsets").flag(true);
      j.key("use_regex").flag(use_regex);
    });
  };
}

void added_token(JsonText& j, int64_t id, std::string_view text, bool strips_left = false) {
  j.object([&] {
    j.key("id").number(id);
    j.key("content").text(text);
    j.key("single_word").flag(false);
    j.key("lstrip").flag(strips_left);
    for (const char* off : {"rstrip", "normalized"})
      j.key(off).flag(false);
    j.key("special").flag(true);
  });
}

void merge(JsonText& j, std::string_view left, std::string_view right) {
  j.array([&] {
    j.text(left);
    j.text(right);
  });
}

// `vocab` writes the members of an object, `merges` the items of an array.
Part bpe_model(Part vocab, Part merges) {
  return [=](JsonText& j) {
    j.object([&] {
      j.key("type").text("BPE");
      for (const char* unused : {"dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix"})
        j.key(unused).null();
      for (const char* off : {"fuse_unk", "byte_fallback", "ignore_merges"})
        j.key(off).flag(false);
      j.key("vocab").object([&] { vocab(j); });
      j.key("merges").array([&] { merges(j); });
    });
  };
}

struct Parts {
  Part normalizer = nothing, pre_tokenizer = nothing, post_processor = nothing, decoder = nothing;
};

// `added` writes the items of an array.
std::string document(const Part& added, const Parts& parts, const Part& model) {
  JsonText j;
  j.object([&] {
    j.key("version").text("1.0");
    j.key("truncation").null();
    j.key("padding").null();
    j.key("added_tokens").array([&] { added(j); });
    parts.normalizer(j.key("normalizer"));
    parts.pre_tokenizer(j.key("pre_tokenizer"));
    parts.post_processor(j.key("post_processor"));
    parts.decoder(j.key("decoder"));
    model(j.key("model"));
  });
  return j.take();
}

// `vocab` writes the members of an object.
Part word_piece_model(std::string_view unknown, std::string_view prefix, int64_t max_chars, Part vocab) {
  return [=](JsonText& j) {
    j.object([&] {
      j.key("type").text("WordPiece");
      j.key("unk_token").text(unknown);
      j.key("continuing_subword_prefix").text(prefix);
      j.key("max_input_chars_per_word").number(max_chars);
      j.key("vocab").object([&] { vocab(j); });
    });
  };
}

// Encodes with the longest matching token, from the left; `bytes`: tokens are in the byte alphabet.
std::string longest_match(const Part& vocab, bool bytes) {
  auto fuse = [](JsonText& j) { j.object([&] { j.key("type").text("Fuse"); }); };
  Part decoder = bytes ? byte_level(false) : Part(fuse);
  Parts parts{.pre_tokenizer = bytes ? byte_level(false) : Part(nothing), .decoder = decoder};
  return document([](JsonText&) {}, parts, word_piece_model("", "", 0x7FFFFFFE, vocab));
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
  Json vocab;
  std::vector<std::string> order;  // the tokens in file order
  try {
    vocab = Json::parse(vocab_json, [&](int depth, Json::parse_event_t event, Json& parsed) {
      if (event == Json::parse_event_t::key && depth == 1) order.push_back(parsed.get<std::string>());
      return true;
    });
  } catch (const Json::exception& e) {
    throw runtime_error(std::string("the vocabulary is not JSON: ") + e.what());
  }
  if (!vocab.is_object()) throw runtime_error("the vocabulary does not map tokens to ids");
  auto id_of = [&](const char* token) -> std::optional<int64_t> {
    auto it = vocab.find(token);
    if (it == vocab.end() || !it->is_number_unsigned()) return {};
    return it->get<int64_t>();
  };
  // The files do not tell which tokens are special: GPT-2 has one, RoBERTa five.
  std::optional<int64_t> start = id_of("<s>"), end = id_of("</s>");
  std::vector<const char*> special = {"<|endoftext|>"};
  if (start && end) special.insert(special.end(), {"<s>", "<pad>", "</s>", "<unk>", "<mask>"});
  std::vector<std::pair<int64_t, const char*>> special_ids;
  for (const char* token : special)
    if (auto id = id_of(token)) special_ids.emplace_back(*id, token);
  std::sort(special_ids.begin(), special_ids.end());
  auto added = [&](JsonText& j) {
    for (auto [id, token] : special_ids)
      added_token(j, id, token, std::string_view(token) == "<mask>");
  };
  auto ids = [&](JsonText& j) {
    for (const std::string& token : order) {
      auto it = vocab.find(token);
      if (it == vocab.end()) continue;  // already written: a token may occur twice
      j.key(token).plain(it->dump());
      vocab.erase(it);
    }
  };
  std::string text = to_valid_utf8(merges);
  std::vector<std::pair<std::string_view, std::string_view>> pairs;
  for_each_line(text, [&](std::string_view line, size_t number) {
    if (line.empty() || (number == 1 && line.starts_with("#version"))) return;
    size_t space = line.find(' ');
    if (space == std::string_view::npos || space == 0 || space + 1 == line.size() ||
        line.find(' ', space + 1) != std::string_view::npos)
      throw runtime_error(fmt::format("line {} of '{}' is not two tokens: '{}'", number, merges_name, line));
    pairs.emplace_back(line.substr(0, space), line.substr(space + 1));
  });
  auto all_merges = [&](JsonText& j) {
    for (const auto& [left, right] : pairs)
      merge(j, left, right);
  };
  Parts parts{.pre_tokenizer = byte_level(true), .decoder = byte_level(true)};
  if (start && end) {
    parts.post_processor = [&](JsonText& j) {
      j.object([&] {
        j.key("type").text("RobertaProcessing");
        for (auto [key, token, id] : {std::tuple("sep", "</s>", *end), std::tuple("cls", "<s>", *start)})
          j.key(key).array([&] {
            j.text(token);
            j.number(id);
          });
        j.key("trim_offsets").flag(true);
        j.key("add_prefix_space").flag(false);
      });
    };
  }
  return document(added, parts, bpe_model(ids, all_merges));
}

std::string document_of_word_pieces(std::string_view lines, std::string_view config) {
  constexpr std::string_view where = "tokenizer_config.json";
  Json settings = config.empty() ? Json::object() : Json::parse(config, nullptr, false);
  if (settings.is_discarded() || !settings.is_object())
    throw runtime_error(fmt::format("{} is not a JSON object", where));
  std::string text = to_valid_utf8(lines);
  std::vector<std::string_view> tokens;
  std::unordered_map<std::string_view, int64_t> ids;  // the last line of a token wins
  bool has_upper = false;
  for_each_line(text, [&](std::string_view line, size_t number) {
    while (!line.empty() && is_white_space(static_cast<unsigned char>(line.back())) && line.back() > 0)
      line.remove_suffix(1);
    auto [it, is_new] = ids.try_emplace(line, 0);
    it->second = static_cast<int64_t>(number) - 1;
    if (is_new) tokens.push_back(line);
    bool is_word = !line.starts_with('[');
    has_upper |= is_word && std::any_of(line.begin(), line.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
  });
  std::erase(tokens, "");
  if (tokens.empty()) throw runtime_error("the vocabulary is empty");
  auto token_of = [&](const char* key, const char* usual) {
    const Json* found = find_member(settings, key);
    if (found && found->is_object()) found = find_member(*found, "content");  // a token with options
    return found && found->is_string() ? found->get<std::string>() : usual;
  };
  std::string unknown = token_of("unk_token", "[UNK]"), start = token_of("cls_token", "[CLS]"),
              end = token_of("sep_token", "[SEP]");
  std::vector<std::pair<int64_t, std::string>> special;
  for (const std::string& token :
       {unknown, start, end, token_of("pad_token", "[PAD]"), token_of("mask_token", "[MASK]")})
    if (auto it = ids.find(token); it != ids.end()) special.emplace_back(it->second, token);
  std::sort(special.begin(), special.end());
  auto added = [&](JsonText& j) {
    for (const auto& [id, token] : special)
      added_token(j, id, token);
  };
  auto vocab = [&](JsonText& j) {
    for (std::string_view token : tokens)
      j.key(token).number(ids[token]);
  };
  auto normalizer = [&](JsonText& j) {
    j.object([&] {
      j.key("type").text("BertNormalizer");
      j.key("clean_text").flag(true);
      j.key("handle_chinese_chars").flag(bool_member(settings, "tokenize_chinese_chars", where, true));
      j.key("strip_accents");
      if (find_member(settings, "strip_accents"))
        j.flag(bool_member(settings, "strip_accents", where, false));
      else
        j.null();
      j.key("lowercase").flag(bool_member(settings, "do_lower_case", where, !has_upper));
    });
  };
  Parts parts{.normalizer = normalizer,
              .pre_tokenizer = [](JsonText& j) { j.object([&] { j.key("type").text("BertPreTokenizer"); }); },
              .decoder =
                  [](JsonText& j) {
                    j.object([&] {
                      j.key("type").text("WordPiece");
                      j.key("prefix").text("##");
                      j.key("cleanup").flag(true);
                    });
                  }};
  if (ids.contains(start) && ids.contains(end)) {
    parts.post_processor = [&](JsonText& j) {
      j.object([&] {
        j.key("type").text("BertProcessing");
        for (auto [key, token] : {std::pair("sep", &end), std::pair("cls", &start)})
          j.key(key).array([&] {
            j.text(*token);
            j.number(ids[*token]);
          });
      });
    };
  }
  return document(added, parts, word_piece_model(unknown, "##", 100, vocab));
}

std::string document_of_list(std::string_view lines) {
  std::string text = to_valid_utf8(lines);
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
  std::unordered_map<std::string, int32_t> ids;  // the first line of a token wins
  for (auto& [token, id] : tokens)
    ids.emplace(token, id);
  auto vocab = [&](JsonText& j) {
    for (const auto& [token, id] : ids)
      j.key(token).number(id);
  };
  return longest_match(vocab, byte_spaces && !spaces);
}

std::string document_of_characters(std::string_view text) {
  std::string valid = to_valid_utf8(text);
  std::set<int32_t> codes;
  for_each_char(valid, [&](int32_t code) { codes.insert(code); });
  if (codes.empty()) throw runtime_error("the text is empty");
  auto vocab = [&](JsonText& j) {
    int64_t id = 0;
    for (int32_t code : codes) {
      std::string token;
      append_char(token, code);
      j.key(token).number(id++);
    }
  };
  return longest_match(vocab, false);
}

std::string document_of_bpe(const std::vector<std::string>& tokens, size_t num_special,
                            const std::vector<std::pair<std::string, std::string>>& merges, std::string_view pattern) {
  auto added = [&](JsonText& j) {
    for (size_t i = 0; i < num_special; ++i)
      added_token(j, static_cast<int64_t>(i), tokens[i]);
  };
  auto vocab = [&](JsonText& j) {
    for (size_t i = 0; i < tokens.size(); ++i)
      j.key(tokens[i]).number(static_cast<int64_t>(i));
  };
  auto pairs = [&](JsonText& j) {
    for (const auto& [left, right] : merges)
      merge(j, left, right);
  };
  auto by_pattern = [&](JsonText& j) {
    j.object([&] {
      j.key("type").text("Sequence");
      j.key("pretokenizers").array([&] {
        j.object([&] {
          j.key("type").text("Split");
          j.key("pattern").object([&] { j.key("Regex").text(pattern); });
          j.key("behavior").text("Isolated");
          j.key("invert").flag(false);
        });
        byte_level(false)(j);
      });
    });
  };
  Part pre_tokenizer = pattern == kGpt2Pattern ? byte_level(true) : Part(by_pattern);
  return document(added, {.pre_tokenizer = pre_tokenizer, .decoder = byte_level(true)}, bpe_model(vocab, pairs));
}

}  // namespace sheaf::tokenizers
