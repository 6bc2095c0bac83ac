// Independent launches of one kernel become one launch over a table of their arrays: an optimizer's steps for many
// parameters, say.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/plan.h"

namespace sheaf::compiler {

struct TableMaker {
  // What launches have to agree in to be entries of one table, and how many of them it holds at most; none: a launch
  // of its own.
  struct Kind {
    std::string text;
    size_t most = 0;
  };
  std::function<std::optional<Kind>(const runtime::Launch& l)> kind;
  // Code of a launch whose buffers and sizes are those of `count` launches like `one`.
  std::function<std::shared_ptr<const runtime::Code>(const runtime::Launch& one, size_t count)> code;
};

// Each table stands where the last of its launches stood: nothing between them reads what they write or writes what
// they touch. Checks and host calls keep their order.
void make_tables(runtime::Plan& plan, const TableMaker& maker);

}  // namespace sheaf::compiler
