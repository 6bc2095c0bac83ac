#include "kernels/machine.h"

#include <unistd.h>

#include <cstdint>
#include <fstream>
#include <string>

namespace sheaf::kernels {
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

int64_t asked_second_level_cache() {
  if (int64_t told = sysconf(_SC_LEVEL2_CACHE_SIZE); told > 0) return told;
  const std::string caches = "/sys/devices/system/cpu/cpu0/cache/index";
  for (int i = 0;; ++i) {
    std::ifstream level(caches + std::to_string(i) + "/level"), size(caches + std::to_string(i) + "/size");
    int number = 0;
    int64_t kilobytes = 0;  // "1024K"
    if (!(level >> number) || !(size >> kilobytes)) return 512 << 10;
    if (number == 2) return kilobytes << 10;
  }
}

}  // namespace

int64_t second_level_cache() {
  static const int64_t bytes = asked_second_level_cache();
  return bytes;
}

bool reads_one_stream_best() { return neoverse_n1(); }

bool likes_asking_early() {
#if defined(__aarch64__)
  return neoverse_n1();
#else
  return true;
#endif
}

}  // namespace sheaf::kernels
