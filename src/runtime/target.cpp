#include "runtime/target.h"

#include <unistd.h>

#include <fstream>
#include <string>

#if defined(__aarch64__)
#include <sys/auxv.h>
#ifndef HWCAP2_BF16
#define HWCAP2_BF16 (1 << 14)
#endif
#endif

namespace sheaf::runtime {
namespace {

#if defined(__aarch64__)
// Implementer and part of the first core, 0 where they are not known.
uint32_t core_kind() {
  std::ifstream file("/sys/devices/system/cpu/cpu0/regs/identification/midr_el1");
  uint64_t id = 0;
  if (file >> std::hex >> id) return static_cast<uint32_t>(id & 0xff00fff0);
  return 0;
}
#endif

int64_t l2_bytes(int64_t otherwise) {
  if (int64_t told = sysconf(_SC_LEVEL2_CACHE_SIZE); told > 0) return told;
  const std::string caches = "/sys/devices/system/cpu/cpu0/cache/index";
  for (int i = 0;; ++i) {
    std::ifstream level(caches + std::to_string(i) + "/level"), size(caches + std::to_string(i) + "/size");
    int number = 0;
    int64_t kilobytes = 0;  // "1024K"
    if (!(level >> number) || !(size >> kilobytes)) return otherwise;
    if (number == 2) return kilobytes << 10;
  }
}

Target detect() {
  Target t;
  t.l2_bytes = l2_bytes(t.l2_bytes);
#if defined(__aarch64__)
  t.kind = Target::Kind::Neon;
  t.name = "neon";
  t.bf16_dot = (getauxval(AT_HWCAP2) & HWCAP2_BF16) != 0;
  const bool neoverse_n1 = core_kind() == 0x4100d0c0;
  t.reads_one_stream_best = t.prefetches_early = neoverse_n1;
#elif defined(__x86_64__)
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c");
  if (avx2) t.kind = Target::Kind::Avx2, t.name = "avx2", t.vector_bytes = 32;
  if (avx2 && __builtin_cpu_supports("avx512f")) t.kind = Target::Kind::Avx512, t.name = "avx512", t.vector_bytes = 64;
  t.bf16_dot = __builtin_cpu_supports("avx512bf16") && __builtin_cpu_supports("avx512bw");
#endif
  return t;
}

}  // namespace

const Target& host_target() {
  static const Target target = detect();
  return target;
}

}  // namespace sheaf::runtime
