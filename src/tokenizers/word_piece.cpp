// WordPiece: the longest matching token, from the left; and the plain word list.
#include "tokenizers/characters.h"
#include "tokenizers/model.h"

namespace sheaf::tokenizers {
namespace {

constexpr std::string_view kWhere = "the model";

// A model that encodes a piece without a match as one unknown token.
class WithUnknown : public Model {
 protected:
  explicit WithUnknown(const Json& document) {
    vocabulary_ = read_vocabulary(document);
    unknown_text_ = text_member_or(document, "unk_token", kWhere, "[UNK]");
    unknown_ = vocabulary_.id_of(unknown_text_);
  }
  // For a whole piece; `from`: its rest, at which no token matches.
  void append_unknown(std::string_view piece, std::string_view from, Ids& out, Spans* spans) const {
    if (unknown_ == Vocabulary::kNone) {
      std::string_view shown = from.substr(0, valid_prefix(from.substr(0, 40)));
      throw runtime_error(fmt::format("there is no token for '{}' where the text goes on '{}'{}",
                                      from.substr(0, char_bytes(from[0])), shown,
                                      unknown_text_.empty() ? "" : ", and no unknown token '" + unknown_text_ + "'"));
    }
    out.push_back(unknown_);
    if (spans) spans->push_back(span_of(0, piece.size()));
  }

 private:
  std::string unknown_text_;
  int32_t unknown_;
};

class WordPiece final : public WithUnknown {
 public:
  explicit WordPiece(const Json& document)
      : WithUnknown(document),
        prefix_(text_member_or(document, "continuing_subword_prefix", kWhere, "##")),
        max_chars_(static_cast<size_t>(count_member_or(document, "max_input_chars_per_word", kWhere, 100))) {}

  void encode(std::string_view piece, Ids& out, Spans* spans) const override {
    if (count_chars(piece) > max_chars_) return append_unknown(piece, piece, out, spans);
    size_t before = out.size();
    std::string token;
    for (size_t start = 0; start < piece.size();) {
      token = start > 0 ? prefix_ : "";
      size_t room =
          std::min(vocabulary_.max_bytes() - std::min(vocabulary_.max_bytes(), token.size()), piece.size() - start);
      token.append(piece.substr(start, room));
      size_t prefix = token.size() - room;
      int32_t id = Vocabulary::kNone;
      for (; token.size() > prefix; token.pop_back()) {
        size_t end = start + token.size() - prefix;
        bool between = end == piece.size() || (static_cast<unsigned char>(piece[end]) & 0xC0) != 0x80;
        if (between && (id = vocabulary_.id_of(token)) != Vocabulary::kNone) break;
      }
      if (id == Vocabulary::kNone) {
        out.resize(before);
        if (spans) spans->resize(before);
        return append_unknown(piece, piece.substr(start), out, spans);
      }
      out.push_back(id);
      size_t end = start + token.size() - prefix;
      if (spans) spans->push_back(span_of(start, end));
      start = end;
    }
  }

 private:
  std::string prefix_;
  size_t max_chars_;
};

class WordLevel final : public WithUnknown {
 public:
  explicit WordLevel(const Json& document) : WithUnknown(document) {}
  void encode(std::string_view piece, Ids& out, Spans* spans) const override {
    int32_t id = vocabulary_.id_of(piece);
    if (id == Vocabulary::kNone) return append_unknown(piece, piece, out, spans);
    out.push_back(id);
    if (spans) spans->push_back(span_of(0, piece.size()));
  }
};

}  // namespace

std::unique_ptr<const Model> make_word_piece(const Json& document) { return std::make_unique<WordPiece>(document); }
std::unique_ptr<const Model> make_word_level(const Json& document) { return std::make_unique<WordLevel>(document); }

}  // namespace sheaf::tokenizers
