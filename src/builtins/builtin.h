// The type of a built-in function of the language and the context it is called with.
#pragma once
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "support/error.h"
#include "value/value.h"

namespace sheaf::builtins {

// Calls back into the evaluator.
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

// One call. Arguments may be moved from. For a built-in with options, keyword arguments have been taken out of `args`.
struct Call {
  Caller& caller;
  std::vector<Value>& args;
  std::vector<Option> options;

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

// Effects decide what may be compiled: Output effects become host calls (their result is nil; of a Watch, its last
// argument), Input effects keep a function interpreted.
enum class Effect : uint8_t { None, Output, Watch, Input };

struct Example {
  std::string_view code, result;
};

struct BuiltinDef {
  std::string_view name;
  std::string_view category;   // heading in the reference
  std::string_view signature;  // "(sum x [:axis k] [:keepdims])"
  std::string_view doc;
  std::vector<Example> examples;
  int min_args = 0;
  int max_args = -1;  // -1: any; extra positional arguments beyond it are ignored (with a warning)
  Value (*run)(Call&) = nullptr;
  // Names of accepted keyword options separated by spaces ("axis keepdims"); empty: keywords are ordinary values.
  // A leading '*' also accepts the names of all dtypes as flags. "padding=" takes the next argument even if it is a
  // keyword.
  std::string_view options = {};
  Effect effect = Effect::None;
  // The message for a wrong argument count, if it is not "NAME: expected N arguments, got M"; "{}" stands for M.
  std::string_view arity_text = {};
};

// The object of every value tagged Builtin.
struct CallableObj : FunctionObj {
  const uint64_t number = new_code_number();
  uint64_t code_number() const override { return number; }
  // Arguments may be moved from.
  virtual Value invoke(Caller& caller, std::vector<Value>& args) = 0;
};

struct BuiltinObj final : CallableObj {
  const BuiltinDef* def;
  std::string name_text;
  explicit BuiltinObj(const BuiltinDef* d) : def(d), name_text(d->name) {}
  const std::string& name() const override { return name_text; }
  Value invoke(Caller& caller, std::vector<Value>& args) override;
};

// A function that a built-in made: (vmap f), (comp f g), (partial f x) … The language sees an anonymous function; the
// label says what made it.
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

// All built-ins by name; nullptr when there is none.
const BuiltinDef* find_builtin(std::string_view name);
const std::vector<const BuiltinDef*>& all_builtins();
// The function value of a built-in (one object per definition).
Value builtin_value(const BuiltinDef& def);

// Checks the argument count, splits off options, runs.
Value call_builtin(const BuiltinDef& def, Caller& caller, std::vector<Value>& args);

// Families, one function per file.
std::span<const BuiltinDef> arithmetic_builtins();
std::span<const BuiltinDef> math_builtins();
std::span<const BuiltinDef> compare_builtins();
std::span<const BuiltinDef> shape_builtins();
std::span<const BuiltinDef> create_builtins();
std::span<const BuiltinDef> movement_builtins();
std::span<const BuiltinDef> order_builtins();
std::span<const BuiltinDef> index_builtins();
std::span<const BuiltinDef> at_builtins();
std::span<const BuiltinDef> reduce_builtins();
std::span<const BuiltinDef> linalg_builtins();
std::span<const BuiltinDef> window_builtins();
std::span<const BuiltinDef> random_builtins();
std::span<const BuiltinDef> sequence_builtins();
std::span<const BuiltinDef> higher_order_builtins();
std::span<const BuiltinDef> tree_builtins();
std::span<const BuiltinDef> dict_builtins();
std::span<const BuiltinDef> text_builtins();
std::span<const BuiltinDef> tokenize_builtins();
std::span<const BuiltinDef> output_builtins();
std::span<const BuiltinDef> host_builtins();
std::span<const BuiltinDef> io_builtins();
std::span<const BuiltinDef> data_builtins();
std::span<const BuiltinDef> progress_builtins();
std::span<const BuiltinDef> plot_builtins();
std::span<const BuiltinDef> quantize_builtins();
std::span<const BuiltinDef> gradient_builtins();
std::span<const BuiltinDef> test_builtins();
// What special forms compile to: names that start with '%' and are hidden from users.
std::span<const BuiltinDef> form_builtins();

}  // namespace sheaf::builtins
