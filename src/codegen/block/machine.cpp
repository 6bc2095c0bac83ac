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

bool neoverse_n1() {
  static const bool is = core_kind() == 0x4100d0c0;
  return is;
}

}  // namespace

bool reads_one_stream_best() { return neoverse_n1(); }

bool likes_asking_early() {
#if defined(__aarch64__)
  return neoverse_n1();
#else
  return true;
#endif
}

}  // namespace sheaf::codegen::block
