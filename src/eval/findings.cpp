// Errors that analysis finds without running a program: in functions that may never be called, calls of undefined
// names, and, for a check, calls with the wrong arguments. A run warns of them before it starts.
#include <fmt/format.h>

#include <algorithm>

#include "advice/hints.h"
#include "builtins/core/warnings.h"
#include "eval/session.h"
#include "eval/suggest.h"
#include "syntax/reader.h"

namespace sheaf::eval {
namespace {

using syntax::Form;
using syntax::FormPtr;

bool is_unknown(const Cell& c) { return !c.user_defined && !c.broken && c.value.tag() == Tag::Unbound; }

bool is_about_unknown_name(const UserError& e) {
  return e.message.starts_with("Undefined symbol: ") || e.message.starts_with("Unknown function: ");
}

void collect_symbols(const Form& f, std::set<Name>& out) {
  if (f.is_symbol()) out.insert(f.name);
  for (const FormPtr& item : f.items)
    collect_symbols(*item, out);
}

// The spans of functions that macros may call during expansion: these work on syntax, so their bodies need not be valid
// programs.
std::vector<Span> helpers_of_macros(const Globals& globals) {
  std::vector<Span> out;
  std::set<Name> mentioned;
  for (const auto& [name, macro] : globals.user_macros())
    collect_symbols(*macro.body, mentioned);
  std::vector<Cell*> cells = mentioned.empty() ? std::vector<Cell*>() : globals.user_cells();
  for (size_t before = 0; before < mentioned.size();) {
    before = mentioned.size();
    for (Cell*& c : cells) {
      if (!c || !c->source || !mentioned.count(c->name)) continue;
      out.push_back(c->source->span);
      collect_symbols(*c->source, mentioned);
      c = nullptr;
    }
  }
  return out;
}

bool lies_in(const Span& inner, const Span& outer) {
  return inner.source == outer.source && inner.begin >= outer.begin && inner.end <= outer.end;
}

// True if the arguments, named ones included, fill the parameters; the machine's rule, applied to the text.
bool fits_by_name(const Proto& p, const std::vector<std::optional<Name>>& args) {
  std::vector<bool> bound(p.params.size());
  bool any = false;
  for (size_t i = 0; i < args.size(); ++i) {
    size_t k = p.params.size();
    if (args[i] && i + 1 < args.size())
      k = std::find_if(p.params.begin(), p.params.end(), [&](const Param& q) { return q.name == *args[i]; }) -
          p.params.begin();
    if (k < p.params.size()) {
      any = true;
      ++i;
    } else {
      k = std::find(bound.begin(), bound.end(), false) - bound.begin();
    }
    if (k == bound.size() || bound[k]) return false;
    bound[k] = true;
  }
  return any && std::find(bound.begin(), bound.end(), false) == bound.end();
}

// Describes the error in a call of a function of the program or library, as far as its text shows one.
std::optional<std::string> fault_of_call(const Proto& p, const std::vector<std::optional<Name>>& args) {
  size_t n = p.params.size(), positional = 0;
  bool has_options = !p.options.empty();
  for (size_t i = 0; i < args.size(); ++i) {
    bool option = has_options && args[i];
    if (option && std::find(p.options.begin(), p.options.end(), *args[i]) == p.options.end()) {
      if (p.takes_any_option || positional < n) return std::nullopt;  // the keyword may be a positional value
      std::string known;
      for (Name o : p.options)
        known += (known.empty() ? ":" : " :") + o.str();
      return fmt::format("{}: unknown option :{}. Known options: {}", p.name, args[i]->str(), known);
    }
    bool of_keyword =
        option && std::find(p.keyword_options.begin(), p.keyword_options.end(), *args[i]) != p.keyword_options.end();
    if (option && i + 1 < args.size() && (!args[i + 1] || of_keyword)) ++i;
    positional += !option;
  }
  bool rest = p.rest_slot >= 0 && !has_options;
  if (positional == n || (rest && positional > n)) return std::nullopt;
  if (p.rest_slot < 0 && fits_by_name(p, args)) return std::nullopt;
  std::string names;
  for (const Param& q : p.params)
    names += (names.empty() ? "" : ", ") + q.name.str();
  return fmt::format("{} expects {} argument{} ({}), got {}.", p.name, n, n == 1 ? "" : "s", names, positional);
}

}  // namespace

void Session::note_call(CallSite site) {
  // The first code to run reports its unknown calls itself at once; a check wants them too.
  bool comes_at_once = !site.in_function && !code_ran_before_ && !builtins::is_strict(site.span.source);
  if (checking_ || (!comes_at_once && is_unknown(*site.cell))) calls_.push_back(std::move(site));
}

std::vector<UserError> Session::findings() const {
  std::vector<UserError> out = noted_;
  for (const CallSite& c : calls_) {
    if (is_unknown(*c.cell)) {
      bool library = is_library_file(c.span.source) && globals_.is_prelude_name(c.cell->name, true);
      if (!library && !will_define(c.cell->name))
        out.emplace_back(ErrorKind::Compile, "Unknown function: " + c.cell->name.str(), c.head);
    } else if (checking_ && c.cell->is_function && c.cell->value.tag() == Tag::Function) {
      if (auto fault = fault_of_call(*static_cast<Closure*>(c.cell->value.object())->proto, c.args))
        out.emplace_back(ErrorKind::Compile, *fault, c.span);
    }
  }
  if (out.empty()) return out;
  std::vector<Span> helpers = helpers_of_macros(globals_);
  std::erase_if(out, [&](const UserError& e) {
    return e.kind == ErrorKind::Compile &&
           std::any_of(helpers.begin(), helpers.end(), [&](const Span& h) { return lies_in(e.span, h); });
  });
  auto at = [](const UserError& e) { return std::tuple(e.span.source, e.span.begin, e.span.end); };
  std::stable_sort(out.begin(), out.end(), [&](const UserError& a, const UserError& b) { return at(a) < at(b); });
  auto same = [&](const UserError& a, const UserError& b) { return at(a) == at(b) && a.message == b.message; };
  out.erase(std::unique(out.begin(), out.end(), same), out.end());
  for (UserError& e : out) {
    suggest_name(e, globals_);
    if (std::string hint = e.hints.empty() ? advice::generic_hint(e.message) : ""; !hint.empty())
      e.hints.push_back(hint);
  }
  return out;
}

void Session::warn_of_findings() {
  for (const UserError& e : findings()) {
    bool may_follow = interactive_ && source_kind(e.span.source) != SourceKind::File;  // with the next line of a prompt
    if (!may_follow || !is_about_unknown_name(e)) builtins::warn_of(e);
  }
}

std::vector<UserError> Session::check(uint32_t source) {
  try {
    syntax::check_encoding(source);
  } catch (const UserError& e) {
    return {e};  // the rest of the text could only be guessed at
  }
  syntax::Reading text = syntax::read_recovering(source);
  checking_ = true;
  noted_ = std::move(text.errors);
  announce(text.unfinished);
  announce(text.forms);
  for (const FormPtr& f : text.forms) {
    try {
      analyze_top_level(f, *this, false);
    } catch (UserError& e) {
      noted_.push_back(std::move(e));
    }
  }
  std::vector<UserError> out = findings();
  checking_ = false;
  return out;
}

std::vector<UserError> Session::check_file(const std::string& path) { return check(add_program(path)); }

}  // namespace sheaf::eval
