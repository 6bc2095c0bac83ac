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

constexpr Dialect kCuda{
    .name = "cuda",
    .kernel = "extern \"C\" __global__ void",
    .function = "__device__ inline",
    .global = "",
    .shared = "__shared__ ",
    .unroll = "#pragma unroll",
    .block_barrier = "__syncthreads();",
    .warp_barrier = "__syncwarp();",
    .shuffle_down = "__shfl_down_sync(0xffffffffu, {0}, {1})",
    .broadcast = "__shfl_sync(0xffffffffu, {0}, 0)",
    .thread = "(int)threadIdx.x",
    .block = "(int)blockIdx.x",
    .f32 = {"__fadd_rn({0}, {1})", "__fsub_rn({0}, {1})", "__fmul_rn({0}, {1})", "__fdiv_rn({0}, {1})",
            "__fmaf_rn({0}, {1}, {2})", "__fsqrt_rn({0})", "floorf({0})", "ceilf({0})", "truncf({0})", "rintf({0})",
            "fabsf({0})", "__int_as_float({0})"},
    .f64 = {"__dadd_rn({0}, {1})", "__dsub_rn({0}, {1})", "__dmul_rn({0}, {1})", "__ddiv_rn({0}, {1})",
            "__fma_rn({0}, {1}, {2})", "__dsqrt_rn({0})", "floor({0})", "ceil({0})", "trunc({0})", "rint({0})",
            "fabs({0})", "__longlong_as_double({0})"},
    .pack = "struct alignas({3}) {0} {{\n  {1} e[{2}];\n}};\n",
    .failed_check = kCudaFailedCheck,
};

}  // namespace

const Dialect& cuda() { return kCuda; }

}  // namespace sheaf::codegen::gpu
