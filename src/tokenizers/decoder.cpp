#include "tokenizers/decoder.h"

#include <charconv>

#include "tokenizers/characters.h"
#include "tokenizers/pattern.h"

namespace sheaf::tokenizers {
namespace {

using Texts = Decoder::Texts;
using Step = std::function<Texts(Texts)>;

constexpr std::string_view kWhere = "the decoder";

std::string replace_all(std::string_view s, std::string_view from, std::string_view to) {
  if (from.empty()) return std::string(s);
  std::string out;
  while (true) {
    size_t at = s.find(from);
    out += s.substr(0, at);
    if (at == std::string_view::npos) return out;
    out += to;
    s.remove_prefix(at + from.size());
  }
}

std::string joined(const Texts& tokens, std::string_view separator) {
  std::string out;
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (i > 0) out += separator;
    out += tokens[i];
  }
  return out;
}

// Rewrites each token separately; `f` knows whether it is the first.
template <class F>
Step by_token(F f) {
  return [f](Texts tokens) {
    for (size_t i = 0; i < tokens.size(); ++i)
      tokens[i] = f(std::move(tokens[i]), i == 0);
    return tokens;
  };
}

Texts bytes_from_chars(Texts tokens) {
  std::string bytes;
  for (const std::string& token : tokens) {
    size_t before = bytes.size();
    bool all = true;
    for_each_char(token, [&](int32_t c) {
      int b = byte_of_char(c);
      all &= b >= 0;
      bytes += static_cast<char>(b);
    });
    if (!all) bytes.replace(before, std::string::npos, token);  // added tokens are plain text
  }
  return {to_valid_utf8(bytes)};
}

// <0xE2> <0x82> <0xAC> is one character; bytes that form none become one U+FFFD each.
Texts join_byte_tokens(Texts tokens) {
  Texts out;
  std::string bytes;
  auto flush = [&] {
    if (valid_prefix(bytes) == bytes.size()) {
      if (!bytes.empty()) out.push_back(bytes);
    } else {
      for (size_t i = 0; i < bytes.size(); ++i)
        out.emplace_back(kReplacementChar);
    }
    bytes.clear();
  };
  for (std::string& token : tokens) {
    unsigned byte = 0;
    bool is_byte = token.size() == 6 && token.starts_with("<0x") && token.ends_with('>') &&
                   std::from_chars(token.data() + 3, token.data() + 5, byte, 16).ptr == token.data() + 5;
    if (is_byte) {
      bytes += static_cast<char>(byte);
    } else {
      flush();
      out.push_back(std::move(token));
    }
  }
  flush();
  return out;
}

std::string clean_up(std::string s) {
  constexpr std::pair<const char*, const char*> kRules[] = {
      {" .", "."},   {" ?", "?"},           {" !", "!"},   {" ,", ","},     {" ' ", "'"},   {" n't", "n't"},
      {" 'm", "'m"}, {" do not", " don't"}, {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};
  for (auto [from, to] : kRules)
    s = replace_all(s, from, to);
  return s;
}

Step strip(std::string mark, int32_t start, int32_t stop) {
  if (mark.empty()) throw runtime_error("the content of a Strip decoder is empty");
  return by_token([=](std::string s, bool) {
    std::string_view v = s;
    for (int32_t i = 0; i < start && v.starts_with(mark); ++i)
      v.remove_prefix(mark.size());
    for (int32_t i = 0; i < stop && v.ends_with(mark); ++i)
      v.remove_suffix(mark.size());
    return std::string(v);
  });
}

Step step_of(const Json& j) {
  std::string type = text_member(j, "type", kWhere);
  if (type == "ByteLevel") return bytes_from_chars;
  if (type == "ByteFallback") return join_byte_tokens;
  if (type == "Fuse") return [](Texts tokens) { return Texts{joined(tokens, "")}; };
  if (type == "Strip")
    return strip(text_member(j, "content", kWhere), count_member_or(j, "start", kWhere, 0),
                 count_member_or(j, "stop", kWhere, 0));
  if (type == "Replace")
    return by_token(
        [pattern = pattern_member(j, kWhere), content = text_member(j, "content", kWhere)](std::string s, bool) {
          std::string out;
          for_each_segment(pattern, s, [&](size_t start, size_t end, bool match) {
            out += match ? content : s.substr(start, end - start);
          });
          return out;
        });
  if (type == "Metaspace") {
    std::string mark = text_member_or(j, "replacement", kWhere, "\u2581");
    bool drops_first = text_member_or(j, "prepend_scheme", kWhere, "always") != "never" &&
                       bool_member(j, "add_prefix_space", kWhere, true);
    return by_token(
        [=](std::string s, bool is_first) { return replace_all(s, mark, is_first && drops_first ? "" : " "); });
  }
  if (type == "WordPiece") {
    std::string prefix = text_member_or(j, "prefix", kWhere, "##");
    bool cleans = bool_member(j, "cleanup", kWhere, true);
    return by_token([=](std::string s, bool is_first) {
      if (!is_first) s = s.starts_with(prefix) ? s.substr(prefix.size()) : " " + s;
      return cleans ? clean_up(std::move(s)) : s;
    });
  }
  if (type == "BPEDecoder")
    return [suffix = text_member_or(j, "suffix", kWhere, "</w>")](Texts tokens) {
      for (size_t i = 0; i < tokens.size(); ++i)
        tokens[i] = replace_all(tokens[i], suffix, i + 1 == tokens.size() ? "" : " ");
      return tokens;
    };
  throw runtime_error(fmt::format("a decoder of type \"{}\" is not known", type));
}

}  // namespace

Decoder::Decoder(const Json& document) : separator_() {
  for_each_part(document, "decoders", kWhere, [&](const Json& j) { steps_.push_back(step_of(j)); });
}

std::string Decoder::apply(Texts tokens) const {
  for (const auto& step : steps_)
    tokens = step(std::move(tokens));
  return joined(tokens, separator_);
}

}  // namespace sheaf::tokenizers
