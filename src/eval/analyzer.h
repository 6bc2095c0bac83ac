// The analyser's working class, shared by analyze.cpp (names and calls), functions.cpp (fn, defn, patterns) and
// special_forms.cpp. Private to eval.
#pragma once
#include <functional>
#include <optional>

#include "eval/analyze.h"
#include "support/error.h"

namespace sheaf::eval {

using syntax::Form;
using syntax::FormKind;
using syntax::FormPtr;

struct LocalVar {
  Name name;
  int slot;
  bool literal_vector = false;
};

// The names by which a let-bound fn may call: itself, and the fns that the same let binds below it.
struct LetNames {
  Name self;
  std::vector<std::pair<Name, FormPtr>> below;
};

// The state of one function under analysis.
struct FnScope {
  FnScope* parent = nullptr;
  Proto* proto = nullptr;
  std::vector<LocalVar> visible;
  std::vector<int> params;  // open with-params blocks: the hidden locals that hold the dicts
  // Captured variables: where each is stored in the enclosing function.
  struct CaptureVar {
    Name name;
    int outer_slot;     // unique per binding
    bool from_capture;  // of the enclosing function's captures
    int outer_index;
    bool literal_vector;
  };
  std::vector<CaptureVar> captures;
  LetNames names;
  // Closures that inner functions capture from this one: itself and copies of those below it. Bound before the body, in
  // this order.
  struct Helper {
    Name name;
    int slot;
    ExprPtr value;
  };
  std::vector<Helper> helpers;
  std::vector<size_t> loop_arity;  // enclosing loops
};

// Rejects a recur that is not in tail position of its loop or function. `tail`: the value of `e` is the result.
void check_recur(const Expr& e, bool tail);

class Analyzer {
 public:
  Analyzer(Host& host, bool prelude) : host_(host), globals_(host.globals()), prelude_(prelude) {}

  std::shared_ptr<Proto> top_level(const FormPtr& form);
  FormPtr expand_call(const FormPtr& form) { return expand(form); }
  void prelude_function(Cell& cell, const FormPtr& defn);

 private:
  friend struct SpecialForms;
  using Body = std::function<ExprPtr()>;
  struct Resolved {
    ExprPtr expr;
    bool literal_vector;
  };

  // analyze.cpp
  ExprPtr expr(const FormPtr& f);
  ExprPtr expanded_expr(const FormPtr& f);
  ExprPtr undefined(UserError e);
  bool finds_all_errors() const { return !prelude_ && probing_ == 0 && host_.finds_all_errors(); }
  void hand_over_errors(size_t first);
  void drop_consequences(const Form& head, size_t first);
  void check_builtin_call(const builtins::BuiltinDef& def, const Form& f);
  void note_call(const Cell& cell, const Form& f);
  ExprPtr list(const FormPtr& f);
  ExprPtr call(const Form& f);
  ExprPtr f64_vector(const Form& f);
  ExprPtr symbol(const Form& f);
  ExprPtr vector(const Form& f);
  ExprPtr body(const Form& f, size_t first);
  std::optional<Resolved> local(Name name, Span span);
  ExprPtr slot_in(FnScope& fn, FnScope& owner, int slot, Name name, bool literal, Span span);
  ExprPtr param_field(const Form& f, Cell* fallback);
  bool is_local(Name name) const;
  bool in_with_params() const;
  bool is_literal_vector(const Form& f);
  bool is_overridden(Name name);
  bool is_library_head(const Form& head) const;
  ExprPtr constant(Value v, Span span);
  ExprPtr local_ref(int slot, Span span);
  ExprPtr builtin_call(std::string_view name, Span span, std::vector<ExprPtr> args);
  ExprPtr bind(int slot, ExprPtr value, ExprPtr body, Span span);
  int new_slot();
  int declare(Name name, bool literal_vector = false);
  const Macro* macro_for(const Form& list_form);
  FormPtr expand(const FormPtr& f);

  // functions.cpp
  ExprPtr fn_form(const Form& f);
  ExprPtr defn_form(const Form& f, bool is_private);
  std::shared_ptr<Proto> function(std::string name, const Form& params, const Form& whole, size_t first_body,
                                  bool named, LetNames names, std::vector<ExprPtr>& captures);
  ExprPtr let_fn(const Form& f, LetNames names);
  ExprPtr let_name(Name name, Span span);
  ExprPtr bind_pattern(const Form& pattern, ExprPtr value, const Body& rest);
  ExprPtr bind_rest_pattern(const Form& pattern, ExprPtr list, const Body& rest);
  ExprPtr options_of(const Form& pattern, ExprPtr list, const std::string& who, std::vector<Name>& known,
                     std::vector<Name>& of_keywords);
  ExprPtr bind_dict_pattern(const Form& pattern, ExprPtr value, const Body& rest);
  ExprPtr bind_vector_pattern(const Form& pattern, ExprPtr value, const Body& rest);
  void define_function(Cell& cell, const Form& f, size_t params_at);

  // special_forms.cpp
  using Handler = ExprPtr (*)(Analyzer&, const FormPtr&);
  static Handler special(const std::string& name);
  friend std::vector<std::string> special_form_names();
  static const std::unordered_map<std::string, Handler>& special_forms();

  [[noreturn]] static void fail(std::string message, Span span) {
    throw UserError(ErrorKind::Compile, std::move(message), span);
  }

  Host& host_;
  Globals& globals_;
  bool prelude_;
  FnScope* fn_ = nullptr;
  int expansion_depth_ = 0;
  int probing_ = 0;                // a failure here only leads to another attempt
  bool in_defn_ = false;           // an error breaks only the function, not the program
  bool expects_errors_ = false;    // inside of (throws …)
  std::vector<UserError> errors_;  // found so far in the current form
};

// The value of quoted data: symbols become strings, lists and vectors become lists.
Value quoted(const Form& f);

}  // namespace sheaf::eval
