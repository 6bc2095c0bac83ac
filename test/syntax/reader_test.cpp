#include "syntax/reader.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "support/error.h"

namespace sheaf::syntax {
namespace {

std::vector<FormPtr> read(const std::string& text) { return read_all(add_source("t.shf", text, SourceKind::File)); }

FormPtr read_one(const std::string& text) {
  auto forms = read(text);
  EXPECT_EQ(forms.size(), 1u) << text;
  return forms.empty() ? make_nil({}) : forms[0];
}

void expect_same(const std::string& a, const std::string& b) {
  auto x = read(a), y = read(b);
  ASSERT_EQ(x.size(), y.size()) << a << " / " << b;
  for (size_t i = 0; i < x.size(); ++i)
    EXPECT_TRUE(equal(*x[i], *y[i])) << a << " / " << b;
}

UserError error_of(const std::string& text) {
  try {
    read(text);
  } catch (const UserError& e) {
    EXPECT_EQ(e.kind, ErrorKind::Parse);
    return e;
  }
  ADD_FAILURE() << "no error: " << text.substr(0, 60);
  return {ErrorKind::Parse, ""};
}

std::string hints_of(const UserError& e) {
  std::string all;
  for (const auto& h : e.hints)
    all += h + "\n";
  return all;
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(Reader, Whitespace) {
  expect_same("a b", "\t\r\n\v\f a,,b ,");
  for (const char* space : {"\xC2\x85", "\xC2\xA0", "\xE1\x9A\x80", "\xE2\x80\x80", "\xE2\x80\x8A", "\xE2\x80\xA8",
                            "\xE2\x80\xA9", "\xE2\x80\xAF", "\xE2\x81\x9F", "\xE3\x80\x80"})
    EXPECT_EQ(read(std::string("a") + space + "b").size(), 2u);
  // Zero width space and other characters of the same lead bytes are no whitespace.
  for (const char* other : {"\xE2\x80\x8B", "\xC2\xB5", "\xE3\x81\x82"})
    EXPECT_EQ(read(std::string("a") + other + "b").size(), 1u);
  EXPECT_EQ(read_one("\xEF\xBB\xBF"
                     "a")
                ->name.str(),
            "a");
  EXPECT_TRUE(read("").empty());
  EXPECT_TRUE(read(" ; only a comment").empty());
}

TEST(Reader, Comments) {
  expect_same("(a b)", "(a ; ) \" [\n b) ; end");
  EXPECT_EQ(read_one("#_")->name.str(), "#_");
  expect_same("a", "#!/usr/bin/env sheaf\na");
  EXPECT_EQ(read_one(" #!x")->name.str(), "#!x");
}

TEST(Reader, Literals) {
  EXPECT_EQ(read_one("true")->kind, FormKind::Bool);
  EXPECT_EQ(read_one("true")->int_value, 1);
  EXPECT_EQ(read_one("false")->int_value, 0);
  EXPECT_EQ(read_one("nil")->kind, FormKind::Nil);
  EXPECT_TRUE(read_one("True")->is_symbol());
}

TEST(Reader, Keywords) {
  EXPECT_EQ(read_one(":axis")->name.str(), "axis");
  EXPECT_EQ(read_one(":")->name.str(), "");
  EXPECT_EQ(read_one("::a:b")->name.str(), ":a:b");
  EXPECT_EQ(read_one(":1")->kind, FormKind::Keyword);
}

TEST(Reader, Integers) {
  for (const auto& [text, value] : std::vector<std::pair<std::string, int64_t>>{{"0", 0},
                                                                                {"-0", 0},
                                                                                {"+5", 5},
                                                                                {"-5", -5},
                                                                                {"007", 7},
                                                                                {"9223372036854775807", INT64_MAX},
                                                                                {"-9223372036854775808", INT64_MIN}}) {
    EXPECT_EQ(read_one(text)->kind, FormKind::Int) << text;
    EXPECT_EQ(read_one(text)->int_value, value) << text;
  }
}

TEST(Reader, Floats) {
  double inf = std::numeric_limits<double>::infinity();
  for (const auto& [text, value] :
       std::vector<std::pair<std::string, double>>{{"1.", 1},
                                                   {".5", .5},
                                                   {"-2.5", -2.5},
                                                   {"+.5e1", 5},
                                                   {"1e-3", 1e-3},
                                                   {"1E6", 1e6},
                                                   {"1.e+2", 100},
                                                   {"inf", inf},
                                                   {"-inf", -inf},
                                                   {"+INF", inf},
                                                   {"Infinity", inf},
                                                   {"-infinity", -inf},
                                                   {"1e999", inf},
                                                   {"-1e999", -inf},
                                                   {"1e-999", 0},
                                                   {"5e-324", 5e-324},
                                                   {"9223372036854775808", 9223372036854775808.0},
                                                   {"-99999999999999999999", -1e20}}) {
    EXPECT_EQ(read_one(text)->kind, FormKind::Float) << text;
    EXPECT_EQ(read_one(text)->float_value, value) << text;
  }
  for (const char* text : {"nan", "NaN", "-nan", "+NAN"})
    EXPECT_TRUE(std::isnan(read_one(text)->float_value)) << text;
}

TEST(Reader, Symbols) {
  for (const char* text : {"a/b",    "x->y", "ok?",   "top_k", "...",  "@",     "0:3",  "#x",  "#",  "+",
                           "-",      ".",    "+-5",   "-+5",   "--5",  "1_000", "0x10", "1/2", "1e", "e5",
                           ".e5",    "1e+",  "1.2.3", "infi",  "nano", "%",     "%1",   "%&",  "1f", "\xCE\xB1\xCE\xB2",
                           "a\377b", "\x80"}) {
    EXPECT_EQ(read_one(text)->kind, FormKind::Symbol) << text;
    EXPECT_EQ(read_one(text)->name.str(), text);
  }
}

TEST(Reader, Strings) {
  EXPECT_EQ(read_one(R"("a\n\t\r\"\\b")")->text, "a\n\t\r\"\\b");
  EXPECT_EQ(read_one("\"two\nlines ; not a comment )\"")->text, "two\nlines ; not a comment )");
  EXPECT_EQ(read("a\"b\"c").size(), 3u);
  EXPECT_EQ(read_one("\"\xCE\xB1\xFF\"")->text, "\xCE\xB1\xFF");
}

TEST(Reader, Escapes) {
  auto text = [](const std::string& written) { return read_one('"' + written + '"')->text; };
  EXPECT_EQ(text(R"(a\0b\e[0m)"), std::string("a\0b\x1b[0m", 7));
  EXPECT_EQ(text(R"(\x41\xe9)"), "A\xC3\xA9");
  EXPECT_EQ(text(R"(\u0041\u00E9\u20ac)"), "A\xC3\xA9\xE2\x82\xAC");
  EXPECT_EQ(text(R"(\u{41}\u{1F600}\u{10ffff})"), "A\xF0\x9F\x98\x80\xF4\x8F\xBF\xBF");
  EXPECT_EQ(text(R"(\ud83d\ude00)"), "\xF0\x9F\x98\x80");  // as JSON writes it
}

TEST(Reader, RawStrings) {
  FormPtr raw = read_one(R"(#r"\p{L}+\n")");
  EXPECT_EQ(raw->text, R"(\p{L}+\n)");
  EXPECT_EQ(raw->span.end, 12u);
  EXPECT_EQ(read_one(R"(#r"C:\")")->text, "C:\\");  // a quote always ends it
  EXPECT_EQ(read_one("#r\"\"")->text, "");
  expect_same(R"(#r"\d;)" + std::string("\n(\""), R"("\\d;\n(")");
  EXPECT_EQ(read(R"(#r x a#r"y")").size(), 4u);  // elsewhere # and r are characters of symbols
}

TEST(Reader, Prefixes) {
  auto kind = [](const std::string& text) { return read_one(text)->kind; };
  EXPECT_EQ(kind("'a"), FormKind::Quote);
  EXPECT_EQ(kind("`a"), FormKind::Quasiquote);
  EXPECT_EQ(kind("~a"), FormKind::Unquote);
  EXPECT_EQ(kind("~@a"), FormKind::UnquoteSplicing);
  FormPtr spaced = read_one("~ @a");
  EXPECT_EQ(spaced->kind, FormKind::Unquote);
  EXPECT_EQ(spaced->items[0]->name.str(), "@a");
  FormPtr nested = read_one("'`~x");
  EXPECT_EQ(nested->items[0]->items[0]->items[0]->name.str(), "x");
  EXPECT_EQ(read("a'b").size(), 2u);
}

TEST(Reader, Containers) {
  FormPtr f = read_one("(a [1 2.0] {:k \"v\", :l nil} ())");
  ASSERT_EQ(f->items.size(), 4u);
  EXPECT_TRUE(f->is_call("a"));
  EXPECT_EQ(f->items[1]->kind, FormKind::Vector);
  EXPECT_EQ(f->items[2]->kind, FormKind::Dict);
  EXPECT_EQ(f->items[2]->items.size(), 4u);
  EXPECT_TRUE(f->items[3]->items.empty());
}

TEST(Reader, DtypeSuffix) {
  for (const char* d : {":f32", ":f64", ":bf16", ":f16", ":i32", ":i64", ":u32", ":bool", ":i8", ":u8", ":i16", ":u16"})
    expect_same(std::string("[1 2] ") + d, std::string("(cast [1 2] ") + d + ")");
  expect_same("(mean [2 4] :bf16)", "(mean (cast [2 4] :bf16))");
  expect_same("(let [w [4 5 6] :i32] w)", "(let [w (cast [4 5 6] :i32)] w)");
  expect_same("[1]:f32", "(cast [1] :f32)");
  expect_same("[1] ; why\n :f32 :f32", "(cast [1] :f32) :f32");
  expect_same("'[1] :f32", "'(cast [1] :f32)");
  FormPtr cast = read_one("(cast [1] :f32)");
  ASSERT_EQ(cast->items.size(), 3u);
  EXPECT_TRUE(cast->items[1]->is_vector() && cast->items[2]->is_keyword());
  EXPECT_TRUE(read_one("(cast [1] :f32 :i32)")->items[1]->is_call("cast"));
  EXPECT_TRUE(read_one("(cast x [1] :f32)")->items[2]->is_call("cast"));
  expect_same("[[1] :i8 [2] :i8] :f32", "(cast [(cast [1] :i8) (cast [2] :i8)] :f32)");
  for (const char* no : {"(f) :f32", "x :f32", "[1] :f33", "[1] :axis", "[1] x :f32", "{} :f32"})
    EXPECT_GE(read(no).size(), 2u) << no;
}

TEST(Reader, AnonymousFunctions) {
  expect_same("#(+ % 1 %2)", "(fn [%1 %2] (+ %1 1 %2))");
  expect_same("#(f %3)", "(fn [%1 %2 %3] (f %3))");
  expect_same("#(f [% {:a %2}] '%)", "(fn [%1 %2] (f [%1 {:a %2}] '%1))");
  expect_same("#(apply f % %&)", "(fn [%1 & %&] (apply f %1 %&))");
  expect_same("#()", "(fn [] ())");
  expect_same("#(f %0 %x %-1)", "(fn [] (f %0 %x %-1))");
  expect_same("(% 7 2) #(a) (% 7 2)", "(% 7 2) (fn [] (a)) (% 7 2)");
  expect_same("# (a)", "# (a)");
  expect_same("a#(b)", "a# (b)");
  EXPECT_EQ(error_of("#(f #(g %))").message, "Nested #(...) is not allowed");
  EXPECT_EQ(error_of("#(f %21)").message, "#(...) takes at most 20 parameters, got %21");
  EXPECT_EQ(error_of("#(f").message, "Unclosed #(f ...), missing ')'");
}

TEST(Reader, Spans) {
  auto span_text = [](const FormPtr& f) { return std::string(text_of(f->span)); };
  auto forms = read("  (f [1 2] :i32 'x \"s\")\n#(g %)");
  EXPECT_EQ(span_text(forms[0]), "(f [1 2] :i32 'x \"s\")");
  EXPECT_EQ(span_text(forms[0]->items[0]), "f");
  EXPECT_EQ(span_text(forms[0]->items[1]), "[1 2] :i32");
  EXPECT_EQ(span_text(forms[0]->items[1]->items[1]), "[1 2]");
  EXPECT_EQ(span_text(forms[0]->items[2]), "'x");
  EXPECT_EQ(span_text(forms[0]->items[3]), "\"s\"");
  EXPECT_EQ(span_text(forms[1]), "#(g %)");
  EXPECT_EQ(span_text(forms[1]->items[2]), "(g %)");
  EXPECT_EQ(span_text(forms[1]->items[2]->items[1]), "%");
  EXPECT_EQ(place(forms[1]->span), "t.shf:2:1");
  EXPECT_EQ(place(read("\xCE\xB1 b")[1]->span), "t.shf:1:3");
}

TEST(ReaderErrors, Messages) {
  struct Row {
    const char* text;
    const char* message;
    const char* place;
  };
  for (const Row& row : std::vector<Row>{
           {"\n (foo 1 [2]", "Unclosed (foo ...), missing ')'", "t.shf:2:2"},
           {"(1 2", "Unclosed (... ...), missing ')'", "t.shf:1:1"},
           {"(", "Unclosed (... ...), missing ')'", "t.shf:1:1"},
           {"(a (b", "Unclosed (b ...), missing ')'", "t.shf:1:4"},
           {"(a [1", "Unclosed [...], missing ']'", "t.shf:1:4"},
           {"{:a", "Unclosed {...}, missing '}'", "t.shf:1:1"},
           {"a )", "Unexpected closing ')'", "t.shf:1:3"},
           {"]", "Unexpected closing ']'", "t.shf:1:1"},
           {"(a\n [1)", "Unexpected closing ')'", "t.shf:2:4"},
           {"{:a 1 :b}", "Unexpected closing '}'", "t.shf:1:9"},
           {"(a ')", "Unexpected closing ')'", "t.shf:1:5"},
           {"(a \"b)", "Unterminated string", "t.shf:1:4"},
           {"\"b\\", "Unterminated string escape", "t.shf:1:1"},
           {R"(#r"b\)", "Unterminated string", "t.shf:1:1"},
           {R"((a "b\p{L}"))", "Unknown escape \\p in a string", "t.shf:1:6"},
           {"\"\\\xCE\xB1\"", "Unknown escape \\\xCE\xB1 in a string", "t.shf:1:2"},
           {R"("\033[1m")", "Unknown escape \\033 in a string", "t.shf:1:2"},
           {"\"a\\\nb\"", "A backslash with nothing after it in a string", "t.shf:1:3"},
           {R"("\x4")", "\\x takes two hexadecimal digits, as in \\x41", "t.shf:1:2"},
           {R"("\u12")", "\\u takes four hexadecimal digits, as in \\u00e9, or any number in braces", "t.shf:1:2"},
           {R"("\u{}")", "\\u{ takes hexadecimal digits and a }, as in \\u{1F600}", "t.shf:1:2"},
           {R"("\u{110000}")", "\\u{110000} is no Unicode character", "t.shf:1:2"},
           {R"("\u{ffffffffff}")", "\\u{ffffffffff} is no Unicode character", "t.shf:1:2"},
           {R"("\ud83d")", "\\ud83d is no Unicode character", "t.shf:1:2"},
           {"'", "Unexpected end of input", "t.shf:1:2"},
           {"(a ~@ ", "Unexpected end of input", "t.shf:1:7"},
       }) {
    UserError e = error_of(row.text);
    EXPECT_EQ(e.message, row.message) << row.text;
    EXPECT_EQ(place(e.span), row.place) << row.text;
    EXPECT_FALSE(e.hints.empty()) << row.text;
  }
}

TEST(ReaderErrors, EscapeHint) {
  std::string hint = hints_of(error_of(R"("\d")"));
  EXPECT_TRUE(has(hint, R"(\n \t \r \0 \e \\ \" \xHH \uHHHH \u{H…})") && has(hint, R"(#r"\p{L}+")")) << hint;
}

// The places of all errors, the heads of the forms read, and the definitions that were cut off.
std::string recovered(const std::string& text) {
  Reading r = read_recovering(add_source("t.shf", text, SourceKind::File));
  std::string out;
  for (const UserError& e : r.errors)
    out += place(e.span).substr(6) + " ";
  for (const FormPtr& f : r.forms)
    out += f->is_list() && f->items.size() > 1 ? f->items[1]->name.str() + " " : "- ";
  for (const FormPtr& f : r.unfinished)
    out += "(" + f->items[1]->name.str() + ") ";
  return out;
}

TEST(ReaderRecovery, GoesOnAtTheNextForm) {
  EXPECT_EQ(recovered("(def a 1)\n(def b 2)"), "a b ");
  EXPECT_EQ(recovered("(def a 1\n\n(def b 2)\n"), "1:1 b (a) ");
  EXPECT_EQ(recovered("(def a (f 1\n(def b [2\n(def c 3)"), "1:8 2:8 c (a) (b) ");
  EXPECT_EQ(recovered("(def a [1)\n(def b 2)"), "1:10 b (a) ");
  EXPECT_EQ(recovered("(def a 1))\n(def b 2) ]\n(def c 3)"), "1:10 2:11 a b c ");
  EXPECT_EQ(recovered("(def a \"x)\n(def b \"y\")\n(def c 3)"), "1:8 b c (a) ");
  EXPECT_EQ(recovered(R"((def a "\q\w") (def b {:k}) (def c 1))"), "1:9 1:11 1:26 a b c ");
  EXPECT_EQ(recovered("(def a \"doc\n(not a form)\")\n(def b (1]"), "3:10 a (b) ");
  EXPECT_EQ(recovered("\"abc"), "1:1 ");
  EXPECT_EQ(recovered("'"), "1:2 ");
}

TEST(ReaderErrors, MismatchHint) {
  std::string hint = hints_of(error_of("(f\n [1 2)"));
  EXPECT_TRUE(has(hint, "Expected ']'") && has(hint, "'['") && has(hint, "line 2") && has(hint, "missing before"))
      << hint;
}

TEST(ReaderErrors, UnclosedHints) {
  std::string hint = hints_of(error_of("(defn f [x]\n  (+ x 1)\n\n(defn g [x]\n  x)"));
  EXPECT_TRUE(has(hint, "Line 4, column 1") && has(hint, "')' is probably missing before it")) << hint;
  EXPECT_TRUE(has(hint, "Add 1 closing delimiter at the end.\n")) << hint;
  hint = hints_of(error_of("(a [b \")\" ; )\n {c"));
  EXPECT_TRUE(has(hint, "Add 3 closing delimiters at the end.\n")) << hint;
  EXPECT_TRUE(has(hint, "{...} of line 2")) << hint;
  EXPECT_FALSE(has(hint, "forms are open here"));
  hint = hints_of(error_of("(a (b (c (d (e"));
  EXPECT_TRUE(has(hint, "(e ...) of line 1") && has(hint, "5 forms are open here")) << hint;
}

TEST(ReaderErrors, StrayCloserHints) {
  std::string hint = hints_of(error_of("(a)\n(b))\n)"));
  EXPECT_TRUE(has(hint, "2 extra closing delimiters") && has(hint, "line above")) << hint;
  EXPECT_TRUE(has(hint, "is on line 2")) << hint;
  hint = hints_of(error_of("(a (b (c\n  (d 1)))))\n)"));
  EXPECT_TRUE(has(hint, "Line 2 closes 5 and opens 1")) << hint;
  EXPECT_TRUE(has(hints_of(error_of(") (")), "1 extra closing delimiter in"));
}

TEST(ReaderErrors, StringHint) { EXPECT_TRUE(has(hints_of(error_of("\"abc")), "'\"' is missing")); }

TEST(ReaderLimits, Nesting) {
  auto nested = [](size_t n, const char* open, const char* close) {
    std::string s;
    for (size_t i = 0; i < n; ++i)
      s += open;
    s += "x";
    for (size_t i = 0; i < n; ++i)
      s += close;
    return s;
  };
  for (auto [open, close] : {std::pair{"(", ")"}, {"[", "]"}, {"{1 ", "}"}, {"'", ""}, {"~@", ""}}) {
    EXPECT_EQ(read(nested(kMaxNesting, open, close)).size(), 1u) << open;
    EXPECT_EQ(error_of(nested(kMaxNesting + 1, open, close)).message, "Nesting deeper than 2000") << open;
  }
  // A suffix nests its vector once more.
  EXPECT_EQ(read(nested(kMaxNesting / 2, "[", "]:i8 ")).size(), 1u);
  EXPECT_EQ(error_of(nested(kMaxNesting / 2 + 1, "[", "]:i8 ")).message, "Nesting deeper than 2000");
  EXPECT_EQ(error_of("#" + nested(kMaxNesting, "(", ")")).message, "Nesting deeper than 2000");
}

TEST(ReaderLimits, HostileTexts) {
  for (const char* piece :
       {"(", ")",   "[", "]",        "'",    "~@",    "\"", "\\",   "#(", "a", "a ",   "() ",   "[] ", "[]:f32",
        ";", ";\n", "9", "\xE2\x80", "\xFF", "[];\n", "{",  "(a\n", "#",  "%", "\"\\", "[\n1]", "\n)"}) {
    std::string text;
    while (text.size() < 300'000)
      text += piece;
    for (const std::string& t : {text, "(" + text, "#(" + text}) {
      completeness(t);
      try {
        read_text(t, 0);
      } catch (const UserError&) {
      }
    }
  }
}

TEST(Completeness, Rows) {
  auto open = [](const char* text) { return completeness(text) == Completeness::Open; };
  for (const char* text : {"(", "(a [", "(a ; )", "(a \")\"", "\"abc", "\"abc\\", "#(", "{:a", "(a\n"})
    EXPECT_TRUE(open(text)) << text;
  for (const char* text : {"", "a", "(a)", "(a))", ")(", "(]", "([)", "; (", "\"(\"", "{:a 1}"})
    EXPECT_FALSE(open(text)) << text;
}

TEST(Extents, OfTopLevelForms) {
  std::string text = "; (no)\n(a \"(\" ; )\n  [b])\n\n{:c #(d %)}'(e)";
  uint32_t source = add_source("extents", text, SourceKind::Eval);
  std::vector<std::string> found, read;
  for (FormExtent e : top_level_extents(text)) {
    found.push_back(text.substr(e.begin, e.end - e.begin));
    FormPtr f = read_extent(source, e);
    read.push_back(text.substr(f->span.begin, f->span.end - f->span.begin));
  }
  EXPECT_EQ(found, (std::vector<std::string>{"(a \"(\" ; )\n  [b])", "{:c #(d %)}", "(e)"}));
  EXPECT_EQ(read, found);
}

}  // namespace
}  // namespace sheaf::syntax
