// GEMV by a matrix that stays the same: its columns are packed one after the other, and several of them at a time are
// then read in the order of memory, from end to end.
#include <algorithm>
#include <cstring>

#include "kernels/gemm/gemm.h"
#include "kernels/gemm/micro_kernels.h"
#include "kernels/gemm/packing.h"
#include "kernels/kernels.h"
#include "runtime/kernel.h"
#include "runtime/thread_pool.h"

namespace sheaf::kernels {
namespace {

// to[j][l] = from[l][j], whose rows are `apart` elements apart; a few rows of a few columns at a time, which the
// first-level cache holds.
template <class S>
void pack_columns(const S* from, int64_t apart, int64_t n, int64_t k, S* to) {
  constexpr int64_t kSquare = 64 / sizeof(S), kStrip = 16 * kSquare;
  runtime::parallel_for(
      pieces(n, kStrip),
      [&](int64_t begin, int64_t end) {
        for (int64_t first = begin * kStrip, last = std::min(n, end * kStrip); first < last; first += kStrip)
          for (int64_t l = 0; l < k; l += kSquare)
            for (int64_t j = first; j < std::min(last, first + kStrip); j += kSquare)
              transpose(to + j * k + l, k, from + l * apart + j, apart, std::min(kSquare, last - j),
                        std::min(kSquare, k - l));
      },
      std::max<int64_t>(1, (1 << 14) / (kStrip * k)));
}

class PackedGemv : public runtime::PackedForm {
 public:
  PackedGemv(DType dtype, int64_t n, int64_t k, int64_t stride_k, routines::Arithmetic arithmetic)
      : PackedForm(1, n * k * size_bytes(dtype), {n, k, stride_k, 1}),
        n_(n),
        k_(k),
        stride_k_(stride_k),
        args_{.dtype = dtype, .batch = 1, .m = 1, .n = n, .k = k, .a = {k, k, 1}, .b = {n * k, 1, k}, .result = dtype},
        arithmetic_(arithmetic) {}

  void pack(const std::byte* from, std::byte* to) const override {
    auto pack_as = [&]<class S>() {
      pack_columns(reinterpret_cast<const S*>(from), stride_k_, n_, k_, reinterpret_cast<S*>(to));
    };
    if (args_.dtype == DType::F32)
      pack_as.template operator()<float>();
    else
      pack_as.template operator()<BFloat16>();
  }
  void run(std::span<std::byte* const> buffers) const override { kernels::contract({buffers, arithmetic_}, args_); }

 private:
  int64_t n_, k_, stride_k_;
  routines::GemmArgs<> args_;  // of the product by the packed matrix
  routines::Arithmetic arithmetic_;
};

}  // namespace
std::shared_ptr<const runtime::PackedForm> packed_row_form(DType dtype, int64_t n, int64_t k, int64_t stride_k,
                                                           int64_t stride_n, const runtime::Target& target) {
  constexpr int64_t kLeast = 1 << 17;  // elements: fewer are in a cache when they are read again
  const bool narrow_vectors =
      gemm_kernels<float>().lanes * sizeof(float) == 16;  // wider ones wait for memory, in any order
  if (!narrow_vectors || stride_n != 1 || n * k < kLeast || (dtype != DType::F32 && dtype != DType::BF16))
    return nullptr;
  return std::make_shared<PackedGemv>(dtype, n, k, stride_k, arithmetic_of(target));
}

}  // namespace sheaf::kernels
