// The contraction over shapes of real workloads: GFLOP/s, the percentage of the measured peak, compared with OpenBLAS.
// Usage: bench_gemm [--threads N] [--ms N] [TEXT…]: shapes whose line contains one of the texts, or all; N milliseconds
// for each of three rounds (100). Decoding reads weights that no cache holds, so decoding shapes cycle through enough
// copies of B to exceed the caches. Each answer is compared with the definition (routines/gemm/args.h), bit for bit on
// a sample, before it is timed; medians of several rounds in which the two libraries and the peak alternate, as the
// speed of some machines changes while this runs. OpenBLAS is loaded at run time only; OPENBLAS may name it.
#include "kernels/gemm/gemm.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "kernels/kernels.h"
#include "kernels/simd/peak.h"
#include "runtime/fusion.h"
#include "runtime/kernel.h"
#include "runtime/target.h"
#include "runtime/thread_pool.h"
#include "scalar/scalar_ops.h"
#include "tensor/tensor.h"

using namespace sheaf;

namespace {

struct Shape {
  std::string what, form;  // form: which of the operands are stored transposed, as BLAS has it; NP: packed before, as
                           // weights are that are read again and again
  int64_t batch, m, n, k;
  DType dtype = DType::F32;
};

std::vector<Shape> shapes() {
  std::vector<Shape> out;
  for (DType dtype : {DType::F32, DType::BF16})
    for (const char* form : {"NN", "NT", "TN"})
      out.push_back({dtype == DType::F32 ? "square" : "square bf16", form, 1, 1024, 1024, 1024, dtype});
  for (DType dtype : {DType::F32, DType::BF16})
    out.push_back({dtype == DType::F32 ? "large" : "large bf16", "NN", 1, 4096, 4096, 4096, dtype});
  // A linear layer of I inputs and O outputs over T tokens: forward, gradient of the input, of the weight.
  auto linear = [&](const std::string& what, int64_t tokens, int64_t i, int64_t o, DType dtype = DType::F32) {
    out.push_back({what + " y", "NN", 1, tokens, o, i, dtype});
    out.push_back({what + " dx", "NT", 1, tokens, i, o, dtype});
    out.push_back({what + " dw", "TN", 1, i, o, tokens, dtype});
  };
  for (int64_t tokens : {64, 1024}) {
    linear("gpt2 qkv", tokens, 768, 2304);
    linear("gpt2 out", tokens, 768, 768);
    linear("gpt2 up", tokens, 768, 3072);
    linear("gpt2 down", tokens, 3072, 768);
    linear("gpt2 up bf16", tokens, 768, 3072, DType::BF16);
    linear("gpt2 down bf16", tokens, 3072, 768, DType::BF16);
  }
  for (DType dtype : {DType::F32, DType::BF16}) {
    const std::string what = dtype == DType::F32 ? "gpt2 logits" : "gpt2 logits bf16";
    out.push_back({what, "NT", 1, 64, 50257, 768, dtype});
    out.push_back({what + " dx", "NN", 1, 64, 768, 50257, dtype});
    out.push_back({what + " dw", "TN", 1, 50257, 768, 64, dtype});
  }
  linear("nanogpt up", 1024, 384, 1536);
  linear("mlp", 256, 1024, 1024);
  // makemore: a batch of 256 over 16 positions, and one step of a recurrence.
  for (auto [i, o] : {std::pair<int64_t, int64_t>{64, 64}, {64, 192}, {64, 256}, {256, 64}, {1024, 64}, {64, 27}})
    linear("layer 64", 4096, i, o);
  for (int64_t rows : {32, 256})
    for (auto [i, o] : {std::pair<int64_t, int64_t>{128, 64}, {128, 128}, {64, 192}, {192, 200}})
      linear("step", rows, i, o);
  for (const char* form : {"NN", "NT", "TN"})
    out.push_back({"small", form, 1024, 16, 16, 16});
  for (const char* form : {"NN", "NT", "TN"})
    out.push_back({"heads", form, 96, 64, 64, 32});
  for (int64_t size : {45, 46, 127, 128, 129})
    out.push_back({"odd", "NN", 1, size, size, size});
  for (int64_t m : {2, 4, 8, 9, 16, 32})
    out.push_back({"skinny", "NN", 1, m, 3072, 768});
  for (int64_t m : {2, 4, 8, 9, 16, 32})
    out.push_back({"skinny", "NT", 1, m, 3072, 768});
  out.push_back({"narrow", "NN", 1, 4096, 10, 512});
  // The products of one token of GPT-2, and of one row by a square matrix.
  for (DType dtype : {DType::F32, DType::BF16, DType::F16})
    for (const char* form : {"NN", "NP", "NT"}) {
      for (auto [n, k] : {std::pair<int64_t, int64_t>{768, 768},
                          {2304, 768},
                          {3072, 768},
                          {768, 3072},
                          {50257, 768},
                          {2048, 2048},
                          {8192, 2048},
                          {2048, 8192},
                          {4096, 4096}})
        out.push_back({"decode " + std::string(name_of(dtype)), form, 1, 1, n, k, dtype});
      if (dtype != DType::F32 && form[1] != 'P')
        for (int64_t m : {2, 4, 8, 16})
          out.push_back({"skinny " + std::string(name_of(dtype)), form, 1, m, 3072, 768, dtype});
    }
  return out;
}

// cblas_sgemm, under the names that builds of OpenBLAS give it; the integers of some are 64 bits wide.
struct OpenBlas {
  template <class Int>
  using Gemm = void (*)(int order, int ta, int tb, Int m, Int n, Int k, float alpha, const float* a, Int lda,
                        const float* b, Int ldb, float beta, float* c, Int ldc);
  Gemm<int> narrow = nullptr;
  Gemm<int64_t> wide = nullptr;
  std::string name;

  explicit OpenBlas(int threads) {
    const char* named = std::getenv("OPENBLAS");
    void* lib = nullptr;
    for (const char* path : {named ? named : "libopenblas.so.0", "libopenblas.so"})
      if (!lib && (lib = dlopen(path, RTLD_NOW))) name = path;
    if (!lib) return;
    narrow = reinterpret_cast<Gemm<int>>(dlsym(lib, "cblas_sgemm"));
    if (!narrow) wide = reinterpret_cast<Gemm<int64_t>>(dlsym(lib, "scipy_cblas_sgemm64_"));
    for (const char* set : {"openblas_set_num_threads", "scipy_openblas_set_num_threads64_"})
      if (auto f = reinterpret_cast<void (*)(int)>(dlsym(lib, set))) f(threads);
  }
  explicit operator bool() const { return narrow || wide; }

  void run(const Shape& s, const float* a, const float* b, float* c) const {
    constexpr int kRowMajor = 101, kPlain = 111, kTransposed = 112;
    bool ta = s.form[0] == 'T', tb = s.form[1] == 'T';
    auto call = [&]<class Int>(Gemm<Int> f) {
      for (int64_t p = 0; p < s.batch; ++p)
        f(kRowMajor, ta ? kTransposed : kPlain, tb ? kTransposed : kPlain, static_cast<Int>(s.m), static_cast<Int>(s.n),
          static_cast<Int>(s.k), 1, a + p * s.m * s.k, static_cast<Int>(ta ? s.m : s.k), b + p * s.n * s.k,
          static_cast<Int>(tb ? s.k : s.n), 0, c + p * s.m * s.n, static_cast<Int>(s.n));
    };
    narrow ? call(narrow) : call(wide);
  }
};

constexpr int64_t kColdBytes = 256 << 20;

struct Matrices {
  Ref<Buffer> memory[3], packed;
  std::shared_ptr<const runtime::PackedForm> packing;
  Shape shape;
  routines::GemmArgs<> args;
  const routines::Arithmetic arithmetic = kernels::arithmetic_of(runtime::host_target());
  int64_t copies = 1, b_bytes, element = 0;
  mutable int64_t turn = 0;

  explicit Matrices(const Shape& s) : shape(s), element(size_bytes(s.dtype)) {
    b_bytes = s.batch * s.k * s.n * element;
    if (s.what.starts_with("decode")) copies = std::max<int64_t>(1, kColdBytes / b_bytes);
    int64_t elements[] = {s.batch * s.m * s.k, s.batch * s.k * s.n * copies, s.batch * s.m * s.n};
    std::mt19937 rng(1);
    for (int i = 0; i < 3; ++i) {
      memory[i] = Buffer::allocate(static_cast<size_t>(elements[i] * element));
      const int64_t random = std::min<int64_t>(elements[i], 1 << 20);  // the rest repeats them
      for (int64_t e = 0; e < random; ++e) {
        float x = static_cast<float>(rng() >> 8) / 8388608.0f - 1.0f;
        if (s.dtype == DType::BF16)
          reinterpret_cast<scalar::BFloat16*>(memory[i]->host_mut())[e] = scalar::to_bf16(x);
        else if (s.dtype == DType::F16)
          reinterpret_cast<scalar::Float16*>(memory[i]->host_mut())[e] = scalar::to_f16(x);
        else
          at(i)[e] = x;
      }
      for (int64_t e = random; e < elements[i]; e += random)
        std::memcpy(memory[i]->host_mut() + e * element, memory[i]->host_mut(),
                    static_cast<size_t>(std::min(random, elements[i] - e) * element));
    }
    bool ta = s.form[0] == 'T', tb = s.form[1] == 'T';
    args = {.dtype = s.dtype,
            .batch = s.batch,
            .m = s.m,
            .n = s.n,
            .k = s.k,
            .a = {s.m * s.k, ta ? 1 : s.k, ta ? s.m : 1},
            .b = {s.k * s.n, tb ? 1 : s.n, tb ? s.k : 1},
            .result = s.dtype};
    if (s.form == "NP" && (packing = kernels::repacked_form(args, runtime::host_target()))) {
      packed = Buffer::allocate(static_cast<size_t>(packing->facts.bytes * copies));
      for (int64_t c = 0; c < copies; ++c)
        packing->pack(memory[1]->host_mut(), packed->host_mut() + c * packing->facts.bytes);
    }
  }
  bool exists() const { return shape.form != "NP" || packing; }
  float* at(int i) const { return reinterpret_cast<float*>(memory[i]->host_mut()); }
  std::byte* next_b() const { return memory[1]->host_mut() + turn++ % copies * b_bytes; }

  void run() const {
    if (packing) {
      std::byte* b = packed->host_mut() + turn++ % copies * packing->facts.bytes;
      std::byte* buffers[] = {memory[0]->host_mut(), b, memory[2]->host_mut()};
      return packing->run(buffers, {});
    }
    std::byte* buffers[] = {memory[0]->host_mut(), next_b(), memory[2]->host_mut()};
    kernels::contract({buffers, arithmetic}, args);
  }

  // After the first run, compares a few elements at the corners and between with the definition.
  bool is_right() const {
    std::mt19937_64 rng(2);
    // Computes an element twice where there are several rows: a product with one row has its own order.
    const int64_t rows = std::min<int64_t>(shape.m, 2), columns = std::min<int64_t>(shape.n, 2);
    std::vector<float> expected(static_cast<size_t>(rows * columns));
    for (int trial = 0; trial < 200; ++trial) {
      auto pick = [&](int64_t size) {
        return trial % 4 == 0 ? size - 1 : static_cast<int64_t>(rng() % static_cast<uint64_t>(size));
      };
      int64_t p = pick(shape.batch), i = pick(shape.m), j = pick(shape.n);
      std::byte* buffers[] = {memory[0]->host_mut() + (p * args.a.batch + i * args.a.row) * element,
                              memory[1]->host_mut() + (p * args.b.batch + j * args.b.column) * element,
                              reinterpret_cast<std::byte*>(expected.data())};
      routines::GemmArgs<> one = args;
      one.batch = 1, one.m = rows, one.n = columns, one.a.row = one.b.column = 0;
      routines::contract({buffers, arithmetic}, one);
      if (std::memcmp(expected.data(), memory[2]->host_mut() + ((p * shape.m + i) * shape.n + j) * element,
                      static_cast<size_t>(element)) != 0)
        return false;
    }
    return true;
  }
};

double now_ms() {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

template <class F>
double timed_ms(F f) {
  double start = now_ms();
  f();
  return now_ms() - start;
}

double median(std::vector<double>& times) {
  std::nth_element(times.begin(), times.begin() + std::ssize(times) / 2, times.end());
  return times[times.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> wanted;
  double round_ms = 100;
  for (int i = 1; i < argc; ++i) {
    if (std::string(argv[i]) == "--threads" && i + 1 < argc)
      runtime::set_num_threads(std::atoi(argv[++i]));
    else if (std::string(argv[i]) == "--ms" && i + 1 < argc)
      round_ms = std::atof(argv[++i]);
    else
      wanted.push_back(argv[i]);
  }
  int threads = runtime::num_threads();
  kernels::Peak one = kernels::measure_peak(1), peak = kernels::measure_peak(threads);
  OpenBlas blas(threads);
  fmt::print(
      "peak: 1 thread {:.1f} GFLOP/s, reads {:.1f} GB/s; {} threads {:.1f} GFLOP/s, reads {:.1f} GB/s; peer: {}\n",
      one.gflops, one.read_gbs, threads, peak.gflops, peak.read_gbs, blas ? blas.name : "none");
  fmt::print("{:<40} {:>9} {:>9} {:>7} {:>7} {:>9} {:>7}\n", "batch x m x n x k", "ms", "GFLOP/s", "% peak", "% read",
             "OpenBLAS", "ratio");
  bool warm = false;
  for (const Shape& s : shapes()) {
    std::string line = fmt::format("{:<15} {} {}x{}x{}x{}", s.what, s.form, s.batch, s.m, s.n, s.k);
    if (!wanted.empty() &&
        std::none_of(wanted.begin(), wanted.end(), [&](auto& w) { return line.find(w) != std::string::npos; }))
      continue;
    Matrices matrices(s);
    if (!matrices.exists()) continue;
    matrices.run();
    if (!matrices.is_right()) {
      fmt::print("{}: wrong result\n", line);
      return 1;
    }
    // Some processors need warming up before they multiply at full speed.
    for (double until = now_ms() + 1000; !warm && now_ms() < until;)
      matrices.run();
    warm = true;
    const bool by_memory = s.what.starts_with("decode");
    std::vector<double> our_times, their_times, gflops, read_gbs;
    auto measure = [round_ms](std::vector<double>& times, auto&& f) {
      double end = now_ms() + round_ms;
      for (int runs = 0; runs < 5 || now_ms() < end; ++runs)
        times.push_back(timed_ms(f));
    };
    bool peer = blas && s.dtype == DType::F32 && s.form != "NP";
    for (int round = 0; round < 3; ++round) {
      gflops.push_back(kernels::measure_gflops(threads));
      read_gbs.push_back(by_memory ? kernels::measure_read_gbs(threads) : peak.read_gbs);
      measure(our_times, [&] { matrices.run(); });
      if (!peer) continue;
      measure(their_times,
              [&] { blas.run(s, matrices.at(0), reinterpret_cast<const float*>(matrices.next_b()), matrices.at(2)); });
      // OpenBLAS's threads spin for a while afterwards, on the cores that ours need.
      std::this_thread::sleep_for(std::chrono::milliseconds(120));
    }
    double ours = median(our_times), theirs = peer ? median(their_times) : 0;
    double flops = 2.0 * static_cast<double>(s.batch * s.m * s.n * s.k);
    double bytes =
        static_cast<double>(matrices.element) * static_cast<double>(s.batch * (s.m * s.k + s.k * s.n + s.m * s.n));
    fmt::print("{:<40} {:>9.4f} {:>9.1f} {:>7.1f} {:>7.1f} ", line, ours, flops / ours * 1e-6,
               flops / ours * 1e-4 / median(gflops), bytes / ours * 1e-4 / median(read_gbs));
    if (peer) fmt::print("{:>9.4f} {:>6.2f}x", theirs, theirs / ours);
    fmt::print("\n");
  }
}
