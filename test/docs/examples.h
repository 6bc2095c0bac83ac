// Finds examples in documentation, in the notation of docs/README.md, and runs them.
#pragma once
#include <fmt/format.h>

#include <string>
#include <vector>

#include "builtins/host/guard.h"
#include "builtins/host/output.h"
#include "common/printed.h"
#include "eval/session.h"
#include "eval/vm.h"
#include "syntax/reader.h"
#include "value/print.h"

namespace sheaf {

struct Example {
  enum Kind { Runs, Prints, PrintsNear, Fails } kind = Runs;
  std::string code;
  std::vector<std::string> expected;  // lines
  uint32_t line = 1;                  // in the text
};

// The forms of a text, each with the expectation on its last line or on the next one.
inline std::vector<Example> read_examples(const std::string& text) {
  uint32_t source = add_source("<example>", text, SourceKind::Eval);
  auto forms = syntax::read_all(source);
  std::vector<Example> out;
  for (size_t i = 0; i < forms.size(); ++i) {
    Example e;
    e.code = std::string(text_of(forms[i]->span));
    e.line = start_of(forms[i]->span).line;
    size_t from = forms[i]->span.end, to = i + 1 < forms.size() ? forms[i + 1]->span.begin : text.size();
    std::vector<std::string> after = split_lines(text.substr(from, to - from) + "\n");
    for (size_t k = 0; k < after.size() && k < 2 && e.kind == Example::Runs; ++k) {
      size_t start = after[k].find_first_not_of(' ');
      if (start == std::string::npos) continue;
      std::string marker = after[k].substr(start, 4);
      if (marker == "; =>")
        e.kind = Example::Prints;
      else if (marker == "; ~>")
        e.kind = Example::PrintsNear;
      else if (marker == "; !!")
        e.kind = Example::Fails;
      else if (k > 0 || marker[0] != ';')
        break;
      else
        continue;
      e.expected.push_back(after[k].size() > start + 5 ? after[k].substr(start + 5) : "");
      for (size_t more = k + 1; more < after.size(); ++more) {
        size_t at = after[more].find("; ");
        if (at == std::string::npos || after[more].find_first_not_of(' ') != at || after[more].substr(at, 5) != ";    ")
          break;
        e.expected.push_back(after[more].substr(at + 5));
      }
    }
    out.push_back(std::move(e));
  }
  return out;
}

// The examples at the end of a docstring: from the first line that starts a form, if an expectation follows.
inline std::vector<Example> docstring_examples(const std::string& doc) {
  size_t start = doc.starts_with("(") ? 0 : doc.find("\n(");
  if (start == std::string::npos) return {};
  std::string text = doc.substr(start);
  bool expects = text.find("; => ") != std::string::npos || text.find("; ~> ") != std::string::npos ||
                 text.find("; !! ") != std::string::npos;
  return expects ? read_examples(text) : std::vector<Example>{};
}

// The difference between outcome and expectation, or "".
inline std::string run_example(eval::Session& session, const Example& e) {
  std::string out, error;
  builtins::set_capture(&out);
  eval::g_fuel = 200'000'000;
  try {
    Value v = session.run_text(e.code);
    if (!is_silent(v)) out += render(v) + "\n";
  } catch (const UserError& u) {
    error = u.message;
  } catch (const builtins::GuardBreach& b) {
    error = "guard: " + b.check + ": " + b.message;
  } catch (const std::exception& x) {
    error = std::string("internal: ") + x.what();
  }
  builtins::set_capture(nullptr);
  auto lines = [](const std::vector<std::string>& ls) { return fmt::format("{}", fmt::join(ls, "\n    ")); };
  std::string shown = fmt::format("line {}: {}", e.line, e.code);
  if (e.kind == Example::Fails) {
    std::vector<std::string> got = split_lines(error);
    if (!got.empty() && got[0] == e.expected[0]) return "";
    return fmt::format("{}\n  expected error: {}\n  got error: {}", shown, e.expected[0],
                       got.empty() ? "(none)" : got[0]);
  }
  if (!error.empty()) return fmt::format("{}\n  error: {}", shown, error);
  if (e.kind == Example::Runs) return "";
  std::vector<std::string> got = split_lines(out);
  bool same = got.size() == e.expected.size();
  for (size_t i = 0; same && i < got.size(); ++i)
    same = got[i] == e.expected[i] || (e.kind == Example::PrintsNear && nearly_equal(got[i], e.expected[i]));
  return same ? "" : fmt::format("{}\n  expected:\n    {}\n  got:\n    {}", shown, lines(e.expected), lines(got));
}

}  // namespace sheaf
