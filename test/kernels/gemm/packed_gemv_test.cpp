// One row by a packed matrix against the definition, bit for bit.
#include <gtest/gtest.h>

#include <cstring>
#include <utility>

#include "kernels/gemm/gemm.h"
#include "kernels/kernels.h"
#include "kernels/random_data.h"
#include "runtime/kernel.h"
#include "runtime/target.h"
#include "runtime/thread_pool.h"

namespace sheaf::kernels {
namespace {

using testing::bytes;
using testing::fill;

const runtime::Target& kTarget = runtime::host_target();

template <class S>
void expect_same_packed_row(DType dtype, int64_t n, int64_t k, int64_t apart, std::mt19937_64& rng) {
  auto form = packed_row_form(dtype, n, k, apart, 1, kTarget);
  if (!form) return;
  std::vector<S> a(k), b(k * apart), expected(n), actual(n);
  fill(a, rng);
  fill(b, rng);
  std::vector<std::byte> packed(form->bytes);
  form->pack(bytes(b), packed.data());
  std::byte *with_packed[] = {bytes(a), packed.data(), bytes(actual)},
            *buffers[] = {bytes(a), bytes(b), bytes(expected)};
  form->run(with_packed);
  routines::contract({buffers, arithmetic_of(kTarget)}, {.dtype = dtype,
                                                         .batch = 1,
                                                         .m = 1,
                                                         .n = n,
                                                         .k = k,
                                                         .a = {k, k, 1},
                                                         .b = {k * apart, apart, 1},
                                                         .result = dtype});
  EXPECT_EQ(std::memcmp(expected.data(), actual.data(), n * sizeof(S)), 0) << name_of(dtype) << " " << n << " by " << k;
}

// Whatever the columns, the blocks of k and the threads.
TEST(PackedGemv, EqualsDefinition) {
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
    expect_same_packed_row<scalar::BFloat16>(DType::BF16, n, k, apart, rng);
    expect_same_packed_row<float>(DType::F32, n, k, apart, rng);
  }
}

TEST(PackedGemv, OnlyWhereItPays) {
  EXPECT_FALSE(packed_row_form(DType::F64, 1024, 1024, 1024, 1, kTarget));
  EXPECT_FALSE(packed_row_form(DType::BF16, 1024, 1024, 1, 1024, kTarget)) << "columns are in order as they are";
  EXPECT_FALSE(packed_row_form(DType::BF16, 64, 64, 64, 1, kTarget)) << "a cache holds it";
}

}  // namespace
}  // namespace sheaf::kernels
