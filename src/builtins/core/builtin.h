// The type of a built-in function of the language and the context of its calls.
#pragma once
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "graph/op_def.h"
#include "support/error.h"
#include "value/value.h"

namespace sheaf::builtins {

struct BuiltinDef;

// Calls function values through the evaluator.
class Caller {
 public:
  virtual ~Caller() = default;
  // Calls a function value leniently (as map, apply … do).
  virtual Value call(const Value& function, std::vector<Value> args) = 0;
};

struct Option {
  Name name;
  Value value;
};

// One call. Its arguments may be moved from. For a built-in with options, `args` does not contain keyword arguments.
struct Call {
  Caller& caller;
  std::vector<Value>& args;
  std::vector<Option> options;
  const BuiltinDef& def;

  size_t size() const { return args.size(); }
  Value& operator[](size_t i) { return args[i]; }
  // The value of an option, or nullptr.
  const Value* option(std::string_view name) const {
    for (const Option& o : options)
      if (o.name.str() == name) return &o.value;
    return nullptr;
  }
  bool flag(std::string_view name) const;  // given and truthy
};

// The effects decide whether a function may be compiled: Output effects become host calls (with result nil; a Watch
// returns its last argument), Input effects keep a function interpreted.
enum class Effect : uint8_t { None, Output, Watch, Input };

using graph::Example;

struct BuiltinDef {
  std::string_view name;
  std::string_view category;   // heading in the reference
  std::string_view signature;  // "(sum x [:axis k] [:keepdims])"
  std::string_view doc;
  std::vector<Example> examples;
  int min_args = 0;
  int max_args = -1;  // -1: any; extra positional arguments beyond it are ignored (with a warning)
  Value (*run)(Call&) = nullptr;
  // Names of accepted keyword options separated by spaces ("axis keepdims"); empty: keywords are ordinary values. A
  // leading '*' also accepts the names of all dtypes as flags. "padding=" takes the next argument even if it is a
  // keyword.
  std::string_view options = {};
  Effect effect = Effect::None;
  // The message for a wrong argument count, if not "NAME: expected N arguments, got M"; "{}" is replaced by M.
  std::string_view arity_text = {};
  const graph::OpDef* op = nullptr;  // the op from whose entry this was built
};

// The object of every value tagged Builtin.
struct CallableObj : FunctionObj {
  const uint64_t number = new_code_number();
  uint64_t code_number() const override { return number; }
  // Arguments may be moved from.
  virtual Value invoke(Caller& caller, std::vector<Value>& args) = 0;
};

// A function returned by a built-in: (vmap f), (comp f g), (partial f x) … The language sees an anonymous function; the
// label names the built-in.
struct NativeFn final : CallableObj {
  using Run = std::function<Value(Caller&, std::vector<Value>&)>;
  std::string label, no_name;
  Run run;
  NativeFn(std::string label, Run run) : label(std::move(label)), run(std::move(run)) {}
  const std::string& name() const override { return no_name; }
  Value invoke(Caller& caller, std::vector<Value>& args) override { return run(caller, args); }
};
inline Value native_function(std::string label, NativeFn::Run run) {
  return Value::object(Tag::Builtin, new NativeFn(std::move(label), std::move(run)));
}

}  // namespace sheaf::builtins
