// Reductions of every kind and type at the sizes around warps, blocks of kReduceBlock, and the capacity of a thread
// block: in rows, over everything, in columns, and inside a thread.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>

#include "codegen/gpu/text_program.h"
#include "codegen/random_kernels.h"
#include "loop/reference.h"

namespace sheaf::codegen {
namespace {

using loop::Builder;
using loop::Combine;
using loop::Mark;
using loop::Op;
using testing::Memory;
using V = Builder::V;

constexpr int64_t kSizes[] = {0, 1, 2, 31, 32, 33, 2047, 2048, 2049, 5000, 40000};
constexpr DType kTypes[] = {DType::F32, DType::F64, DType::I32, DType::I64, DType::U32};
constexpr Combine kCombines[] = {Combine::Sum, Combine::Prod,   Combine::Max,
                                 Combine::Min, Combine::ArgMax, Combine::ArgMin};

Memory random_memory(DType d, int64_t n, std::mt19937_64& rng) {
  Memory m{d, std::vector<std::byte>(static_cast<size_t>(std::max<int64_t>(n, 1) * size_bytes(d)))};
  scalar::visit_dtype(d, [&]<class T>(std::type_identity<T>) {
    for (int64_t i = 0; i < n; ++i) {
      double x = rng() % 512 == 0 ? (rng() % 2 ? NAN : -0.0) : std::normal_distribution<double>(1, 0.3)(rng);
      T v = scalar::convert<T>(is_float(d) ? x : static_cast<double>(rng() % 64));
      std::memcpy(m.bytes.data() + i * static_cast<int64_t>(sizeof(T)), &v, sizeof(T));
    }
  });
  return m;
}

struct Subject {
  std::string name;
  loop::Kernel kernel;
  std::vector<int64_t> sizes;
  std::vector<Memory> buffers;
  bool in_place = false;  // the result is written over the first buffer

  std::vector<gpu::testing::Region> regions(std::vector<Memory>& memory) const {
    std::vector<gpu::testing::Region> r = gpu::testing::regions(memory);
    if (in_place) r[1] = r[0];
    return r;
  }
  std::vector<std::byte*> pointers(std::vector<Memory>& memory) const {
    std::vector<std::byte*> p = testing::pointers(memory);
    if (in_place) p[1] = p[0];
    return p;
  }
};

// Over a strided array of `rows` by `columns`: along the rows; or along the columns, which are the vector axis.
loop::Kernel reduction(DType d, Combine how, bool columns, bool alone) {
  Builder b(columns ? "columns" : alone ? "all" : "rows");
  b.buffer(d, false);
  const bool position = how == Combine::ArgMax || how == Combine::ArgMin;
  const DType sum = size_bytes(d) == 2 ? DType::F32 : d, to = position ? DType::I64 : sum;
  b.buffer(to, true);
  V outer = b.size(), n = b.size(), outer_stride = b.size(), stride = b.size();
  V i = alone ? b.i64(0) : b.begin_loop(outer, columns ? Mark::Vector : Mark::Parallel), k = b.begin_reduce(n, how);
  V r = b.end_reduce(b.convert(b.load(0, b.add(b.mul(i, outer_stride), b.mul(k, stride))), sum));
  b.store(1, i, r);
  if (!alone) b.end();
  return b.finish();
}

loop::Kernel softmax() {
  Builder b("softmax");
  b.buffer(DType::F32, false);
  b.buffer(DType::F32, true);
  V rows = b.size(), n = b.size();
  V i = b.begin_loop(rows, Mark::Parallel);
  auto at = [&](V j) { return b.add(b.mul(i, n), j); };
  V j = b.begin_reduce(n, Combine::Max);
  V max = b.end_reduce(b.load(0, at(j)));
  j = b.begin_reduce(n, Combine::Sum);
  // Kept in the output, which is read again and overwritten.
  V e = b.unary(Op::Exp, b.sub(b.load(0, at(j)), max));
  b.store(1, at(j), e);
  V sum = b.end_reduce(e);
  j = b.begin_loop(n, Mark::Vector);
  b.store(1, at(j), b.div(b.load(1, at(j)), sum));
  b.end();
  b.end();
  return b.finish();
}

void compare(gpu::testing::TextProgram& batch, std::vector<Subject>& subjects, uint64_t seed) {
  for (const Subject& s : subjects)
    batch.add(s.kernel, s.sizes);
  batch.compile();
  for (size_t i = 0; i < subjects.size(); ++i) {
    Subject& s = subjects[i];
    std::vector<Memory> reference = s.buffers;
    loop::CheckRecord expected, actual;
    loop::run_reference(s.kernel, s.pointers(reference), s.sizes, expected);
    batch.run(i, s.regions(s.buffers), s.sizes, actual, seed + i);
    ASSERT_EQ(testing::difference(reference, expected, s.buffers, actual), "")
        << s.name << " SHEAF_SEED=" << seed << "\n"
        << batch.text_of(i);
  }
}

struct Reductions : gpu::testing::EachProgram {};
SHEAF_EACH_PROGRAM(Reductions);

TEST_P(Reductions, EqualReference) {
  const uint64_t seed = gpu::testing::seed();
  std::mt19937_64 rng(seed);
  std::vector<Subject> subjects;
  for (DType d : kTypes)
    for (Combine how : kCombines)
      for (int64_t n : kSizes) {
        // One pass of the whole table takes too long: through the shim every type and combination meets a third.
        if (!on_device() && rng() % 3 != 0) continue;
        const bool position = how == Combine::ArgMax || how == Combine::ArgMin;
        auto add = [&](std::string name, bool columns, bool alone, int64_t outer, int64_t outer_stride,
                       int64_t stride) {
          name += " " + std::to_string(n) + " " + std::string(sheaf::name_of(d)) + " combine " +
                  std::to_string(static_cast<int>(how));
          subjects.push_back({name,
                              reduction(d, how, columns, alone),
                              {outer, n, outer_stride, stride},
                              {random_memory(d, outer * outer_stride + n * stride + 1, rng),
                               random_memory(position ? DType::I64 : d, outer, rng)}});
        };
        add("rows", false, false, 3, n, 1);
        // Numbers of columns that allow only single loads, or vector loads of 2, 4 and 8 elements.
        const int64_t columns = std::array{5, 6, 12, 40}[rng() % 4];
        if (n <= 5000) add("columns", true, false, columns, 1, columns);
        add("all", false, true, 1, 0, 1);
      }
  constexpr int64_t kLong = 1'100'000;
  subjects.push_back({"a long row",
                      reduction(DType::F32, Combine::Sum, false, false),
                      {1, kLong, kLong, 1},
                      {random_memory(DType::F32, kLong, rng), random_memory(DType::F32, 1, rng)}});
  // More rows than the number up to which several blocks share a row, by vector loads and one element at a time.
  for (int64_t n : {17000, 17001})
    subjects.push_back({"many rows of " + std::to_string(n),
                        reduction(DType::F32, Combine::Sum, false, false),
                        {65, n, n, 1},
                        {random_memory(DType::F32, 65 * n, rng), random_memory(DType::F32, 65, rng)}});
  compare(*make(), subjects, seed);
}

// Loads of 16 bytes then hold eight elements; rows a multiple of 16 bytes apart are aligned to them, others are not.
TEST_P(Reductions, WidenNumbersOf16Bits) {
  const uint64_t seed = gpu::testing::seed();
  std::mt19937_64 rng(seed);
  std::vector<Subject> subjects;
  for (bool columns : {false, true})
    for (int64_t n : {60, 2050, 5001, 20000})
      for (int64_t padding : {0, 7}) {
        const int64_t outer = columns ? 48 : 3, row = (n + padding) / 8 * 8;
        subjects.push_back(
            {fmt::format("{} of {}, {} apart", columns ? "columns" : "rows", n, row),
             reduction(DType::BF16, Combine::Sum, columns, false),
             {outer, n, columns ? 1 : row, columns ? outer : 1},
             {random_memory(DType::BF16, outer * row + n * outer, rng), random_memory(DType::F32, outer, rng)}});
      }
  compare(*make(), subjects, seed);
}

// Of two arrays: the value that loops over a row compute from both stays in registers, not the operands.
loop::Kernel centred_sums() {
  Builder b("centred sums");
  for (int i = 0; i < 4; ++i)
    b.buffer(DType::F32, i == 3);
  V rows = b.size(), n = b.size(), i = b.begin_loop(rows, Mark::Parallel);
  auto at = [&](V j) { return b.add(b.mul(i, n), j); };
  auto sum = [&](V j) { return b.add(b.load(0, at(j)), b.load(1, at(j))); };
  V count = b.convert(n, DType::F32), j = b.begin_reduce(n, Combine::Sum);
  V mean = b.div(b.end_reduce(sum(j)), count);
  j = b.begin_reduce(n, Combine::Sum);
  V d = b.sub(sum(j), mean);
  V scale = b.unary(Op::Sqrt, b.end_reduce(b.mul(d, d)));
  j = b.begin_loop(n, Mark::Vector);
  b.store(3, at(j), b.fma(b.sub(sum(j), mean), b.load(2, j), scale));
  b.end();
  b.end();
  return b.finish();
}

TEST_P(Reductions, KeepWhatLoopsOverARowMakeOfTheSame) {
  const uint64_t seed = gpu::testing::seed();
  std::mt19937_64 rng(seed);
  std::vector<Subject> subjects;
  for (int64_t n : {33, 64, 100, 768, 2047, 2500}) {
    Subject s{"centred sums of " + std::to_string(n), centred_sums(), {9, n}, {}};
    for (int64_t size : {9 * n, 9 * n, n, 9 * n})
      s.buffers.push_back(random_memory(DType::F32, size, rng));
    subjects.push_back(std::move(s));
  }
  const auto batch = make();
  compare(*batch, subjects, seed);
  EXPECT_NE(batch->text_of(3).find("float row0[24];"), std::string::npos) << batch->text_of(3);
  EXPECT_EQ(batch->text_of(3).find("row1"), std::string::npos) << batch->text_of(3);
}

TEST_P(Reductions, KeepWhatALaterLoopReads) {
  const uint64_t seed = gpu::testing::seed();
  std::mt19937_64 rng(seed);
  std::vector<Subject> subjects;
  for (int64_t n : kSizes) {
    if (n == 40000) continue;
    for (bool in_place : {false, true})
      subjects.push_back({"softmax " + std::to_string(n),
                          softmax(),
                          {3, n},
                          {random_memory(DType::F32, 3 * n, rng), random_memory(DType::F32, 3 * n, rng)},
                          in_place});
  }
  // More totals than fit in shared memory.
  constexpr int64_t kLong = 1'100'000;
  subjects.push_back({"a long softmax",
                      softmax(),
                      {1, kLong},
                      {random_memory(DType::F32, kLong, rng), random_memory(DType::F32, kLong, rng)}});
  compare(*make(), subjects, seed);
}

}  // namespace
}  // namespace sheaf::codegen
