#include "eval/suggest.h"

#include <fmt/format.h>

#include <algorithm>

#include "advice/hints.h"
#include "builtins/table.h"

namespace sheaf::eval {
namespace {

// "softmax: unknown option :axs. Known options: :axis"; builtins and library code use these words, and so does the
// command-line parser, with "--" in place of the colon.
void suggest_option(UserError& e) {
  const std::string_view mark = e.message.starts_with("unknown option --") ? "--" : ":";
  const std::string unknown = fmt::format("unknown option {}", mark);
  constexpr std::string_view kKnown = ". Known options: ";
  std::string_view text = e.message;
  size_t at = text.find(unknown), list = text.find(kKnown);
  if (at == std::string_view::npos || list == std::string_view::npos || list < at) return;
  std::string_view name = text.substr(at + unknown.size(), list - at - unknown.size());
  std::vector<std::string_view> known;
  for (std::string_view rest = text.substr(list + kKnown.size()); !rest.empty();) {
    size_t end = std::min(rest.find(' '), rest.size());
    if (rest.starts_with(mark)) known.push_back(rest.substr(mark.size(), end - mark.size()));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  if (name == "dim" && std::find(known.begin(), known.end(), "axis") != known.end())  // PyTorch's name for it
    e.hints.push_back("it is called :axis here");
  else if (auto likely = advice::likely_name(name, known); !likely.empty())
    e.hints.push_back(advice::did_you_mean(fmt::format("{}{}", mark, likely)));
}

}  // namespace

void suggest_name(UserError& e, const Globals& globals) {
  if (!e.hints.empty()) return;
  suggest_option(e);
  std::string_view name = e.message;
  if (name.starts_with("Undefined symbol: "))
    name.remove_prefix(18);
  else if (name.starts_with("Unknown function: "))
    name.remove_prefix(18);
  else
    return;
  std::vector<std::string_view> names;
  for (const Cell* c : globals.user_cells()) {
    if (c->name.str() == name) {
      if (c->defined_at && c->defined_at.source == e.span.source)
        e.hints.push_back(fmt::format("{} has its value only after its definition on line {} has run.", name,
                                      start_of(c->defined_at).line));
      else
        e.hints.push_back(
            fmt::format("{} is defined in another file, but private there or left out here by :only.", name));
      return;
    }
    names.push_back(c->name.str());
  }
  for (const auto& [n, form] : globals.prelude_functions())
    if (globals.is_prelude_name(n)) names.push_back(n.str());
  for (const auto& [n, macro] : globals.user_macros())
    names.push_back(n.str());
  for (const auto& [n, macro] : globals.prelude_macros())
    names.push_back(n.str());
  for (const auto* b : builtins::all_builtins())
    if (!b->name.starts_with('%') || b->name == "%") names.push_back(b->name);
  // The general hint is better for habits from other languages: such names resemble ours by chance.
  if (!advice::habit_hint(name).empty()) return;
  if (auto likely = advice::likely_name(name, names); !likely.empty()) e.hints.push_back(advice::did_you_mean(likely));
}

}  // namespace sheaf::eval
