// Forms as pieces of text, for error reports: which operand was written how. A lexical look only; it never fails.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace sheaf {

// The texts of the parts of "(f a (g b))": "f", "a", "(g b)". Empty when the text is no list.
std::vector<std::string_view> form_parts(std::string_view form);
// The form on one line; a long one is cut to "(f …)".
std::string short_form(std::string_view form);

}  // namespace sheaf
