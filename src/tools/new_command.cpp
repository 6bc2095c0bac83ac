// `sheaf new KIND NAME`: creates a small project to start from.
#include <fmt/format.h>

#include <filesystem>

#include "formats/files.h"
#include "tools/commands.h"
#include "tools/templates.h"
#include "tools/terminal.h"

namespace sheaf::tools {
namespace {

namespace fs = std::filesystem;

struct ProjectKind {
  std::string_view name, about;
};
constexpr ProjectKind kKinds[] = {
    {"mlp", "A multi-layer perceptron that tells points of two spirals apart, in Sheaf."},
    {"gpt", "A small GPT over characters, in Sheaf. It trains on this file unless it is given another text."},
    {"cnn", "A convolutional network that tells small pictures apart, in Sheaf."},
    {"rnn", "An LSTM that continues waves, in Sheaf."},
};

std::string replaced(std::string text, std::string_view what, std::string_view with) {
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + with.size()))
    text.replace(at, what.size(), with);
  return text;
}

}  // namespace

int run_new(const Options& o) {
  std::string known;
  for (const ProjectKind& k : kKinds)
    known += (known.empty() ? "" : "|") + std::string(k.name);
  if (o.words.size() != 2) throw UsageError("expected sheaf new " + known + " NAME");
  const ProjectKind* kind = nullptr;
  for (const ProjectKind& k : kKinds)
    if (k.name == o.words[0]) kind = &k;
  if (!kind) throw UsageError(fmt::format("there is no kind '{}'; the kinds are {}", o.words[0], known));
  fs::path folder = o.words[1];
  std::error_code error;
  if (fs::exists(folder, error)) throw UsageError(fmt::format("'{}' already exists", folder.string()));
  std::string prefix = std::string(kind->name) + "/", name = folder.filename().string();
  for (const TemplateFile& f : template_files()) {
    std::string path(f.path);
    if (path.starts_with(prefix))
      formats::write_file((folder / path.substr(prefix.size())).string(), f.text, "new");
    else if (path == "README.md")
      formats::write_file((folder / path).string(),
                          replaced(replaced(std::string(f.text), "{NAME}", name), "{ABOUT}", kind->about), "new");
  }
  say(fmt::format("Wrote {0}/. Next: cd {0} && sheaf train.shf", folder.string()));
  return 0;
}

}  // namespace sheaf::tools
