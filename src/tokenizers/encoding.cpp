#include "tokenizers/encoding.h"

#include <algorithm>

namespace sheaf::tokenizers {
namespace {

template <class T>
void append_all(std::vector<T>& out, const std::vector<T>& more) {
  out.insert(out.end(), more.begin(), more.end());
}

// A column that may be empty.
template <class T>
std::vector<T> rows_of(const std::vector<T>& column, size_t start, size_t end) {
  if (column.empty()) return {};
  return {column.begin() + static_cast<std::ptrdiff_t>(start), column.begin() + static_cast<std::ptrdiff_t>(end)};
}

Side read_side(const Json& document, std::string_view where) {
  std::string name = text_member_or(document, "direction", where, "Right");
  if (name != "Right" && name != "Left") throw runtime_error(fmt::format("the direction \"{}\" of {}", name, where));
  return name == "Left" ? Side::Left : Side::Right;
}

void check_stride(size_t stride, size_t length) {
  if (stride > 0 && stride >= length)
    throw runtime_error(fmt::format("a stride of {} where there is room for {} tokens of the text", stride, length))
        .hint("the stride must be less than the length without special tokens");
}

// Cuts a row into parts of `length`; each later part starts with the last `stride` tokens of the one before (ends with
// its first ones, if cut off at the left).
void cut(std::vector<Encoding>& rows, size_t length, const Truncation& t) {
  Encoding whole = std::move(rows[0]);
  size_t size = whole.size();
  rows.clear();
  if (length >= size) return rows.push_back(std::move(whole));
  if (length == 0) {
    rows.push_back(whole.part(0, 0));
    return rows.push_back(std::move(whole));
  }
  check_stride(t.stride, length);
  for (size_t done = 0;; done += length - t.stride) {
    size_t end = std::min(done + length, size);
    rows.push_back(t.side == Side::Right ? whole.part(done, end) : whole.part(size - end, size - done));
    if (end == size) return;
  }
}

}  // namespace

void Encoding::append(const Encoding& e) {
  append_all(ids, e.ids);
  append_all(types, e.types);
  append_all(sequences, e.sequences);
  is_followed |= e.is_followed;
  append_all(offsets, e.offsets);
  append_all(words, e.words);
}

Encoding Encoding::part(size_t start, size_t end) const {
  Encoding e;
  e.ids = rows_of(ids, start, end);
  e.types = rows_of(types, start, end);
  e.sequences = rows_of(sequences, start, end);
  e.is_followed = is_followed;
  e.offsets = rows_of(offsets, start, end);
  e.words = rows_of(words, start, end);
  return e;
}

Truncation read_truncation(const Json& document) {
  constexpr std::string_view where = "\"truncation\"";
  Truncation t;
  t.max_length = static_cast<size_t>(count_of(member(document, "max_length", where), "\"max_length\" of truncation"));
  t.stride = static_cast<size_t>(count_member_or(document, "stride", where, 0));
  t.side = read_side(document, where);
  std::string strategy = text_member_or(document, "strategy", where, "LongestFirst");
  if (strategy == "OnlyFirst")
    t.strategy = Truncation::Strategy::OnlyFirst;
  else if (strategy == "OnlySecond")
    t.strategy = Truncation::Strategy::OnlySecond;
  else if (strategy != "LongestFirst")
    throw runtime_error(fmt::format("the strategy \"{}\" of {} is not known", strategy, where));
  return t;
}

Padding read_padding(const Json& document) {
  constexpr std::string_view where = "\"padding\"";
  Padding p;
  const Json& strategy = member(document, "strategy", where);
  if (strategy.is_object())
    p.length = static_cast<size_t>(count_of(member(strategy, "Fixed", where), "\"Fixed\" of padding"));
  else if (text_of(strategy, "\"strategy\" of padding") != "BatchLongest")
    throw runtime_error(fmt::format("the strategy {} of {} is not known", strategy.dump(), where));
  p.side = read_side(document, where);
  p.multiple = static_cast<size_t>(std::max(count_member_or(document, "pad_to_multiple_of", where, 1), 1));
  p.id = count_member_or(document, "pad_id", where, p.id);
  p.type = count_member_or(document, "pad_type_id", where, p.type);
  p.token = text_member_or(document, "pad_token", where, p.token);
  return p;
}

void truncate(std::vector<Encoding>& first, std::vector<Encoding>* second, const Truncation& t) {
  check_stride(t.stride, t.max_length);  // even if nothing is cut: the error should not depend on the texts
  size_t n1 = first[0].size(), n2 = second ? (*second)[0].size() : 0, most = t.max_length;
  if (n1 + n2 <= most) return;
  size_t extra = n1 + n2 - most;
  if (most == 0) {
    n1 = n2 = 0;
  } else if (t.strategy != Truncation::Strategy::LongestFirst) {
    bool is_first = t.strategy == Truncation::Strategy::OnlyFirst;
    if (!is_first && !second)
      throw runtime_error("the second text is to be cut, but there is none").hint(":truncate :longest-first");
    size_t& target = is_first ? n1 : n2;
    if (target <= extra)
      throw runtime_error(fmt::format("{} tokens are to be cut off the {} text, which has {}", extra,
                                      is_first ? "first" : "second", target))
          .hint(":truncate :longest-first cuts both");
    target -= extra;
  } else if (!second) {
    n1 = most;
  } else {
    // Cuts the longer row to what the shorter one leaves; both to half if that is not enough.
    size_t& shorter = n1 <= n2 ? n1 : n2;
    size_t& longer = n1 <= n2 ? n2 : n1;
    longer = shorter > most ? shorter : std::max(shorter, most - shorter);
    if (shorter + longer > most) {
      shorter = most / 2;
      longer = shorter + most % 2;
    }
  }
  cut(first, n1, t);
  if (second) cut(*second, n2, t);
}

void pad(std::span<Encoding> rows, const Padding& p) {
  size_t length = 0;
  for (const Encoding& e : rows)
    length = std::max(length, e.size());
  length = p.length.value_or(length);
  length += (p.multiple - length % p.multiple) % p.multiple;
  for (Encoding& e : rows) {
    if (e.size() >= length) continue;
    size_t missing = length - e.size();
    auto fill = [&](auto& column, auto with) {
      column.insert(p.side == Side::Left ? column.begin() : column.end(), missing, with);
    };
    if (e.is_followed) fill(e.offsets, Span{});
    if (e.is_followed) fill(e.words, Encoding::kNone);
    fill(e.ids, p.id);
    fill(e.types, p.type);
    fill(e.sequences, Encoding::kNone);
    (p.side == Side::Left ? e.pad_left : e.pad_right) = missing;
  }
}

}  // namespace sheaf::tokenizers
