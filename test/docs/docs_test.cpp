// Every example in the documentation runs and gives the expected result: examples of built-ins, of the library's
// docstrings, and of the pages in docs/.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "builtins/table.h"
#include "docs/examples.h"
#include "eval/prelude.h"

namespace sheaf {
namespace {

namespace fs = std::filesystem;

// Examples may write files.
class Docs : public ::testing::Test {
 protected:
  void SetUp() override {
    before_ = fs::current_path();
    std::string pattern = (fs::temp_directory_path() / "sheaf-docs-XXXXXX").string();
    here_ = mkdtemp(pattern.data());
    fs::current_path(here_);
  }
  void TearDown() override {
    fs::current_path(before_);
    fs::remove_all(here_);
  }

 private:
  fs::path before_, here_;
};

TEST_F(Docs, ExamplesOfBuiltins) {
  for (const builtins::BuiltinDef* d : builtins::all_builtins()) {
    eval::Session session;
    for (const builtins::Example& x : d->examples) {
      Example e;
      e.kind = x.result.starts_with("error: ") ? Example::Fails : Example::Prints;
      e.code = std::string(x.code);
      e.expected = split_lines(std::string(x.result.substr(e.kind == Example::Fails ? 7 : 0)));
      std::string failure = run_example(session, e);
      EXPECT_TRUE(failure.empty()) << d->name << ": " << failure;
    }
  }
}

TEST_F(Docs, ExamplesOfTheLibrary) {
  eval::Session definitions;
  auto check = [](const std::string& name, const std::string& doc) {
    EXPECT_FALSE(doc.empty()) << name << " has no docstring";
    if (doc.find("Only usable in macros") != std::string::npos) return;
    std::vector<Example> examples = docstring_examples(doc);
    EXPECT_FALSE(examples.empty()) << name << " has no example";
    eval::Session session;
    for (const Example& e : examples) {
      std::string failure = run_example(session, e);
      EXPECT_TRUE(failure.empty()) << name << ", docstring " << failure;
    }
  };
  for (auto& [name, f] : definitions.globals().prelude_functions())
    if (!f.own) check(std::string(name.str()), eval::doc_of(*f.form()));
  for (auto& [name, macro] : definitions.globals().prelude_macros())
    check(std::string(name.str()), macro.doc);
}

// The fenced `clojure` blocks of a page, everything else replaced by empty lines so that line numbers stay.
std::string programs_of(const std::string& page) {
  std::istringstream in(page);
  std::string out, line;
  bool inside = false;
  while (std::getline(in, line)) {
    bool fence = line.starts_with("```");
    if (fence) inside = !inside && line == "```clojure";
    out += inside && !fence ? line + "\n" : "\n";
  }
  return out;
}

TEST_F(Docs, ExamplesOfPages) {
  int pages = 0;
  for (const auto& entry : fs::recursive_directory_iterator(fs::path(TEST_DIR) / "../../docs")) {
    if (entry.path().extension() != ".md") continue;
    if (entry.path().parent_path().filename() == "reference") continue;  // generated from the examples above
    std::ifstream file(entry.path());
    std::stringstream text;
    text << file.rdbuf();
    eval::Session session;
    session.set_interactive(true);
    ++pages;
    for (const Example& e : read_examples(programs_of(text.str()))) {
      std::string failure = run_example(session, e);
      EXPECT_TRUE(failure.empty()) << entry.path().filename().string() << " " << failure;
    }
  }
  EXPECT_GE(pages, 4);
}

// The reader of examples itself.
TEST(Examples, AreReadWithTheirExpectations) {
  auto es = read_examples(
      "(f 1) ; => 2\n(g)\n; ~> [1\n;     2]\n(h) ; a remark\n; !! no\n(def x 1)\n; text\n; => not this one's\n");
  ASSERT_EQ(es.size(), 4u);
  EXPECT_EQ(es[0].kind, Example::Prints);
  EXPECT_EQ(es[0].expected, std::vector<std::string>{"2"});
  EXPECT_EQ(es[1].kind, Example::PrintsNear);
  EXPECT_EQ(es[1].expected, (std::vector<std::string>{"[1", " 2]"}));
  EXPECT_EQ(es[2].kind, Example::Fails);
  EXPECT_EQ(es[3].kind, Example::Runs);
}

}  // namespace
}  // namespace sheaf
