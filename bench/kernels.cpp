// Kernels of the loop IR in the block executor and as native code: time, the percentage of the memory limit, and the
// cost of compiling. Usage: bench_kernels [NAME…], or --compile for the cost of compiling many at once. Each answer is
// checked before it is timed; the best of several runs counts. Arrays are too large for the caches. The memory limit is
// measured with the same number of threads: bytes read and written in equal amounts take the time of memcpy, further
// bytes read the time of reading. If the same loop takes longer than that on data in the cache, it is compute-bound:
// "a" instead of "m".
#include "kernels/kernels.h"

#include <fmt/format.h>

#include <chrono>
#include <cstring>
#include <functional>
#include <random>

#include "codegen/block/block.h"
#include "codegen/llvm/native.h"
#include "kernels/simd/peak.h"
#include "loop/builder.h"
#include "passes/loop/expand_math.h"
#include "passes/loop/specialize.h"
#include "passes/loop/tile.h"
#include "runtime/thread_pool.h"

using namespace sheaf;
using loop::Builder;
using loop::Combine;
using loop::Mark;
using loop::Op;
using V = Builder::V;

namespace {

constexpr int64_t kRows = 65536, kCachedRows = 16;  // of 4 KiB

double now_ms() {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

struct Array {
  DType dtype;
  int64_t elements;
};
struct Work {
  std::string name;
  loop::Kernel kernel;
  std::vector<Array> arrays;
  std::vector<int64_t> sizes;
  int64_t elements;
};

// A flat loop over n elements in chunks, as in compiled groups; strides are run-time sizes.
Work flat(const std::string& name, int64_t n, std::vector<DType> in, std::vector<DType> out,
          const std::function<std::vector<V>(Builder&, std::vector<V>)>& f) {
  Builder b(name);
  Work w{name, {}, {}, {n}, n};
  for (DType d : in)
    b.buffer(d, false), w.arrays.push_back({d, n});
  for (DType d : out)
    b.buffer(d, true), w.arrays.push_back({d, n});
  V size = b.size(), step = b.i64(16384);
  std::vector<V> strides;
  for (size_t i = 0; i < in.size() + out.size(); ++i)
    strides.push_back(b.size()), w.sizes.push_back(1);
  V base = b.mul(b.begin_loop(b.binary(Op::FloorDiv, b.add(size, b.i64(16383)), step), Mark::Parallel), step);
  V i = b.add(base, b.begin_loop(b.min(step, b.sub(size, base)), Mark::Vector));
  std::vector<V> x;
  for (size_t k = 0; k < in.size(); ++k)
    x.push_back(b.convert(b.load(static_cast<int>(k), b.mul(i, strides[k])), compute_type(in[k])));
  std::vector<V> y = f(b, x);
  for (size_t k = 0; k < out.size(); ++k)
    b.store(static_cast<int>(in.size() + k), b.mul(i, strides[in.size() + k]), b.convert(y[k], out[k]));
  b.end();
  b.end();
  w.kernel = b.finish();
  return w;
}

V gelu(Builder& b, V x) {
  V cube = b.mul(b.mul(x, x), x);
  V inner = b.mul(b.f32(0.7978846f), b.add(x, b.mul(b.f32(0.044715f), cube)));
  return b.mul(b.mul(b.f32(0.5f), x), b.add(b.f32(1), b.unary(Op::Tanh, inner)));
}

// Rows of an m by k matrix: `f` gets the buffers, the row and the width.
Work rows(const std::string& name, int64_t m, int64_t k, std::vector<Array> arrays,
          const std::function<void(Builder&, V, V, V)>& f) {
  Builder b(name);
  for (size_t i = 0; i < arrays.size(); ++i)
    b.buffer(arrays[i].dtype, i + 1 == arrays.size());
  V rows = b.size(), width = b.size(), inner = b.size();
  V row = b.begin_loop(rows, Mark::Parallel);
  f(b, row, width, inner);
  b.end();
  return {name, b.finish(), std::move(arrays), {m, k, 1}, m * k};
}

std::vector<Work> all_work(int64_t m) {
  const int64_t k = 1024, n = m * k;
  std::vector<Work> out;
  out.push_back(flat("copy f32", n, {DType::F32}, {DType::F32}, [](Builder&, auto x) { return x; }));
  out.push_back(flat("add f32", n, {DType::F32, DType::F32}, {DType::F32},
                     [](Builder& b, auto x) { return std::vector<V>{b.add(x[0], x[1])}; }));
  out.push_back(flat("add bf16", n, {DType::BF16, DType::BF16}, {DType::BF16},
                     [](Builder& b, auto x) { return std::vector<V>{b.add(x[0], x[1])}; }));
  out.push_back(flat("exp", n, {DType::F32}, {DType::F32},
                     [](Builder& b, auto x) { return std::vector<V>{b.unary(Op::Exp, x[0])}; }));
  out.push_back(flat("tanh", n, {DType::F32}, {DType::F32},
                     [](Builder& b, auto x) { return std::vector<V>{b.unary(Op::Tanh, x[0])}; }));
  out.push_back(
      flat("gelu", n, {DType::F32}, {DType::F32}, [](Builder& b, auto x) { return std::vector<V>{gelu(b, x[0])}; }));
  out.push_back(flat("erf", n, {DType::F32}, {DType::F32},
                     [](Builder& b, auto x) { return std::vector<V>{b.unary(Op::Erf, x[0])}; }));
  out.push_back(flat("log f64", n, {DType::F64}, {DType::F64},
                     [](Builder& b, auto x) { return std::vector<V>{b.unary(Op::Log, x[0])}; }));
  out.push_back(flat("adamw", n, {DType::F32, DType::F32, DType::F32, DType::F32}, {DType::F32, DType::F32, DType::F32},
                     [](Builder& b, auto x) {
                       V g = x[1], mean = b.add(b.mul(x[2], b.f32(0.9f)), b.mul(g, b.f32(0.1f)));
                       V square = b.add(b.mul(x[3], b.f32(0.999f)), b.mul(b.mul(g, g), b.f32(0.001f)));
                       V update = b.div(mean, b.add(b.sqrt(square), b.f32(1e-8f)));
                       V p = b.sub(b.mul(x[0], b.f32(0.999f)), b.mul(update, b.f32(1e-3f)));
                       return std::vector<V>{p, mean, square};
                     }));
  auto at = [](Builder& b, V row, V width, V inner, V j) { return b.add(b.mul(row, width), b.mul(j, inner)); };
  auto reduce = [&](const std::string& name, Combine c, bool with_exp) {
    out.push_back(rows(name, m, k, {{DType::F32, m * k}, {DType::F32, m}}, [=](Builder& b, V row, V width, V inner) {
      V j = b.begin_reduce(width, c);
      V x = b.load(0, at(b, row, width, inner, j));
      if (with_exp) x = b.unary(Op::Exp, x);
      V r = b.end_reduce(x);
      b.store(1, row, b.convert(r, DType::F32));
    }));
  };
  reduce("row sum", Combine::Sum, false);
  reduce("row max", Combine::Max, false);
  reduce("row argmax", Combine::ArgMax, false);
  reduce("row sum of exp", Combine::Sum, true);
  out.push_back(
      rows("softmax", m, k, {{DType::F32, m * k}, {DType::F32, m * k}}, [=](Builder& b, V row, V width, V inner) {
        V j = b.begin_reduce(width, Combine::Max);
        V max = b.end_reduce(b.load(0, at(b, row, width, inner, j)));
        j = b.begin_reduce(width, Combine::Sum);
        V sum = b.end_reduce(b.unary(Op::Exp, b.sub(b.load(0, at(b, row, width, inner, j)), max)));
        j = b.begin_loop(width, Mark::Vector);
        V o = at(b, row, width, inner, j);
        b.store(1, o, b.div(b.unary(Op::Exp, b.sub(b.load(0, o), max)), sum));
        b.end();
      }));
  out.push_back(rows("layer norm", m, k, {{DType::F32, m * k}, {DType::F32, k}, {DType::F32, k}, {DType::F32, m * k}},
                     [=](Builder& b, V row, V width, V inner) {
                       V count = b.convert(width, DType::F32);
                       V j = b.begin_reduce(width, Combine::Sum);
                       V mean = b.div(b.end_reduce(b.load(0, at(b, row, width, inner, j))), count);
                       j = b.begin_reduce(width, Combine::Sum);
                       V d = b.sub(b.load(0, at(b, row, width, inner, j)), mean);
                       V scale = b.div(b.f32(1), b.sqrt(b.add(b.div(b.end_reduce(b.mul(d, d)), count), b.f32(1e-5f))));
                       j = b.begin_loop(width, Mark::Vector);
                       V o = at(b, row, width, inner, j), x = b.mul(b.sub(b.load(0, o), mean), scale);
                       b.store(3, o, b.add(b.mul(x, b.load(1, j)), b.load(2, j)));
                       b.end();
                     }));
  {
    Builder b("column sum");
    b.buffer(DType::F32, false);
    b.buffer(DType::F32, true);
    V height = b.size(), width = b.size(), pitch = b.size(), inner = b.size();
    V j = b.begin_loop(width, Mark::Vector);
    V i = b.begin_reduce(height, Combine::Sum);
    V r = b.end_reduce(b.load(0, b.add(b.mul(i, pitch), b.mul(j, inner))));
    b.store(1, j, r);
    b.end();
    out.push_back({"column sum", b.finish(), {{DType::F32, m * k}, {DType::F32, k}}, {m, k, k, 1}, m * k});
  }
  {
    Builder b("transpose");
    b.buffer(DType::F32, false);
    b.buffer(DType::F32, true);
    V height = b.size(), width = b.size(), s0 = b.size(), s1 = b.size();
    V i = b.begin_loop(height, Mark::Parallel), j = b.begin_loop(width, Mark::Vector);
    b.store(1, b.add(b.mul(i, width), j), b.load(0, b.add(b.mul(i, s0), b.mul(j, s1))));
    b.end();
    b.end();
    out.push_back({"transpose", b.finish(), {{DType::F32, m * k}, {DType::F32, m * k}}, {k, m, 1, k}, m * k});
  }
  return out;
}

std::vector<std::vector<std::byte>> memory_for(const Work& w) {
  std::mt19937 rng(1);
  std::vector<std::vector<std::byte>> out;
  for (const Array& a : w.arrays) {
    out.emplace_back(static_cast<size_t>(a.elements * size_bytes(a.dtype)));
    for (int64_t i = 0; i < a.elements; ++i) {
      double x = 0.01 + 4 * (static_cast<double>(rng()) / 4294967296.0);
      float f = static_cast<float>(x);
      uint16_t h = f32_to_bf16(f);
      const void* from = a.dtype == DType::F64    ? static_cast<const void*>(&x)
                         : a.dtype == DType::BF16 ? static_cast<const void*>(&h)
                                                  : &f;
      std::memcpy(out.back().data() + i * size_bytes(a.dtype), from, static_cast<size_t>(size_bytes(a.dtype)));
    }
  }
  return out;
}

template <class Run>
double best_ms(Run run) {
  double best = 1e9;
  for (double end = now_ms() + 400; now_ms() < end;) {
    double start = now_ms();
    run();
    best = std::min(best, now_ms() - start);
  }
  return best;
}

// As the compiler prepares it.
loop::Kernel specialized(const Work& w) {
  return passes::expand_math(
      passes::tile_transposed(passes::specialize(w.kernel, passes::known_sizes(w.kernel, w.sizes))));
}

// Bytes per nanosecond: copied (read and written), and read.
struct Stream {
  double copied, read;
  double ms(const Work& w) const {
    double in = 0, out = 0;
    for (size_t i = 0; i < w.arrays.size(); ++i)
      (w.kernel.buffers[i].written ? out : in) +=
          static_cast<double>(w.arrays[i].elements * size_bytes(w.arrays[i].dtype));
    return (2 * std::min(in, out) / copied + std::max(0.0, in - out) / read) / 1e6;
  }
};

Stream measured_stream() {
  constexpr int64_t kBytes = 256 << 20, kPiece = 1 << 20;
  std::vector<std::byte> from(kBytes), to(kBytes);
  double ms = best_ms([&] {
    runtime::parallel_for(
        kBytes / kPiece,
        [&](int64_t begin, int64_t end) {
          std::memcpy(to.data() + begin * kPiece, from.data() + begin * kPiece,
                      static_cast<size_t>((end - begin) * kPiece));
        },
        1);
  });
  return {2 * kBytes / ms / 1e6, kernels::measure_peak(runtime::num_threads()).read_gbs};
}

// All kernels as one object: the cost of compiling when the start-up of LLVM is shared.
void time_batch() {
  std::vector<loop::Kernel> kernels;
  for (Work& w : all_work(kRows))
    kernels.push_back(specialized(w));
  for (int i = 0; i < 5; ++i) {
    double start = now_ms();
    auto object = codegen::make_native_object(kernels);
    double made = now_ms();
    codegen::load_native_object(object);
    double each = 1.0 / static_cast<double>(kernels.size());
    fmt::print("{} kernels as one object: {:.2f} ms each to make, {:.3f} ms each to load\n", kernels.size(),
               (made - start) * each, (now_ms() - made) * each);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (const char* t = std::getenv("THREADS")) runtime::set_num_threads(std::atoi(t));
  if (argc == 2 && std::string(argv[1]) == "--compile") return time_batch(), 0;
  Stream stream = measured_stream();
  fmt::print("{} threads; copies {:.1f} GB/s, reads {:.1f} GB/s\n", runtime::num_threads(), stream.copied, stream.read);
  fmt::print("{:<16} {:>9} {:>9} {:>6} {:>9} {:>9} {:>9} {:>11} {:>9} {:>9}\n", "kernel", "block ms", "native ms",
             "ratio", "ns/elem", "in cache", "GB/s", "of stream", "compile", "bytes");
  std::vector<Work> large = all_work(kRows), small = all_work(kCachedRows);
  for (size_t which = 0; which < large.size(); ++which) {
    const Work& w = large[which];
    bool wanted = argc < 2;
    for (int i = 1; i < argc; ++i)
      wanted |= w.name == argv[i];
    if (!wanted) continue;
    auto block = codegen::BlockKernel::compile(w.kernel);
    double start = now_ms();
    loop::Kernel known[] = {specialized(w)};
    auto object = codegen::make_native_object(known);
    auto native = codegen::load_native_object(object)[0];
    double compile_ms = now_ms() - start;
    start = now_ms();
    codegen::make_native_object(known);
    compile_ms = std::min(compile_ms, now_ms() - start);
    auto expected = memory_for(w), actual = expected;
    auto pointers = [](auto& m) {
      std::vector<std::byte*> p;
      for (auto& x : m)
        p.push_back(x.data());
      return p;
    };
    auto pe = pointers(expected), pa = pointers(actual);
    loop::CheckRecord check;
    int64_t payload;
    block->run(pe, w.sizes, check);
    native->run(pa, w.sizes, payload);
    if (expected != actual) fmt::print("{}: different results\n", w.name);
    double block_ms = best_ms([&] { block->run(pe, w.sizes, check); });
    double native_ms = best_ms([&] { native->run(pa, w.sizes, payload); });
    auto in_cache = memory_for(small[which]);
    auto pc = pointers(in_cache);
    int threads = runtime::num_threads();
    runtime::set_num_threads(1);
    double cached_ns = best_ms([&] { native->run(pc, small[which].sizes, payload); }) * 1e6 /
                       static_cast<double>(small[which].elements) / threads;
    runtime::set_num_threads(threads);
    double bytes = 0;
    for (const Array& a : w.arrays)
      bytes += static_cast<double>(a.elements * size_bytes(a.dtype));
    double per_element = 1e6 / static_cast<double>(w.elements);
    fmt::print("{:<16} {:>9.3f} {:>9.3f} {:>6.2f} {:>9.3f} {:>9.3f} {:>9.2f} {:>8.0f}% {} {:>6.1f} ms {:>9}\n", w.name,
               block_ms, native_ms, block_ms / native_ms, native_ms * per_element, cached_ns, bytes / native_ms / 1e6,
               100 * stream.ms(w) / native_ms, cached_ns > stream.ms(w) * per_element ? 'a' : 'm', compile_ms,
               object.elf.size());
  }
}
