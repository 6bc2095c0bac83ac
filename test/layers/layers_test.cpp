// Which folder of src/ may include which: every #include is checked against the table of docs/design/layers.md.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "ops/table.h"

namespace {

namespace fs = std::filesystem;

// A folder may include itself, the folders here, and what those may include.
const std::map<std::string, std::vector<std::string>> kMayInclude = {
    {"support", {}},
    {"tensor", {"support"}},
    {"advice", {"support"}},
    {"syntax", {"support"}},
    {"text", {"support"}},
    {"tokenizers", {"support"}},
    {"value", {"tensor"}},
    {"formats", {"value", "text"}},
    {"scalar", {"tensor"}},
    {"routines", {"scalar"}},
    {"loop", {"routines"}},
    {"graph", {"tensor"}},
    {"runtime", {"tensor"}},
    {"kernels", {"routines", "runtime"}},
    {"ops", {"graph", "loop"}},
    {"transforms", {"ops"}},
    {"passes/graph", {"ops"}},
    {"passes/loop", {"loop"}},
    {"lower", {"ops"}},
    {"memory", {"graph", "loop", "runtime"}},
    {"codegen/block", {"loop", "kernels"}},
    {"codegen/llvm", {"loop", "kernels"}},
    {"codegen/gpu", {"loop", "runtime"}},
    {"compiler",
     {"transforms", "passes/graph", "passes/loop", "lower", "memory", "codegen/block", "codegen/llvm", "codegen/gpu"}},
    {"trace", {"compiler", "value"}},
    {"builtins/core", {"trace"}},
    {"builtins/arrays", {"builtins/core"}},
    {"builtins/data", {"builtins/arrays", "formats"}},
    {"builtins/host", {"builtins/core", "formats", "tokenizers"}},
    {"builtins", {"builtins/arrays", "builtins/data", "builtins/host"}},
    {"eval", {"builtins", "syntax", "advice"}},
    {"embed", {"eval"}},
    {"tools", {"eval"}},
};

// Headers of other libraries that appear in some layers only.
const std::map<std::string, std::set<std::string>> kForeign = {
    {"llvm/", {"codegen/llvm"}},
    {"cuda", {"runtime"}},
    {"nlohmann/", {"formats", "tokenizers"}},
    {"pcre2", {"tokenizers"}},
};

// The longest folder of the table that contains the path ("scalar/math/x.h" is part of scalar), or "".
std::string layer_of(const std::string& path) {
  std::string best;
  for (const auto& [layer, below] : kMayInclude)
    if (path.starts_with(layer + "/") && layer.size() > best.size()) best = layer;
  return best;
}

std::set<std::string> reachable(const std::string& layer) {
  std::set<std::string> seen{layer};
  for (const std::string& below : kMayInclude.at(layer))
    seen.merge(reachable(below));
  return seen;
}

// Whether a layer can use ops: it has their type, or includes a layer that does.
bool knows_ops(const std::string& layer) { return layer == "graph" || reachable(layer).count("graph"); }

struct Include {
  std::string file, target;
  int line;
  bool quoted;
};

std::vector<Include> includes_of(const fs::path& root) {
  std::vector<Include> out;
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    std::string extension = entry.path().extension().string();
    if (extension != ".h" && extension != ".cpp" && extension != ".in") continue;
    std::ifstream in(entry.path());
    std::string line;
    for (int number = 1; std::getline(in, line); ++number) {
      if (!line.starts_with("#include ")) continue;
      bool quoted = line[9] == '"';
      size_t end = line.find(quoted ? '"' : '>', 10);
      if (end == std::string::npos) continue;  // a macro, in a template for the build
      out.push_back({fs::relative(entry.path(), root).generic_string(), line.substr(10, end - 10), number, quoted});
    }
  }
  return out;
}

// Planning is the same for every device. Only these may depend on the CPU: its back end, its code and its tools; and
// code for a GPU, whose routines without a form for it run on the CPU.
TEST(Layers, OnlyTheBackEndOfAProcessorKnowsIt) {
  fs::path root = fs::path(TEST_DIR) / "../../src";
  for (const Include& i : includes_of(root)) {
    std::string from = layer_of(i.file), to = layer_of(i.target);
    if (from != "compiler" || i.file == "compiler/cpu_backend.cpp" || i.file == "compiler/gpu_kernel.cpp") continue;
    EXPECT_NE(to, "kernels") << i.file << ":" << i.line << " includes \"" << i.target << "\": ask compiler/backend.h";
  }
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    std::string file = fs::relative(entry.path(), root).generic_string(), from = layer_of(file);
    if (!entry.is_regular_file() || file == "compiler/cpu_backend.cpp") continue;
    if (from != "compiler" && from != "memory" && from != "lower" && !from.starts_with("passes/")) continue;
    std::ifstream in(entry.path());
    for (std::string line; std::getline(in, line);)
      EXPECT_EQ(line.find("host_target("), std::string::npos) << file << ": ask Backend::target";
  }
}

// Memory may be a device's. Above runtime all code reads it through views of the host (Tensor::bytes, Buffer::host),
// which fetch it; only code that creates an array on the host writes to it.
TEST(Layers, OnlyMakersOfArraysWriteToMemory) {
  const std::set<std::string> makers = {"builtins/arrays/arrays.cpp",
                                        "builtins/arrays/create.cpp",
                                        "builtins/arrays/gradient.cpp",
                                        "builtins/core/elements.cpp",
                                        "builtins/host/options.cpp",
                                        "builtins/host/raster.cpp",
                                        "compiler/check.cpp",
                                        "builtins/host/token_rows.cpp",
                                        "compiler/eager.cpp",
                                        "compiler/instantiate.cpp",
                                        "eval/vm.cpp",
                                        "formats/csv.cpp",
                                        "formats/json_read.cpp",
                                        "formats/npy.cpp",
                                        "formats/parquet.cpp",
                                        "formats/png.cpp",
                                        "formats/raw_array.cpp",
                                        "formats/state_tree.cpp",
                                        "formats/wav.cpp",
                                        "graph/parse.cpp",
                                        "ops/apply.cpp",
                                        "ops/scan_vjp.cpp",
                                        "trace/size_values.cpp",
                                        "trace/traced.cpp",
                                        "value/equal.cpp"};
  // Files that pass a pointer to code that takes no const pointer.
  const std::set<std::string> casts = {"compiler/eager.cpp", "embed/dlpack.cpp"};
  const std::set<std::string> below = {"support", "tensor",        "scalar",       "routines",   "runtime",
                                       "kernels", "codegen/block", "codegen/llvm", "codegen/gpu"};
  const std::regex writes(R"(\b(host|bytes|data)_mut\b)"), follows(R"((->|\.)address\(\))"),
      cast(R"(const_cast<std::byte\*>)");
  std::set<std::string> used;
  fs::path root = fs::path(TEST_DIR) / "../../src";
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    std::string file = fs::relative(entry.path(), root).generic_string();
    if (!entry.is_regular_file() || below.count(layer_of(file))) continue;
    std::ifstream in(entry.path());
    for (std::string line; std::getline(in, line);) {
      if (std::regex_search(line, writes)) {
        used.insert(file);
        EXPECT_TRUE(makers.count(file)) << file << " writes to memory: " << line;
      }
      EXPECT_FALSE(std::regex_search(line, follows)) << file << " takes an address: " << line;
      EXPECT_TRUE(!std::regex_search(line, cast) || casts.count(file)) << file << ": " << line;
    }
  }
  EXPECT_EQ(used, makers) << "a file of the list writes to no memory any more";
}

TEST(Layers, IncludeOnlyWhatTheyMay) {
  fs::path root = fs::path(TEST_DIR) / "../../src";
  std::vector<Include> all = includes_of(root);
  EXPECT_GT(all.size(), 300u);
  for (const Include& i : all) {
    std::string where = i.file + ":" + std::to_string(i.line);
    std::string from = layer_of(i.file);
    ASSERT_FALSE(from.empty()) << where << " is in no layer of the table";
    if (!i.quoted) {
      for (const auto& [prefix, layers] : kForeign)
        EXPECT_TRUE(!i.target.starts_with(prefix) || layers.count(from)) << where << " includes <" << i.target << ">";
      continue;
    }
    std::string to = layer_of(i.target);
    EXPECT_FALSE(to.empty()) << where << " includes \"" << i.target << "\": write the path from src/";
    EXPECT_TRUE(to.empty() || reachable(from).count(to))
        << where << ": " << from << " may not include " << to << " (" << i.target << ")";
  }
}

TEST(Layers, SourcesIncludeTheirOwnHeaderFirst) {
  fs::path root = fs::path(TEST_DIR) / "../../src";
  std::set<std::string> seen;
  for (const Include& i : includes_of(root)) {
    if (!i.file.ends_with(".cpp") || !seen.insert(i.file).second) continue;
    std::string own = i.file.substr(0, i.file.size() - 4) + ".h";
    EXPECT_TRUE(i.target == own || !fs::exists(root / own)) << i.file;
  }
}

TEST(Layers, HeadersAreGuarded) {
  for (const auto& entry : fs::recursive_directory_iterator(fs::path(TEST_DIR) / "../../src")) {
    if (entry.path().extension() != ".h") continue;
    std::ifstream in(entry.path());
    std::string text{std::istreambuf_iterator<char>(in), {}};
    bool guarded =
        text.find("#pragma once") != std::string::npos || text.find("included once per") != std::string::npos;
    EXPECT_TRUE(guarded) << entry.path();
    EXPECT_EQ(text.find("using namespace"), std::string::npos) << entry.path();
    EXPECT_TRUE(text.starts_with("//")) << entry.path() << " does not say what it is for";
  }
}

// A fact about an op is a field of its entry. Code that compares a name, or looks up the entry of a name, depends on a
// fact that is not in the entry; only the ops themselves and the passes, which relate ops, may.
TEST(Layers, CompareNoOpNames) {
  std::string names;
  for (const sheaf::ops::OpDef* d : sheaf::ops::all_ops())
    names += (names.empty() ? "" : "|") + std::string(d->name);
  const std::regex by_name(R"(\bop(_name|(\(\))?(->|\.)name)?\s*[!=]=\s*")"), by_entry(R"([!=]=\s*&?(ops::)?op\(")"),
      by_pointer(R"((->|\.)op\s*[!=]=\s*(?!nullptr)(\w+(->|\.))*(\w+)[^\w:.>-])"),
      by_literal("[!=]=\\s*\"(" + names + ")\"");
  // Elsewhere a string of this kind is a name of the language, an option or a routine.
  const std::set<std::string> kOpNamesOnly = {"graph", "transforms", "lower", "memory", "compiler", "trace"};
  auto compares = [&](const std::string& line, bool any_literal) {
    if (line.find("==") == std::string::npos && line.find("!=") == std::string::npos) return false;
    std::smatch m;
    return std::regex_search(line, by_name) || std::regex_search(line, by_entry) ||
           (std::regex_search(line, m, by_pointer) && m[4] != "op") ||
           (any_literal && std::regex_search(line, by_literal));
  };
  for (const char* bad : {R"(if (n->op->name == "dot"))", R"(op != "add" &&)", R"(n->op == &ops::op("dot") &&)",
                          "return n.op == sizes_op;"})
    EXPECT_TRUE(compares(bad, false)) << bad;
  EXPECT_TRUE(compares(R"(name == "concat")", true));
  EXPECT_FALSE(compares("return a.op == b.op && a.attrs == b.attrs;", true));
  fs::path root = fs::path(TEST_DIR) / "../../src";
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    std::string extension = entry.path().extension().string();
    if (extension != ".h" && extension != ".cpp") continue;
    std::string file = fs::relative(entry.path(), root).generic_string(), layer = layer_of(file);
    if (layer == "ops" || layer.starts_with("passes/") || !knows_ops(layer)) continue;
    std::ifstream in(entry.path());
    std::string line;
    for (int number = 1; std::getline(in, line); ++number)
      EXPECT_FALSE(compares(line, kOpNamesOnly.count(layer) > 0)) << file << ":" << number << ": " << line;
  }
}

TEST(Layers, FoldersHaveAReadme) {
  for (const auto& [layer, below] : kMayInclude) {
    fs::path folder = fs::path(TEST_DIR) / "../../src" / layer;
    EXPECT_TRUE(!fs::exists(folder) || fs::exists(folder / "README.md")) << layer;
  }
}

}  // namespace
