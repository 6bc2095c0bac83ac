// `sheaf init-ai`: a primer and the lists of all names, for coding assistants.
#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "tools/commands.h"
#include "tools/primer.h"
#include "tools/reference.h"
#include "tools/terminal.h"

namespace sheaf::tools {
namespace {

constexpr const char* kPath = "sheaf-context.md";

std::string context_text() {
  eval::Session session;
  std::string out = kPrimer;
  out += "## Everything there is\n\nSignatures by topic; `sheaf doc NAME` says more.\n";
  std::string category;
  for (const DocEntry& e : reference_entries(session)) {
    if (e.category != category) out += fmt::format("\n### {}\n\n", category = e.category);
    std::string first = e.text.substr(0, e.text.find(". ") + 1);
    std::string text = first.empty() ? e.text : first;
    for (char& c : text)
      if (c == '\n') c = ' ';
    out += fmt::format("- `{}` {}\n", e.signature, text);
  }
  return out;
}

}  // namespace

int run_init_ai(const Options&) {
  std::error_code ec;
  if (std::filesystem::exists(kPath, ec)) {
    std::fprintf(stderr, "%s already exists: overwrite? [y/N] ", kPath);
    std::fflush(stderr);
    std::string answer;
    std::getline(std::cin, answer);
    if (answer != "y" && answer != "Y") {
      say("Aborted.");
      return 0;
    }
  }
  std::string text = context_text();
  std::ofstream out(kPath, std::ios::binary | std::ios::trunc);
  out << text;
  out.close();
  if (!out) throw UsageError(fmt::format("cannot write '{}': {}", kPath, std::strerror(errno)));
  say(fmt::format("Wrote {} ({} bytes).\nGive it to your coding assistant as context when it writes Sheaf.", kPath,
                  text.size()));
  return 0;
}

}  // namespace sheaf::tools
