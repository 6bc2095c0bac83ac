#include "tokenizers/normalizer.h"

#include <utf8proc.h>

#include "tokenizers/characters.h"
#include "tokenizers/normal_form.h"
#include "tokenizers/pattern.h"
#include "tokenizers/precompiled.h"

namespace sheaf::tokenizers {
namespace {

using Step = std::function<AlignedText(AlignedText)>;

// `f(out, code)` appends the replacement of each character.
template <class F>
Step by_char(F f) {
  return [f](AlignedText old) {
    Rewriting out(old.view());
    std::string made;
    size_t at = 0;
    for_each_char(old.text, [&](int32_t c) {
      made.clear();
      f(made, c);
      out.put(made, at);
      at += char_bytes(old.text[at]);
    });
    return out.take();
  };
}

Step to_form(NormalForm form) {
  return [form](AlignedText s) { return normalized(std::move(s), form); };
}

void append_lower(std::string& out, int32_t c) {
  append_char(out, c == 0x130 ? 'i' : utf8proc_tolower(c));
  if (c == 0x130) append_char(out, 0x307);  // the only character whose lower case is two characters
}

bool is_chinese(int32_t c) {
  return (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0x3400 && c <= 0x4DBF) || (c >= 0x20000 && c <= 0x2A6DF) ||
         (c >= 0x2A700 && c <= 0x2B73F) || (c >= 0x2B740 && c <= 0x2B81F) || (c >= 0x2B920 && c <= 0x2CEAF) ||
         (c >= 0xF900 && c <= 0xFAFF) || (c >= 0x2F800 && c <= 0x2FA1F);
}

void add_bert(std::vector<Step>& steps, const Json& j, std::string_view where) {
  bool lower = bool_member(j, "lowercase", where, true);
  if (bool_member(j, "clean_text", where, true))
    steps.push_back(by_char([](std::string& out, int32_t c) {
      bool line = c == '\t' || c == '\n' || c == '\r';
      if (c == 0 || c == 0xFFFD || (!line && is_control(c))) return;
      append_char(out, is_white_space(c) ? ' ' : c);
    }));
  if (bool_member(j, "handle_chinese_chars", where, true))
    steps.push_back(by_char([](std::string& out, int32_t c) {
      if (is_chinese(c)) out += ' ';
      append_char(out, c);
      if (is_chinese(c)) out += ' ';
    }));
  if (bool_member(j, "strip_accents", where, lower)) {
    steps.push_back(to_form({.composes = false, .is_compatible = false}));
    steps.push_back(by_char([](std::string& out, int32_t c) {
      if (!is_nonspacing_mark(c)) append_char(out, c);
    }));
  }
  if (lower) steps.push_back(by_char(append_lower));
}

Step strip(bool left, bool right) {
  return [left, right](AlignedText s) {
    size_t start = 0, end = s.text.size(), at = 0;
    bool inside = false;  // past the first non-space character
    for_each_char(s.text, [&](int32_t c) {
      size_t n = char_bytes(s.text[at]);
      if (!is_white_space(c)) {
        if (!inside) start = at;
        inside = true;
        end = at + n;
      }
      at += n;
    });
    if (!inside && (left || right)) end = 0;
    if (!left || !inside) start = 0;
    if (!right && inside) end = s.text.size();
    return AlignedText(s.view().part(start, end - start));
  };
}

Step replace(const Pattern& pattern, std::string content) {
  return [pattern, content = std::move(content)](AlignedText s) {
    Rewriting out(s.view());
    for_each_segment(pattern, s.text, [&](size_t start, size_t end, bool match) {
      if (match)
        out.put(content, end - 1);
      else
        out.keep(start, end);
    });
    return out.take();
  };
}

}  // namespace

Normalizer::Normalizer(const Json& document) {
  constexpr std::string_view where = "the normalizer";
  for_each_part(document, "normalizers", where, [&](const Json& j) {
    std::string type = text_member(j, "type", where);
    if (type == "NFC")
      steps_.push_back(to_form({.composes = true, .is_compatible = false}));
    else if (type == "NFD")
      steps_.push_back(to_form({.composes = false, .is_compatible = false}));
    else if (type == "NFKC")
      steps_.push_back(to_form({.composes = true, .is_compatible = true}));
    else if (type == "NFKD")
      steps_.push_back(to_form({.composes = false, .is_compatible = true}));
    else if (type == "Lowercase")
      steps_.push_back(by_char(append_lower));
    else if (type == "StripAccents")
      steps_.push_back(by_char([](std::string& out, int32_t c) {
        if (!is_mark(c)) append_char(out, c);
      }));
    else if (type == "Strip")
      steps_.push_back(strip(bool_member(j, "strip_left", where, true), bool_member(j, "strip_right", where, true)));
    else if (type == "BertNormalizer")
      add_bert(steps_, j, where);
    else if (type == "ByteLevel")
      steps_.push_back([](AlignedText s) { return bytes_as_chars(s.view()); });
    else if (type == "Replace")
      steps_.push_back(replace(pattern_member(j, where), text_member(j, "content", where)));
    else if (type == "Prepend")
      steps_.push_back([prefix = text_member(j, "prepend", where)](AlignedText s) {
        return s.text.empty() ? s : prepended(prefix, s.view());
      });
    else if (type == "Nmt") {
      steps_.push_back(by_char([](std::string& out, int32_t c) {
        if ((c >= 1 && c <= 8) || c == 11 || (c >= 14 && c <= 31) || c == 0x7F || c == 0x8F || c == 0x9F) return;
        bool space = c == 9 || c == 10 || c == 12 || c == 13 || c == 0x1680 || (c >= 0x200B && c <= 0x200F) ||
                     c == 0x2028 || c == 0x2029 || c == 0x2581 || c == 0xFEFF || c == 0xFFFD;
        append_char(out, space ? ' ' : c);
      }));
    } else if (type == "Precompiled") {
      steps_.push_back([table = Precompiled(text_member(j, "precompiled_charsmap", where))](AlignedText s) {
        return table.apply(s.view());
      });
    } else
      throw runtime_error(fmt::format("a normalizer of type \"{}\" is not known", type));
  });
}

AlignedText Normalizer::apply(AlignedText text) const {
  // Unicode's own tables expand a character to at most eleven times its bytes; a chain of replacements in a damaged
  // file could double the text at each step.
  size_t most = 64 * text.text.size() + 4096;
  for (const auto& step : steps_) {
    text = step(std::move(text));
    if (text.text.size() > most) throw runtime_error("the normalizer makes the text more than 64 times as long");
  }
  return text;
}

}  // namespace sheaf::tokenizers
