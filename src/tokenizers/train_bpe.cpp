// 1. Split the text into words and count the distinct ones.
// 2. Represent each as bytes; count every adjacent pair, weighted by the word's count.
// 3. Merge the most frequent pair (on ties, the one with the smallest ids) in all words that contain it, update the
//    counts of the adjacent pairs, and repeat. A heap holds counts that may be stale; they are corrected when they are
//    popped.
#include "tokenizers/train_bpe.h"

#include <algorithm>
#include <deque>
#include <queue>
#include <span>
#include <unordered_map>

#include "support/error.h"
#include "tokenizers/characters.h"
#include "tokenizers/documents.h"
#include "tokenizers/model.h"
#include "tokenizers/pattern.h"

namespace sheaf::tokenizers {
namespace {

struct Word {
  Ids ids;
  int64_t count;
};

using Pair = uint64_t;  // two ids, compared as one number
Pair pair_of(int32_t left, int32_t right) { return static_cast<uint64_t>(left) << 32 | static_cast<uint32_t>(right); }

struct Candidate {
  int64_t count;
  Pair pair;
  bool operator<(const Candidate& o) const { return count != o.count ? count < o.count : pair > o.pair; }
};

class Trainer {
 public:
  explicit Trainer(const BpeTraining& options) : options_(options) {
    for (const std::string& s : options.special)
      add_token(s);
    num_special_ = tokens_.size();
    std::vector<int32_t> alphabet;
    for (int b = 0; b < 256; ++b)
      alphabet.push_back(char_of_byte(static_cast<uint8_t>(b)));
    std::sort(alphabet.begin(), alphabet.end());
    for (int32_t c : alphabet) {
      std::string token;
      append_char(token, c);
      byte_ids_[static_cast<size_t>(byte_of_char(c))] = add_token(token);
    }
  }

  std::string run(std::span<const std::string_view> texts) {
    count_words(texts);
    count_pairs();
    while (tokens_.size() < options_.vocabulary_size && !queue_.empty()) {
      Candidate best = queue_.top();
      queue_.pop();
      int64_t now = counts_[best.pair];
      if (now < static_cast<int64_t>(std::max<size_t>(options_.min_count, 1))) continue;
      if (now != best.count)
        queue_.push({now, best.pair});
      else
        merge(best.pair);
    }
    return document_of_bpe(tokens_, num_special_, merges_, options_.pattern);
  }

 private:
  int32_t add_token(const std::string& token) {
    auto [it, is_new] = ids_.emplace(token, static_cast<int32_t>(tokens_.size()));
    if (is_new) tokens_.push_back(token);
    return it->second;
  }

  void count_words(std::span<const std::string_view> texts) {
    std::unordered_map<std::string_view, int64_t> counts;
    Pattern pattern(options_.pattern);
    for (std::string_view text : texts)
      for_each_segment(pattern, text,
                       [&](size_t start, size_t end, bool) { ++counts[text.substr(start, end - start)]; });
    std::vector<std::pair<std::string_view, int64_t>> sorted(counts.begin(), counts.end());
    std::sort(sorted.begin(), sorted.end());
    for (auto [word, count] : sorted) {
      Word w{{}, count};
      for (char b : word)
        w.ids.push_back(byte_ids_[static_cast<unsigned char>(b)]);
      words_.push_back(std::move(w));
    }
  }

  void count_pairs() {
    for (uint32_t w = 0; w < words_.size(); ++w)
      for (size_t i = 0; i + 1 < words_[w].ids.size(); ++i)
        note(words_[w].ids[i], words_[w].ids[i + 1], w, words_[w].count);
    for (auto [pair, count] : counts_)
      queue_.push({count, pair});
  }

  void note(int32_t left, int32_t right, uint32_t word, int64_t change) {
    Pair p = pair_of(left, right);
    counts_[p] += change;
    if (change < 0) return;
    std::vector<uint32_t>& where = where_[p];
    if (where.empty() || where.back() != word) where.push_back(word);
  }

  void merge(Pair pair) {
    auto left = static_cast<int32_t>(pair >> 32), right = static_cast<int32_t>(pair & 0xFFFFFFFF);
    std::string token = tokens_[static_cast<size_t>(left)] + tokens_[static_cast<size_t>(right)];
    merges_.emplace_back(tokens_[static_cast<size_t>(left)], tokens_[static_cast<size_t>(right)]);
    int32_t id = add_token(token);
    std::vector<uint32_t> words = std::move(where_[pair]);
    where_.erase(pair);
    std::sort(words.begin(), words.end());
    words.erase(std::unique(words.begin(), words.end()), words.end());
    std::vector<Pair> grown;
    for (uint32_t w : words) {
      Ids& ids = words_[w].ids;
      int64_t count = words_[w].count;
      size_t kept = 0;
      for (size_t i = 0; i < ids.size(); ++i) {
        if (i + 1 == ids.size() || ids[i] != left || ids[i + 1] != right) {
          ids[kept++] = ids[i];
          continue;
        }
        if (kept > 0) {
          note(ids[kept - 1], left, w, -count);
          note(ids[kept - 1], id, w, count);
          grown.push_back(pair_of(ids[kept - 1], id));
        }
        if (i + 2 < ids.size()) {
          note(right, ids[i + 2], w, -count);
          note(id, ids[i + 2], w, count);
          grown.push_back(pair_of(id, ids[i + 2]));
        }
        ids[kept++] = id;
        ++i;
      }
      ids.resize(kept);
    }
    counts_[pair] = 0;
    std::sort(grown.begin(), grown.end());
    grown.erase(std::unique(grown.begin(), grown.end()), grown.end());
    for (Pair p : grown)
      if (int64_t count = counts_[p]; count > 0) queue_.push({count, p});
  }

  const BpeTraining& options_;
  std::vector<std::string> tokens_;
  size_t num_special_ = 0;
  std::unordered_map<std::string, int32_t> ids_;
  int32_t byte_ids_[256] = {};
  std::vector<std::pair<std::string, std::string>> merges_;
  std::vector<Word> words_;
  std::unordered_map<Pair, int64_t> counts_;
  std::unordered_map<Pair, std::vector<uint32_t>> where_;  // words that contain, or contained, the pair
  std::priority_queue<Candidate> queue_;
};

}  // namespace

std::string train_bpe(std::vector<std::string_view> texts, const BpeTraining& options) {
  std::deque<std::string> repaired;
  for (std::string_view& text : texts)
    if (valid_prefix(text) < text.size()) text = repaired.emplace_back(to_valid_utf8(text));
  return Trainer(options).run(texts);
}

}  // namespace sheaf::tokenizers
