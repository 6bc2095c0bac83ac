#include "tools/reference.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "advice/hints.h"
#include "builtins/table.h"
#include "syntax/printer.h"

namespace sheaf::tools {
namespace {

constexpr size_t kShownExamples = 3;

// The heading of a library module.
std::string module_heading(const Span& span) {
  static const auto* headings = new std::map<std::string, std::string>{{"macros.shf", "Macros"},
                                                                       {"misc.shf", "Library: miscellaneous"},
                                                                       {"trees.shf", "Library: parameter trees"},
                                                                       {"nn.shf", "Library: networks"},
                                                                       {"transformer.shf", "Library: transformers"},
                                                                       {"optim.shf", "Library: optimizers"},
                                                                       {"linalg.shf", "Library: linear algebra"},
                                                                       {"matrices.shf", "Library: matrices"},
                                                                       {"adaptive.shf", "Library: further optimizers"},
                                                                       {"minimize.shf", "Library: minima"},
                                                                       {"elementwise.shf", "Library: elements"},
                                                                       {"images.shf", "Library: images as arrays"},
                                                                       {"random.shf", "Library: distributions"},
                                                                       {"recurrent.shf", "Library: recurrent networks"},
                                                                       {"weights.shf", "Library: files of weights"}};
  if (!span) return "Library";
  auto it = headings->find(source_name(span.source));
  if (it != headings->end()) return it->second;
  std::string name = source_name(span.source);
  return "Library: " + name.substr(0, name.find('.'));
}

bool is_internal(const std::string& name) {
  return (name.starts_with('%') && name.size() > 1) || name.starts_with("@-");
}
// True for helpers that only macros call.
bool is_helper(const std::string& doc) { return doc.find("Only usable in macros.") != std::string::npos; }

DocEntry builtin_entry(const builtins::BuiltinDef& d) {
  DocEntry e{std::string(d.name),      "built-in function", std::string(d.category),
             std::string(d.signature), std::string(d.doc),  {}};
  for (const builtins::Example& x : d.examples)
    e.examples.push_back({std::string(x.code), "=>", std::string(x.result)});
  return e;
}

DocEntry function_entry(const syntax::Form& defn, std::string type, std::string category) {
  DocEntry e;
  e.name = defn.items[1]->name.str();
  e.type = std::move(type);
  e.category = std::move(category);
  std::string doc = eval::doc_of(defn);
  size_t params_at = doc.empty() ? 2 : 3;
  e.signature = "(" + e.name;
  if (params_at < defn.items.size())
    for (const auto& p : defn.items[params_at]->items)
      e.signature += " " + syntax::to_text(*p);
  e.signature += ")";
  parse_doc(doc, e);
  return e;
}

DocEntry library_entry(const syntax::Form& defn) {
  return function_entry(defn, "library function", module_heading(defn.span));
}

DocEntry macro_entry(const eval::Macro& m, std::string category) {
  DocEntry e;
  e.name = m.name.str();
  e.type = "macro";
  e.category = std::move(category);
  e.signature = "(" + e.name;
  for (const syntax::FormPtr& p : m.params->items)
    e.signature += " " + to_text(*p);
  e.signature += ")";
  parse_doc(m.doc, e);
  return e;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (size_t at = 0; at <= text.size();) {
    size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

// The position of " ; => " or a similar mark in a line, or npos.
size_t mark_position(const std::string& line) {
  for (const char* mark : {"; => ", "; ~> ", "; !! "})
    if (size_t at = line.rfind(mark); at != std::string::npos) return at;
  return std::string::npos;
}

std::string indented(const std::string& text, const std::string& by) {
  std::string out;
  for (const std::string& line : lines_of(text))
    out += (line.empty() ? "" : by) + line + "\n";
  return out;
}

std::string example_text(const DocExample& x) {
  if (x.mark.empty()) return x.code;
  std::vector<std::string> result = lines_of(x.result);
  if (result.size() == 1 && x.code.find('\n') == std::string::npos && x.code.size() + x.result.size() < 90)
    return fmt::format("{}  ; {} {}", x.code, x.mark, x.result);
  std::string out = x.code;
  for (size_t i = 0; i < result.size(); ++i)
    out += fmt::format("\n; {} {}", i == 0 ? x.mark : "  ", result[i]);
  return out;
}

}  // namespace

void parse_doc(const std::string& doc, DocEntry& out) {
  std::string code;
  bool in_examples = false;
  for (const std::string& line : lines_of(doc)) {
    in_examples |= line.starts_with('(') || mark_position(line) != std::string::npos;
    if (!in_examples) {
      out.text += (out.text.empty() ? "" : "\n") + line;
      continue;
    }
    if (line.starts_with(";    ") && !out.examples.empty()) {
      out.examples.back().result += "\n" + line.substr(5);
      continue;
    }
    size_t at = mark_position(line);
    std::string before = line.substr(0, at);
    while (before.ends_with(' '))
      before.pop_back();
    if (!before.empty()) code += (code.empty() ? "" : "\n") + before;
    if (at == std::string::npos) continue;
    out.examples.push_back({std::exchange(code, ""), line.substr(at + 2, 2), line.substr(at + 5)});
  }
  if (!code.empty()) out.examples.push_back({code, "", ""});
}

std::vector<DocEntry> reference_entries(eval::Session& session) {
  std::map<std::pair<std::string, std::string>, DocEntry> all;
  auto add = [&](DocEntry e) {
    auto key = std::pair(e.category, e.name);
    all.emplace(std::move(key), std::move(e));
  };
  std::map<std::string, bool> special;
  for (const DocEntry& e : special_form_docs()) {
    special[e.name] = true;
    add(e);
  }
  for (const auto* d : builtins::all_builtins())
    if (!is_internal(std::string(d->name)) && !d->category.empty() && !special.count(std::string(d->name)) &&
        !session.globals().is_prelude_name(Name(d->name)))
      add(builtin_entry(*d));
  for (const auto& [name, f] : session.globals().prelude_functions()) {
    if (f.own || is_internal(name.str())) continue;
    if (syntax::FormPtr form = f.form(); !is_helper(eval::doc_of(*form))) add(library_entry(*form));
  }
  for (const auto& [name, m] : session.globals().prelude_macros())
    if (!is_helper(m.doc)) add(macro_entry(m, module_heading(m.body ? m.body->span : Span{})));
  std::vector<DocEntry> out;
  for (auto& [key, e] : all)
    out.push_back(std::move(e));
  return out;
}

std::optional<DocEntry> find_entry(eval::Session& session, const std::string& name) {
  eval::Globals& g = session.globals();
  Name n(name);
  if (auto it = g.user_macros().find(n); it != g.user_macros().end()) return macro_entry(it->second, "Yours");
  if (eval::Cell* c = g.find_user(n); c && (c->user_defined || c->broken) && c->source && c->source->items.size() > 2) {
    if (c->is_function) return function_entry(*c->source, "function", "Yours");
    DocEntry e{name, "variable", "Yours", name, eval::doc_of(*c->source), {}};
    return e;
  }
  for (const DocEntry& e : special_form_docs())
    if (e.name == name) return e;
  if (auto it = g.prelude_macros().find(n); it != g.prelude_macros().end())
    return macro_entry(it->second, module_heading(it->second.body ? it->second.body->span : Span{}));
  if (auto it = g.prelude_functions().find(n); it != g.prelude_functions().end())
    return library_entry(*it->second.form());
  if (const auto* d = builtins::find_builtin(name); d && !is_internal(name)) return builtin_entry(*d);
  return std::nullopt;
}

std::string no_entry_text(eval::Session& session, const std::string& name) {
  std::string out = fmt::format("No help found for '{}'.\n", name);
  if (std::string advice = advice::habit_hint(name); !advice.empty()) out += fmt::format("  = hint: {}\n", advice);
  std::vector<DocEntry> entries = reference_entries(session);
  std::vector<std::string_view> names;
  for (const DocEntry& e : entries)
    names.push_back(e.name);
  for (const eval::Cell* c : session.globals().user_cells())
    if (c->user_defined) names.push_back(c->name.str());
  if (auto near = advice::near_names(name, names); !near.empty())
    out += fmt::format("  = names like it: {}\n", fmt::join(near, ", "));
  return out;
}

std::string entry_text(const DocEntry& e) {
  std::string out = fmt::format("\n  {}\n  {:-<{}}\n  {}{}\n  {}\n", e.name, "", std::max<size_t>(e.name.size(), 3),
                                e.type, e.category.empty() ? "" : " (" + e.category + ")", e.signature);
  if (!e.text.empty()) out += "\n" + indented(e.text, "  ");
  if (!e.examples.empty()) out += "\n";
  for (size_t i = 0; i < std::min(e.examples.size(), kShownExamples); ++i)
    out += indented(example_text(e.examples[i]), "    ");
  return out + "\n";
}

}  // namespace sheaf::tools
