// Scatters to positions given by data: sums, maxima and plain stores, of wide and narrow types, with some positions
// repeated often, at sizes around warps and chunks of the loop.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "codegen/gpu/text_program.h"
#include "codegen/random_kernels.h"
#include "loop/reference.h"

namespace sheaf::codegen {
namespace {

using loop::Builder;
using loop::Mark;
using loop::Op;
using testing::Memory;
using V = Builder::V;

enum class How : uint8_t { Set, Add, Max, AddScaled };

// table[o, index[j], i] is combined with updates[o, j, i]; AddScaled: times the iteration number.
loop::Kernel scatter(DType d, How how) {
  Builder b("scatter");
  b.buffer(DType::I64, false);
  b.buffer(d, false);
  b.buffer(d, true);
  const DType compute = d == DType::BF16 ? DType::F32 : d;
  V outer = b.size(), n = b.size(), turns = b.size(), inner = b.size();
  V o = b.begin_loop(outer, Mark::Free), i = b.begin_loop(inner, Mark::Vector), j = b.begin_loop(turns, Mark::Serial);
  V at = b.max(b.min(b.load(0, j), b.sub(n, b.i64(1))), b.i64(0));
  V place = b.add(b.add(b.mul(o, b.mul(n, inner)), b.mul(at, inner)), i);
  V update = b.convert(b.load(1, b.add(b.add(b.mul(o, b.mul(turns, inner)), b.mul(j, inner)), i)), compute);
  if (how != How::Set) {
    V old = b.convert(b.load(2, place), compute);
    if (how == How::AddScaled) update = b.mul(update, b.convert(j, compute));
    update = how == How::Max ? b.max(old, update) : b.add(old, update);
  }
  b.store(2, place, b.convert(update, d));
  for (int loop = 0; loop < 3; ++loop)
    b.end();
  return b.finish();
}

Memory random_memory(DType d, int64_t n, std::mt19937_64& rng) {
  Memory m{d, std::vector<std::byte>(static_cast<size_t>(std::max<int64_t>(n, 1) * size_bytes(d)))};
  scalar::visit_dtype(d, [&]<class T>(std::type_identity<T>) {
    for (int64_t i = 0; i < n; ++i) {
      const double x = std::normal_distribution<double>(1, 10)(rng);
      const T v = scalar::convert<T>(is_float(d) ? x : std::floor(x));
      std::memcpy(m.bytes.data() + i * static_cast<int64_t>(sizeof(T)), &v, sizeof(T));
    }
  });
  return m;
}

struct Scatters : gpu::testing::EachProgram {};
SHEAF_EACH_PROGRAM(Scatters);

TEST_P(Scatters, EqualReference) {
  const uint64_t seed = gpu::testing::seed();
  std::mt19937_64 rng(seed);
  auto any = [&](auto... x) {
    const int64_t all[] = {x...};
    return all[rng() % std::size(all)];
  };
  struct Subject {
    std::string name;
    loop::Kernel kernel;
    std::vector<int64_t> sizes;
    std::vector<Memory> buffers;
  };
  std::vector<Subject> subjects;
  for (DType d : {DType::F32, DType::BF16, DType::I64, DType::F64})
    for (How how : {How::Set, How::Add, How::Max, How::AddScaled})
      for (int repeat = 0; repeat < 3; ++repeat) {
        const int64_t outer = any(0, 1, 1, 2), n = any(1, 3, 50, 700), turns = any(1, 63, 64, 65, 128, 300),
                      inner = any(1, 31, 32, 33, 70);
        Memory index{DType::I64, std::vector<std::byte>(static_cast<size_t>(turns) * 8)};
        for (int64_t j = 0; j < turns; ++j) {
          const int64_t at = rng() % 2 ? n / 2 : static_cast<int64_t>(rng() % static_cast<uint64_t>(n));
          std::memcpy(index.bytes.data() + j * 8, &at, 8);
        }
        subjects.push_back(
            {fmt::format("{} how {}: {} x {} x {}, {} turns", sheaf::name_of(d), static_cast<int>(how), outer, n, inner,
                         turns),
             scatter(d, how),
             {outer, n, turns, inner},
             {index, random_memory(d, outer * turns * inner, rng), random_memory(d, outer * n * inner, rng)}});
      }
  const auto batch = make();
  int shared = 0;
  for (const Subject& s : subjects) {
    const size_t entry = batch->add(s.kernel, s.sizes);
    const auto& step = batch->entry(entry).program.steps.at(0);
    shared += std::get<gpu::EmittedLaunch>(step).schedule.kind == gpu::Schedule::Scatter;
  }
  EXPECT_GE(shared, static_cast<int>(subjects.size()) / 4);
  batch->compile();
  for (size_t i = 0; i < subjects.size(); ++i) {
    Subject& s = subjects[i];
    std::vector<Memory> reference = s.buffers;
    loop::CheckRecord expected, actual;
    loop::run_reference(s.kernel, testing::pointers(reference), s.sizes, expected);
    batch->run(i, gpu::testing::regions(s.buffers), s.sizes, actual, seed + i);
    ASSERT_EQ(testing::difference(reference, expected, s.buffers, actual), "")
        << s.name << " SHEAF_SEED=" << seed << "\n"
        << batch->text_of(i);
  }
}

}  // namespace
}  // namespace sheaf::codegen
