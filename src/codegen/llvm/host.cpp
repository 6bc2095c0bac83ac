// Identifies this processor and this LLVM version, as part of the key of cached code. Does not use LLVM, so that a
// start that finds its code on disk does not initialise it.
#include <sys/auxv.h>

#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include "codegen/llvm/native.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace sheaf::codegen {
namespace {

#if defined(__x86_64__)
std::string processor() {
  std::ostringstream out;
  out << "x86-64" << std::hex;
  // CPUID leaves: family and model; features; extended features, two leaves; AVX10 and AMX. Below: the register state
  // that the system saves.
  constexpr unsigned leaves[][2] = {{1, 0},    {7, 0},    {7, 1},    {0x14, 0},
                                    {0x19, 0}, {0x1e, 0}, {0x24, 0}, {0x80000001, 0}};
  for (auto [leaf, sub] : leaves) {
    unsigned a = 0, b = 0, c = 0, d = 0;
    __get_cpuid_count(leaf, sub, &a, &b, &c, &d);
    if (leaf == 1) b &= 0xffff;  // the high bits identify the core that ran cpuid
    out << ' ' << a << ',' << b << ',' << c << ',' << d;
  }
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid(1, &a, &b, &c, &d) && (c & bit_OSXSAVE)) {
    unsigned low, high;
    asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    out << " saves " << low;
  }
  return out.str();
}
#else
std::string processor() {
  std::ostringstream out;
  out << "aarch64" << std::hex << ' ' << getauxval(AT_HWCAP) << ' ' << getauxval(AT_HWCAP2);
  // LLVM identifies a processor by these lines; a machine may have several kinds of cores.
  std::set<std::string> kinds;
  std::ifstream in("/proc/cpuinfo");
  std::string kind;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("CPU implementer")) kind.clear();
    if (!line.starts_with("CPU implementer") && !line.starts_with("CPU variant") && !line.starts_with("CPU part"))
      continue;
    kind += line.substr(line.find(':') + 1);
    if (line.starts_with("CPU part")) kinds.insert(kind);
  }
  for (const std::string& k : kinds)
    out << k;
  return out.str();
}
#endif

}  // namespace

const std::string& native_target() {
  static const auto* text = new std::string("LLVM " SHEAF_LLVM_VERSION " " + processor());
  return *text;
}

}  // namespace sheaf::codegen
