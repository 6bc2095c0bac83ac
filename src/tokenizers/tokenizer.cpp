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
  if (const Json* j = find_member(json, "post_processor")) post_processor_ = PostProcessor(*j);
  if (const Json* j = find_member(json, "decoder")) decoder_ = Decoder(*j);
  if (const Json* j = find_member(json, "truncation")) truncation_ = read_truncation(*j);
  if (const Json* j = find_member(json, "padding")) padding_ = read_padding(*j);
  vocabulary_size_ = model_->vocabulary().size();
  largest_id_ = model_->vocabulary().largest_id();
  for (const AddedToken& t : added_.all()) {
    vocabulary_size_ += model_->vocabulary().id_of(t.text) == Vocabulary::kNone;
    largest_id_ = std::max(largest_id_, t.id);
  }
  largest_id_ = std::max(largest_id_, post_processor_.largest_id());
}

template <class F>
void Tokenizer::for_each_part(AlignedView text, F&& f) const {
  // 1. Tokens matched in the raw text.  2. The rest in its normal form, and tokens matched in that.
  auto part_of = [](AlignedView whole, std::string_view part) {
    return whole.part(static_cast<size_t>(part.data() - whole.text.data()), part.size());
  };
  added_.cut(text.text, false, [&](std::string_view outer, const AddedToken* token) {
    AlignedView part = part_of(text, outer);
    if (token) return f(part, token, false);
    bool is_first = outer.data() == text.text.data();
    AlignedText normal;
    if (!normalizer_.is_identity()) part = (normal = normalizer_.apply(AlignedText(part))).view();
    added_.cut(part.text, true, [&](std::string_view inner, const AddedToken* inner_token) {
      f(part_of(part, inner), inner_token, is_first && inner.data() == part.text.data());
    });
  });
}

Ids Tokenizer::encode_ids(std::string_view text) const {
  std::string repaired;
  if (valid_prefix(text) < text.size()) text = repaired = to_valid_utf8(text);

  std::unique_ptr<Caches> caches = take_caches();
  Ids out;
  out.reserve(text.size() / 3 + 8);
  for_each_part({text}, [&](AlignedView part, const AddedToken* token, bool is_first) {
    if (token) return out.push_back(token->id);
    splitter_.split(part, is_first, [&](AlignedView piece, bool) {
      caches->ids.append(piece.text, out, nullptr,
                         [&](Ids& ids, Spans* spans) { encode_piece(piece.text, ids, spans); });
    });
  });
  give_back(std::move(caches));
  return out;
}

Encoding Tokenizer::encode_followed(std::string_view text, const CharOffsets& chars) const {
  Encoding out;
  out.is_followed = true;
  AlignedText followed = follow(text);
  std::unique_ptr<Caches> caches = take_caches();
  int32_t word = 0;
  for_each_part(followed.view(), [&](AlignedView part, const AddedToken* token, bool is_first) {
    if (token) {
      out.ids.push_back(token->id);
      out.offsets.push_back({part.origins[0].start, part.origins[part.text.size() - 1].end});
      out.words.push_back(word++);
      return;
    }
    splitter_.split(part, is_first, [&](AlignedView piece, bool) {
      size_t before = out.ids.size();
      caches->spans.append(piece.text, out.ids, &out.offsets,
                           [&](Ids& ids, Spans* spans) { encode_piece(piece.text, ids, spans); });
      for (size_t i = before; i < out.ids.size(); ++i) {
        Span& s = out.offsets[i];
        s = {piece.origins[s.start].start, piece.origins[s.end - 1].end};
      }
      out.words.resize(out.ids.size(), word++);
    });
  });
  give_back(std::move(caches));
  for (Span& s : out.offsets)
    s = {chars.char_at(s.start), chars.char_at(s.end)};
  return out;
}

void Tokenizer::encode_piece(std::string_view piece, Ids& ids, Spans* spans) const {
  if (!splitter_.leaves_bytes()) return model_->encode(piece, ids, spans);
  std::string chars = bytes_as_chars({piece}).text;
  size_t before = ids.size();
  model_->encode(chars, ids, spans);
  if (!spans) return;
  // Each character stands for one byte: the byte offset is the number of characters that start before it.
  std::vector<uint32_t> byte_at(chars.size() + 1);
  for (size_t i = 0; i < chars.size(); ++i)
    byte_at[i + 1] = byte_at[i] + ((static_cast<unsigned char>(chars[i]) & 0xC0) != 0x80);
  for (size_t i = before; i < ids.size(); ++i)
    (*spans)[i] = {byte_at[(*spans)[i].start], byte_at[(*spans)[i].end]};
}

std::unique_ptr<Tokenizer::Caches> Tokenizer::take_caches() const {
  MutexLock lock(mutex_);
  if (free_caches_.empty()) return std::make_unique<Caches>();
  std::unique_ptr<Caches> out = std::move(free_caches_.back());
  free_caches_.pop_back();
  return out;
}

void Tokenizer::give_back(std::unique_ptr<Caches> caches) const {
  MutexLock lock(mutex_);
  free_caches_.push_back(std::move(caches));
}

std::vector<Encoding> Tokenizer::encode_rows(std::string_view text, const std::string_view* second,
                                             const Request& request) const {
  // Offsets count characters until the end: excluding white space works on characters.
  struct Input {
    std::string_view text;
    std::optional<CharOffsets> chars;
    std::vector<Encoding> rows;
  };
  auto read = [&](std::string_view s) {
    Input in{s, {}, std::vector<Encoding>(1)};
    if (request.offsets == Request::Offsets::None)
      in.rows[0].ids = encode_ids(s);
    else
      in.rows[0] = encode_followed(s, in.chars.emplace(s));
    return in;
  };
  std::vector<Input> inputs;
  inputs.push_back(read(text));
  if (second) inputs.push_back(read(*second));
  std::vector<Encoding>* other = second ? &inputs[1].rows : nullptr;
  if (request.truncation) {
    Truncation t = *request.truncation;
    size_t special = request.special ? post_processor_.num_special(second) : 0;
    if (t.max_length < special)
      throw runtime_error(fmt::format("a length of {} has no room for the {} special tokens", t.max_length, special));
    t.max_length -= special;
    truncate(inputs[0].rows, other, t);
  }
  auto text_of_id = [&](int32_t id) -> std::string_view { return written(id); };
  for (Input& in : inputs) {
    if (!request.overflow) in.rows.resize(1);
    for (Encoding& e : in.rows) {
      post_processor_.trim_offsets(e, text_of_id);
      if (request.offsets == Request::Offsets::Bytes)
        for (Span& s : e.offsets)
          s = {in.chars->byte_at(s.start), in.chars->byte_at(s.end)};
    }
  }
  return post_processor_.join(std::move(inputs[0].rows), other, request.special);
}

Ids Tokenizer::encode(std::string_view text, bool special) const {
  if (!special) return encode_ids(text);
  return std::move(encode_rows(text, nullptr, {.special = true})[0].ids);
}

std::string_view Tokenizer::written(int32_t id) const {
  if (const AddedToken* t = added_.find(id)) return t->text;
  const std::string* text = model_->vocabulary().text_of(id);
  return text ? *text : std::string_view();
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
