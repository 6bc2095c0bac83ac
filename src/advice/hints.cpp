#include "advice/hints.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <utility>
#include <vector>

namespace sheaf::advice {
namespace {

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

bool contains_any(std::string_view text, std::initializer_list<std::string_view> parts) {
  return std::any_of(parts.begin(), parts.end(), [&](std::string_view p) { return contains(text, p); });
}

// The word after `marker`, or "" if the message does not contain it.
std::string_view word_after(std::string_view message, std::string_view marker) {
  size_t at = message.find(marker);
  if (at == std::string_view::npos) return {};
  std::string_view rest = message.substr(at + marker.size());
  std::string_view word = rest.substr(0, rest.find_first_of(" \n"));
  return word.substr(0, word.find_last_not_of(".,;") + 1);
}

std::string unknown_name_hint(std::string_view name, bool is_function) {
  if (std::string advice = habit_hint(name); !advice.empty()) return advice;
  return is_function ? "Check for typos. Use (use module) to import functions." : "Check for typos.";
}

// For an index out of range: the message states the size after one of these words.
std::string bounds_hint(std::string_view message) {
  std::string_view size;
  for (std::string_view marker : {" with size ", " has size ", " for length ", " tensor with ", " out of bounds for "})
    if (size.empty()) size = word_after(message, marker);
  bool is_number = !size.empty() && size.find_first_not_of("0123456789") == std::string_view::npos && size.size() < 18;
  if (!is_number) return "Indices are 0-based; the valid range is [0, size-1].";
  if (size == "0") return "It is empty: no index is valid.";
  std::string range = fmt::format("Indices are 0-based; the valid range is [0, {}]", std::stoll(std::string(size)) - 1);
  if (contains(message, ": end (")) return range + fmt::format(", and the end is exclusive: at most {}.", size);
  return range + (contains_any(message, {"axis", " classes"}) ? "." : "; check with (len x).");
}

// The number of characters to insert, delete, replace or swap with their neighbour to turn a into b.
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> before, above(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j)
    above[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before = std::exchange(above, row);
  }
  return above[b.size()];
}

// zeros_like for np.zeros_like, with dashes between words as here.
std::string own_spelling(std::string_view qualified) {
  std::string name(unqualified(qualified));
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

// The number of characters of a name that may be wrong. A short name resembles many others.
size_t slips_of(std::string_view name) { return name.size() < 3 ? 0 : name.size() < 6 ? 1 : 2; }

}  // namespace

std::vector<std::string_view> near_names(std::string_view qualified, std::span<const std::string_view> names) {
  constexpr size_t kMost = 5, kLeastPart = 3;
  std::string name = own_spelling(qualified);
  std::vector<std::pair<size_t, std::string_view>> found;  // with its distance
  size_t limit = slips_of(name);
  for (std::string_view n : names) {
    size_t d = edit_distance(name, n);
    bool part = (name.size() >= kLeastPart && contains(n, name)) ||
                (n.size() * 2 > name.size() && n.size() >= kLeastPart && contains(name, n));
    if (d <= limit)
      found.emplace_back(d, n);
    else if (part)
      found.emplace_back(limit + d, n);
  }
  std::sort(found.begin(), found.end());
  std::vector<std::string_view> out;
  for (size_t i = 0; i < std::min(kMost, found.size()); ++i)
    out.push_back(found[i].second);
  return out;
}

std::string_view likely_name(std::string_view qualified, std::span<const std::string_view> names) {
  std::string name = own_spelling(qualified);
  // Only the library prefix, or the way words are joined, differs.
  if (name != qualified)
    if (auto same = std::find(names.begin(), names.end(), name); same != names.end()) return *same;
  size_t limit = slips_of(name);
  std::string_view best;
  size_t least = limit + 1;
  for (std::string_view n : names) {
    if (n.size() > name.size() + limit || name.size() > n.size() + limit) continue;
    size_t d = std::min(edit_distance(name, n), edit_distance(unqualified(qualified), n));
    if (d > 0 && (d < least || (d == least && d <= limit && n < best))) best = n, least = d;
  }
  return best;
}

std::string did_you_mean(std::string_view name) { return fmt::format("Check for typos: did you mean {}?", name); }

std::string generic_hint(std::string_view message) {
  if (auto name = word_after(message, "Undefined symbol: "); !name.empty()) return unknown_name_hint(name, false);
  if (auto name = word_after(message, "Unknown function: "); !name.empty()) return unknown_name_hint(name, true);
  if (contains(message, "Expected a function, got dict("))
    return "The head of a list is called, and a dict is no function: (:key d) or (get d :key) reads an entry.";
  if (contains(message, "Expected a function, got list("))
    return "The head of a list is called, and a list is no function: (nth xs i) takes an item, (take n xs) the first "
           "n.";
  if (word_after(message, "Expected a function, got ").ends_with(']'))
    return "The head of a list is called, and this is no function: (get x i) takes an element, (slice x a b) a part.";
  if (contains(message, "Expected a function, got"))
    return "The head of a list is called: this one is a value. Remove the parentheses around it, or check the name.";
  if (contains(message, "slice: expected tensor, got list"))
    return "Of a list (take n xs) gives the first n items, (rest xs) all but the first; (tensor xs) makes one of "
           "numbers.";
  if (contains(message, "@ requires 2 arguments"))
    return "A parenthesis is probably misplaced: (@ a b) takes two operands; nest it as (@ (@ a b) c).";
  if (contains_any(message, {"broadcast", "Broadcast"}))
    return "Inspect the operands with (shape x); one may have to be transposed or reshaped.";
  if (contains(message, "value-and-grad") && contains(message, "scalar"))
    return "The loss must be a single scalar; reduce it with sum or mean.";
  if (contains(message, "with-params") && contains_any(message, {"bind", "symbol", "expect"}))
    return "Write (with-params [params] body) or (with-params [params :key] body).";
  if (contains_any(message, {"shape must be", "shape must contain", "Invalid shape"}))
    return "Quote the shape or write it as a vector of integers: '[2 3] or [2 3].";
  if (contains(message, "out of bounds")) {
    if (std::string_view rank = word_after(message, " out of bounds for ");
        rank.size() > 1 && rank.ends_with('D') && contains(message, "axis"))
      return fmt::format("Axes are 0-based: (ndim x) is {}; negative ones count from the end.",
                         rank.substr(0, rank.size() - 1));
    return bounds_hint(message);
  }
  if (contains(message, "index cannot be NaN") || contains(message, ", got NaN"))
    return "Something like 0/0 or inf-inf came before; find it with (isnan x) or (guard :no-nan x). Indices go up to "
           "(- (len x) 1).";
  if (contains_any(message, {"index cannot be", "index must be", "ndex out of range"}))
    return "Check the number of elements with (len x).";
  if (contains_any(message, {"Expected a number, got list", "Expected numbers, got list", " and list("}))
    return "Lists are not tensors: (tensor xs) makes one of numbers, (reduce + xs) adds the items, (map f xs) works on "
           "each.";
  if (auto given = word_after(message, ": expected a dict of options, got "); !given.empty())
    return fmt::format("The options are one dict: {{{} value}}.", given.starts_with(':') ? given : ":name");
  if (message.ends_with("a list or a tensor, got string") || message.ends_with("cannot iterate over string"))
    return "(chars s) is the list of a string's characters.";
  if (contains_any(message, {"must be a list", "expected a list", "Expected a list"}))
    return "Lists are made with (list a b) or '[a b]; a vector of numbers such as [1 2] is a tensor.";
  return "";
}

}  // namespace sheaf::advice
