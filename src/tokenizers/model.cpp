#include "tokenizers/model.h"

namespace sheaf::tokenizers {

bool Model::append_byte_tokens(std::string_view bytes, Ids& out) const {
  size_t before = out.size();
  for (char b : bytes) {
    int32_t id = vocabulary_.id_of(fmt::format("<0x{:02X}>", static_cast<unsigned char>(b)));
    if (id == Vocabulary::kNone) {
      out.resize(before);
      return false;
    }
    out.push_back(id);
  }
  return true;
}

Vocabulary read_vocabulary(const Json& document) {
  const Json& vocab = member(document, "vocab", "the model");
  if (!vocab.is_object()) throw runtime_error("the \"vocab\" of the model does not map tokens to ids");
  Vocabulary out;
  for (const auto& [token, number] : vocab.items()) {
    int32_t id = count_of(number, fmt::format("the id of the token '{}'", token));
    if (const std::string* other = out.text_of(id))
      throw runtime_error(fmt::format("the tokens '{}' and '{}' have the same id, {}", *other, token, id));
    out.add(token, id);
  }
  return out;
}

std::unique_ptr<const Model> make_model(const Json& document) {
  // Old files lack the type of their model.
  const char* guess = find_member(document, "merges")   ? "BPE"
                      : find_member(document, "unk_id") ? "Unigram"
                                                        : "WordPiece";
  std::string type = text_member_or(document, "type", "the model", guess);
  if (type == "BPE") return make_bpe(document);
  if (type == "WordPiece") return make_word_piece(document);
  if (type == "WordLevel") return make_word_level(document);
  if (type == "Unigram") return make_unigram(document);
  throw runtime_error(fmt::format("a model of type \"{}\" is not known", type));
}

}  // namespace sheaf::tokenizers
