// Splits the text of forms for error reports, to quote operands as the user wrote them. Purely lexical; never fails.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace sheaf {

// The parts of "(f a (g b))": "f", "a", "(g b)". Empty if the text is not a list.
std::vector<std::string_view> form_parts(std::string_view form);
// The form on one line; a long one is shortened to "(f …)".
std::string short_form(std::string_view form);

}  // namespace sheaf
