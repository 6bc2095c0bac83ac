#include "syntax/reader.h"

#include <fmt/format.h>
#include <locale.h>
#include <stdlib.h>

#include <charconv>
#include <optional>

#include "support/error.h"
#include "support/utf8.h"
#include "syntax/lexer.h"
#include "syntax/parse_hints.h"
#include "syntax/string_literal.h"

namespace sheaf::syntax {
namespace {

constexpr int kMaxAnonymousParams = 20;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string_view without_sign(std::string_view token) {
  return token.starts_with('+') || token.starts_with('-') ? token.substr(1) : token;
}

std::optional<int64_t> parse_int(std::string_view token) {
  std::string_view magnitude = without_sign(token);
  if (magnitude.empty() || !is_digit(magnitude[0])) return {};
  std::string_view digits = token[0] == '+' ? magnitude : token;  // from_chars rejects '+'
  int64_t value = 0;
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size()) return {};
  return value;
}

bool equals_ignoring_case(std::string_view s, std::string_view lower) {
  if (s.size() != lower.size()) return false;
  for (size_t i = 0; i < s.size(); ++i)
    if ((s[i] | 0x20) != lower[i]) return false;
  return true;
}

// digits [. digits] [e [sign] digits], with a digit on at least one side of the point.
bool is_decimal(std::string_view s) {
  size_t i = 0, digits = 0;
  auto skip_digits = [&] {
    size_t start = i;
    while (i < s.size() && is_digit(s[i]))
      ++i;
    return i - start;
  };
  digits += skip_digits();
  if (i < s.size() && s[i] == '.') {
    ++i;
    digits += skip_digits();
  }
  if (digits == 0) return false;
  if (i == s.size()) return true;
  if (s[i] != 'e' && s[i] != 'E') return false;
  ++i;
  if (i < s.size() && (s[i] == '+' || s[i] == '-')) ++i;
  return skip_digits() > 0 && i == s.size();
}

std::optional<double> parse_float(std::string_view token) {
  std::string_view magnitude = without_sign(token);
  bool is_word = equals_ignoring_case(magnitude, "inf") || equals_ignoring_case(magnitude, "infinity") ||
                 equals_ignoring_case(magnitude, "nan");
  if (!is_word && !is_decimal(magnitude)) return {};
  // strtod, because from_chars does not distinguish too large from too small. The locale is fixed: line-editing
  // libraries set the user's, whose decimal point may be a comma.
  static const locale_t c_locale = newlocale(LC_ALL_MASK, "C", nullptr);
  return strtod_l(std::string(token).c_str(), nullptr, c_locale);
}

FormPtr classify(std::string_view token, Span span) {
  if (token == "true" || token == "false") return make_bool(token == "true", span);
  if (token == "nil") return make_nil(span);
  if (token[0] == ':') return make_keyword(token.substr(1), span);
  if (auto i = parse_int(token)) return make_int(*i, span);
  if (auto f = parse_float(token)) return make_float(*f, span);
  return make_symbol(token, span);
}

FormKind kind_of_prefix(std::string_view prefix) {
  if (prefix == "'") return FormKind::Quote;
  if (prefix == "`") return FormKind::Quasiquote;
  return prefix == "~" ? FormKind::Unquote : FormKind::UnquoteSplicing;
}

FormKind kind_of_opener(std::string_view opener) {
  return opener == "[" ? FormKind::Vector : opener == "{" ? FormKind::Dict : FormKind::List;
}

// Uses an explicit stack of open forms, so hostile nesting costs memory, not the thread's stack.
class Reader {
 public:
  // With `errors`, recoverable errors are appended to it; all others are thrown.
  Reader(std::string_view text, uint32_t source, size_t begin = 0, std::vector<UserError>* errors = nullptr)
      : text_(text), source_(source), lexer_(text, begin), errors_(errors) {}

  void read() {
    for (Token t = lexer_.next_code(); t.kind != TokenKind::End; t = lexer_.next_code()) {
      if (stack_.empty()) form_begin_ = t.begin;
      read_to_ = t.end;
      take(t);
    }
    if (!stack_.empty()) fail_at_end();
  }
  std::vector<FormPtr> read_all() {
    read();
    return std::move(forms_);
  }

  // After an error: the complete forms before it, the start of the form with the error, and the end of the last token.
  std::vector<FormPtr>& forms() { return forms_; }
  uint32_t form_begin() const { return form_begin_; }
  uint32_t read_to() const { return read_to_; }
  bool in_form() const { return !stack_.empty(); }

 private:
  // A bracket or prefix whose contents are being read.
  struct Frame {
    FormKind kind;
    Token opener;
    std::vector<FormPtr> items;
    int height = 0;  // of the tallest item
  };

  // The parameters used so far in the current `#(`; there is at most one, because they do not nest.
  struct Anonymous {
    size_t frame;
    int params = 0;
    bool rest = false;
  };

  Span span(uint32_t begin, uint32_t end) const { return {source_, begin, end}; }
  Span span(const Token& t) const { return span(t.begin, t.end); }
  static bool is_prefix(const Frame& f) { return f.kind >= FormKind::Quote; }
  static UserError error(std::string message, Span span) { return {ErrorKind::Parse, std::move(message), span}; }

  void report(UserError e) {
    if (!errors_) throw e;
    errors_->push_back(std::move(e));
  }

  void take(const Token& t) {
    switch (t.kind) {
      case TokenKind::Open: return open(t);
      case TokenKind::Close: return close(t);
      case TokenKind::Prefix: return push(kind_of_prefix(lexer_.text_of(t)), t);
      case TokenKind::Atom: return add(atom(t), 0);
      case TokenKind::String: return add(string(t), 0);
      default: break;
    }
    const char* message =
        t.kind == TokenKind::UnterminatedEscape ? "Unterminated string escape" : "Unterminated string";
    auto quote = static_cast<uint32_t>(is_raw(t) ? kRawQuote.size() : 1);
    throw error(message, span(t.begin, t.begin + quote))
        .hint("A closing '\"' is missing: the string that starts here runs to the end of the text.");
  }

  void open(const Token& t) {
    std::string_view opener = lexer_.text_of(t);
    if (opener == "#(") {
      if (anonymous_)
        throw error("Nested #(...) is not allowed", span(t)).hint("Write the inner function as (fn [x] ...).");
      anonymous_ = Anonymous{stack_.size()};
    }
    push(kind_of_opener(opener), t);
  }

  void push(FormKind kind, const Token& t) {
    check_nesting(stack_.size() + 1, span(t));
    stack_.push_back({kind, t, {}});
  }

  void check_nesting(size_t depth, Span at) const {
    if (depth > kMaxNesting) throw error(fmt::format("Nesting deeper than {}", kMaxNesting), at);
  }

  void close(const Token& t) {
    if (stack_.empty()) throw unexpected(t, stray_closer_hints(text_, t.begin));
    const Frame& top = stack_.back();
    if (is_prefix(top)) throw unexpected(t, {fmt::format("A form is missing after {}.", lexer_.text_of(top.opener))});
    if (text_[t.begin] != closer_of(text_[top.opener.end - 1]))
      throw unexpected(t, {mismatch_hint(text_, innermost_bracket())});
    if (top.kind == FormKind::Dict && top.items.size() % 2 != 0)
      report(unexpected(t, {"A dict takes pairs of key and value; the last key has no value."}));
    finish(t.end);
  }

  UserError unexpected(const Token& closer, std::vector<std::string> hints) const {
    UserError e = error(fmt::format("Unexpected closing '{}'", lexer_.text_of(closer)), span(closer));
    e.hints = std::move(hints);
    return e;
  }

  // Pops the top bracket, which ends at `end`, and adds its form.
  void finish(uint32_t end) {
    Frame f = std::move(stack_.back());
    stack_.pop_back();
    int height = f.height + 1;
    uint32_t begin = f.opener.begin;
    if (anonymous_ && anonymous_->frame == stack_.size()) {
      FormPtr body = make_seq(FormKind::List, std::move(f.items), span(begin + 1, end));
      return add(make_anonymous(std::move(body), span(begin, end)), height + 1);
    }
    FormPtr form = make_seq(f.kind, std::move(f.items), span(begin, end));
    if (f.kind == FormKind::Vector) {
      if (std::optional<Token> suffix = take_dtype_suffix()) {
        Span whole = span(begin, suffix->end);
        form = make_seq(FormKind::List, {make_symbol("cast", whole), form, atom(*suffix)}, whole);
        ++height;
      }
    }
    add(std::move(form), height);
  }

  // Consumes the dtype keyword after a vector. In an explicit call, `(cast [1 2] :i32)`, the keyword is an ordinary
  // argument; consuming it would leave a cast of a cast without a dtype.
  std::optional<Token> take_dtype_suffix() {
    Lexer ahead = lexer_;
    Token next = ahead.next_code();
    if (next.kind != TokenKind::Atom || !is_dtype_suffix(lexer_.text_of(next))) return {};
    bool in_cast = !stack_.empty() && stack_.back().kind == FormKind::List && stack_.back().items.size() == 1 &&
                   stack_.back().items[0]->is_symbol("cast");
    if (in_cast && Lexer(ahead).next_code().kind == TokenKind::Close) return {};
    lexer_ = ahead;
    return next;
  }

  FormPtr make_anonymous(FormPtr body, Span whole) {
    std::vector<FormPtr> params;
    for (int i = 1; i <= anonymous_->params; ++i)
      params.push_back(make_symbol(fmt::format("%{}", i), whole));
    if (anonymous_->rest) {
      params.push_back(make_symbol("&", whole));
      params.push_back(make_symbol("%&", whole));
    }
    anonymous_.reset();
    FormPtr head = make_symbol("fn", whole);
    FormPtr list = make_seq(FormKind::Vector, std::move(params), whole);
    return make_seq(FormKind::List, {std::move(head), std::move(list), std::move(body)}, whole);
  }

  bool is_raw(const Token& string) const { return text_[string.begin] == kRawQuote[0]; }

  FormPtr string(const Token& t) {
    if (is_raw(t)) {
      std::string_view body = lexer_.text_of(t).substr(kRawQuote.size());
      body.remove_suffix(1);
      return make_string(std::string(body), span(t), true);
    }
    uint32_t begin = t.begin + 1;
    std::string value = unescape(text_.substr(begin, t.end - 1 - begin), [&](const BadEscape& e) {
      report(
          error(e.message, span(begin + static_cast<uint32_t>(e.begin), begin + static_cast<uint32_t>(e.end)))
              .hint(fmt::format("Escapes are {}; a backslash is \\\\, or write a raw string, #r\"\\p{{L}}+\", where it "
                                "means itself.",
                                known_escapes())));
    });
    return make_string(std::move(value), span(t));
  }

  FormPtr atom(const Token& t) {
    std::string_view token = lexer_.text_of(t);
    if (!anonymous_ || token[0] != '%') return classify(token, span(t));
    if (token == "%&") {
      anonymous_->rest = true;
      return make_symbol(token, span(t));
    }
    int64_t index = token == "%" ? 1 : parse_int(token.substr(1)).value_or(0);
    bool is_param = index > 0 && (token == "%" || is_digit(token[1]));
    if (!is_param) return classify(token, span(t));
    if (index > kMaxAnonymousParams)
      throw error(fmt::format("#(...) takes at most {} parameters, got {}", kMaxAnonymousParams, token), span(t));
    anonymous_->params = std::max(anonymous_->params, static_cast<int>(index));
    return make_symbol(fmt::format("%{}", index), span(t));
  }

  // Adds a complete form to the innermost open bracket; applies prefixes at once.
  void add(FormPtr form, int height) {
    while (!stack_.empty() && is_prefix(stack_.back())) {
      Frame f = std::move(stack_.back());
      stack_.pop_back();
      Span whole = span(f.opener.begin, form->span.end);
      form = make_seq(f.kind, {std::move(form)}, whole);
      ++height;
    }
    check_nesting(stack_.size() + height, form->span);
    if (stack_.empty()) {
      forms_.push_back(std::move(form));
      return;
    }
    Frame& top = stack_.back();
    top.height = std::max(top.height, height);
    top.items.push_back(std::move(form));
  }

  OpenBracket innermost_bracket() const {
    OpenBracket b;
    for (const Frame& f : stack_)
      b.depth += !is_prefix(f);
    const Frame& top = stack_.back();
    b.opener = lexer_.text_of(top.opener);
    b.begin = top.opener.begin;
    b.head = !top.items.empty() && top.items[0]->is_symbol() ? top.items[0]->name.str() : "...";
    for (const FormPtr& item : top.items)
      b.item_begins.push_back(item->span.begin);
    return b;
  }

  [[noreturn]] void fail_at_end() {
    const Frame& top = stack_.back();
    auto end = static_cast<uint32_t>(text_.size());
    if (is_prefix(top))
      throw error("Unexpected end of input", span(end, end))
          .hint(fmt::format("A form is missing after {}.", lexer_.text_of(top.opener)));
    OpenBracket b = innermost_bracket();
    char closer = closer_of(b.opener.back());
    std::string inside = top.kind == FormKind::List ? b.head + " ..." : "...";
    UserError e =
        error(fmt::format("Unclosed {}{}{}, missing '{}'", b.opener, inside, closer, closer), span(top.opener));
    e.hints = unclosed_hints(text_, b);
    throw e;
  }

  std::string_view text_;
  uint32_t source_;
  Lexer lexer_;
  std::vector<Frame> stack_;
  std::vector<FormPtr> forms_;
  std::optional<Anonymous> anonymous_;
  std::vector<UserError>* errors_;
  uint32_t form_begin_ = 0, read_to_ = 0;
};

// The probable start of the next top-level form: a parenthesis at the start of a line. With `in_strings`, one inside an
// apparent string counts too: after a lost quote, strings are the text between them.
size_t next_form(std::string_view text, size_t after, bool in_strings) {
  if (in_strings) {
    size_t line = text.find("\n(", after);
    return line == std::string_view::npos ? text.size() : line + 1;
  }
  Lexer lexer(text, after);
  for (Token t = lexer.next_code(); t.kind != TokenKind::End; t = lexer.next_code())
    if (t.kind == TokenKind::Open && t.begin > after && text[t.begin - 1] == '\n') return t.begin;
  return text.size();
}

// `(defn name` of a form that cannot be read completely, or null.
FormPtr beginning(std::string_view text, uint32_t source, uint32_t begin) {
  Lexer lexer(text, begin);
  Token open = lexer.next_code(), head = lexer.next_code(), name = lexer.next_code();
  if (lexer.text_of(open) != "(" || head.kind != TokenKind::Atom || name.kind != TokenKind::Atom) return nullptr;
  auto form = [&](const Token& t) { return classify(lexer.text_of(t), {source, t.begin, t.end}); };
  return make_seq(FormKind::List, {form(head), form(name)}, {source, begin, name.end});
}

}  // namespace

void check_encoding(uint32_t source) {
  const std::string& text = source_text(source);
  size_t valid = valid_prefix(text);
  if (valid == text.size()) return;
  auto at = static_cast<uint32_t>(valid);
  std::string message =
      fmt::format("The text is not UTF-8: there is a byte 0x{:02X}", static_cast<uint8_t>(text[valid]));
  throw UserError(ErrorKind::Parse, std::move(message), Span{source, at, at + 1})
      .hint("iconv -f latin1 -t utf-8 FILE converts a file of an old encoding");
}

std::vector<FormPtr> read_all(uint32_t source) { return read_text(source_text(source), source); }

std::vector<FormPtr> read_text(std::string_view text, uint32_t source) { return Reader(text, source).read_all(); }

Reading read_recovering(uint32_t source) {
  const std::string& text = source_text(source);
  Reading out;
  size_t at = 0;
  while (at < text.size()) {
    Reader reader(text, source, at, &out.errors);
    try {
      reader.read();
      at = text.size();
    } catch (const UserError& e) {
      if (!reader.in_form() && text[reader.form_begin()] != '"' && text[reader.form_begin()] != '#') {
        out.errors.push_back(e);  // a surplus closer
        at = reader.read_to();
      } else {
        uint32_t begin = reader.form_begin();
        at = next_form(text, begin, e.message.starts_with("Unterminated"));
        // The error of this form is clearest without the forms after it.
        Reader alone(std::string_view(text).substr(0, at), source, begin);
        try {
          alone.read();
          out.errors.push_back(e);
        } catch (const UserError& own) {
          out.errors.push_back(own);
        }
        if (FormPtr f = beginning(text, source, begin)) out.unfinished.push_back(std::move(f));
      }
    }
    std::move(reader.forms().begin(), reader.forms().end(), std::back_inserter(out.forms));
  }
  return out;
}

std::vector<FormExtent> top_level_extents(std::string_view text) {
  std::vector<FormExtent> out;
  int depth = 0;
  Lexer lexer(text);
  for (Token t = lexer.next_code(); t.kind != TokenKind::End; t = lexer.next_code()) {
    if (t.kind == TokenKind::Open && depth++ == 0) out.push_back({t.begin, t.end});
    if (t.kind == TokenKind::Close && --depth == 0) out.back().end = t.end;
  }
  return out;
}

FormPtr read_extent(uint32_t source, FormExtent extent) {
  return Reader(std::string_view(source_text(source)).substr(0, extent.end), source, extent.begin).read_all().front();
}

Completeness completeness(std::string_view text) {
  std::string expected;  // closers, innermost last
  Lexer lexer(text);
  for (Token t = lexer.next_code(); t.kind != TokenKind::End; t = lexer.next_code()) {
    if (t.kind == TokenKind::UnterminatedString || t.kind == TokenKind::UnterminatedEscape) return Completeness::Open;
    if (t.kind == TokenKind::Open) expected += closer_of(text[t.end - 1]);
    if (t.kind != TokenKind::Close) continue;
    // No further input can repair a wrong closer, so the reader will report it.
    if (expected.empty() || expected.back() != text[t.begin]) return Completeness::Complete;
    expected.pop_back();
  }
  return expected.empty() ? Completeness::Complete : Completeness::Open;
}

}  // namespace sheaf::syntax
