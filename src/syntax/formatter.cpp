// The layout keeps the author's line breaks and only decides what precedes each item: indentation or one space. A form
// on one line that is too long for it gets the line breaks of its kind. An item of any form that does not fit on the
// rest of its line, but would on a line of its own, starts a new line. A broken form then counts as broken by the
// author, so formatting is idempotent.
#include "syntax/formatter.h"

#include <algorithm>
#include <array>
#include <vector>

#include "support/error.h"
#include "syntax/columns.h"
#include "syntax/lexer.h"
#include "syntax/reader.h"

namespace sheaf::syntax {
namespace {

// Like a form, but with comments, and with atoms and strings as written.
struct Node {
  TokenKind kind = TokenKind::Atom;  // Atom, String, Comment; Open and Prefix have children
  std::string_view text;             // the whole leaf, or the opener or prefix
  std::vector<Node> children;
  std::string_view suffix;  // the dtype after a vector
  int newlines = 0;         // before this node
  int gap = 0;              // whitespace characters before this node; kept before a comment
  bool comma = false;       // the author wrote one after this node
  bool multiline = false;   // spans several lines in any layout
  bool has_seq = false;     // some child is a sequence
  int flat_width = 0;

  bool is_seq() const { return kind == TokenKind::Open || kind == TokenKind::Prefix; }
  bool is_comment() const { return kind == TokenKind::Comment; }
};

// Widths exceed the length of the text only by the spaces between items, so an int suffices.
void measure(Node& n) {
  n.flat_width = code_points(n.text);
  n.multiline = n.is_comment() || n.text.find('\n') != std::string_view::npos;
  if (!n.is_seq()) return;
  for (size_t i = 0; i < n.children.size(); ++i) {
    const Node& child = n.children[i];
    n.flat_width += child.flat_width + (i > 0) + child.comma;
    n.has_seq |= child.is_seq();
    n.multiline |= child.multiline || (i > 0 && child.newlines > 0);
  }
  if (n.kind == TokenKind::Open) n.flat_width += 1;
  if (!n.suffix.empty()) n.flat_width += 1 + code_points(n.suffix);
}

// Builds the tree of a text that the reader has accepted.
class TreeBuilder {
 public:
  explicit TreeBuilder(std::string_view text) : text_(text), lexer_(text) { open_.emplace_back(); }

  Node build() {
    for (Token t = lexer_.next(); t.kind != TokenKind::End; t = lexer_.next())
      take(t);
    return std::move(open_[0]);
  }

 private:
  void take(const Token& t) {
    if (t.kind == TokenKind::Close) return close(t);
    Node n;
    n.kind = t.kind;
    n.text = lexer_.text_of(t);
    read_gap(t, n);
    end_ = t.end;
    if (n.is_seq()) {
      open_.push_back(std::move(n));
      return;
    }
    while (n.is_comment() && n.text.ends_with('\r'))
      n.text.remove_suffix(1);
    add(std::move(n));
  }

  void read_gap(const Token& t, Node& n) {
    std::vector<Node>& siblings = open_.back().children;
    for (size_t pos = end_; pos < t.begin; pos += space_length(text_, pos)) {
      if (text_[pos] == '\n') ++n.newlines;
      if (text_[pos] != ',')
        ++n.gap;
      else if (!siblings.empty() && !siblings.back().is_comment())
        siblings.back().comma = true;
    }
  }

  void close(const Token& t) {
    Node n = std::move(open_.back());
    open_.pop_back();
    end_ = t.end;
    Lexer ahead = lexer_;
    Token next = ahead.next();
    if (n.text == "[" && next.kind == TokenKind::Atom && is_dtype_suffix(lexer_.text_of(next))) {
      n.suffix = lexer_.text_of(next);
      lexer_ = ahead;
      end_ = next.end;
    }
    add(std::move(n));
  }

  void add(Node n) {
    measure(n);
    bool is_form = !n.is_comment();
    open_.back().children.push_back(std::move(n));
    if (!is_form || open_.back().kind != TokenKind::Prefix) return;
    Node prefixed = std::move(open_.back());
    open_.pop_back();
    add(std::move(prefixed));
  }

  std::string_view text_;
  Lexer lexer_;
  size_t end_ = 0;          // of the last token
  std::vector<Node> open_;  // the whole text, then each open bracket inside it
};

// Forms whose arguments are a body, indented by two; `header` of them stay on the first line when the form is broken.
struct BodyForm {
  std::string_view head;
  int header;
  bool binds = false;  // the first argument is a vector of names and values
  bool pairs = false;  // the body alternates tests and results
};

constexpr std::array kBodyForms = {
    BodyForm{"def", 1},        BodyForm{"defn", 2},
    BodyForm{"defn-", 2},      BodyForm{"defmacro", 2},
    BodyForm{"fn", 1},         BodyForm{"let", 1, true},
    BodyForm{"loop", 1, true}, BodyForm{"for", 1, true},
    BodyForm{"if", 1},         BodyForm{"doseq", 1, true},
    BodyForm{"when", 1},       BodyForm{"unless", 1},
    BodyForm{"do", 0},         BodyForm{"while", 2},
    BodyForm{"repeat", 2},     BodyForm{"with-params", 1},
    BodyForm{"deftest", 1},    BodyForm{"try", 0},
    BodyForm{"catch", 1},      BodyForm{"cond", 0, false, true},
    BodyForm{"future", 0},     BodyForm{"case", 1, false, true},
    BodyForm{"progress", 2},   BodyForm{"defmodel", 2},
    BodyForm{"defbatch", 3},
};

constexpr size_t kLongHead = 12;

enum class Style { Data, Pairs, Call, Body };

class Layout {
 public:
  explicit Layout(int width) : width_(width) {}

  std::string run(const Node& root) {
    for (size_t i = 0; i < root.children.size(); ++i) {
      const Node& child = root.children[i];
      if (i > 0) separate(child, separation(root, i, false), 0);
      node(child, 0, false);
      if (child.comma) write(",");
    }
    if (!out_.empty()) out_ += '\n';
    return std::move(out_);
  }

 private:
  void write(std::string_view s) {
    out_ += s;
    size_t line = s.rfind('\n');
    column_ = line == std::string_view::npos ? column_ + code_points(s) : code_points(s.substr(line + 1));
  }

  // Limits indentation to the width: deeper text is unreadable anyway, and deep nesting would fill the memory.
  void newline(int count, int indent) {
    out_.append(count, '\n');
    column_ = std::min(indent, width_);
    out_.append(column_, ' ');
  }

  void separate(const Node& child, int newlines, int indent) {
    if (newlines > 0)
      newline(newlines, indent);
    else
      write(child.is_comment() ? std::string(std::max(child.gap, 1), ' ') : " ");
  }

  // Line breaks before child `i` of `n`; at most two, that is one blank line.
  static int separation(const Node& n, size_t i, bool forced) {
    const Node& child = n.children[i];
    if (i == 0) return child.is_comment() ? std::min(child.newlines, 1) : 0;
    bool needed = forced || n.children[i - 1].is_comment();
    return std::clamp(child.newlines, needed ? 1 : 0, 2);
  }

  // `trailing` is the width that must follow on the same line. `binds`: this is the vector of a let.
  void node(const Node& n, int trailing, bool binds) {
    if (n.is_seq())
      seq(n, trailing, binds);
    else
      write(n.text);
  }

  static const BodyForm* body_form(const Node& n) {
    if (n.text == "[" || n.text == "{" || n.kind != TokenKind::Open || n.children.empty()) return nullptr;
    auto it = std::find_if(kBodyForms.begin(), kBodyForms.end(),
                           [&](const BodyForm& f) { return f.head == n.children[0].text; });
    return it != kBodyForms.end() && n.children[0].kind == TokenKind::Atom ? &*it : nullptr;
  }

  static Style style_of(const Node& n, const BodyForm* body, bool binds) {
    if (body) return Style::Body;
    if (n.text == "{" || (n.text == "[" && binds)) return Style::Pairs;
    if (n.text == "[" || n.kind == TokenKind::Prefix || n.children.empty()) return Style::Data;
    const Node& head = n.children[0];
    bool is_name = head.kind == TokenKind::Atom && !(head.text[0] >= '0' && head.text[0] <= '9');
    return is_name ? Style::Call : Style::Data;
  }

  static bool is_keyword(const Node& n) { return n.kind == TokenKind::Atom && n.text.starts_with(':'); }

  // True if item `index` stays on the line of the item before it: the head's first argument, the value of a key.
  static bool is_attached(const Node& n, size_t index, Style style, const BodyForm* body) {
    switch (style) {
      case Style::Pairs: return index % 2 == 1;
      case Style::Call: return index < 2 || (is_keyword(n.children[index - 1]) && !is_keyword(n.children[index]));
      case Style::Body: {
        size_t header = static_cast<size_t>(body->header);
        return index <= header || (body->pairs && (index - header) % 2 == 0);
      }
      case Style::Data: return false;
    }
    return false;
  }

  // True if item `index`, with a value attached to it, is too long for the rest of its line but fits on a line of its
  // own.
  bool wraps(const Node& n, size_t index, Style style, const BodyForm* body, int indent, int trailing) const {
    if (index == 0 || is_attached(n, index, style, body)) return false;
    size_t end = index + 1 < n.children.size() && is_attached(n, index + 1, style, body) ? index + 2 : index + 1;
    int width = end == n.children.size() ? trailing : 0;
    for (size_t i = index; i < end; ++i) {
      const Node& child = n.children[i];
      if (child.multiline || (i > index && child.newlines > 0)) return false;
      width += child.flat_width + child.comma + (i > index);
    }
    return column_ + 1 + width > width_ && indent + width <= width_;
  }

  // True if a form that is too long for its line breaks before its item `index`.
  bool breaks_before(const Node& n, size_t index, Style style, const BodyForm* body, int trailing) const {
    if (index == 0) return false;
    const Node& child = n.children[index];
    const Node& previous = n.children[index - 1];
    bool after_keyword = previous.text.starts_with(':') && !child.text.starts_with(':');
    switch (style) {
      case Style::Pairs: return index % 2 == 0;
      case Style::Call:
        return index > (n.children[0].text.size() > kLongHead ? 0u : 1u) && !(after_keyword && index > 1);
      case Style::Body: {
        bool documented = n.children.size() > 2 && n.children[2].kind == TokenKind::String;
        size_t header = body->header == 2 && documented ? 1 : body->header;
        return index > header && !(body->pairs && (index - header) % 2 == 0);
      }
      case Style::Data: break;
    }
    // Plain numbers fill their lines; larger items get lines of their own.
    bool last = index + 1 == n.children.size();
    return n.has_seq || column_ + 1 + child.flat_width + child.comma + (last ? trailing + 1 : 0) > width_;
  }

  void seq(const Node& n, int trailing, bool binds) {
    const BodyForm* body = body_form(n);
    Style style = style_of(n, body, binds);
    bool too_long = !n.multiline && column_ + n.flat_width + trailing > width_;
    int base = column_ + (n.text == "#(" ? 1 : 0);
    write(n.text);
    int indent = style == Style::Body || style == Style::Call ? base + 2 : column_;
    int closing = n.kind == TokenKind::Open ? 1 + (n.suffix.empty() ? 0 : 1 + code_points(n.suffix)) : 0;
    for (size_t i = 0; i < n.children.size(); ++i) {
      const Node& child = n.children[i];
      bool last = i + 1 == n.children.size();
      bool breaks = (too_long && breaks_before(n, i, style, body, trailing + closing)) ||
                    wraps(n, i, style, body, indent, trailing + closing);
      int newlines = separation(n, i, breaks);
      if (i > 0 || newlines > 0)
        separate(child, newlines, indent);
      else if (n.text == "~" && child.text.starts_with('@'))
        write(" ");  // `~@x` would be a splice
      if (style == Style::Call && i == 1 && newlines == 0 && !child.is_comment()) indent = column_;
      node(child, last ? trailing + closing : child.comma, i == 1 && body && body->binds);
      if (child.comma) write(",");
    }
    if (n.kind != TokenKind::Open) return;
    if (!n.children.empty() && n.children.back().is_comment()) newline(1, indent);
    write(std::string(1, closer_of(n.text.back())));
    if (!n.suffix.empty()) write(" " + std::string(n.suffix));
  }

  int width_;
  int column_ = 0;
  std::string out_;
};

}  // namespace

std::string format_source(std::string_view text, int width) {
  try {
    read_text(text, 0);
  } catch (const UserError&) {
    // Errors need a registered source to show their position; only a text that fails is registered.
    read_all(add_source("<format>", std::string(text), SourceKind::File));
  }
  return Layout(width).run(TreeBuilder(text).build());
}

}  // namespace sheaf::syntax
