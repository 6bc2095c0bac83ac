#include "support/scanner.h"

#include <fmt/format.h>

#include <cctype>
#include <charconv>

#include "support/error.h"

namespace sheaf {
namespace {

bool is_word_char(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-' || c == '?' || c == '!' || c == '.';
}
bool is_number_char(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '+' || c == '-' || c == ':';
}

}  // namespace

Scanner::Scanner(uint32_t source) : source_(source), text_(source_text(source)) {}

void Scanner::skip_blanks() {
  while (pos_ < text_.size()) {
    char c = text_[pos_];
    if (c == ';' || c == '#')
      pos_ = std::min(text_.find('\n', pos_), text_.size());
    else if (std::isspace(static_cast<unsigned char>(c)))
      ++pos_;
    else
      return;
  }
}

bool Scanner::at_end() {
  skip_blanks();
  return pos_ == text_.size();
}

bool Scanner::next_is(std::string_view token) {
  skip_blanks();
  if (!text_.substr(pos_).starts_with(token)) return false;
  size_t end = pos_ + token.size();
  return !is_word_char(token.back()) || end == text_.size() || !is_word_char(text_[end]);
}

bool Scanner::accept(std::string_view token) {
  if (!next_is(token)) return false;
  pos_ += token.size();
  return true;
}

bool Scanner::accept_adjacent(char c) {
  if (pos_ >= text_.size() || text_[pos_] != c) return false;
  ++pos_;
  return true;
}

void Scanner::expect(std::string_view token) {
  if (!accept(token)) fail(fmt::format("expected '{}'", token));
}

std::string_view Scanner::word() {
  skip_blanks();
  size_t begin = pos_;
  while (pos_ < text_.size() && is_word_char(text_[pos_]))
    ++pos_;
  if (pos_ == begin) fail("expected a name");
  return text_.substr(begin, pos_ - begin);
}

std::string_view Scanner::number() {
  skip_blanks();
  size_t begin = pos_;
  while (pos_ < text_.size() && is_number_char(text_[pos_]))
    ++pos_;
  if (pos_ == begin) fail("expected a number");
  return text_.substr(begin, pos_ - begin);
}

int64_t Scanner::integer() {
  skip_blanks();
  int64_t x = 0;
  auto [end, error] = std::from_chars(text_.data() + pos_, text_.data() + text_.size(), x);
  if (error != std::errc()) fail("expected an integer");
  pos_ = end - text_.data();
  return x;
}

std::string Scanner::quoted() {
  skip_blanks();
  if (!accept_adjacent('"')) fail("expected a string");
  std::string s;
  while (pos_ < text_.size() && text_[pos_] != '"') {
    char c = text_[pos_++];
    if (c == '\\' && pos_ < text_.size()) {
      c = text_[pos_++];
      if (c == 'n') c = '\n';
    }
    s += c;
  }
  if (!accept_adjacent('"')) fail("the string is not closed");
  return s;
}

void Scanner::fail(const std::string& message) {
  uint32_t at = static_cast<uint32_t>(pos_);
  throw UserError(ErrorKind::Parse, message, Span{source_, at, std::min(at + 1, static_cast<uint32_t>(text_.size()))});
}

}  // namespace sheaf
