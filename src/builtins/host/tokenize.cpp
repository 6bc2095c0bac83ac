// Tokenizers: text to ids and back, loaded from files of trained models or trained here.
#include <fmt/format.h>

#include <filesystem>

#include "builtins/core/elements.h"
#include "builtins/host/families.h"
#include "builtins/host/tokenizer_value.h"
#include "formats/files.h"
#include "tokenizers/documents.h"
#include "tokenizers/pattern.h"
#include "tokenizers/train_bpe.h"
#include "value/print.h"

namespace sheaf::builtins {
namespace {

namespace fs = std::filesystem;
using tokenizers::Tokenizer;

struct TokenizerObj final : Object {
  Tokenizer tokenizer;
  explicit TokenizerObj(std::string document) : tokenizer(std::move(document)) {}
};

Value tokenizer_value(std::string document) {
  return Value::object(Tag::Opaque, new TokenizerObj(std::move(document)));
}

// The file of a tokenizer: `path` itself, or one in that folder.
fs::path file_in(const fs::path& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) return path;
  for (const char* name : {"tokenizer.json", "vocab.json", "vocab.txt"})
    if (fs::exists(path / name, error)) return path / name;
  throw runtime_error("the folder has neither tokenizer.json nor vocab.json nor vocab.txt");
}

std::string document_at(const fs::path& path) {
  fs::path file = file_in(path);
  std::string bytes = formats::read_file(file.string(), "tokenizer");
  size_t start = bytes.find_first_not_of(" \t\r\n");
  std::error_code error;
  if (start == std::string::npos || bytes[start] != '{') {
    bool has_ids = std::string_view(bytes).substr(0, bytes.find('\n')).find('\t') != std::string_view::npos;
    if (has_ids || file.extension() != ".txt") return tokenizers::document_of_list(bytes);
    fs::path config = file.parent_path() / "tokenizer_config.json";
    return tokenizers::document_of_word_pieces(
        bytes, fs::exists(config, error) ? formats::read_file(config.string(), "tokenizer") : "");
  }
  fs::path merges = file.parent_path() / "merges.txt";
  // A vocabulary maps tokens to ids, a whole tokenizer has a model.
  bool is_vocabulary =
      file.filename() == "vocab.json" || (bytes.find("\"model\"") == std::string::npos && fs::exists(merges, error));
  return is_vocabulary
             ? tokenizers::document_of_merges(bytes, formats::read_file(merges.string(), "tokenizer"), merges.string())
             : bytes;
}

Value tokenizer(Call& c) {
  const std::string& path = string_arg(c[0], "tokenizer", "path");
  formats::check_path(path, "tokenizer");
  return naming(fmt::format("tokenizer '{}'", path), [&] { return tokenizer_value(document_at(path)); });
}

Value encode(Call& c) {
  const Tokenizer& t = tokenizer_arg(c[0], "encode");
  const std::string& text = string_arg(c[1], "encode", "text");
  tokenizers::Ids ids = naming("encode", [&] { return t.encode(text, c.flag("special")); });
  return Value::tensor(tensor_of(DType::I32, {static_cast<int64_t>(ids.size())}, ids.data()));
}

int32_t checked_id(double id, std::string_view who) {
  if (!(id >= 0 && id < 0x7FFFFFFF) || id != static_cast<double>(static_cast<int32_t>(id)))
    throw runtime_error(fmt::format("{}: {} is not an id", who, id));
  return static_cast<int32_t>(id);
}

int32_t id_of_value(const Value& v, std::string_view who) {
  if (v.is_int()) return checked_id(static_cast<double>(v.as_int()), who);
  if (v.is_float()) return checked_id(v.as_float(), who);
  if (v.is_tensor() && v.as_tensor().num_elems() == 1) return checked_id(element_as_double(v.as_tensor(), 0), who);
  throw runtime_error(fmt::format("{}: expected ids, got {}", who, type_name(v)));
}

tokenizers::Ids ids_arg(const Value& value, std::string_view who) {
  Value v = trace::concrete_tree(value);
  tokenizers::Ids ids;
  if (v.is_seq()) {
    for (const Value& item : v.items())
      ids.push_back(id_of_value(item, who));
  } else if (v.is_tensor()) {
    const Tensor& t = v.as_tensor();
    if (t.rank() > 1)
      throw runtime_error(fmt::format("{}: expected a row of ids, got a tensor of rank {}", who, t.rank()));
    for (int64_t i = 0; i < t.num_elems(); ++i)
      ids.push_back(checked_id(element_as_double(t, i), who));
  } else {
    ids.push_back(id_of_value(v, who));
  }
  return ids;
}

Value decode(Call& c) {
  const Tokenizer& t = tokenizer_arg(c[0], "decode");
  tokenizers::Ids ids = ids_arg(c[1], "decode");
  return Value::string(naming("decode", [&] { return t.decode(ids, c.flag("special")); }));
}

Value token_id(Call& c) {
  int32_t id = tokenizer_arg(c[0], "token-id").id_of(string_arg(c[1], "token-id", "token"));
  return id == tokenizers::Vocabulary::kNone ? Value() : Value::integer(id);
}

Value token_text(Call& c) {
  const Tokenizer& t = tokenizer_arg(c[0], "token-text");
  const std::string* text = t.text_of(id_of_value(trace::concrete_tree(c[1]), "token-text"));
  return text ? Value::string(*text) : Value();
}

Value save_tokenizer(Call& c) {
  const Tokenizer& t = tokenizer_arg(c[0], "save-tokenizer");
  formats::write_file(string_arg(c[1], "save-tokenizer", "path"), t.document(), "save-tokenizer");
  return {};
}

size_t count_option(const Value& v, std::string_view name, int64_t least) {
  if (!v.is_int() || v.as_int() < least || v.as_int() > 0x7FFFFFFF)
    throw runtime_error(fmt::format("train-bpe: {} must be an int of at least {}, got {}", name, least, short_text(v)));
  return static_cast<size_t>(v.as_int());
}

tokenizers::BpeTraining training_options(const Value& v) {
  tokenizers::BpeTraining options;
  options.pattern = tokenizers::kGpt2Pattern;
  if (v.is_nil()) return options;
  if (!v.is_dict()) throw runtime_error(fmt::format("train-bpe: options must be a dict, got {}", type_name(v)));
  for (const DictEntry& e : v.as_dict().entries()) {
    const std::string& name = e.key.str();
    if (name == "vocab") {
      options.vocabulary_size = count_option(e.value, ":vocab", 256);
    } else if (name == "min-count") {
      options.min_count = count_option(e.value, ":min-count", 1);
    } else if (name == "special") {
      if (!e.value.is_seq()) throw runtime_error("train-bpe: :special must be a list of strings");
      for (const Value& s : e.value.items()) {
        options.special.push_back(string_arg(s, "train-bpe", "a special token"));
        if (options.special.back().empty()) throw runtime_error("train-bpe: a special token is empty");
      }
    } else if (name == "pattern") {
      bool is_name =
          e.value.is_keyword() && (e.value.as_keyword().str() == "gpt2" || e.value.as_keyword().str() == "llama3");
      if (!is_name && !e.value.is_string())
        throw runtime_error("train-bpe: :pattern must be :gpt2, :llama3 or a regular expression");
      if (e.value.is_string())
        options.pattern = e.value.as_string();
      else if (e.value.as_keyword().str() == "llama3")
        options.pattern = tokenizers::kLlama3Pattern;
    } else {
      throw runtime_error(fmt::format("train-bpe: unknown option :{}", name))
          .hint("the options are :vocab :special :min-count :pattern");
    }
  }
  return options;
}

Value train_bpe(Call& c) {
  std::vector<std::string_view> texts;
  if (c[0].is_seq())
    for (const Value& v : c[0].items())
      texts.push_back(string_arg(v, "train-bpe", "each text"));
  else
    texts.push_back(string_arg(c[0], "train-bpe", "text"));
  tokenizers::BpeTraining options = training_options(c.size() > 1 ? c[1] : Value());
  return naming("train-bpe", [&] { return tokenizer_value(tokenizers::train_bpe(texts, options)); });
}

Value char_tokenizer(Call& c) {
  const std::string& text = string_arg(c[0], "char-tokenizer", "text");
  return naming("char-tokenizer", [&] { return tokenizer_value(tokenizers::document_of_characters(text)); });
}

const BuiltinDef kBuiltins[] = {
    {"tokenizer",
     "Tokenizers",
     "(tokenizer path)",
     "The tokenizer in a file or folder: Hugging Face's tokenizer.json (BPE, WordPiece, Unigram, with its normalizers, "
     "patterns and added tokens), "
     "vocab.json with merges.txt beside it (GPT-2, RoBERTa), BERT's vocab.txt, or lines of an id, a tab and a token. "
     "encode-batch cuts and pads as the file says; encode gives all ids of a text.",
     {{"(let [f (str \"/tmp/sheaf-doc-\" (io \"entropy\") \".tsv\")] (io \"write\" f \"0\\ta\\n1\\tb\\n2\\tab\\n\") "
       "(let [t (tokenizer f)] (io \"rm\" f) (encode t \"abba\")))",
       "[2 1 0]"}},
     1,
     1,
     tokenizer,
     {},
     Effect::Input},
    {"encode",
     "Tokenizers",
     "(encode tok text [:special])",
     "The ids of a text, an i32 tensor. Added tokens such as <|endoftext|> are found in the text; with :special the "
     "start and end tokens that the "
     "file asks for are put around it. Bytes that are not UTF-8 count as U+FFFD.",
     {{"(encode (train-bpe \"low low low\" {:vocab 260}) \" low low\")", "[258 258]"},
      {"(dtype (encode (train-bpe \"\") \"a b\"))", ":i32"}},
     2,
     2,
     encode,
     "special",
     Effect::Input},
    {"decode",
     "Tokenizers",
     "(decode tok ids [:special])",
     "The text of ids, given as a tensor or list. Special tokens are left out unless :special is given. A character "
     "whose bytes are not all there is "
     "U+FFFD.",
     {{"(let [t (train-bpe \"low low low\" {:vocab 260})] (decode t (encode t \"slow 日本\")))", "slow 日本"}},
     2,
     2,
     decode,
     "special",
     Effect::Input},
    {"vocab-size",
     "Tokenizers",
     "(vocab-size tok)",
     "How many tokens there are, added ones included.",
     {{"(vocab-size (train-bpe \"low low low\" {:vocab 258}))", "258"}},
     1,
     1,
     [](Call& c) { return Value::integer(static_cast<int64_t>(tokenizer_arg(c[0], "vocab-size").vocabulary_size())); },
     {},
     Effect::Input},
    {"largest-id",
     "Tokenizers",
     "(largest-id tok)",
     "The largest id that encode gives. Ids may have gaps; a table of embeddings needs a row more than this.",
     {{"(largest-id (train-bpe \"low low low\" {:vocab 258}))", "257"}},
     1,
     1,
     [](Call& c) { return Value::integer(tokenizer_arg(c[0], "largest-id").largest_id()); },
     {},
     Effect::Input},
    {"token-id",
     "Tokenizers",
     "(token-id tok token)",
     "The id of a token as the vocabulary writes it; nil when there is none.",
     {{"(token-id (train-bpe \"\" {:special '[\"<eos>\"]}) \"<eos>\")", "0"}},
     2,
     2,
     token_id,
     {},
     Effect::Input},
    {"token-text",
     "Tokenizers",
     "(token-text tok id)",
     "A token as the vocabulary writes it (Ġ is a space in byte-level ones); nil when there is none.",
     {{"(token-text (train-bpe \"low low low\" {:vocab 260}) 258)", "Ġlow"}},
     2,
     2,
     token_text,
     {},
     Effect::Input},
    {"train-bpe",
     "Tokenizers",
     "(train-bpe text [options])",
     "A byte-level BPE tokenizer trained on a text or a list of texts. Options: :vocab, the number of tokens (1024); "
     ":special, tokens that come first "
     "and are never split; :min-count, how often a pair must occur (1); :pattern, what splits text into words: :gpt2, "
     ":llama3 or a regular expression.",
     {{"(map (fn [i] (token-text (train-bpe \"low low low\" {:vocab 260}) i)) '[256 257 258])",
       "['lo', 'low', 'Ġlow']"}},
     1,
     2,
     train_bpe,
     {},
     Effect::Input},
    {"char-tokenizer",
     "Tokenizers",
     "(char-tokenizer text)",
     "A tokenizer whose tokens are the characters that occur in a text, in the order of Unicode. A text with others is "
     "an error.",
     {{"(let [t (char-tokenizer \"hello\")] (list (vocab-size t) (encode t \"hole\") (decode t '[1 0 2 2 3])))",
       "[4, [1 3 2 0], 'hello']"}},
     1,
     1,
     char_tokenizer,
     {},
     Effect::Input},
    {"save-tokenizer",
     "Tokenizers",
     "(save-tokenizer tok path)",
     "Writes a tokenizer as tokenizer.json, which other programs read too.",
     {{"(let [f (str \"/tmp/sheaf-doc-\" (io \"entropy\") \".json\")] (save-tokenizer (train-bpe \"low low\" {:vocab "
       "259}) f) (let [t (tokenizer f)] (io \"rm\" f) (vocab-size t)))",
       "259"}},
     2,
     2,
     save_tokenizer,
     {},
     Effect::Input},
};

}  // namespace

const Tokenizer& tokenizer_arg(const Value& v, std::string_view who) {
  auto* t = v.tag() == Tag::Opaque ? dynamic_cast<const TokenizerObj*>(v.object()) : nullptr;
  if (!t)
    throw runtime_error(fmt::format("{}: expected a tokenizer, got {}", who, type_name(v)))
        .hint("(tokenizer path) reads one, (train-bpe text) and (char-tokenizer text) make one");
  return t->tokenizer;
}

const std::string& string_arg(const Value& v, std::string_view who, std::string_view what) {
  if (!v.is_string()) throw runtime_error(fmt::format("{}: {} must be a string, got {}", who, what, type_name(v)));
  return v.as_string();
}

std::span<const BuiltinDef> tokenize_builtins() { return kBuiltins; }

}  // namespace sheaf::builtins
