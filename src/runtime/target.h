// What kernels are compiled for and run on: facts that decide which code is made and which algorithm is chosen. The
// host is one target. A target is immutable; any thread may read it.
#pragma once
#include <cstdint>
#include <string_view>

namespace sheaf::runtime {

// Which device code is made for: part of the key of everything that is kept once made (kernels, compiled functions), so
// that devices never find each other's code. A back end for another device adds itself here.
enum class TargetId : uint8_t { Cpu, Sim, Cuda };

struct Target {
  TargetId id = TargetId::Cpu;
  enum class Kind : uint8_t { Portable, Neon, Avx2, Avx512 };
  Kind kind = Kind::Portable;
  std::string_view name = "portable";
  int64_t vector_bytes = 16;

  // These decide bits, and no other fact does: sums of products of bf16 are defined by the instructions that form them
  // (scalar/bf16_dot.h); products of many rows with quantized weights are those of few rows where that is faster.
  bool bf16_dot = false;  // instructions that add two products of bf16 to an f32 (bfmmla, vdpbf16ps)
  bool amx = false;       // matrix units of x86-64, with permission of the operating system to use them
  bool amx_int8 = false;  // such units that multiply bytes
  bool vnni = false;      // instructions for vectors of bytes of x86-64 (vpdpbusd), AVX-512 alone
  // Products of many rows by quantized weights run on bytes.
  bool multiplies_bytes() const { return amx_int8 || vnni; }
  // A GPU's units for products of bf16 and f16, in whose results no definition states the last bits.
  bool matrix_units = false;
  // Why a processor with matrix units runs without them; else empty.
  std::string_view amx_refused;

  // Bytes of a core's second-level cache, or a guess where the system does not tell.
  int64_t l2_bytes = 512 << 10;

  // What feature bits do not report:
  // A core reads memory fastest in one stream. Others follow several streams, far apart, faster (bench_peak: a
  // Neoverse-V1 55 GB/s with one for each of two cores, 75 with four; a Neoverse-N1 39 and 27).
  bool reads_one_stream_best = false;
  // GEMM tiles should prefetch the lines of C that they will write, and rows of B eight steps ahead (bench_gemm: a
  // Neoverse-N1 is 5 % faster with it, a Neoverse-V1 2 to 4 % slower: it writes without waiting).
  bool prefetches_early = true;

  // GEMM tiles that read columns of a transposed A in place are so much slower than those over packed operands that A
  // is packed sooner (bench_gemm: 1.1 to 1.7 times on a Cascade Lake; a Zen 5 was the other way).
  bool packs_transposed_early = false;

  // An array of so many bytes and more, that the caches will not hold for its reader, is written past them; 0 for none.
  // Measured on an Intel processor with 2 MB of second-level cache (performance log): a sum of two arrays is faster
  // from 40 MB on, with its reader from 64 MB on.
  int64_t bypass_bytes = 0;

  // Offsets of arrays in a plan's scratch memory are multiples of this.
  int64_t alignment_bytes = 64;

  // What one fused kernel holds at most: more arrays gain nothing and cost address registers (bench_kernels).
  int64_t max_fused_ops = 48, max_fused_arrays = 14;
  // Ops that are computed again rather than stored and read (passes::FusionLimits). A GPU evaluates a dozen polynomials
  // while it waits for one element.
  int64_t max_recomputed_ops = 1;
  // Elements of a factor or a result of a product from which on fusing what makes or reads it pays. A smaller one stays
  // in a cache between two kernels (bench models).
  int64_t min_fused_product_elements = 1 << 18;
};

// False: nothing uses instructions that decide the bits of products of narrow numbers, so that these are the same on
// every processor and every device. Set before anything is compiled (--disable=matrix-units).
extern bool g_matrix_units;

// False: all products run in kernels of this program, though a library of the device may be faster
// (--disable=library-products). Set before anything is compiled.
extern bool g_library_products;

// The processor that this program runs on.
const Target& host_target();

}  // namespace sheaf::runtime
