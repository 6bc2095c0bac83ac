#include "codegen/gpu/dialect.h"

namespace sheaf::codegen::gpu {
namespace {

// The lock is taken on the failing path only. Threads of one warp may wait for each other in it, which needs the
// independent thread scheduling of sm_70 and later.
constexpr std::string_view kCudaFailedCheck = R"(struct CheckRecord {
  int lock, failed, step, site;
  long long index, payload;
};

// Keeps the first failure: the lowest step, and in it the lowest index.
__device__ inline void fail_check(CheckRecord* record, int step, long long index, int site, long long payload) {
  while (atomicCAS(&record->lock, 0, 1) != 0) {
  }
  __threadfence();
  volatile CheckRecord* r = record;
  if (!r->failed || step < r->step || (step == r->step && index < r->index)) {
    r->failed = 1;
    r->step = step;
    r->site = site;
    r->index = index;
    r->payload = payload;
  }
  __threadfence();
  atomicExch(&record->lock, 0);
}
)";

// A C++ compiler that has no such instructions brings functions of its own, in tests.
constexpr std::string_view kCudaMatrixUnits = R"(#ifdef __CUDACC__
// Copies BYTES to memory of the block in the background; those from `bytes` on become zeros without being read.
template <int BYTES>
__device__ inline void copy_async(void* to, const void* from, int bytes) {
  const unsigned address = (unsigned)__cvta_generic_to_shared(to);
  const unsigned long long source = __cvta_generic_to_global(from);
  if (BYTES == 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(address), "l"(source), "r"(bytes) : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(address), "l"(source), "n"(BYTES), "r"(bytes)
                 : "memory");
}
// The copies since the last call are a group.
__device__ inline void commit_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
// All groups of this thread but the last GROUPS are complete.
template <int GROUPS>
__device__ inline void wait_for_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(GROUPS) : "memory");
}
// Four matrices of 8 by 8 elements of 16 bits; threads 8 i to 8 i + 7 name the lines of matrix i. Thread t gets
// elements 2 (t % 4) and the next one of line t / 4 of each; transposed: of column t / 4.
__device__ inline void load_matrices(unsigned (&x)[4], const unsigned short* line) {
  const unsigned address = (unsigned)__cvta_generic_to_shared(line);
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
               : "r"(address)
               : "memory");
}
__device__ inline void load_matrices_transposed(unsigned (&x)[4], const unsigned short* line) {
  const unsigned address = (unsigned)__cvta_generic_to_shared(line);
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
               : "r"(address)
               : "memory");
}
// Adds a product of 16 by 16 and 16 by 8 elements to 16 by 8 sums. Thread t has of the sums elements 2 (t % 4) and the
// next one of rows t / 4 and t / 4 + 8.
__device__ inline void multiply_bf16(float (&sum)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
__device__ inline void multiply_f16(float (&sum)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
// Two numbers of 16 bits, the first one in the lower half.
__device__ inline unsigned pack_bf16(float x, float y) {
  unsigned both;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(y), "f"(x));
  return both;
}
__device__ inline unsigned pack_f16(float x, float y) {
  unsigned both;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(y), "f"(x));
  return both;
}
__device__ inline float power_of_two(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
#endif
)";

constexpr Dialect kCuda{
    .name = "cuda",
    .kernel = "extern \"C\" __global__ void",
    .function = "__device__ inline",
    .global = "",
    .shared = "__shared__ ",
    .launch_bounds = "__launch_bounds__({0}, {1})",
    .unroll = "#pragma unroll",
    .unroll_times = "#pragma unroll {0}",
    .block_barrier = "__syncthreads();",
    .warp_barrier = "__syncwarp();",
    .shuffle_down = "__shfl_down_sync(0xffffffffu, {0}, {1})",
    .broadcast = "__shfl_sync(0xffffffffu, {0}, 0)",
    .shuffle_xor = "__shfl_xor_sync(0xffffffffu, {0}, {1})",
    .ballot = "__ballot_sync(0xffffffffu, {0})",
    .count_bits = "__popc({0})",
    .atomic_add = "atomicAdd({0}, {1})",
    .dot_bytes = "__dp4a({0}, {1}, {2})",
    .by_value = "__grid_constant__ ",
    .thread = "(int)threadIdx.x",
    .block = "(int)blockIdx.x",
    .num_blocks = "(int)gridDim.x",
    .f32 = {"__fadd_rn({0}, {1})", "__fsub_rn({0}, {1})", "__fmul_rn({0}, {1})", "__fdiv_rn({0}, {1})",
            "__fmaf_rn({0}, {1}, {2})", "__fsqrt_rn({0})", "floorf({0})", "ceilf({0})", "truncf({0})", "rintf({0})",
            "fabsf({0})", "__int_as_float({0})"},
    .f64 = {"__dadd_rn({0}, {1})", "__dsub_rn({0}, {1})", "__dmul_rn({0}, {1})", "__ddiv_rn({0}, {1})",
            "__fma_rn({0}, {1}, {2})", "__dsqrt_rn({0})", "floor({0})", "ceil({0})", "trunc({0})", "rint({0})",
            "fabs({0})", "__longlong_as_double({0})"},
    .pack = "struct alignas({3}) {0} {{\n  {1} e[{2}];\n}};\n",
    .by_instruction =
        "#if defined(__CUDACC__) && __CUDA_ARCH__ >= 800\n"
        "  {type} y;\n"
        "  asm(\"{instruction};\" : \"={to}\"(y) : {operands});\n"
        "  return y;\n"
        "#else\n"
        "{body}"
        "#endif\n",
    .failed_check = kCudaFailedCheck,
    .matrix_units = kCudaMatrixUnits,
};

}  // namespace

const Dialect& cuda() { return kCuda; }

}  // namespace sheaf::codegen::gpu
