#include "tokenizers/normalizer.h"

#include <utf8proc.h>

#include <cstdlib>

#include "tokenizers/characters.h"
#include "tokenizers/pattern.h"
#include "tokenizers/precompiled.h"

namespace sheaf::tokenizers {
namespace {

using Step = std::function<std::string(std::string)>;

bool is_ascii(std::string_view s) {
  for (char c : s)
    if (static_cast<unsigned char>(c) >= 0x80) return false;
  return true;
}

// One of the four Unicode normal forms.
Step normal_form(int options) {
  return [options](std::string s) {
    if (is_ascii(s)) return s;
    utf8proc_uint8_t* out = nullptr;
    utf8proc_ssize_t n =
        utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(s.data()), static_cast<utf8proc_ssize_t>(s.size()), &out,
                     static_cast<utf8proc_option_t>(options | UTF8PROC_STABLE));
    if (n < 0) throw runtime_error(fmt::format("normalising the text failed: {}", utf8proc_errmsg(n)));
    std::string result(reinterpret_cast<char*>(out), static_cast<size_t>(n));
    std::free(out);
    return result;
  };
}

// `f(out, code)` appends what becomes of each character.
template <class F>
Step by_char(F f) {
  return [f](std::string s) {
    std::string out;
    out.reserve(s.size());
    for_each_char(s, [&](int32_t c) { f(out, c); });
    return out;
  };
}

void append_lower(std::string& out, int32_t c) {
  append_char(out, c == 0x130 ? 'i' : utf8proc_tolower(c));
  if (c == 0x130) append_char(out, 0x307);  // the only character whose lower case is two
}

bool is_chinese(int32_t c) {
  return (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0x3400 && c <= 0x4DBF) || (c >= 0x20000 && c <= 0x2A6DF) ||
         (c >= 0x2A700 && c <= 0x2B73F) || (c >= 0x2B740 && c <= 0x2B81F) || (c >= 0x2B920 && c <= 0x2CEAF) ||
         (c >= 0xF900 && c <= 0xFAFF) || (c >= 0x2F800 && c <= 0x2FA1F);
}

constexpr int kNfd = UTF8PROC_DECOMPOSE, kNfc = UTF8PROC_COMPOSE, kCompatible = UTF8PROC_COMPAT;

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
    steps.push_back(normal_form(kNfd));
    steps.push_back(by_char([](std::string& out, int32_t c) {
      if (!is_nonspacing_mark(c)) append_char(out, c);
    }));
  }
  if (lower) steps.push_back(by_char(append_lower));
}

Step strip(bool left, bool right) {
  return [left, right](std::string s) {
    size_t start = 0, end = s.size(), at = 0;
    bool inside = false;  // past the first character that is no space
    for_each_char(s, [&](int32_t c) {
      size_t n = char_bytes(s[at]);
      if (!is_white_space(c)) {
        if (!inside) start = at;
        inside = true;
        end = at + n;
      }
      at += n;
    });
    if (!inside) return left || right ? std::string() : s;
    if (!left) start = 0;
    if (!right) end = s.size();
    return s.substr(start, end - start);
  };
}

Step replace(const Pattern& pattern, std::string content) {
  return [pattern, content = std::move(content)](std::string s) {
    std::string out;
    out.reserve(s.size());
    for_each_segment(pattern, s, [&](size_t start, size_t end, bool match) {
      out += match ? content : s.substr(start, end - start);
    });
    return out;
  };
}

}  // namespace

Normalizer::Normalizer(const Json& document) {
  constexpr std::string_view where = "the normalizer";
  for_each_part(document, "normalizers", where, [&](const Json& j) {
    std::string type = text_member(j, "type", where);
    if (type == "NFC")
      steps_.push_back(normal_form(kNfc));
    else if (type == "NFD")
      steps_.push_back(normal_form(kNfd));
    else if (type == "NFKC")
      steps_.push_back(normal_form(kNfc | kCompatible));
    else if (type == "NFKD")
      steps_.push_back(normal_form(kNfd | kCompatible));
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
      steps_.push_back([](std::string s) { return bytes_as_chars(s); });
    else if (type == "Replace")
      steps_.push_back(replace(pattern_member(j, where), text_member(j, "content", where)));
    else if (type == "Prepend") {
      steps_.push_back(
          [prefix = text_member(j, "prepend", where)](std::string s) { return s.empty() ? s : prefix + s; });
    } else if (type == "Nmt") {
      steps_.push_back(by_char([](std::string& out, int32_t c) {
        if ((c >= 1 && c <= 8) || c == 11 || (c >= 14 && c <= 31) || c == 0x7F || c == 0x8F || c == 0x9F) return;
        bool space = c == 9 || c == 10 || c == 12 || c == 13 || c == 0x1680 || (c >= 0x200B && c <= 0x200F) ||
                     c == 0x2028 || c == 0x2029 || c == 0x2581 || c == 0xFEFF || c == 0xFFFD;
        append_char(out, space ? ' ' : c);
      }));
    } else if (type == "Precompiled") {
      steps_.push_back([table = Precompiled(text_member(j, "precompiled_charsmap", where))](std::string s) {
        return table.apply(s);
      });
    } else
      throw runtime_error(fmt::format("a normalizer of type \"{}\" is not known", type));
  });
}

std::string Normalizer::apply(std::string text) const {
  // The most that Unicode's own tables make of a character is eleven times its bytes; a chain of replacements in a
  // damaged file could double the text at each step.
  size_t most = 64 * text.size() + 4096;
  for (const auto& step : steps_) {
    text = step(std::move(text));
    if (text.size() > most) throw runtime_error("the normalizer makes the text more than 64 times as long");
  }
  return text;
}

}  // namespace sheaf::tokenizers
