#include "runtime/target.h"

#include <unistd.h>

#include <fstream>
#include <string>

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#elif defined(__aarch64__)
#include <sys/auxv.h>
#ifndef HWCAP2_BF16
#define HWCAP2_BF16 (1 << 14)
#endif
#endif

namespace sheaf::runtime {
namespace {

#if defined(__aarch64__)
// Implementer and part number (MIDR) of the first core; 0 if unknown.
uint32_t core_kind() {
  std::ifstream file("/sys/devices/system/cpu/cpu0/regs/identification/midr_el1");
  uint64_t id = 0;
  if (file >> std::hex >> id) return static_cast<uint32_t>(id & 0xff00fff0);
  return 0;
}
#endif

#if defined(__x86_64__)
constexpr unsigned kAmxBf16 = 1u << 22, kAmxTiles = 1u << 24, kAmxInt8 = 1u << 25;
// Feature bits of the matrix unit.
unsigned matrix_unit() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) ? d & (kAmxBf16 | kAmxTiles | kAmxInt8) : 0;
}

// Requests permission to use tile registers: the operating system saves them, 8 KB for each thread, only on request. It
// refuses if a signal stack is too small to hold them, and does not support the request before Linux 5.16.
bool may_use_tiles() {
  constexpr long kRequest = 0x1023, kTileData = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  return syscall(SYS_arch_prctl, kRequest, kTileData) == 0;
}

bool is_intel() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(0, &a, &b, &c, &d) && b == signature_INTEL_ebx;
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
  if (t.kind == Target::Kind::Avx512 && is_intel()) t.bypass_bytes = 48 << 20;
  t.packs_transposed_early = t.kind == Target::Kind::Avx512 && is_intel();
  t.vnni = t.kind == Target::Kind::Avx512 && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vnni");
  const bool bf16 = __builtin_cpu_supports("avx512bf16") && __builtin_cpu_supports("avx512bw");
  const unsigned unit = matrix_unit();
  if (bf16 && (unit & kAmxBf16) && (unit & kAmxTiles)) {
    t.amx = may_use_tiles();
    t.amx_int8 = t.amx && (unit & kAmxInt8);
    if (!t.amx) t.amx_refused = "the operating system does not let this program use the matrix units (AMX)";
  }
  // On Intel processors vdpbf16ps is slower than widening to f32 (bench_gemm: 172 against 275 GFLOP/s); a GEMV is bound
  // by memory either way.
  t.bf16_dot = bf16 && (t.amx || !is_intel());
#endif
  return t;
}

}  // namespace

bool g_matrix_units = true;
bool g_library_products = true;

const Target& host_target() {
  static const Target target = detect();
  return target;
}

}  // namespace sheaf::runtime
