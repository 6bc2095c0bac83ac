#include "ops/table.h"

#include <unordered_map>

#include "ops/float_functions.h"
#include "support/error.h"

namespace sheaf::ops {
namespace {

struct Table {
  std::vector<const OpDef*> list;
  std::unordered_map<std::string_view, const OpDef*> by_name;
  Table() {
    for (auto family :
         {elementwise_ops(), float_parts_ops(), math_ops(),      powers_ops(),    special_ops(),  bessel_ops(),
          complex_ops(),     reduce_ops(),      movement_ops(),  gather_ops(),    contract_ops(), quantized_ops(),
          grouped_ops(),     attention_ops(),   ordered_ops(),   decompose_ops(), fourier_ops(),  create_ops(),
          window_ops(),      random_ops(),      structure_ops(), control_ops(),   scan_ops(),     while_ops()})
      for (const OpDef& d : family) {
        list.push_back(&d);
        INVARIANT(by_name.emplace(d.name, &d).second, "op " << d.name << " is defined twice");
      }
  }
};

const Table& table() {
  static const auto* t = new Table;
  return *t;
}

}  // namespace

const std::vector<const OpDef*>& all_ops() { return table().list; }

const OpDef& op(std::string_view name) {
  auto it = table().by_name.find(name);
  INVARIANT(it != table().by_name.end(), "no op named " << name);
  return *it->second;
}

}  // namespace sheaf::ops
