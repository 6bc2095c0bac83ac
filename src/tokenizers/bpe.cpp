// Byte-pair encoding: a piece starts as its characters; then the adjacent pair with the lowest merge rank is merged,
// the leftmost on ties, until no adjacent pair has a merge.
#include <algorithm>

#include "tokenizers/characters.h"
#include "tokenizers/model.h"
#include "tokenizers/pair_table.h"

namespace sheaf::tokenizers {
namespace {

class Bpe final : public Model {
 public:
  explicit Bpe(const Json& document);
  void encode(std::string_view piece, Ids& out, Spans* spans) const override;

 private:
  void read_merges(const Json& merges);
  void split_chars(std::string_view piece, Ids& out, Spans* spans) const;
  void merge(Ids& symbols, Spans* spans, size_t first) const;

  PairTable merges_;             // (left, right) to the merged token and its rank
  std::string prefix_, suffix_;  // before every character but the first; after the last one
  int32_t unknown_ = Vocabulary::kNone;
  bool fuses_unknown_, falls_back_to_bytes_, whole_pieces_first_;
};

Bpe::Bpe(const Json& document) {
  constexpr std::string_view where = "the model";
  vocabulary_ = read_vocabulary(document);
  prefix_ = text_member_or(document, "continuing_subword_prefix", where, "");
  suffix_ = text_member_or(document, "end_of_word_suffix", where, "");
  fuses_unknown_ = bool_member(document, "fuse_unk", where, false);
  falls_back_to_bytes_ = bool_member(document, "byte_fallback", where, false);
  whole_pieces_first_ = bool_member(document, "ignore_merges", where, false);
  if (find_member(document, "unk_token")) {
    std::string unknown = text_member(document, "unk_token", where);
    unknown_ = vocabulary_.id_of(unknown);
    if (unknown_ == Vocabulary::kNone)
      throw runtime_error(fmt::format("the unknown token '{}' is not in the vocabulary", unknown));
  }
  read_merges(list_member(document, "merges", where));
}

void Bpe::read_merges(const Json& merges) {
  uint32_t rank = 0;
  for (const Json& m : merges) {
    std::string what = fmt::format("merge {}", rank), left, right;
    if (m.is_string()) {
      const std::string& both = m.get_ref<const std::string&>();
      size_t space = both.find(' ');
      if (space == std::string::npos || both.find(' ', space + 1) != std::string::npos)
        throw runtime_error(fmt::format("{} is not two tokens: '{}'", what, both));
      left = both.substr(0, space);
      right = both.substr(space + 1);
    } else {
      if (!m.is_array() || m.size() != 2) throw runtime_error(what + " is not two tokens");
      left = text_of(m[0], what);
      right = text_of(m[1], what);
    }
    auto id = [&](std::string_view token) {
      int32_t found = vocabulary_.id_of(token);
      if (found == Vocabulary::kNone)
        throw runtime_error(fmt::format("{} names the token '{}', which is not in the vocabulary", what, token));
      return found;
    };
    std::string_view rest = right;
    if (rest.starts_with(prefix_)) rest.remove_prefix(prefix_.size());
    int32_t merged = id(left + std::string(rest));
    merges_.insert(static_cast<uint32_t>(id(left)), static_cast<uint32_t>(id(right)), {merged, rank});
    ++rank;
  }
}

void Bpe::split_chars(std::string_view piece, Ids& out, Spans* spans) const {
  int unknown_run = 0;  // consecutive unknown characters
  std::string token;
  for (size_t at = 0; at < piece.size();) {
    std::string_view one = piece.substr(at, char_bytes(piece[at]));
    size_t start = at;
    bool is_last = at + one.size() == piece.size();
    if ((at > 0 && !prefix_.empty()) || (is_last && !suffix_.empty())) {
      token = (at > 0 ? prefix_ : "") + std::string(one) + (is_last ? suffix_ : "");
      at += one.size();
      one = token;
    } else {
      at += one.size();
    }
    int32_t id = vocabulary_.id_of(one);
    if (id != Vocabulary::kNone) {
      out.push_back(id);
      if (spans) spans->push_back(span_of(start, at));
      unknown_run = 0;
      continue;
    }
    if (falls_back_to_bytes_ && append_byte_tokens(one, out)) {
      if (spans) spans->resize(out.size(), span_of(start, at));
      continue;
    }
    if (unknown_ == Vocabulary::kNone) continue;
    if (unknown_run++ > 0 && fuses_unknown_) {
      if (spans) spans->back().end = static_cast<uint32_t>(at);
      continue;
    }
    out.push_back(unknown_);
    if (spans) spans->push_back(span_of(start, at));
  }
}

void Bpe::merge(Ids& symbols, Spans* spans, size_t first) const {
  size_t count = symbols.size() - first;
  if (count < 2) return;
  int32_t* ids = symbols.data() + first;
  constexpr uint32_t kEnd = 0xFFFFFFFF;
  struct Link {
    uint32_t previous, next;
  };
  struct Candidate {
    uint32_t rank, at;
    int32_t merged;
    bool operator<(const Candidate& o) const {
      return rank != o.rank ? rank > o.rank : at > o.at;
    }  // a heap pops the largest
  };
  thread_local std::vector<Link> links;
  thread_local std::vector<Candidate> heap;
  links.resize(count);
  heap.clear();
  auto find = [&](uint32_t at) {
    uint32_t next = links[at].next;
    return next == kEnd ? nullptr : merges_.find(static_cast<uint32_t>(ids[at]), static_cast<uint32_t>(ids[next]));
  };
  for (uint32_t i = 0; i < count; ++i)
    links[i] = {i - 1, i + 1 < count ? i + 1 : kEnd};  // 0 - 1 is kEnd
  for (uint32_t i = 0; i + 1 < count; ++i)
    if (auto* m = find(i)) heap.push_back({m->rank, i, m->id});
  std::make_heap(heap.begin(), heap.end());
  auto push = [&](uint32_t at) {
    auto* m = at == kEnd ? nullptr : find(at);
    if (!m) return;
    heap.push_back({m->rank, at, m->id});
    std::push_heap(heap.begin(), heap.end());
  };
  constexpr int32_t kGone = -1;
  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end());
    Candidate c = heap.back();
    heap.pop_back();
    if (ids[c.at] == kGone) continue;
    auto* m = find(c.at);
    if (!m || m->id != c.merged) continue;  // one of the two has been merged meanwhile
    uint32_t gone = links[c.at].next;
    ids[c.at] = c.merged;
    ids[gone] = kGone;
    if (spans) (*spans)[first + c.at].end = (*spans)[first + gone].end;
    links[c.at].next = links[gone].next;
    if (links[gone].next != kEnd) links[links[gone].next].previous = c.at;
    push(links[c.at].previous);
    push(c.at);
  }
  size_t kept = first;
  for (size_t i = first; i < symbols.size(); ++i) {
    if (symbols[i] == kGone) continue;
    if (spans) (*spans)[kept] = (*spans)[i];
    symbols[kept++] = symbols[i];
  }
  symbols.resize(kept);
  if (spans) spans->resize(kept);
}

void Bpe::encode(std::string_view piece, Ids& out, Spans* spans) const {
  if (whole_pieces_first_) {
    int32_t id = vocabulary_.id_of(piece);
    if (id != Vocabulary::kNone) {
      if (spans) spans->push_back(span_of(0, piece.size()));
      return out.push_back(id);
    }
  }
  if (piece.size() >= 0xFFFFFFFF) throw runtime_error("a piece of text of more than 4 GB");
  size_t first = out.size();
  split_chars(piece, out, spans);
  merge(out, spans, first);
}

}  // namespace

std::unique_ptr<const Model> make_bpe(const Json& document) { return std::make_unique<Bpe>(document); }

}  // namespace sheaf::tokenizers
