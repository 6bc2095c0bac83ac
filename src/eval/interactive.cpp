#include "eval/interactive.h"

#include <algorithm>
#include <iterator>
#include <map>

#include "eval/code.h"

namespace sheaf::eval {
namespace {

using syntax::Form;
using syntax::FormPtr;

bool mentions(const Form& f, const std::set<Name>& names) {
  if (f.is_symbol() && names.count(f.name)) return true;
  for (const FormPtr& x : f.items)
    if (mentions(*x, names)) return true;
  return false;
}

void collect(const Form& f, std::set<Name>& out) {
  Definitions found;
  collect_definitions(f, found);
  out.insert(found.values.begin(), found.values.end());
  out.insert(found.functions.begin(), found.functions.end());
  out.insert(found.macros.begin(), found.macros.end());
}

// Calls of built-ins, macros and the stacking of vectors are resolved when a function is compiled. Recompiles functions
// that mention a name whose meaning has changed, and functions that did not compile because a name was missing.
void recompile_dependants(Session& session, const std::set<Name>& names) {
  if (names.empty()) return;
  for (Cell* c : session.globals().user_cells()) {
    if (!c->is_function || !c->source || names.count(c->name) || !mentions(*c->source, names)) continue;
    if (!c->source->is_call("defn") && !c->source->is_call("defn-")) continue;
    // A function defined among locals has captured them; recompiling its text alone would lose them.
    if (c->value.tag() == Tag::Function && !static_cast<Closure*>(c->value.object())->captures.empty()) continue;
    FormPtr source = c->source;  // the definition replaces it
    analyze_top_level(source, session, false);
  }
}

// The kind of global for which functions that mention it were compiled: data, written as a vector literal or not.
enum class Meaning : uint8_t { Other, Data, VectorData };

Meaning meaning_of(const Cell& c) {
  if (!c.user_defined || c.is_function || c.broken || c.value.is_callable() || c.value.tag() == Tag::Unbound)
    return Meaning::Other;
  return c.literal_vector ? Meaning::VectorData : Meaning::Data;
}

}  // namespace

std::set<Name> defined_names(const std::vector<FormPtr>& forms) {
  std::set<Name> names;
  for (const FormPtr& f : forms)
    collect(*f, names);
  return names;
}

Value run_interactively(Session& session, const std::vector<FormPtr>& forms, std::set<Name>* changed) {
  std::set<Name> names = defined_names(forms);
  // Definitions that come from macros show up as new names.
  std::map<Name, Meaning> before;
  for (Cell* c : session.globals().user_cells())
    before[c->name] = meaning_of(*c);
  Value v = session.run_forms(forms);
  std::set<Name> mean_the_same;
  for (Cell* c : session.globals().user_cells()) {
    auto it = before.find(c->name);
    if (it == before.end())
      names.insert(c->name);
    else if (it->second != Meaning::Other && it->second == meaning_of(*c))
      mean_the_same.insert(c->name);
  }
  std::set<Name> others;
  std::set_difference(names.begin(), names.end(), mean_the_same.begin(), mean_the_same.end(),
                      std::inserter(others, others.end()));
  recompile_dependants(session, others);
  if (changed) *changed = std::move(names);
  return v;
}

}  // namespace sheaf::eval
