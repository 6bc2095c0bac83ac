#include "eval/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>

#include "advice/hints.h"
#include "builtins/core/warnings.h"
#include "builtins/host/future.h"
#include "builtins/table.h"
#include "eval/code.h"
#include "eval/prelude.h"
#include "eval/suggest.h"
#include "eval/vm.h"
#include "formats/files.h"
#include "support/interrupt.h"
#include "syntax/lexer.h"
#include "syntax/reader.h"
#include "trace/jit.h"
#include "trace/traced.h"

namespace sheaf::eval {
namespace {

namespace fs = std::filesystem;
using syntax::Form;
using syntax::FormKind;
using syntax::FormPtr;

// Modules of the original prelude: `use` of them does nothing, even if a file of that name exists.
bool is_reserved_module(const std::string& name) {
  return name == "macros" || name == "misc" || name == "nn" || name == "optim";
}

bool is_prelude_module(const std::string& name) {
  for (const PreludeModule& m : prelude_modules())
    if (m.name == name) return true;
  return false;
}

std::string read_source(const fs::path& path) {
  try {
    return formats::read_file(path.string(), "cannot read");
  } catch (UserError& e) {
    e.kind = ErrorKind::Io;
    throw;
  }
}

// ../lib relative to the program.
fs::path own_library() {
  std::error_code ec;
  fs::path exe = fs::read_symlink("/proc/self/exe", ec);
  return ec ? fs::path() : exe.parent_path().parent_path() / "lib";
}

// An error in library code is reported at the program's call, and its message begins with the function called there.
// Leaves messages that begin so already, and Ctrl-C.
void name_library_function(UserError& e, Globals& globals) {
  if (!e.span || dynamic_cast<const StopError*>(&e)) return;
  auto called = std::find_if(e.stack.begin(), e.stack.end(), [&](const StackEntry& s) { return s.call == e.span; });
  if (called == e.stack.end() || !globals.prelude_functions().count(Name(called->function))) return;
  if (const Cell* own = globals.find_user(Name(called->function)); own && own->user_defined) return;
  if (!e.message.starts_with(called->function + ":")) e.message = called->function + " -> " + e.message;
}

std::string module_stem(const std::string& name) {
  return name.ends_with(".shf") ? name.substr(0, name.size() - 4) : name;
}

// The module's name in (use NAME …).
std::string module_name(const Form& form) {
  if (form.items.size() >= 2) {
    const Form& n = *form.items[1];
    if (n.is_symbol()) return n.name.str();
    if (n.kind == FormKind::String && n.text.find('\0') != std::string::npos)
      throw UserError(ErrorKind::Compile, "use: a module's name cannot hold a NUL character", n.span);
    if (n.kind == FormKind::String) return n.text;
  }
  throw UserError(ErrorKind::Compile, "use requires a module name: (use name)", form.span);
}

// The vector of `:only` in a use form, or null.
const Form* only_form(const Form& use) {
  for (size_t i = 2; i + 1 < use.items.size(); i += 2)
    if (use.items[i]->is_keyword() && use.items[i]->name.str() == "only") return use.items[i + 1].get();
  return nullptr;
}

// The name of `:as` in a use form, or null.
const Form* alias_form(const Form& use) {
  for (size_t i = 2; i + 1 < use.items.size(); i += 2)
    if (use.items[i]->is_keyword() && use.items[i]->name.str() == "as" && use.items[i + 1]->is_symbol())
      return use.items[i + 1].get();
  return nullptr;
}

// The names of `:only [name …]`; the module must define all of them.
std::set<Name> only_names(const Form& use, const Form& only, const std::map<Name, Name>& defined) {
  if (!only.is_vector())
    throw UserError(ErrorKind::Compile, "use: :only takes a vector of names: (use name :only [f g])", only.span);
  std::set<Name> wanted;
  for (const FormPtr& n : only.items) {
    if (!n->is_symbol())
      throw UserError(ErrorKind::Compile, "use: :only takes a vector of names: (use name :only [f g])", n->span);
    if (wanted.insert(n->name); defined.count(n->name)) continue;
    UserError e(ErrorKind::Compile, fmt::format("use: module '{}' defines no {}", module_name(use), n->name.str()),
                n->span);
    std::vector<std::string_view> names;
    for (const auto& [k, global] : defined)
      names.push_back(k.str());
    if (auto likely = advice::likely_name(n->name.str(), names); !likely.empty())
      e.hints.push_back(advice::did_you_mean(likely));
    throw e;
  }
  return wanted;
}

// Shared by all sessions of a process: sources are never freed.
const std::vector<uint32_t>& prelude_sources() {
  static const std::vector<uint32_t> sources = [] {
    std::vector<uint32_t> ids;
    for (const PreludeModule& m : prelude_modules())
      ids.push_back(add_source(std::string(m.name) + ".shf", std::string(m.text), SourceKind::Prelude));
    return ids;
  }();
  return sources;
}

}  // namespace

std::string doc_of(const Form& defn) {
  return defn.items.size() > 3 && defn.items[2]->kind == FormKind::String ? defn.items[2]->text : "";
}

Session::Session() {
  // Sessions may start on several threads at once; the first one sets up process-wide state.
  static std::once_flag once;
  std::call_once(once, [] {
    trace::install();
    builtins::g_thread_caller = []() -> builtins::Caller& { return Vm::current(); };
  });
  globals_.compile_prelude = [this](Cell& cell, const FormPtr& form) { analyze_prelude_function(cell, form, *this); };
  load_prelude();
}

Session::~Session() { trace::forget_compiled(); }  // compiled code refers to the cells of this session

void Session::load_prelude() {
  // Functions are read and compiled when a program first mentions them; start-up only locates them.
  size_t index = 0;
  for (const PreludeModule& m : prelude_modules()) {
    uint32_t source = prelude_sources()[index++];
    for (syntax::FormExtent e : syntax::top_level_extents(m.text)) {
      syntax::Lexer lexer(m.text, e.begin + 1);
      std::string_view head = lexer.text_of(lexer.next_code()), name = lexer.text_of(lexer.next_code());
      if (head == "defmacro") {
        globals_.define_macro(parse_macro(*syntax::read_extent(source, e)), true);
      } else if (head == "defn" || head == "defn-") {
        globals_.add_prelude_function(Name(name), {source, e, head == "defn-"});
      } else {
        throw UserError(ErrorKind::Compile, "a prelude module holds only defn and defmacro",
                        Span{source, e.begin, e.end});
      }
    }
  }
}

template <class F>
Value Session::guarded(F&& f) {
  try {
    Value v = f();
    heed_interrupt();  // handles a request that arrived while nothing tested for it, as in the last call
    return v;
  } catch (UserError& e) {
    suggest_name(e, globals_);
    name_library_function(e, globals_);
    throw;
  }
}

std::vector<std::shared_ptr<Proto>> Session::analyze(const std::vector<FormPtr>& forms) {
  Definitions outer = pending_;
  read_ahead_.clear();  // left by a failed analysis: the files may have changed
  noted_.clear();
  calls_.clear();
  code_ran_before_ = false;
  announce(forms);
  std::vector<std::shared_ptr<Proto>> protos;
  try {
    for (const FormPtr& f : forms) {
      auto p = analyze_top_level(f, *this, false);
      if (!p) continue;
      code_ran_before_ |= p->body->kind != ExprKind::Global;  // a defn analyses to a Global
      protos.push_back(std::move(p));
    }
    warn_of_findings();
  } catch (...) {
    pending_ = outer;
    throw;
  }
  pending_ = outer;
  return protos;
}

Value Session::run_forms(const std::vector<FormPtr>& forms) {
  return guarded([&] {
    Value last;
    auto protos = analyze(forms);
    if (on_analyzed) on_analyzed();
    for (const auto& p : protos)
      last = Vm::current().run_proto(p);
    return last;
  });
}

Value Session::call(const Value& function, std::vector<Value> args) {
  return guarded([&] { return Vm::current().call(function, std::move(args)); });
}

Value Session::run(uint32_t source) {
  syntax::check_encoding(source);
  return run_forms(syntax::read_all(source));
}

Value Session::run_text(const std::string& text, const std::string& name, SourceKind kind) {
  return run(add_source(name, text, kind));
}

uint32_t Session::add_program(const std::string& path) {
  std::error_code ec;
  // A pipe has no better name than the given one.
  std::string canonical = fs::is_regular_file(path, ec) ? fs::weakly_canonical(path, ec).string() : path;
  uint32_t source = add_source(canonical, read_source(path), SourceKind::File);
  loaded_.insert(canonical);
  return source;
}

Value Session::run_file(const std::string& path) { return run(add_program(path)); }

Value Session::run_test(const TestCase& t) {
  return guarded([&] { return Vm::current().run_proto(t.body); });
}

static bool is_file(uint32_t source) { return source && source_kind(source) == SourceKind::File; }

bool Session::is_library_file(uint32_t source) {
  return is_file(source) && fs::path(source_name(source)).parent_path() == own_library();
}

std::vector<fs::path> Session::load_path(uint32_t importer) const {
  std::vector<fs::path> path;
  if (is_file(importer)) path.push_back(fs::path(source_name(importer)).parent_path());
  if (const char* lib = std::getenv("SHEAF_LIB")) path.push_back(lib);
  std::error_code ec;
  if (fs::path own = own_library(); !own.empty()) path.push_back(own);
  path.push_back(fs::current_path(ec));
  return path;
}

void Session::announce(const std::vector<FormPtr>& forms) {
  for (const FormPtr& f : forms) {
    Definitions found;
    collect_definitions(*f, found);
    for (Name n : found.own)
      make_private(n, f->span.source);
    Scope& here = scope(f->span.source);
    for (const std::set<Name>* names : {&found.values, &found.functions, &found.macros})
      here.defines.insert(names->begin(), names->end());
    pending_.values.merge(found.values);
    pending_.functions.merge(found.functions);
    announce_modules(*f, f->span.source);
  }
}

void Session::announce_modules(const Form& form, uint32_t importer) {
  if (form.is_call("do"))
    for (const FormPtr& f : form.items)
      announce_modules(*f, importer);
  if (!form.is_call("use") || form.items.size() < 2 || alias_form(form)) return;
  if (const Form* only = only_form(form)) {
    for (const FormPtr& n : only->items)
      if (n->is_symbol()) pending_.functions.insert(n->name);
    return;
  }
  try {
    std::string name = module_name(form);
    if (name == "strict" || is_reserved_module(module_stem(name))) return;
    fs::path file = find_module(name, importer).file;
    if (file.empty() || loaded_.count(file.string()) || read_ahead_.count(file.string())) return;
    const ModuleText& text = read_ahead_[file.string()] = module_text(file);
    for (const FormPtr& f : text.forms) {
      Definitions found;
      collect_definitions(*f, found);
      for (Name n : found.own)
        found.functions.erase(n);
      pending_.values.merge(found.values);
      pending_.functions.merge(found.functions);
      announce_modules(*f, text.source);
    }
  } catch (const UserError&) {
    // The error is reported when the module is used.
  }
}

Session::ModulePlace Session::find_module(const std::string& name, uint32_t importer) const {
  ModulePlace place{load_path(importer), {}};
  // A path is relative to the importing file, or without one to the current directory (the last entry).
  if (name.find('/') != std::string::npos)
    place.searched = {is_file(importer) ? place.searched.front() : place.searched.back()};
  std::vector<std::string> candidates{name};
  if (!name.ends_with(".shf")) candidates.push_back(name + ".shf");
  std::error_code ec;
  bool built_in = is_prelude_module(module_stem(name));
  for (const fs::path& dir : place.searched) {
    if (built_in && dir == own_library()) continue;  // the prelude's own files are part of the program already
    for (const std::string& c : candidates) {
      fs::path p = fs::path(c).is_absolute() ? fs::path(c) : dir / c;
      if (place.file.empty() && fs::is_regular_file(p, ec)) place.file = fs::weakly_canonical(p, ec);
    }
  }
  return place;
}

Session::ModuleText Session::module_text(const fs::path& file) {
  if (auto node = read_ahead_.extract(file.string())) return std::move(node.mapped());
  ModuleText text;
  text.source = add_source(file.string(), read_source(file), SourceKind::File);
  syntax::check_encoding(text.source);
  text.forms = syntax::read_all(text.source);
  return text;
}

void Session::analyze_module_form(const FormPtr& written, std::vector<std::shared_ptr<Proto>>& run, Exports& names) {
  FormPtr form = expand_top_level(written, *this);
  if (form->is_call("do")) {
    for (size_t i = 1; i < form->items.size(); ++i)
      analyze_module_form(form->items[i], run, names);
    return;
  }
  Definitions found;
  collect_definitions(*form, found);
  for (Name n : found.own)
    found.functions.erase(n);
  for (const std::set<Name>* defined : {&found.values, &found.functions, &found.macros})
    for (Name n : *defined)
      names[n] = defined_name(n, form->span.source);
  auto proto = analyze_top_level(form, *this, false);
  // Runs only a module's definitions and its `use` forms; other expressions were only checked.
  if (proto && (form->is_call("use") || proto->body->kind == ExprKind::Def)) run.push_back(proto);
}

ExprPtr Session::use_module(const Form& form, uint32_t importer) {
  std::string name = module_name(form);
  for (const FormPtr& x : form.items)
    if (x->is_keyword() && x->name.str() != "as" && x->name.str() != "only")
      throw UserError(ErrorKind::Compile,
                      fmt::format("use: unknown option :{}. Known options: :as :only", x->name.str()), x->span);
  if (name == "strict") {
    builtins::make_strict(importer);
    return nullptr;
  }
  const Form* alias = alias_form(form);
  std::string stem = module_stem(name);
  auto [searched_in, found] = find_module(name, importer);
  if (alias && (is_reserved_module(stem) || (found.empty() && is_prelude_module(stem))))
    scope(importer).aliases[alias->name.str()] = "";
  if (is_reserved_module(stem)) {
    if (!found.empty())
      std::fputs(fmt::format("warning: use: '{}' is built in, the local file {} is ignored; rename it to use it\n",
                             stem, found.string())
                     .c_str(),
                 stderr);
    return nullptr;
  }
  if (found.empty()) {
    if (is_prelude_module(stem)) return nullptr;
    std::string searched;
    for (const fs::path& dir : searched_in)
      searched += (searched.empty() ? "\"" : ", \"") + dir.string() + "\"";
    throw UserError(ErrorKind::Compile, fmt::format("use: module '{}' not found\n  searched: [{}]", name, searched),
                    form.span);
  }
  if (!loaded_.insert(found.string()).second) {
    import(form, found.string(), importer);
    return nullptr;
  }
  ModuleText text = module_text(found);
  Definitions outer = pending_;
  scope(text.source).separate = alias != nullptr;
  announce(text.forms);
  std::vector<std::shared_ptr<Proto>> protos;
  Exports names;
  try {
    for (const FormPtr& f : text.forms)
      analyze_module_form(f, protos, names);
  } catch (...) {
    pending_ = outer;
    throw;
  }
  pending_ = outer;
  const Exports& imported = scope(text.source).imported;
  names.insert(imported.begin(), imported.end());
  module_names_[found.string()] = std::move(names);
  import(form, found.string(), importer);
  ExprPtr all = make_expr(ExprKind::Do, form.span);
  for (auto& p : protos) {
    ExprPtr fn = make_expr(ExprKind::Fn, form.span);
    fn->proto = p;
    ExprPtr call = make_expr(ExprKind::Call, form.span);
    call->items.push_back(std::move(fn));
    all->items.push_back(std::move(call));
  }
  ExprPtr nil = make_expr(ExprKind::Const, form.span);
  all->items.push_back(std::move(nil));
  return all;
}

// Makes the names of a loaded module visible to the importing scope: all, or those of `:only`. Names of a separate
// module also become visible under their plain names, where those have no other meaning.
void Session::import(const Form& use, const std::string& path, uint32_t importer) {
  Scope& here = scope(importer);
  const Form *only = only_form(use), *alias = alias_form(use);
  if (alias) here.aliases[alias->name.str()] = path;
  auto defined = module_names_.find(path);
  if (defined == module_names_.end()) return;  // still being loaded: two modules use each other
  const Exports& names = defined->second;
  if (!alias || only) here.imported.insert(names.begin(), names.end());
  std::set<Name> wanted;
  if (only)
    wanted = only_names(use, *only, names);
  else
    for (const auto& [n, global] : names)
      wanted.insert(n);
  for (const auto& [n, global] : names) {
    if (global == n) continue;
    if (!alias || only) {
      if (wanted.count(n)) here.asked_for[n] = global;
    } else if (auto [it, fresh] = here.at_hand.emplace(n, global); !fresh && it->second != global) {
      it->second = Name();
    }
    wanted.erase(n);
  }
  for (Name n : wanted)
    here.left_out.erase(n);
  here.wanted.merge(wanted);
  for (const auto& [n, global] : names) {
    if (global != n) continue;
    Cell* mine = globals_.find_user(n);
    bool defined_here = mine && mine->user_defined && scope_of(mine->defined_at.source) == scope_of(importer);
    if (!here.wanted.count(n) && !defined_here) here.left_out.insert(n);
  }
}

uint32_t Session::scope_of(uint32_t source) {
  if (!source || source_kind(source) == SourceKind::Repl) return 0;
  if (!is_file(source)) return source;
  auto [it, fresh] = file_scopes_.try_emplace(source);
  if (fresh) it->second = first_source_.emplace(source_name(source), source).first->second;
  return it->second;
}

void Session::make_private(Name name, uint32_t source) { scope(source).privates.insert(name); }

Name Session::defined_name(Name name, uint32_t source) {
  if (scopes_.empty()) return name;
  const Scope& here = scope(source);
  bool own = here.privates.count(name) || here.left_out.count(name) || (here.separate && here.defines.count(name));
  return own ? own_name(name, scope_of(source)) : name;
}

bool Session::is_library_name(Name name) const {
  return builtins::find_builtin(name.str()) || globals_.is_prelude_name(name) || globals_.prelude_macros().count(name);
}

Name Session::resolve_alias(Name name, uint32_t source) {
  if (scopes_.empty()) return name;
  const Scope& here = scope(source);
  size_t slash = name.str().find('/');
  if (slash != std::string::npos && slash > 0 && slash + 1 < name.str().size()) {
    if (auto alias = here.aliases.find(name.str().substr(0, slash)); alias != here.aliases.end()) {
      Name plain(name.str().substr(slash + 1));
      if (alias->second.empty()) return is_library_name(plain) ? plain : name;
      auto names = module_names_.find(alias->second);
      if (names == module_names_.end()) return defined_name(plain, first_source_.at(alias->second));
      auto it = names->second.find(plain);
      return it == names->second.end() ? name : it->second;
    }
  }
  Name defined = defined_name(name, source);
  if (defined != name || here.defines.count(name)) return defined;
  if (auto it = here.asked_for.find(name); it != here.asked_for.end()) return it->second;
  auto it = here.at_hand.find(name);
  if (it == here.at_hand.end() || !it->second || is_library_name(name)) return name;
  const Cell* global = globals_.find_user(name);
  return (global && global->user_defined) || will_define(name) ? name : it->second;
}

}  // namespace sheaf::eval
