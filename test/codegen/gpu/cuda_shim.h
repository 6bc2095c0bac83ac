// CUDA C++ on a processor: the text of kernels is compiled behind this header by a C++ compiler. A thread is a fiber;
// it runs until it waits at a barrier or a shuffle, and then another one is chosen at random, so that a missing barrier
// shows as wrong bits. Blocks run one after the other, in random order. Barriers that not all threads reach, or that
// they reach at different lines, end the process with a message. A copy in the background happens at once or when it is
// waited for, at random; sums of matrix units are cut off behind each step, as those of real ones may be.
//
// Not thread-safe: one launch at a time.
#pragma once
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#if !defined(__x86_64__) && !defined(__aarch64__)
#include <ucontext.h>
#endif
#include <utility>

namespace shim {

struct Dim {
  unsigned x = 1, y = 1, z = 1;
};

constexpr int kMaxThreads = 1024, kWarp = 32;
constexpr size_t kStackBytes = 96 << 10;

#if defined(__x86_64__) || defined(__aarch64__)
using Context = void*;  // a stack pointer; what the calling convention keeps is on its stack
extern "C" void shim_switch(void** from, void* to);
extern "C" void shim_enter();
#if defined(__x86_64__)
asm(R"(
.text
.local shim_switch
.type shim_switch, @function
shim_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.local shim_enter
.type shim_enter, @function
shim_enter:
  callq *%rbx
  ud2
)");
#else
asm(R"(
.text
.local shim_switch
.type shim_switch, %function
shim_switch:
  stp x29, x30, [sp, #-160]!
  stp x19, x20, [sp, #16]
  stp x21, x22, [sp, #32]
  stp x23, x24, [sp, #48]
  stp x25, x26, [sp, #64]
  stp x27, x28, [sp, #80]
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  mov x9, sp
  str x9, [x0]
  mov sp, x1
  ldp x19, x20, [sp, #16]
  ldp x21, x22, [sp, #32]
  ldp x23, x24, [sp, #48]
  ldp x25, x26, [sp, #64]
  ldp x27, x28, [sp, #80]
  ldp d8, d9, [sp, #96]
  ldp d10, d11, [sp, #112]
  ldp d12, d13, [sp, #128]
  ldp d14, d15, [sp, #144]
  ldp x29, x30, [sp], #160
  ret
.local shim_enter
.type shim_enter, %function
shim_enter:
  blr x19
  brk #0
)");
#endif

// A context that calls f, which never returns, on a fresh stack.
inline Context start_context(char* stack, void (*f)()) {
  auto* top = reinterpret_cast<void**>(reinterpret_cast<uintptr_t>(stack + kStackBytes) & ~uintptr_t{63});
#if defined(__x86_64__)
  void** sp = top - 7;                 // the stack is aligned where shim_enter calls
  sp[4] = reinterpret_cast<void*>(f);  // rbx
  sp[6] = reinterpret_cast<void*>(&shim_enter);
#else
  void** sp = top - 20;
  sp[1] = reinterpret_cast<void*>(&shim_enter);  // x30
  sp[2] = reinterpret_cast<void*>(f);            // x19
#endif
  return sp;
}
inline void switch_context(Context& from, Context& to) { shim_switch(&from, to); }
#else
using Context = ucontext_t;
inline Context start_context(char* stack, void (*f)()) {
  Context c;
  getcontext(&c);
  c.uc_stack.ss_sp = stack;
  c.uc_stack.ss_size = kStackBytes;
  c.uc_link = nullptr;
  makecontext(&c, f, 0);
  return c;
}
inline void switch_context(Context& from, Context& to) { swapcontext(&from, &to); }
#endif

struct Fiber {
  Context context;
  bool done;
  int waits_for;  // 1: its warp; 2: its block
  int line;       // of the barrier
  unsigned shuffles;
  int groups;  // of copies, that are no longer added to
  int num_copies;
};

// A copy in the background that has not happened.
struct Copy {
  char* to;
  const char* from;
  int size, bytes;  // of which those from the second number on become zeros
  int group;
};
constexpr int kMaxCopies = 128;

// What the lanes of a warp give each other: the value of a shuffle, or operands of a matrix unit.
union Exchanged {
  uint64_t bits;
  const void* pointer;
  float operands[12];  // eight of a, four of b
};

// What takes time is optimized, where the compiler does that for single functions.
#if defined(__GNUC__) && !defined(__clang__)
#define SHIM_FAST __attribute__((optimize("O2")))
#else
#define SHIM_FAST
#endif

struct Machine {
  char* stacks = nullptr;
  Context scheduler;
  Fiber fibers[kMaxThreads];
  Exchanged exchange[2][kMaxThreads];  // a lane is at most one exchange ahead of another
  Copy copies[kMaxThreads][kMaxCopies];
  int threads = 0, current = 0;
  uint64_t random = 1;
  void (*call)(void*);
  void* arguments;
  Dim grid, block;
};
inline Machine& machine() {
  static Machine m;
  return m;
}

inline Dim threadIdx_, blockIdx_, blockDim_, gridDim_;

inline uint64_t next_random() {
  uint64_t& x = machine().random;
  x ^= x << 13;
  x ^= x >> 7;
  x ^= x << 17;
  return x;
}

[[noreturn]] inline void fail(const char* what, int line) {
  fprintf(stderr, "cuda_shim: %s, at line %d\n", what, line);
  abort();
}

inline void to_scheduler() {
  Machine& m = machine();
  switch_context(m.fibers[m.current].context, m.scheduler);
}

inline void run_thread() {
  Machine& m = machine();
  m.call(m.arguments);
  m.fibers[m.current].done = true;
  to_scheduler();
}

inline void wait(int whom, int line) {
  Machine& m = machine();
  Fiber& f = m.fibers[m.current];
  f.waits_for = whom;
  f.line = line;
  to_scheduler();
}

inline void run_block() {
  Machine& m = machine();
  int ready[kMaxThreads], num_ready = m.threads, left = m.threads;
  int waiting[1 + kMaxThreads / kWarp] = {};  // for the block, for each warp
  for (int t = 0; t < m.threads; ++t) {
    m.fibers[t] = {start_context(m.stacks + static_cast<size_t>(t) * kStackBytes, run_thread), false, 0, 0, 0, 0, 0};
    ready[t] = t;
  }
  while (left > 0) {
    // Some have ended, or wait elsewhere.
    if (num_ready == 0) fail("threads wait for others that do not come", m.fibers[m.current].line);
    int at = static_cast<int>(next_random() % static_cast<uint64_t>(num_ready)), t = ready[at];
    ready[at] = ready[--num_ready];
    m.current = t;
    threadIdx_.x = static_cast<unsigned>(t);
    switch_context(m.scheduler, m.fibers[t].context);
    if (m.fibers[t].done) {
      --left;
      continue;
    }
    const bool warp = m.fibers[t].waits_for == 1;
    const int first = warp ? t / kWarp * kWarp : 0;
    const int count = warp && m.threads - first > kWarp ? kWarp : m.threads - first;
    int& arrived = waiting[warp ? 1 + t / kWarp : 0];
    if (++arrived < count) continue;
    arrived = 0;
    for (int i = first; i < first + count; ++i) {
      if (m.fibers[i].line != m.fibers[t].line) fail("threads wait at different barriers", m.fibers[t].line);
      ready[num_ready++] = i;
    }
  }
}

// What all lanes of the warp give, by lane, until the next exchange.
template <class T>
inline const Exchanged* exchange(const T& x, int line) {
  Machine& m = machine();
  const int self = m.current;
  Fiber& f = m.fibers[self];
  const unsigned turn = f.shuffles++ & 1;
  static_assert(sizeof x <= sizeof(Exchanged));
  memcpy(&m.exchange[turn][self], &x, sizeof x);
  wait(1, line);
  return &m.exchange[turn][self / kWarp * kWarp];
}

template <class T>
inline T shuffle(T x, int from, int line) {
  const int own = machine().current % kWarp;
  T y;
  memcpy(&y, exchange(x, line) + (from < 0 ? own : from), sizeof y);
  return y;
}

inline unsigned ballot(bool is_set, int line) {
  const Exchanged* lanes = exchange(is_set, line);
  unsigned all = 0;
  for (int i = 0; i < kWarp; ++i) {
    bool lane;
    memcpy(&lane, lanes + i, sizeof lane);
    all |= static_cast<unsigned>(lane) << i;
  }
  return all;
}

inline void do_copy(const Copy& c) {
  memcpy(c.to, c.from, static_cast<size_t>(c.bytes));
  memset(c.to + c.bytes, 0, static_cast<size_t>(c.size - c.bytes));
}

// Matrices of 8 by 8 elements of 16 bits: of each, two elements in a register of each lane.
inline void load_matrices(unsigned (&x)[4], const unsigned short* line, bool transposed, int source_line) {
  const Exchanged* lines = exchange(line, source_line);
  const int lane = machine().current % kWarp, row = lane / 4, pair = lane % 4 * 2;
  for (int i = 0; i < 4; ++i) {
    auto element = [&](int r, int c) {
      return static_cast<unsigned>(static_cast<const unsigned short*>(lines[i * 8 + r].pointer)[c]);
    };
    x[i] = transposed ? element(pair, row) | element(pair + 1, row) << 16
                      : element(row, pair) | element(row, pair + 1) << 16;
  }
}

// The exact sums of 16 products and a sum, cut off to floats.
SHIM_FAST inline void add_products(float* sum, const Exchanged* lanes, int lane) {
  for (int e = 0; e < 4; ++e) {
    const Exchanged *a = lanes + lane / 4 * 4, *b = lanes + (lane % 4 * 2 + e % 2) * 4;
    double total = sum[e];
    for (int k = 0; k < 16; ++k)
      total += static_cast<double>(a[k % 8 / 2].operands[e / 2 * 2 + k / 8 * 4 + k % 2]) *
               static_cast<double>(b[k % 8 / 2].operands[8 + k / 8 * 2 + k % 2]);
    float cut = static_cast<float>(total);
    if (fabs(static_cast<double>(cut)) > fabs(total)) cut = nextafterf(cut, 0);
    sum[e] = cut;
  }
}

template <class Widen>
inline void multiply(float (&sum)[4], const unsigned (&a)[4], unsigned b0, unsigned b1, int line, Widen widen) {
  const unsigned words[6] = {a[0], a[1], a[2], a[3], b0, b1};
  Exchanged own;
  for (int i = 0; i < 12; ++i)
    own.operands[i] = widen(static_cast<unsigned short>(words[i / 2] >> (i % 2 * 16)));
  const Exchanged* lanes = exchange(own, line);
  add_products(sum, lanes, machine().current % kWarp);
}

// Runs the kernel that `call` calls with the arguments, in an order given by `seed`.
inline void launch(void (*call)(void*), void* arguments, unsigned blocks, unsigned threads, uint64_t seed) {
  Machine& m = machine();
  if (threads > kMaxThreads) fail("too many threads", static_cast<int>(threads));
  if (!m.stacks)
    m.stacks = static_cast<char*>(mmap(nullptr, kMaxThreads * kStackBytes, PROT_READ | PROT_WRITE,
                                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  m.call = call;
  m.arguments = arguments;
  m.random = seed * 2 + 1;
  for (int i = 0; i < 4; ++i)
    next_random();
  m.threads = static_cast<int>(threads);
  blockDim_.x = threads;
  gridDim_.x = blocks;
  // i * odd + start walks all blocks, where the factor has no divisor in common with their number.
  uint64_t factor = next_random() % blocks, start = next_random() % blocks;
  auto gcd = [](uint64_t a, uint64_t b) {
    while (b) {
      uint64_t r = a % b;
      a = b, b = r;
    }
    return a;
  };
  while (gcd(factor, blocks) != 1)
    factor = (factor + 1) % blocks + (blocks == 1);
  for (uint64_t i = 0; i < blocks; ++i) {
    blockIdx_.x = static_cast<unsigned>((i * factor + start) % blocks);
    run_block();
  }
}

// Runs a kernel with parameters from an array of pointers, as a driver's launch does.
template <class... A, int... i>
inline void run(void (*kernel)(A...), void** parameters, unsigned blocks, unsigned threads, uint64_t seed,
                std::integer_sequence<int, i...>) {
  struct Call {
    void (*kernel)(A...);
    void** parameters;
  } c{kernel, parameters};
  launch(
      [](void* p) {
        auto* c = static_cast<Call*>(p);
        c->kernel(*static_cast<A*>(c->parameters[i])...);
      },
      &c, blocks, threads, seed);
}
template <class... A>
inline void run(void (*kernel)(A...), void** parameters, unsigned blocks, unsigned threads, uint64_t seed) {
  run(kernel, parameters, blocks, threads, seed, std::make_integer_sequence<int, sizeof...(A)>());
}

template <class... A>
inline unsigned parameters(void (*)(A...), unsigned* bytes) {
  unsigned count = 0;
  ((bytes[count++] = sizeof(A)), ...);
  return count;
}

template <class To, class From>
inline To bits(From x) {
  static_assert(sizeof(To) == sizeof(From));
  To y;
  memcpy(&y, &x, sizeof y);
  return y;
}

}  // namespace shim

#define __global__
#define __device__
#define __shared__ static
#define __launch_bounds__(threads, blocks)
#define threadIdx shim::threadIdx_
#define blockIdx shim::blockIdx_
#define blockDim shim::blockDim_
#define gridDim shim::gridDim_
#define __syncthreads() shim::wait(2, __LINE__)
#define __syncwarp() shim::wait(1, __LINE__)
// A source beyond the warp leaves the lane's own value.
#define __shfl_down_sync(mask, x, delta) \
  shim::shuffle(x, shim::machine().current % 32 + (delta) < 32 ? shim::machine().current % 32 + (delta) : -1, __LINE__)
#define __shfl_sync(mask, x, lane) shim::shuffle(x, lane, __LINE__)
#define __ballot_sync(mask, is_set) shim::ballot(is_set, __LINE__)
#define __shfl_xor_sync(mask, x, bit) shim::shuffle(x, shim::machine().current % 32 ^ (bit), __LINE__)

#define __grid_constant__
inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline void __threadfence() {}
inline int atomicCAS(int* p, int expected, int value) {
  int old = *p;
  if (old == expected) *p = value;
  return old;
}
inline int atomicExch(int* p, int value) {
  int old = *p;
  *p = value;
  return old;
}

inline int atomicAdd(int* p, int value) {
  int old = *p;
  *p += value;
  return old;
}
inline int __dp4a(int a, int b, int c) {
  auto byte = [](int x, int i) { return static_cast<int>(static_cast<signed char>(x >> 8 * i)); };
  for (int i = 0; i < 4; ++i)
    c = static_cast<int>(static_cast<unsigned>(c) + static_cast<unsigned>(byte(a, i) * byte(b, i)));
  return c;
}

inline float __fadd_rn(float a, float b) { return a + b; }
inline float __fsub_rn(float a, float b) { return a - b; }
inline float __fmul_rn(float a, float b) { return a * b; }
inline float __fdiv_rn(float a, float b) { return a / b; }
inline float __fmaf_rn(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
inline float __fsqrt_rn(float a) { return __builtin_sqrtf(a); }
inline double __dadd_rn(double a, double b) { return a + b; }
inline double __dsub_rn(double a, double b) { return a - b; }
inline double __dmul_rn(double a, double b) { return a * b; }
inline double __ddiv_rn(double a, double b) { return a / b; }
inline double __fma_rn(double a, double b, double c) { return __builtin_fma(a, b, c); }
inline double __dsqrt_rn(double a) { return __builtin_sqrt(a); }
inline int __float_as_int(float x) { return shim::bits<int>(x); }
inline unsigned __float_as_uint(float x) { return shim::bits<unsigned>(x); }
inline float __int_as_float(int x) { return shim::bits<float>(x); }
inline float __uint_as_float(unsigned x) { return shim::bits<float>(x); }
inline long long __double_as_longlong(double x) { return shim::bits<long long>(x); }
inline double __longlong_as_double(long long x) { return shim::bits<double>(x); }
inline float __double2float_rn(double x) { return static_cast<float>(x); }
inline float __int2float_rn(int x) { return static_cast<float>(x); }
inline float __uint2float_rn(unsigned x) { return static_cast<float>(x); }
inline float __ll2float_rn(long long x) { return static_cast<float>(x); }
inline double __int2double_rn(int x) { return x; }
inline double __uint2double_rn(unsigned x) { return x; }
inline double __ll2double_rn(long long x) { return static_cast<double>(x); }

// What the dialect leaves to the compiler that it is made for (Dialect::matrix_units).
template <int BYTES>
inline void copy_async(void* to, const void* from, int bytes, int line = __builtin_LINE()) {
  shim::Machine& m = shim::machine();
  shim::Fiber& f = m.fibers[m.current];
  if ((reinterpret_cast<uintptr_t>(to) | (bytes ? reinterpret_cast<uintptr_t>(from) : 0)) % BYTES != 0)
    shim::fail("a copy of unaligned memory", line);
  const shim::Copy c{static_cast<char*>(to), static_cast<const char*>(from), BYTES, bytes, f.groups};
  if (shim::next_random() & 1) return shim::do_copy(c);
  if (f.num_copies == shim::kMaxCopies) shim::fail("too many copies", line);
  m.copies[m.current][f.num_copies++] = c;
}
inline void commit_copies() { ++shim::machine().fibers[shim::machine().current].groups; }
template <int GROUPS>
inline void wait_for_copies() {
  shim::Machine& m = shim::machine();
  shim::Fiber& f = m.fibers[m.current];
  int kept = 0;
  for (int i = 0; i < f.num_copies; ++i) {
    const shim::Copy c = m.copies[m.current][i];
    if (c.group < f.groups - GROUPS)
      shim::do_copy(c);
    else
      m.copies[m.current][kept++] = c;
  }
  f.num_copies = kept;
}
inline void load_matrices(unsigned (&x)[4], const unsigned short* line, int source_line = __builtin_LINE()) {
  shim::load_matrices(x, line, false, source_line);
}
inline void load_matrices_transposed(unsigned (&x)[4], const unsigned short* line, int source_line = __builtin_LINE()) {
  shim::load_matrices(x, line, true, source_line);
}
inline void multiply_bf16(float (&sum)[4], const unsigned (&a)[4], unsigned b0, unsigned b1,
                          int line = __builtin_LINE()) {
  shim::multiply(sum, a, b0, b1, line,
                 [](unsigned short x) { return shim::bits<float>(static_cast<unsigned>(x) << 16); });
}
inline void multiply_f16(float (&sum)[4], const unsigned (&a)[4], unsigned b0, unsigned b1,
                         int line = __builtin_LINE()) {
  shim::multiply(sum, a, b0, b1, line, [](unsigned short x) {
    const int exponent = x >> 10 & 31, fraction = x & 1023;
    const float size = exponent == 31 ? (fraction ? NAN : INFINITY)
                                      : ldexpf(static_cast<float>(exponent ? fraction | 1024 : fraction),
                                               (exponent ? exponent : 1) - 25);
    return x & 0x8000 ? -size : size;
  });
}
inline unsigned pack_bf16(float x, float y) {
  auto rounded = [](float x) {
    const auto bits = shim::bits<unsigned>(x);
    return x != x ? 0x7fffu : (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
  };
  return rounded(x) | rounded(y) << 16;
}
inline unsigned pack_f16(float x, float y) {
  auto rounded = [](float x) {
    const unsigned sign = signbit(x) ? 0x8000 : 0;
    const float size = fabsf(x);
    if (size != size) return 0x7fffu;
    if (size >= 65520) return sign | 0x7c00;
    // A step is the 1024th part of the power of two below, and at least that of the smallest normal number.
    int exponent = 0;
    frexpf(size < 0x1p-14f ? 0x1p-14f : size, &exponent);
    const auto steps = static_cast<unsigned>(nearbyintf(ldexpf(size, 11 - exponent)));
    return sign | (static_cast<unsigned>(exponent + 13) * 1024 + steps);
  };
  return rounded(x) | rounded(y) << 16;
}
inline float power_of_two(float x) { return exp2f(x); }

// Lets a program that has loaded the object run a kernel of the text, and copy its parameters before: their number, and
// the bytes of each.
#define SHIM_RUNS(kernel)                                                                             \
  extern "C" void run_##kernel(void** parameters, unsigned blocks, unsigned threads, uint64_t seed) { \
    shim::run(kernel, parameters, blocks, threads, seed);                                             \
  }                                                                                                   \
  extern "C" unsigned parameters_##kernel(unsigned* bytes) { return shim::parameters(kernel, bytes); }
