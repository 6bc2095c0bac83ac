// Unigram: every token has a score. Chooses the segmentation of a piece with the largest sum, by dynamic programming
// over token ends. A character without a token counts as unknown; adjacent unknown characters are merged.
#include <algorithm>
#include <limits>

#include "tokenizers/byte_trie.h"
#include "tokenizers/characters.h"
#include "tokenizers/model.h"

namespace sheaf::tokenizers {
namespace {

constexpr double kUnknownPenalty = 10;  // below the lowest score of a token

class Unigram final : public Model {
 public:
  explicit Unigram(const Json& document);
  void encode(std::string_view piece, Ids& out, Spans* spans) const override;

 private:
  void append_text(std::string_view text, Ids& out) const;
  ByteTrie trie_;
  std::vector<double> scores_;
  double unknown_score_;
  int32_t unknown_;  // kNone: it has none
  bool falls_back_to_bytes_;
};

Unigram::Unigram(const Json& document) {
  constexpr std::string_view where = "the model";
  const Json& vocab = list_member(document, "vocab", where);
  double worst = std::numeric_limits<double>::infinity();
  for (const Json& entry : vocab) {
    auto id = static_cast<int32_t>(scores_.size());
    if (!entry.is_array() || entry.size() != 2 || !entry[0].is_string() || !entry[1].is_number())
      throw runtime_error(fmt::format("entry {} of the vocabulary is not a token and its score", id));
    scores_.push_back(entry[1].get<double>());
    worst = std::min(worst, scores_.back());
    const std::string& token = entry[0].get_ref<const std::string&>();
    trie_.insert(token, id);
    vocabulary_.add(token, id);
  }
  unknown_ = count_member_or(document, "unk_id", where, Vocabulary::kNone);
  if (unknown_ >= static_cast<int32_t>(scores_.size()))
    throw runtime_error(fmt::format("the unknown token is number {} of {}", unknown_, scores_.size()));
  unknown_score_ = worst - kUnknownPenalty;
  falls_back_to_bytes_ = bool_member(document, "byte_fallback", where, false);
}

void Unigram::append_text(std::string_view text, Ids& out) const {
  int32_t id = vocabulary_.id_of(text);
  if (id == Vocabulary::kNone && falls_back_to_bytes_ && append_byte_tokens(text, out)) return;
  if (id == Vocabulary::kNone) id = unknown_;
  if (id == Vocabulary::kNone)
    throw runtime_error("no token for a part of the text, and the model has no unknown token");
  out.push_back(id);
}

void Unigram::encode(std::string_view piece, Ids& out, Spans* spans) const {
  struct Best {
    double score = 0;
    int32_t id = 0;
    uint32_t num_bytes = 0;  // of the last token; 0: not reachable yet
  };
  thread_local std::vector<Best> best;  // for each end
  best.assign(piece.size() + 1, {});
  for (size_t start = 0; start < piece.size();) {
    double so_far = best[start].score;
    size_t one = char_bytes(piece[start]);
    bool has_one = false;
    auto offer = [&](size_t n, int32_t id, double score) {
      Best& b = best[start + n];
      if (b.num_bytes == 0 || so_far + score > b.score) b = {so_far + score, id, static_cast<uint32_t>(n)};
    };
    trie_.for_each_prefix(piece.substr(start), [&](size_t n, int32_t id) {
      offer(n, id, scores_[static_cast<size_t>(id)]);
      has_one |= n == one;
    });
    if (!has_one) {
      if (unknown_ == Vocabulary::kNone)
        throw runtime_error("no token for a part of the text, and the model has no unknown token");
      offer(one, unknown_, unknown_score_);
    }
    start += one;
  }
  thread_local std::vector<std::string_view> tokens;  // last to first
  tokens.clear();
  bool after_unknown = false;
  for (size_t end = piece.size(); end > 0;) {
    const Best& b = best[end];
    end -= b.num_bytes;
    bool is_unknown = b.id == unknown_;
    if (is_unknown && after_unknown)
      tokens.back() = {piece.data() + end, tokens.back().size() + b.num_bytes};
    else
      tokens.push_back(piece.substr(end, b.num_bytes));
    after_unknown = is_unknown;
  }
  for (auto it = tokens.rbegin(); it != tokens.rend(); ++it) {
    append_text(*it, out);
    auto start = static_cast<size_t>(it->data() - piece.data());
    if (spans) spans->resize(out.size(), span_of(start, start + it->size()));
  }
}

}  // namespace

std::unique_ptr<const Model> make_unigram(const Json& document) { return std::make_unique<Unigram>(document); }

}  // namespace sheaf::tokenizers
