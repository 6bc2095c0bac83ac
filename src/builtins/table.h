// All built-ins by name, and calling one: what the evaluator and the tools see. Thread-safe; the table never changes.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "builtins/core/builtin.h"

namespace sheaf::builtins {

// The function value of an entry.
struct BuiltinObj final : CallableObj {
  const BuiltinDef* def;
  std::string name_text;
  explicit BuiltinObj(const BuiltinDef* d) : def(d), name_text(d->name) {}
  const std::string& name() const override { return name_text; }
  Value invoke(Caller& caller, std::vector<Value>& args) override;
};

// nullptr when there is none.
const BuiltinDef* find_builtin(std::string_view name);
const std::vector<const BuiltinDef*>& all_builtins();
// The function value of a built-in (one object per definition).
Value builtin_value(const BuiltinDef& def);

// Checks the argument count, splits off options, runs.
Value call_builtin(const BuiltinDef& def, Caller& caller, std::vector<Value>& args);

// What is wrong with a call as far as its text tells, or nothing. `keywords` has an entry for each argument: the
// keyword that it is written as, if it is one.
std::optional<UserError> fault_of_call(const BuiltinDef& def, std::span<const std::optional<Name>> keywords);

// What special forms compile to: names that start with '%' and are hidden from users (forms.cpp).
std::span<const BuiltinDef> form_builtins();

}  // namespace sheaf::builtins
