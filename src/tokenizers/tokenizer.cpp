#include "tokenizers/tokenizer.h"

#include <algorithm>

#include "support/mutex.h"
#include "tokenizers/characters.h"

namespace sheaf::tokenizers {

Tokenizer::Tokenizer(std::string document) : document_(std::move(document)) {
  Json json;
  try {
    json = Json::parse(document_);
  } catch (const Json::exception& e) {
    throw runtime_error(std::string("not JSON: ") + e.what());
  }
  if (!json.is_object()) throw runtime_error("not a tokenizer: the JSON is not an object");
  model_ = make_model(member(json, "model", "the tokenizer"));
  if (const Json* j = find_member(json, "normalizer")) normalizer_ = Normalizer(*j);
  if (const Json* j = find_member(json, "added_tokens")) added_ = AddedTokens(*j, normalizer_);
  if (const Json* j = find_member(json, "pre_tokenizer")) splitter_ = Splitter(*j);
  if (const Json* j = find_member(json, "post_processor")) read_templates(*j);
  if (const Json* j = find_member(json, "decoder")) decoder_ = Decoder(*j);
  vocabulary_size_ = model_->vocabulary().size();
  largest_id_ = model_->vocabulary().largest_id();
  for (const AddedToken& t : added_.all()) {
    vocabulary_size_ += model_->vocabulary().id_of(t.text) == Vocabulary::kNone;
    largest_id_ = std::max(largest_id_, t.id);
  }
  for (const auto& parts : templates_)
    for (const TemplatePart& p : parts)
      for (int32_t id : p.ids)
        largest_id_ = std::max(largest_id_, id);
}

void Tokenizer::read_templates(const Json& document) {
  constexpr std::string_view where = "the post_processor";
  for_each_part(document, "processors", where, [&](const Json& j) {
    std::string type = text_member(j, "type", where);
    if (type == "ByteLevel") return;  // about positions in the text only
    std::vector<TemplatePart> parts;
    auto id_of_pair = [&](const char* key) {
      const Json& pair = list_member(j, key, where);
      if (pair.size() != 2) throw runtime_error(fmt::format("\"{}\" of {} is not a token and its id", key, where));
      return count_of(pair[1], fmt::format("the id of \"{}\"", key));
    };
    if (type == "BertProcessing" || type == "RobertaProcessing") {
      parts = {{false, {id_of_pair("cls")}}, {true, {}}, {false, {id_of_pair("sep")}}};
    } else if (type == "TemplateProcessing") {
      for (const Json& piece : list_member(j, "single", where)) {
        if (find_member(piece, "Sequence")) {
          parts.push_back({true, {}});
          continue;
        }
        std::string name = text_member(member(piece, "SpecialToken", where), "id", where);
        Ids ids;
        for (const Json& id :
             list_member(member(member(j, "special_tokens", where), name.c_str(), "\"special_tokens\""), "ids", where))
          ids.push_back(count_of(id, fmt::format("an id of '{}'", name)));
        parts.push_back({false, std::move(ids)});
      }
    } else {
      throw runtime_error(fmt::format("a post_processor of type \"{}\" is not known", type));
    }
    auto texts = std::count_if(parts.begin(), parts.end(), [](const TemplatePart& p) { return p.is_text; });
    if (texts != 1) throw runtime_error(fmt::format("a template of {} has the text {} times", where, texts));
    templates_.push_back(std::move(parts));
  });
}

void Tokenizer::encode_part(std::string_view text, bool is_first, PieceCache& cache, Ids& out) const {
  bool writes_bytes = splitter_.leaves_bytes();
  splitter_.split(text, is_first, [&](std::string_view piece, bool) {
    cache.append(piece, out, [&](Ids& ids) { model_->encode(writes_bytes ? bytes_as_chars(piece) : piece, ids); });
  });
}

Ids Tokenizer::encode(std::string_view text, bool special) const {
  std::string repaired;
  if (valid_prefix(text) < text.size()) text = repaired = to_valid_utf8(text);

  std::unique_ptr<PieceCache> cache;
  {
    MutexLock lock(mutex_);
    if (!free_caches_.empty()) {
      cache = std::move(free_caches_.back());
      free_caches_.pop_back();
    }
  }
  if (!cache) cache = std::make_unique<PieceCache>();

  // 1. Tokens that stand in the text as it is.  2. The rest in its normal form, and tokens in that.  3. Pieces.  4.
  // Ids.
  Ids out;
  out.reserve(text.size() / 3 + 8);
  const char* start = text.data();
  added_.cut(text, false, [&](std::string_view part, const AddedToken* token) {
    if (token) return out.push_back(token->id);
    bool is_first = part.data() == start;
    std::string normal;
    if (!normalizer_.is_identity()) part = normal = normalizer_.apply(std::string(part));
    added_.cut(part, true, [&](std::string_view inner, const AddedToken* inner_token) {
      if (inner_token) return out.push_back(inner_token->id);
      encode_part(inner, is_first && inner.data() == part.data(), *cache, out);
    });
  });
  {
    MutexLock lock(mutex_);
    free_caches_.push_back(std::move(cache));
  }
  if (!special) return out;
  for (const auto& parts : templates_) {
    Ids whole;
    for (const TemplatePart& p : parts) {
      const Ids& ids = p.is_text ? out : p.ids;
      whole.insert(whole.end(), ids.begin(), ids.end());
    }
    out = std::move(whole);
  }
  return out;
}

const std::string* Tokenizer::text_of(int32_t id) const {
  if (const AddedToken* t = added_.find(id)) return &t->shown;
  return model_->vocabulary().text_of(id);
}

int32_t Tokenizer::id_of(std::string_view token) const {
  for (const AddedToken& t : added_.all())
    if (t.text == token) return t.id;
  return model_->vocabulary().id_of(token);
}

std::string Tokenizer::decode(std::span<const int32_t> ids, bool special) const {
  Decoder::Texts texts;
  texts.reserve(ids.size());
  for (int32_t id : ids) {
    const AddedToken* added = added_.find(id);
    if (added && added->is_special && !special) continue;
    const std::string* text = text_of(id);
    if (!text)
      throw runtime_error(fmt::format("the id {} is not in the vocabulary of {} tokens", id, vocabulary_size_));
    texts.push_back(*text);
  }
  return decoder_.apply(std::move(texts));
}

}  // namespace sheaf::tokenizers
