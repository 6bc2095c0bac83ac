// One row and several by a packed matrix against the definition, bit for bit.
#include <gtest/gtest.h>

#include <cstring>
#include <utility>

#include "kernels/gemm/gemm.h"
#include "kernels/kernels.h"
#include "kernels/random_data.h"
#include "runtime/fusion.h"
#include "runtime/kernel.h"
#include "runtime/target.h"
#include "runtime/thread_pool.h"

namespace sheaf::kernels {
namespace {

using testing::bytes;
using testing::fill;

const runtime::Target& kTarget = runtime::host_target();

routines::GemmArgs<> product(DType dtype, int64_t m, int64_t n, int64_t k, int64_t apart) {
  return {.dtype = dtype,
          .batch = 1,
          .m = m,
          .n = n,
          .k = k,
          .a = {m * k, k, 1},
          .b = {k * apart, apart, 1},
          .result = dtype};
}

template <class S>
void expect_same(const routines::GemmArgs<>& args, std::mt19937_64& rng) {
  auto form = repacked_form(args, kTarget);
  if (!form) return;
  EXPECT_EQ(form->facts.packs, args.m == 1);
  std::vector<S> a(args.m * args.k), b(args.k * args.b.row), expected(args.m * args.n), actual(args.m * args.n);
  fill(a, rng);
  fill(b, rng);
  std::vector<std::byte> packed(form->facts.bytes);
  form->pack(bytes(b), packed.data());
  std::byte *with_packed[] = {bytes(a), packed.data(), bytes(actual)},
            *buffers[] = {bytes(a), bytes(b), bytes(expected)};
  form->run(with_packed, {});
  routines::contract({buffers, arithmetic_of(kTarget)}, args);
  EXPECT_EQ(std::memcmp(expected.data(), actual.data(), expected.size() * sizeof(S)), 0)
      << name_of(args.dtype) << " " << args.m << " by " << args.n << " by " << args.k;
}

// For any number of columns, blocks of k and threads.
TEST(Repacked, EqualsDefinition) {
  std::mt19937_64 rng(7);
  int trial = 0;
  for (auto [n, k] : {std::pair<int64_t, int64_t>{512, 512},
                      {131, 1027},
                      {1, 131072},
                      {43691, 3},
                      {17, 8001},
                      {300, 513},
                      {1040, 127},
                      {3072, 768},
                      {768, 700},
                      {7, 20001}}) {
    runtime::set_num_threads(1 + trial++ % 3);
    const int64_t apart = n + (trial % 2) * 5;  // columns of a wider matrix
    for (int64_t m : {1, 2, 8, 37}) {
      expect_same<scalar::BFloat16>(product(DType::BF16, m, n, k, apart), rng);
      expect_same<float>(product(DType::F32, m, n, k, apart), rng);
    }
  }
}

TEST(Repacked, OnlyWhereItPays) {
  EXPECT_FALSE(repacked_form(product(DType::F64, 1, 1024, 1024, 1024), kTarget));
  auto by_columns = product(DType::BF16, 1, 1024, 1024, 1024);
  by_columns.b = {1024 * 1024, 1, 1024};
  auto form = repacked_form(by_columns, kTarget);
  EXPECT_TRUE(!form || form->facts.is_copy) << "columns are in order as they are";
  EXPECT_FALSE(repacked_form(product(DType::BF16, 1, 64, 64, 64), kTarget)) << "a cache holds it";
  EXPECT_FALSE(repacked_form(product(DType::F32, 2, 1024, 1024, 1024), kTarget)) << "faster by rows";
}

}  // namespace
}  // namespace sheaf::kernels
