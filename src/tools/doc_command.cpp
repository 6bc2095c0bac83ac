// `sheaf doc`: one entry, or the whole reference as Markdown pages.
#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>

#include "builtins/host/output.h"
#include "tools/commands.h"
#include "tools/reference.h"
#include "tools/terminal.h"

namespace sheaf::tools {
namespace {

std::string page_name(const std::string& category) {
  std::string out;
  for (char c : category) {
    if (std::isalnum(static_cast<unsigned char>(c)))
      out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    else if (!out.empty() && out.back() != '-')
      out += '-';
  }
  return out + ".md";
}

std::string page(const std::string& category, const std::vector<const DocEntry*>& entries) {
  std::string out = fmt::format("# {}\n", category);
  for (const DocEntry* e : entries) {
    out += fmt::format("\n## {}\n\n`{}` — {}\n", e->name, e->signature, e->type);
    if (!e->text.empty()) out += "\n" + e->text + "\n";
    if (e->examples.empty()) continue;
    out += "\n```clojure\n";
    for (const DocExample& x : e->examples) {
      out += x.code;
      if (!x.mark.empty()) {
        bool own_line = x.code.find('\n') != std::string::npos || x.result.find('\n') != std::string::npos;
        out += fmt::format("{}; {} ", own_line ? "\n" : "  ", x.mark);
        for (char c : x.result)
          out += c == '\n' ? std::string("\n;    ") : std::string(1, c);
      }
      out += "\n";
    }
    out += "```\n";
  }
  return out;
}

void write_file(const std::filesystem::path& path, const std::string& text) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out << text;
  out.close();
  if (!out) throw UsageError(fmt::format("cannot write '{}': {}", path.string(), std::strerror(errno)));
}

int write_pages(const std::string& dir) {
  eval::Session session;
  std::vector<DocEntry> entries = reference_entries(session);
  std::map<std::string, std::vector<const DocEntry*>> pages;
  for (const DocEntry& e : entries)
    pages[e.category].push_back(&e);
  std::error_code ec;
  std::filesystem::create_directories(dir, ec);
  std::string index = "# Reference\n\nMade by `sheaf doc --write`; do not edit.\n";
  for (const auto& [category, list] : pages) {
    write_file(std::filesystem::path(dir) / page_name(category), page(category, list));
    index += fmt::format("\n- [{}]({}):", category, page_name(category));
    for (const DocEntry* e : list)
      index += fmt::format(" `{}`", e->name);
  }
  write_file(std::filesystem::path(dir) / "README.md", index + "\n");
  builtins::write_out(fmt::format("wrote {} entries on {} pages to {}\n", entries.size(), pages.size(), dir));
  builtins::flush_out();
  return 0;
}

}  // namespace

int run_doc(const Options& o) {
  if (o.words.empty()) throw UsageError("doc requires a name, --write DIR or --check");
  if (o.words[0] == "--check") return check_examples(o.words.size() > 1 ? o.words[1] : "");
  if (o.words[0] == "--write") {
    if (o.words.size() != 2) throw UsageError("doc --write requires a directory");
    return write_pages(o.words[1]);
  }
  eval::Session session;
  int status = 0;
  for (const std::string& name : o.words) {
    if (auto e = find_entry(session, name)) {
      builtins::write_out(entry_text(*e));
    } else {
      say(no_entry_text(session, name));
      status = 1;
    }
  }
  builtins::flush_out();
  return status;
}

}  // namespace sheaf::tools
