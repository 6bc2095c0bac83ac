#include "support/form_text.h"

#include <gtest/gtest.h>

namespace sheaf {
namespace {

TEST(FormText, PartsOfAForm) {
  EXPECT_EQ(form_parts("(f a (g \")\" [b]) 'c ; )\n {:k v})"),
            (std::vector<std::string_view>{"f", "a", "(g \")\" [b])", "'c", "{:k v}"}));
  EXPECT_TRUE(form_parts("x").empty());
  EXPECT_EQ(form_parts("(f (g"), (std::vector<std::string_view>{"f", "(g"}));
  EXPECT_EQ(short_form("(get p :Wq)"), "(get p :Wq)");
  EXPECT_EQ(short_form("(reduce (fn [total x] (+ total x)) 0.0 (random-split key n))"), "(reduce …)");
}

}  // namespace
}  // namespace sheaf
