#include "codegen/block/machine.h"

#include <cstdint>
#include <fstream>

namespace sheaf::codegen::block {
namespace {

// Implementer and part of the first core, 0 where they are not known.
uint32_t core_kind() {
#if defined(__aarch64__)
  std::ifstream file("/sys/devices/system/cpu/cpu0/regs/identification/midr_el1");
  uint64_t id = 0;
  if (file >> std::hex >> id) return static_cast<uint32_t>(id & 0xff00fff0);
#endif
  return 0;
}

}  // namespace

bool reads_one_stream_best() {
  constexpr uint32_t kNeoverseN1 = 0x4100d0c0;
  static const bool one = core_kind() == kNeoverseN1;
  return one;
}

}  // namespace sheaf::codegen::block
