// Tokenizers as values of the language, for functions that take one.
#pragma once
#include <fmt/format.h>

#include <string>
#include <string_view>

#include "support/error.h"
#include "tokenizers/tokenizer.h"
#include "value/value.h"

namespace sheaf::builtins {

// The tokenizer in a value. Throws `WHO: expected a tokenizer, got TYPE`.
const tokenizers::Tokenizer& tokenizer_arg(const Value& v, std::string_view who);

const std::string& string_arg(const Value& v, std::string_view who, std::string_view what);

// Runs `f`; the messages of its errors start with `who`.
template <class F>
auto naming(std::string_view who, F&& f) {
  try {
    return f();
  } catch (UserError& e) {
    if (!e.message.starts_with(who)) e.message = fmt::format("{}: {}", who, e.message);
    throw;
  }
}

}  // namespace sheaf::builtins
