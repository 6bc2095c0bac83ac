// The files that `sheaf new` writes (lib/templates), embedded in the program.
#pragma once
#include <span>
#include <string_view>

namespace sheaf::tools {

struct TemplateFile {
  std::string_view path;  // "mlp/model.shf"; "README.md" is common to all
  std::string_view text;
};
std::span<const TemplateFile> template_files();

}  // namespace sheaf::tools
