// No text makes the reader do anything but read or throw a UserError whose report can be printed.
#include <gtest/gtest.h>

#include "advice/report.h"
#include "random_forms.h"
#include "support/error.h"
#include "syntax/reader.h"

namespace sheaf::syntax {
namespace {

std::string random_bytes(RandomForms& random) {
  std::string out;
  for (uint32_t n = random.below(60); n > 0; --n)
    out += static_cast<char>(random.below(256));
  return out;
}

std::string random_text(uint32_t seed) {
  RandomForms random(seed);
  switch (seed % 3) {
    case 0: return random_bytes(random);
    case 1: return random.soup(1 + random.below(30));
    default: return random.mutate(random.program(4));
  }
}

TEST(Fuzz, AnyBytes) {
  for (uint32_t seed = 0; seed < 20000; ++seed) {
    std::string text = random_text(seed);
    uint32_t source = add_source("fuzz", text, SourceKind::File);
    Completeness state = completeness(text);
    try {
      for (const FormPtr& form : read_all(source)) {
        ASSERT_LE(form->span.begin, form->span.end) << "seed " << seed;
        ASSERT_LE(form->span.end, text.size()) << "seed " << seed;
      }
      ASSERT_EQ(state, Completeness::Complete) << "seed " << seed;
    } catch (const UserError& e) {
      ASSERT_LE(e.span.end, text.size()) << "seed " << seed;
      ASSERT_FALSE(advice::report(e).empty()) << "seed " << seed;
      bool cut_short = e.message.starts_with("Unclosed") || e.message.starts_with("Unterminated");
      ASSERT_TRUE(!cut_short || state == Completeness::Open) << "seed " << seed << "\n" << text;
    }
  }
}

}  // namespace
}  // namespace sheaf::syntax
