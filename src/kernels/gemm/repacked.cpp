// Products by a constant matrix: its columns are packed consecutively (transposed). A GEMV then reads several columns
// at a time, each sequentially. Products of more rows read the packed columns too, so that the original is no longer
// needed: if it is in a mapped file, its pages can be released.
#include <algorithm>
#include <cstring>

#include "kernels/gemm/gemm.h"
#include "kernels/gemm/micro_kernels.h"
#include "kernels/gemm/packing.h"
#include "kernels/kernels.h"
#include "runtime/fusion.h"
#include "runtime/kernel.h"
#include "runtime/thread_pool.h"

namespace sheaf::kernels {
namespace {

// to[j][l] = from[l][j]; rows of `from` are `apart` elements apart. Works on blocks of a few rows and columns that stay
// in L1.
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

// True if columns are already contiguous and consecutive: packing could only improve the page size.
bool has_columns(const routines::GemmArgs<>& args) { return args.b.row == 1 && args.b.column == args.k; }

class Repacked : public runtime::PackedForm {
 public:
  Repacked(const routines::GemmArgs<>& args, const runtime::Target& target)
      : PackedForm(
            {.operand = 1,
             .packs = args.m == 1,
             .is_copy = has_columns(args),
             .bytes = args.n * args.k * size_bytes(args.dtype),
             .source_bytes = ((args.k - 1) * args.b.row + (args.n - 1) * args.b.column + 1) * size_bytes(args.dtype),
             .layout = {args.n, args.k, args.b.row, args.b.column}}),
        args_(args),
        product_(fused_product(of_packed(args), target)) {}

  void pack(const std::byte* from, std::byte* to) const override {
    auto pack_as = [&]<class S>() {
      pack_columns(reinterpret_cast<const S*>(from), args_.b.row, args_.n, args_.k, reinterpret_cast<S*>(to));
    };
    if (args_.dtype == DType::F32)
      pack_as.template operator()<float>();
    else
      pack_as.template operator()<BFloat16>();
  }
  void run(std::span<std::byte* const> buffers, const runtime::Fusion& fusion) const override {
    product_->run(buffers, fusion);
  }
  bool completes_rows() const override { return product_->completes_rows(); }

 private:
  static routines::GemmArgs<> of_packed(routines::GemmArgs<> args) {
    args.b = {args.n * args.k, 1, args.k};
    return args;
  }

  routines::GemmArgs<> args_;
  std::shared_ptr<const runtime::FusedProduct> product_;  // with the packed matrix
};

}  // namespace

std::shared_ptr<const runtime::PackedForm> repacked_form(const routines::GemmArgs<>& args,
                                                         const runtime::Target& target) {
  constexpr int64_t kLeast = 1 << 17;  // elements: a smaller matrix is still in a cache when it is read again
  // f32 products of fewer rows are faster with the rows of B: two rows by 768 x 3072 take 0.16 ms, with its columns
  // 0.28 (Neoverse-V1).
  constexpr int64_t kSomeRows = 8;
  const bool narrow_vectors =
      gemm_kernels<float>().lanes * sizeof(float) == 16;  // wider ones are bound by memory in any layout
  const bool any_use = args.b.column == 1 || has_columns(args);
  if (!narrow_vectors || args.batch != 1 || !any_use || args.n * args.k < kLeast) return nullptr;
  const bool pays = args.dtype == DType::BF16 ||
                    (args.dtype == DType::F32 && (args.m == 1 || args.m >= kSomeRows || has_columns(args)));
  return pays ? std::make_shared<Repacked>(args, target) : nullptr;
}

}  // namespace sheaf::kernels
