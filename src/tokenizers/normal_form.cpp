// 1. Replace every character by its decomposition.
// 2. Sort the marks after a base by class; equal classes keep their order.
// 3. Composing forms: merge base and mark if the pair has a composition and nothing between them blocks it.
// Origins follow the tokenizers library: each new character either replaces one old character, with or without some
// that follow it, or is an addition after the last one.
#include "tokenizers/normal_form.h"

#include <utf8proc.h>

#include <algorithm>

#include "support/error.h"
#include "tokenizers/characters.h"

namespace sheaf::tokenizers {
namespace {

struct NewChar {
  int32_t code;
  int32_t added;  // 1: added; 0: replaces one character; -n: replaces 1 + n characters
};

bool is_ascii(std::string_view s) {
  return std::none_of(s.begin(), s.end(), [](char c) { return static_cast<unsigned char>(c) >= 0x80; });
}

int class_of(int32_t code) { return code < 0x300 ? 0 : static_cast<int>(utf8proc_get_property(code)->combining_class); }

std::vector<NewChar> decomposed(std::string_view text, bool is_compatible) {
  auto options = static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_DECOMPOSE |
                                                (is_compatible ? UTF8PROC_COMPAT : utf8proc_option_t{}));
  std::vector<NewChar> out;
  out.reserve(text.size());
  auto sort_marks = [](NewChar* first, NewChar* last) {
    std::stable_sort(first, last, [](NewChar a, NewChar b) { return class_of(a.code) < class_of(b.code); });
  };
  size_t marks = 0;  // start of the run of marks at the end
  for_each_char(text, [&](int32_t code) {
    utf8proc_int32_t parts[32];
    utf8proc_ssize_t count = 1;
    int last_class;
    parts[0] = code;
    if (code >= 0x80) count = utf8proc_decompose_char(code, parts, std::size(parts), options, &last_class);
    if (count < 0 || count > static_cast<utf8proc_ssize_t>(std::size(parts)))
      throw runtime_error(fmt::format("the character U+{:04X} cannot be normalised", code));
    for (utf8proc_ssize_t i = 0; i < count; ++i) {
      if (class_of(parts[i]) == 0) {
        sort_marks(out.data() + marks, out.data() + out.size());
        marks = out.size() + 1;
      }
      out.push_back({parts[i], i > 0});
    }
  });
  if (marks < out.size()) sort_marks(out.data() + marks, out.data() + out.size());
  return out;
}

// The composition of two characters; -1: none.
int32_t composed(int32_t base, int32_t next) {
  utf8proc_int32_t pair[2] = {base, next};
  auto options = static_cast<utf8proc_option_t>(UTF8PROC_COMPOSE | UTF8PROC_STABLE);
  return utf8proc_normalize_utf32(pair, 2, options) == 1 ? pair[0] : -1;
}

void compose(std::vector<NewChar>& chars) {
  size_t kept = 0;
  NewChar* base = nullptr;
  int last_class = -1;  // of the last mark kept after the base; -1: none
  for (NewChar c : chars) {
    int mark_class = class_of(c.code);
    bool is_blocked = last_class >= 0 && last_class >= mark_class;
    int32_t both = base && !is_blocked && c.code >= 0x80 ? composed(base->code, c.code) : -1;
    if (both >= 0) {
      *base = {both, base->added + c.added - 1};
      continue;
    }
    chars[kept] = c;
    if (mark_class == 0) base = &chars[kept];
    last_class = mark_class == 0 ? -1 : mark_class;
    ++kept;
  }
  chars.resize(kept);
}

}  // namespace

AlignedText normalized(AlignedText text, NormalForm form) {
  if (is_ascii(text.text)) return text;
  std::vector<NewChar> chars = decomposed(text.text, form.is_compatible);
  if (form.composes) compose(chars);
  Rewriting out(text.view());
  size_t at = 0;
  auto skip = [&] { at += at < text.text.size() ? char_bytes(text.text[at]) : 0; };
  for (NewChar c : chars) {
    bool takes_place = c.added <= 0 && at < text.text.size();
    out.put_char(c.code, takes_place || at == 0 ? at : at - 1);
    for (int32_t n = c.added; takes_place && n <= 0; ++n)
      skip();
  }
  return out.take();
}

}  // namespace sheaf::tokenizers
