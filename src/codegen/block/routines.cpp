#include "codegen/block/attention.h"
#include "codegen/block/block.h"
#include "codegen/block/contract.h"
#include "codegen/block/grouped.h"
#include "codegen/block/ordered.h"
#include "codegen/block/quantized.h"

namespace sheaf::codegen {

loop::Routine find_fast_routine(std::string_view name) {
  if (name == "contract") return block::contract;
  if (name == "contract_groups") return block::contract_groups;
  if (name == "contract_quantized") return block::contract_quantized;
  if (name == "attention") return block::attention;
  if (name == "attention_vjp") return block::attention_vjp;
  if (name == "sort") return block::sort;
  if (name == "cumulate") return block::cumulate;
  return loop::find_routine(name);
}

}  // namespace sheaf::codegen
