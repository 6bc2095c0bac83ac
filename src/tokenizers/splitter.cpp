#include "tokenizers/splitter.h"

#include "tokenizers/characters.h"
#include "tokenizers/pattern.h"

namespace sheaf::tokenizers {
namespace {

constexpr std::string_view kWhere = "the pre_tokenizer";

// The treatment of delimiters.
enum class Keep : uint8_t { Removed, Isolated, WithPrevious, WithNext, Contiguous };

Keep keep_member(const Json& j, const char* fallback) {
  std::string name = text_member_or(j, "behavior", kWhere, fallback);
  if (name == "Removed") return Keep::Removed;
  if (name == "Isolated") return Keep::Isolated;
  if (name == "MergedWithPrevious") return Keep::WithPrevious;
  if (name == "MergedWithNext") return Keep::WithNext;
  if (name == "Contiguous") return Keep::Contiguous;
  throw runtime_error(fmt::format("a pre_tokenizer with the behavior \"{}\" is not known", name));
}

// Takes segments in order and emits pieces according to the rule for delimiters.
class Joiner {
 public:
  Joiner(AlignedView text, bool is_first, Keep keep, const Emit& emit)
      : text_(text), is_first_(is_first), keep_(keep), emit_(emit) {}
  void add(size_t start, size_t end, bool is_delimiter) {
    if (keep_ == Keep::Isolated || (keep_ == Keep::Removed && !is_delimiter)) put(start, end);
    if (keep_ == Keep::Isolated || keep_ == Keep::Removed) return;
    bool joins = held_ && (keep_ == Keep::WithPrevious ? is_delimiter && !held_delimiter_
                           : keep_ == Keep::WithNext   ? !is_delimiter && held_delimiter_
                                                       : is_delimiter == held_delimiter_);
    if (!joins) {
      finish();
      start_ = start;
    }
    end_ = end;
    held_ = true;
    held_delimiter_ = is_delimiter;
  }
  void finish() {
    if (held_) put(start_, end_);
    held_ = false;
  }

 private:
  void put(size_t start, size_t end) { emit_(text_.part(start, end - start), is_first_ && start == 0); }
  AlignedView text_;
  bool is_first_;
  Keep keep_;
  const Emit& emit_;
  size_t start_ = 0, end_ = 0;
  bool held_ = false, held_delimiter_ = false;
};

class SplitByPattern final : public SplitStep {
 public:
  SplitByPattern(Pattern pattern, Keep keep, bool invert)
      : pattern_(std::move(pattern)), keep_(keep), invert_(invert) {}
  void split(AlignedView text, bool is_first, const Emit& emit) const override {
    Joiner joiner(text, is_first, keep_, emit);
    for_each_segment(pattern_, text.text,
                     [&](size_t start, size_t end, bool match) { joiner.add(start, end, match != invert_); });
    joiner.finish();
  }

 private:
  Pattern pattern_;
  Keep keep_;
  bool invert_;
};

// Each delimiter is a single character.
class SplitByClass final : public SplitStep {
 public:
  SplitByClass(std::function<bool(int32_t)> is_delimiter, Keep keep)
      : is_delimiter_(std::move(is_delimiter)), keep_(keep) {}
  void split(AlignedView text, bool is_first, const Emit& emit) const override {
    Joiner joiner(text, is_first, keep_, emit);
    size_t done = 0;
    for (size_t at = 0; at < text.text.size();) {
      Char c = next_char(text.text.substr(at));
      size_t end = at + c.num_bytes;
      if (is_delimiter_(c.code)) {
        if (done < at) joiner.add(done, at, false);
        joiner.add(at, end, true);
        done = end;
      }
      at = end;
    }
    if (done < text.text.size()) joiner.add(done, text.text.size(), false);
    joiner.finish();
  }

 private:
  std::function<bool(int32_t)> is_delimiter_;
  Keep keep_;
};

class PrefixSpace final : public SplitStep {
 public:
  void split(AlignedView text, bool is_first, const Emit& emit) const override {
    if (text.text.starts_with(' '))
      emit(text, is_first);
    else
      emit(prepended(" ", text).view(), is_first);
  }
};

class BytesAsChars final : public SplitStep {
 public:
  void split(AlignedView text, bool is_first, const Emit& emit) const override {
    emit(bytes_as_chars(text).view(), is_first);
  }
};

// SentencePiece's scheme: spaces become a visible character, which starts a piece.
class Metaspace final : public SplitStep {
 public:
  explicit Metaspace(const Json& j)
      : mark_(text_member_or(j, "replacement", kWhere, "\u2581")), splits_(bool_member(j, "split", kWhere, true)) {
    if (count_chars(mark_) != 1) throw runtime_error("the replacement of a Metaspace is not one character");
    std::string scheme = text_member_or(j, "prepend_scheme", kWhere, "always");
    if (scheme != "always" && scheme != "first" && scheme != "never")
      throw runtime_error(fmt::format("a Metaspace with the prepend_scheme \"{}\" is not known", scheme));
    if (!bool_member(j, "add_prefix_space", kWhere, true)) scheme = "never";
    prepends_ = scheme != "never";
    only_first_ = scheme == "first";
  }
  void split(AlignedView text, bool is_first, const Emit& emit) const override {
    Rewriting marked(text);
    bool has_mark = text.text.starts_with(' ') || text.text.starts_with(mark_);
    if (prepends_ && !has_mark && (is_first || !only_first_)) marked.put(mark_, 0);
    for (size_t at = 0; at < text.text.size();) {
      size_t space = std::min(text.text.find(' ', at), text.text.size());
      marked.keep(at, space);
      if (space < text.text.size()) marked.put(mark_, space);
      at = space + 1;
    }
    AlignedText whole = marked.take();
    AlignedView all = whole.view();
    if (!splits_) return emit(all, is_first);
    for (size_t at = 0; at < all.text.size();) {
      size_t past = at + (all.text.substr(at).starts_with(mark_) ? mark_.size() : 0);
      size_t next = std::min(all.text.find(mark_, past), all.text.size());
      emit(all.part(at, next - at), is_first && at == 0);
      at = next;
    }
  }

 private:
  std::string mark_;
  bool splits_, prepends_ = true, only_first_ = false;
};

}  // namespace

Splitter::Splitter(const Json& document) {
  auto by_class = [&](auto is_delimiter, Keep keep) {
    steps_.push_back(std::make_shared<SplitByClass>(is_delimiter, keep));
  };
  auto by_pattern = [&](Pattern p, Keep keep, bool invert) {
    steps_.push_back(std::make_shared<SplitByPattern>(std::move(p), keep, invert));
  };
  bool ends_in_bytes = false;
  for_each_part(document, "pretokenizers", kWhere, [&](const Json& j) {
    std::string type = text_member(j, "type", kWhere);
    ends_in_bytes = type == "ByteLevel";
    if (type == "ByteLevel") {
      if (bool_member(j, "add_prefix_space", kWhere, true)) steps_.push_back(std::make_shared<PrefixSpace>());
      if (bool_member(j, "use_regex", kWhere, true)) by_pattern(Pattern(kGpt2Pattern), Keep::Isolated, false);
      steps_.push_back(std::make_shared<BytesAsChars>());
    } else if (type == "Whitespace") {
      // \w+|[^\w\s]+ for an engine whose \w is Unicode's recommended set.
      by_pattern(Pattern(R"([\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}]+)"
                         R"(|[^\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}\s]+)"),
                 Keep::Removed, true);
    } else if (type == "WhitespaceSplit") {
      by_class(is_white_space, Keep::Removed);
    } else if (type == "BertPreTokenizer") {
      by_class(is_white_space, Keep::Removed);
      by_class(is_punctuation, Keep::Isolated);
    } else if (type == "Metaspace") {
      steps_.push_back(std::make_shared<Metaspace>(j));
    } else if (type == "Split") {
      by_pattern(pattern_member(j, kWhere), keep_member(j, "Removed"), bool_member(j, "invert", kWhere, false));
    } else if (type == "Digits") {
      by_class(is_numeric, bool_member(j, "individual_digits", kWhere, false) ? Keep::Isolated : Keep::Contiguous);
    } else if (type == "Punctuation") {
      by_class(is_punctuation, keep_member(j, "Isolated"));
    } else if (type == "CharDelimiterSplit") {
      std::string delimiter = text_member(j, "delimiter", kWhere);
      if (count_chars(delimiter) != 1)
        throw runtime_error("the delimiter of a CharDelimiterSplit is not one character");
      by_class([code = next_char(delimiter).code](int32_t c) { return c == code; }, Keep::Removed);
    } else {
      throw runtime_error(fmt::format("a pre_tokenizer of type \"{}\" is not known", type));
    }
  });
  leaves_bytes_ = ends_in_bytes;
  if (leaves_bytes_) steps_.pop_back();
}

void Splitter::run(size_t step, AlignedView text, bool is_first, const Emit& emit) const {
  if (step == steps_.size()) return emit(text, is_first);
  if (step + 1 == steps_.size()) return steps_[step]->split(text, is_first, emit);
  steps_[step]->split(text, is_first, [&](AlignedView piece, bool first) { run(step + 1, piece, first, emit); });
}

}  // namespace sheaf::tokenizers
