// A target: facts about a processor or device that decide which code is generated and which algorithm is chosen. The
// host is one target. A target is immutable; any thread may read it.
#pragma once
#include <cstdint>
#include <string_view>

namespace sheaf::runtime {

// The kind of device that code is compiled for. Part of the key of every cache (kernels, compiled functions), so that
// devices never share code. A back end for another device adds itself here.
enum class TargetId : uint8_t { Cpu, Sim, Cuda };

struct Target {
  TargetId id = TargetId::Cpu;
  enum class Kind : uint8_t { Portable, Neon, Avx2, Avx512 };
  Kind kind = Kind::Portable;
  std::string_view name = "portable";
  int64_t vector_bytes = 16;

  // The only facts that result bits depend on: sums of bf16 products are defined by the instructions that compute them
  // (scalar/bf16_dot.h); products of many rows with quantized weights have the bits of few rows where that is faster.
  bool bf16_dot = false;  // instructions that add two products of bf16 to an f32 (bfmmla, vdpbf16ps)
  bool amx = false;       // matrix units of x86-64, with permission of the operating system to use them
  bool amx_int8 = false;  // matrix units that multiply bytes
  bool vnni = false;      // dot-product instructions on bytes of x86-64 (vpdpbusd), only with AVX-512
  // True if products of many rows by quantized weights multiply bytes.
  bool multiplies_bytes() const { return amx_int8 || vnni; }
  // A GPU's matrix units (tensor cores) for bf16 and f16; no definition states the last bits of their results.
  bool matrix_units = false;
  // The reason if a processor has matrix units but cannot use them; else empty.
  std::string_view amx_refused;

  // Bytes of a core's L2 cache, or a guess if the system does not report it.
  int64_t l2_bytes = 512 << 10;

  // Facts that feature bits do not report:
  // A core reads memory fastest in one sequential stream. Other cores are faster with several distant streams
  // (bench_peak: a Neoverse-V1 55 GB/s with one stream for each of two cores, 75 with four; a Neoverse-N1 39 and 27).
  bool reads_one_stream_best = false;
  // GEMM tiles should prefetch the lines of C that they will write, and rows of B eight steps ahead (bench_gemm: a
  // Neoverse-N1 is 5 % faster with it, a Neoverse-V1 2 to 4 % slower: its stores do not stall).
  bool prefetches_early = true;

  // GEMM tiles that read a transposed A in place (column by column) are so much slower than tiles on packed operands
  // that packing A pays earlier (bench_gemm: 1.1 to 1.7 times faster on a Cascade Lake; slower on a Zen 5).
  bool packs_transposed_early = false;

  // Arrays of at least this many bytes, which the caches will not hold for their reader, are written with streaming
  // stores; 0: none. Measured on an Intel processor with 2 MB of L2 (performance log): a sum of two arrays is faster
  // from 40 MB on, together with its reader from 64 MB on.
  int64_t bypass_bytes = 0;

  // Offsets of arrays in a plan's scratch memory are multiples of this.
  int64_t alignment_bytes = 64;

  // Upper bounds for one fused kernel: more arrays gain nothing and cost address registers (bench_kernels).
  int64_t max_fused_ops = 48, max_fused_arrays = 14;
  // The number of ops that are recomputed instead of stored and loaded (passes::FusionLimits). A GPU evaluates a dozen
  // polynomials in the time of one load.
  int64_t max_recomputed_ops = 1;
  // Least number of elements of an operand or result of a product for which fusing its producer or consumer pays. A
  // smaller array stays in a cache between two kernels (bench models).
  int64_t min_fused_product_elements = 1 << 18;
};

// False: no code uses instructions that change the bits of products of narrow floats, so that results are equal on all
// processors and devices. Set before anything is compiled (--disable=matrix-units).
extern bool g_matrix_units;

// False: all products run in kernels of this program, even if a device library is faster (--disable=library-products).
// Set before anything is compiled.
extern bool g_library_products;

// The processor that this program runs on.
const Target& host_target();

}  // namespace sheaf::runtime
