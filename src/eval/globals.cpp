#include "eval/globals.h"

#include <fmt/format.h>

#include <algorithm>

#include "builtins/table.h"

namespace sheaf::eval {

namespace {
constexpr char kOwn = '\x1f';
}

Name own_name(Name plain, uint32_t scope) { return Name(fmt::format("{}{}{}", plain.str(), kOwn, scope)); }

Name plain_name(Name name) {
  size_t at = name.str().find(kOwn);
  return at == std::string::npos ? name : Name(name.str().substr(0, at));
}

Cell* Globals::find_user(Name name) {
  auto it = user_.find(name.entry());
  return it == user_.end() ? nullptr : it->second.get();
}

Cell* Globals::prelude_cell(Name name) {
  auto [it, fresh] = prelude_.try_emplace(name.entry());
  if (!fresh) return it->second.get();
  it->second = std::make_unique<Cell>();
  Cell* c = it->second.get();
  c->name = name;
  auto f = prelude_functions_.find(name);
  if (f != prelude_functions_.end())
    compile_prelude(*c, f->second.form());
  else if (auto* b = builtins::find_builtin(name.str()))
    c->value = builtins::builtin_value(*b);
  return c;
}

Cell* Globals::user_cell(Name name) {
  auto [it, fresh] = user_.try_emplace(name.entry());
  if (!fresh) return it->second.get();
  it->second = std::make_unique<Cell>();
  Cell* c = it->second.get();
  c->name = plain_name(name);
  if (is_prelude_name(c->name, true) && !is_prelude_name(c->name)) return c;
  Cell* p = prelude_cell(c->name);
  c->value = p->value;
  c->is_function = p->is_function;
  c->source = p->source;
  return c;
}

bool Globals::is_prelude_name(Name name, bool prelude) const {
  auto it = prelude_functions_.find(name);
  return it != prelude_functions_.end() && (prelude || !it->second.own);
}

void Globals::define_macro(Macro m, bool prelude) {
  Name name = m.name;
  if (!prelude) hidden_macros_.erase(name);
  (prelude ? prelude_macros_ : user_macros_)[name] = std::move(m);
}

const Macro* Globals::find_macro(Name name, bool prelude) const {
  if (!prelude) {
    auto it = user_macros_.find(name);
    if (it != user_macros_.end()) return &it->second;
    if (hidden_macros_.count(name)) return nullptr;
  }
  auto it = prelude_macros_.find(plain_name(name));
  return it == prelude_macros_.end() ? nullptr : &it->second;
}

std::vector<Cell*> Globals::user_cells() const {
  std::vector<Cell*> out;
  for (const auto& [k, c] : user_)
    if (c->user_defined || c->broken) out.push_back(c.get());
  std::sort(out.begin(), out.end(), [](Cell* a, Cell* b) { return a->name < b->name; });
  return out;
}

}  // namespace sheaf::eval
