// Merges independent launches of one kernel into one launch over a table of their arrays: an optimizer's updates of
// many parameters, say.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/plan.h"

namespace sheaf::compiler {

struct TableMaker {
  // Launches with equal `text` can be entries of one table, which holds at most `most`. None: the launch stays alone.
  struct Kind {
    std::string text;
    size_t most = 0;
  };
  std::function<std::optional<Kind>(const runtime::Launch& l)> kind;
  // Code for a launch whose buffers and sizes are those of `count` launches like `one`, concatenated.
  std::function<std::shared_ptr<const runtime::Code>(const runtime::Launch& one, size_t count)> code;
};

// Each table takes the place of the last of its launches. A launch joins only if no step in between reads what the
// table's launches write or writes what they read or write. Checks and host calls keep their order.
void make_tables(runtime::Plan& plan, const TableMaker& maker);

}  // namespace sheaf::compiler
