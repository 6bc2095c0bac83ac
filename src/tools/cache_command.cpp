// `sheaf cache`: lists the disk cache of compiled code.
#include <fmt/chrono.h>
#include <fmt/format.h>

#include "builtins/host/output.h"
#include "compiler/code_store.h"
#include "tools/commands.h"

namespace sheaf::tools {
namespace {

std::string size_text(uint64_t bytes) {
  return bytes < 1 << 20 ? fmt::format("{:.1f} KB", bytes / 1024.0) : fmt::format("{:.1f} MB", bytes / 1048576.0);
}

std::string list_text() {
  std::string out;
  uint64_t total = 0;
  auto files = compiler::stored_code();
  for (const auto& f : files) {
    total += f.bytes;
    out +=
        fmt::format("{:%Y-%m-%d %H:%M} {:>10}  {}{}\n", fmt::localtime(f.last_use), size_text(f.bytes),
                    f.label.empty() ? f.file : f.label, f.problem.empty() ? "" : "  (not usable: " + f.problem + ")");
  }
  return out + fmt::format("{} kernels, {} in {}\n", files.size(), size_text(total), compiler::code_folder().string());
}

std::string explain_text() {
  std::string out = fmt::format(
      "folder:  {}\nlimit:   {}, what was used longest ago goes first\nkey:     text of the kernel, strides that are 0 "
      "or 1, and: {}\n",
      compiler::code_folder().string(), size_text(compiler::kDefaultFolderBytes), compiler::compiler_identity());
  size_t usable = 0;
  auto files = compiler::stored_code();
  for (const auto& f : files)
    usable += f.problem.empty();
  out += fmt::format("files:   {}, of which {} usable by this program\n", files.size(), usable);
  for (const auto& f : files) {
    out +=
        fmt::format("{}  {}: {}\n", f.file, f.label.empty() ? "?" : f.label, f.problem.empty() ? "usable" : f.problem);
    if (f.problem.starts_with("made by")) out += fmt::format("  made by: {}\n", f.identity);
  }
  return out;
}

}  // namespace

int run_cache(const Options& o) {
  std::string what = o.words.empty() ? "" : o.words[0];
  if (o.words.size() != 1 || (what != "list" && what != "explain" && what != "clear"))
    throw UsageError("cache requires one of list, explain, clear");
  std::string out = what == "list"      ? list_text()
                    : what == "explain" ? explain_text()
                                        : fmt::format("removed {} kernels\n", compiler::clear_stored_code());
  builtins::write_out(out);
  builtins::flush_out();
  return 0;
}

}  // namespace sheaf::tools
