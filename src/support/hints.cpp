#include "support/hints.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <initializer_list>

namespace sheaf {
namespace {

struct Habit {
  std::string_view name;
  std::string_view advice;
};

// Names that users of other languages try first. A name that exists here must not be listed.
constexpr std::array kHabits = {
    Habit{"define", "Use (def name value) or (defn name [params] body)."},
    Habit{"defvar", "Use (def name value)."},
    Habit{"defparameter", "Use (def name value)."},
    Habit{"defun", "Use (defn name [params] body)."},
    Habit{"lambda", "Use (fn [params] body)."},
    Habit{"set!", "Values do not change; bind a new one with let, or use assoc to get an updated dict."},
    Habit{"setq", "Values do not change; bind a new one with let, or use assoc to get an updated dict."},
    Habit{"return", "The value of a function is its last expression; there is no return."},
    Habit{"import", "Use (use module)."},
    Habit{"require", "Use (use module)."},
    Habit{"print!", "Use (print x)."},
    Habit{"var", "Use (let [name value] body)."},
    Habit{"const", "Use (let [name value] body)."},
    Habit{"true?", "Use the value directly as a condition."},
    Habit{"false?", "Use the value directly as a condition, or (not x)."},
    Habit{"begin", "Use (do e1 e2 ...)."},
    Habit{"progn", "Use (do e1 e2 ...)."},
    Habit{"car", "Use (first xs)."},
    Habit{"cdr", "Use (rest xs)."},
    Habit{"format", "Use (print \"... {}\" x) with a format string."},
    Habit{"foreach", "Use map, reduce or repeat."},
    Habit{"for-each", "Use map, reduce or repeat."},
    Habit{"while!", "Use (while cond [acc init] body)."},
    Habit{"loop!", "Use (while cond [acc init] body)."},
    Habit{"typeof", "Use (shape x) or (ndim x)."},
    Habit{"type-of", "Use (shape x) or (ndim x)."},
    Habit{"append!", "Use (append xs x), which gives a new list."},
    Habit{"push", "Use (append xs x), which gives a new list."},
    Habit{"push!", "Use (append xs x), which gives a new list."},
    Habit{"reverse", "Use (flip x)."},
};

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

bool contains_any(std::string_view text, std::initializer_list<std::string_view> parts) {
  return std::any_of(parts.begin(), parts.end(), [&](std::string_view p) { return contains(text, p); });
}

// The word after `marker`, or "" when the message does not have it.
std::string_view word_after(std::string_view message, std::string_view marker) {
  size_t at = message.find(marker);
  if (at == std::string_view::npos) return {};
  std::string_view rest = message.substr(at + marker.size());
  std::string_view word = rest.substr(0, rest.find_first_of(" \n"));
  return word.substr(0, word.find_last_not_of(".,;") + 1);
}

std::string unknown_name_hint(std::string_view name, bool is_function) {
  for (const Habit& h : kHabits)
    if (h.name == name) return std::string(h.advice);
  return is_function ? "Check for typos. Use (use module) to import functions." : "Check for typos.";
}

std::string bounds_hint(std::string_view message) {
  std::string_view size = word_after(message, " with size ");
  if (size.empty()) size = word_after(message, " has size ");
  bool is_number = !size.empty() && size.find_first_not_of("0123456789") == std::string_view::npos && size.size() < 18;
  if (!is_number) return "Indices are 0-based; the valid range is [0, size-1].";
  if (size == "0") return "The axis is empty: no index is valid.";
  return fmt::format("Indices are 0-based; the valid range is [0, {}].", std::stoll(std::string(size)) - 1);
}

}  // namespace

std::string generic_hint(std::string_view message) {
  if (auto name = word_after(message, "Undefined symbol: "); !name.empty()) return unknown_name_hint(name, false);
  if (auto name = word_after(message, "Unknown function: "); !name.empty()) return unknown_name_hint(name, true);
  if (contains(message, "Expected a function, got"))
    return "The head of a list is called: this one is a value. Remove the parentheses around it, or check the name.";
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
    if (contains(message, "axis") && contains(message, "tensor"))
      return "Axes are 0-based; inspect the tensor with (ndim x) and (shape x).";
    return contains(message, "axis") ? bounds_hint(message) : "Check the number of elements with (len x).";
  }
  if (contains_any(message, {"index cannot be", "index must be", "ndex out of range"}))
    return "Check the number of elements with (len x).";
  if (contains_any(message, {"must be a list", "expected a list", "Expected a list"}))
    return "Lists are made with (list a b) or '[a b]; a vector of numbers such as [1 2] is a tensor.";
  return "";
}

}  // namespace sheaf
