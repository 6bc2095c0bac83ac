#include "tokenizers/documents.h"

#include <charconv>
#include <functional>
#include <set>
#include <unordered_map>

#include "tokenizers/characters.h"
#include "tokenizers/fields.h"
#include "tokenizers/pattern.h"

namespace sheaf::tokenizers {
namespace {

// JSON text, a part on each line, members in the order of the calls: files keep the order that other programs write.
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
  // The member whose value comes next.
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
  // JSON of its own.
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

void added_token(JsonText& j, int64_t id, std::string_view text) {
  j.object([&] {
    j.key("id").number(id);
    j.key("content").text(text);
    for (const char* off : {"single_word", "lstrip", "rstrip", "normalized"})
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

// `added` writes the items of an array.
std::string document(const Part& added, const Part& pre_tokenizer, const Part& decoder, const Part& model) {
  JsonText j;
  j.object([&] {
    j.key("version").text("1.0");
    j.key("truncation").null();
    j.key("padding").null();
    j.key("added_tokens").array([&] { added(j); });
    j.key("normalizer").null();
    pre_tokenizer(j.key("pre_tokenizer"));
    j.key("post_processor").null();
    decoder(j.key("decoder"));
    model(j.key("model"));
  });
  return j.take();
}

// Writes texts with the longest token that fits, from the left; `bytes`: tokens are in the byte alphabet.
std::string longest_match(const Part& vocab, bool bytes) {
  auto model = [&](JsonText& j) {
    j.object([&] {
      j.key("type").text("WordPiece");
      j.key("unk_token").text("");
      j.key("continuing_subword_prefix").text("");
      j.key("max_input_chars_per_word").number(0x7FFFFFFE);
      j.key("vocab").object([&] { vocab(j); });
    });
  };
  auto fuse = [](JsonText& j) { j.object([&] { j.key("type").text("Fuse"); }); };
  Part decoder = bytes ? byte_level(false) : Part(fuse);
  return document([](JsonText&) {}, bytes ? byte_level(false) : Part(nothing), decoder, model);
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
  std::vector<std::string> order;  // of the tokens in the file
  try {
    vocab = Json::parse(vocab_json, [&](int depth, Json::parse_event_t event, Json& parsed) {
      if (event == Json::parse_event_t::key && depth == 1) order.push_back(parsed.get<std::string>());
      return true;
    });
  } catch (const Json::exception& e) {
    throw runtime_error(std::string("the vocabulary is not JSON: ") + e.what());
  }
  if (!vocab.is_object()) throw runtime_error("the vocabulary does not map tokens to ids");
  auto added = [&](JsonText& j) {
    // The end of a text is a token of its own in the files of GPT-2, though nothing in them says so.
    auto it = vocab.find("<|endoftext|>");
    if (it != vocab.end() && it->is_number_unsigned()) added_token(j, it->get<int64_t>(), it.key());
  };
  auto ids = [&](JsonText& j) {
    for (const std::string& token : order) {
      auto it = vocab.find(token);
      if (it == vocab.end()) continue;  // written already: a token may come twice
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
  return document(added, byte_level(true), byte_level(true), bpe_model(ids, all_merges));
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
  std::unordered_map<std::string, int32_t> ids;  // the first line of a token counts
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
  return document(added, pre_tokenizer, byte_level(true), bpe_model(vocab, pairs));
}

}  // namespace sheaf::tokenizers
