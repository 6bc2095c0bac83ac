// Every built-in is documented, and every name of the language exists.
#include "builtins/table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "advice/hints.h"
#include "eval/session.h"

namespace sheaf::builtins {
namespace {

TEST(Table, EveryBuiltinIsDocumented) {
  std::set<std::string_view> names;
  for (const BuiltinDef* d : all_builtins()) {
    SCOPED_TRACE(d->name);
    EXPECT_TRUE(names.insert(d->name).second) << "defined twice";
    EXPECT_EQ(find_builtin(d->name), d);
    EXPECT_TRUE(d->run);
    EXPECT_TRUE(d->max_args < 0 || d->max_args >= d->min_args);
    if (d->name.starts_with("%")) continue;
    EXPECT_FALSE(d->category.empty());
    EXPECT_TRUE(d->signature.starts_with("(" + std::string(d->name))) << d->signature;
    EXPECT_TRUE(d->signature.ends_with(")")) << d->signature;
    EXPECT_TRUE(d->doc.ends_with(".") || d->doc.ends_with("?")) << d->doc;
    EXPECT_FALSE(d->examples.empty()) << "no example";
  }
}

// The names that the language specification lists.
constexpr const char* kBuiltinNames = R"(
  + - * / // mod % ** abs ash exp log sqrt sin cos tan tanh round ceil floor @ einsum = == != < > <= >= not and or
  shape ndim len count int float cast zeros ones eye arange range one-hot tril tensor
  reshape transpose tr swapaxes slice dynamic-slice concat tensor-split roll flip index-update append-and-roll where
  normalize
  sum mean product min max var argmax argmin minimum maximum
  first second last rest nth cons append empty? chars index-of sort top_k
  map filter find reduce scan apply vmap tree-map tree-reduce tree-map-zeros flatten
  dict get get-in assoc dissoc merge keys vals print println str str-call gensym symbol? time stop-gradient
  random-key random-split random-uniform random-normal random-randint choice io)";
constexpr const char* kLibraryNames = R"(
  relu sigmoid silu gelu leaky-relu selu celu softmax log-softmax linear dropout layer-norm rms-norm cross-entropy-loss
  mse-loss mae-loss clamp xavier-uniform xavier-normal kaiming-uniform kaiming-normal lecun-uniform lecun-normal
  sgd-step sgd-momentum-step adam-step adamw-step global-norm clip-by-global-norm linear-warmup inverse-sqrt-warmup
  exponential-decay step-decay cosine-decay random-range transform-layer)";
constexpr const char* kMacroNames = "when unless comment defmodel defbatch";

std::vector<std::string> words(const char* text) {
  std::istringstream in(text);
  std::vector<std::string> out;
  for (std::string w; in >> w;)
    out.push_back(w);
  return out;
}

// Names that exist here are not in the advice for names from elsewhere, except `var`: the specification wants advice
// for those who mean a variable.
TEST(Names, AreNoHabits) {
  for (const BuiltinDef* b : all_builtins())
    EXPECT_TRUE(advice::habit_hint(b->name).empty() || b->name == "var") << b->name;
}

TEST(Names, OfTheSpecificationExist) {
  eval::Session session;
  auto& globals = session.globals();
  std::vector<std::string> builtins = words(kBuiltinNames);
  EXPECT_EQ(builtins.size(), 117u);
  std::vector<std::string> forms = eval::special_form_names();
  for (const std::string& name : builtins) {
    bool form = std::count(forms.begin(), forms.end(), name) > 0;
    EXPECT_TRUE(find_builtin(name) || form || globals.is_prelude_name(Name(name))) << name;
  }
  for (const std::string& name : words(kLibraryNames))
    EXPECT_TRUE(globals.is_prelude_name(Name(name))) << name;
  for (const std::string& name : words(kMacroNames))
    EXPECT_TRUE(globals.prelude_macros().count(Name(name))) << name;
}

// The words of the programs in test/lang.
std::set<std::string> tested_words() {
  std::set<std::string> out;
  for (const auto& entry : std::filesystem::directory_iterator(std::string(TEST_DIR) + "/../lang")) {
    if (entry.path().extension() != ".cases") continue;
    std::ifstream in(entry.path());
    for (std::string line; std::getline(in, line);) {
      if (line.starts_with("---") || line.starts_with("=>") || line.starts_with("~>") || line.starts_with("!"))
        continue;
      std::string word;
      for (char c : line + " ") {
        if (!std::strchr(" ()[]{}\"'`,", c))
          word += c;
        else if (!word.empty())
          out.insert(std::exchange(word, ""));
      }
    }
  }
  return out;
}

TEST(Names, HaveALanguageTest) {
  std::set<std::string> tested = tested_words();
  auto expect = [&](std::string_view name) {
    EXPECT_TRUE(tested.count(std::string(name))) << name << " is in no program of test/lang";
  };
  for (const BuiltinDef* d : all_builtins())
    if (!d->name.starts_with("%")) expect(d->name);
  for (const std::string& name : eval::special_form_names())
    expect(name);
  eval::Session session;
  for (auto& [name, f] : session.globals().prelude_functions())
    if (!f.own && eval::doc_of(*f.form()).find("Only usable in macros") == std::string::npos) expect(name.str());
  for (auto& [name, macro] : session.globals().prelude_macros())
    expect(name.str());
}

}  // namespace
}  // namespace sheaf::builtins
