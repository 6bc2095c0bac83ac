#include "codegen/block/packed_row.h"

#include "codegen/block/block.h"
#include "codegen/block/simd.h"
#include "codegen/block/thin.h"
#include "loop/library.h"
#include "runtime/executable.h"
#include "runtime/thread_pool.h"

namespace sheaf::codegen::block {
namespace {

static_assert(loop::kRowChains == 4 && loop::contract_run(sizeof(BFloat16), 1, 1) == 1);  // elements of k in turn

template <class T>
struct Kernels {
  bool pays;  // panels are read faster than rows
  int64_t width;
  void (*panels)(const float* x, const BFloat16* b, int64_t count, int64_t k, float* out);
};

#define SHEAF_KERNELS "codegen/block/packed_row_kernels.h"
#include "codegen/block/instruction_sets.h"

}  // namespace

int64_t packed_row_elements(int64_t n, int64_t k) { return round_up(n, kernels<float>().width) * k; }

void pack_for_row(const Operand<BFloat16>& b, int64_t n, int64_t k, BFloat16* panels) {
  const int64_t width = kernels<float>().width;
  runtime::parallel_for(pieces(n, width), [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p) pack(panels + p * width * k, b, p * width, 0, std::min(width, n - p * width), width, k);
  }, std::max<int64_t>(1, kTaskFlops / (width * k + 1)));
}

void packed_row(const BFloat16* a, const BFloat16* panels, BFloat16* c, int64_t n, int64_t k) {
  const Kernels<float>& kern = kernels<float>();
  const float* x = contiguous_rows<float>(Operand<BFloat16>{a, k, 1}, 1, k).data;
  float* wide = scratch<float>(2, round_up(n, kern.width));
  runtime::parallel_for(pieces(n, kern.width), [&](int64_t begin, int64_t end) {
    kern.panels(x, panels + begin * kern.width * k, end - begin, k, wide + begin * kern.width);
    for (int64_t j = begin * kern.width, last = std::min(n, end * kern.width); j < last; ++j) c[j] = loop::scalar::convert<BFloat16>(wide[j]);
  }, std::max<int64_t>(1, kTaskFlops / (2 * kern.width * k + 1)));
}

namespace {

class PackedRow : public runtime::PackedForm {
 public:
  PackedRow(int64_t n, int64_t k, int64_t stride_k, int64_t stride_n)
      : PackedForm(1, packed_row_elements(n, k) * sizeof(BFloat16), {n, k, stride_k, stride_n}), n_(n), k_(k), stride_k_(stride_k), stride_n_(stride_n) {}

  void pack(const std::byte* from, std::byte* to) const override {
    pack_for_row({reinterpret_cast<const BFloat16*>(from), stride_n_, stride_k_}, n_, k_, reinterpret_cast<BFloat16*>(to));
  }
  void run(std::span<std::byte* const> buffers) const override {
    auto narrow = [&](int i) { return reinterpret_cast<BFloat16*>(buffers[i]); };
    packed_row(narrow(0), narrow(1), narrow(2), n_, k_);
  }

 private:
  int64_t n_, k_, stride_k_, stride_n_;
};

}  // namespace
}  // namespace sheaf::codegen::block

namespace sheaf::codegen {

std::shared_ptr<const runtime::PackedForm> packed_row_form(DType dtype, int64_t n, int64_t k, int64_t stride_k, int64_t stride_n) {
  constexpr int64_t kLeast = 1 << 17;  // elements: fewer are in a cache when they are read again
  if (!block::kernels<float>().pays || dtype != DType::BF16 || stride_n != 1 || n * k < kLeast || k > loop::kContractPart) return nullptr;
  return std::make_shared<block::PackedRow>(n, k, stride_k, stride_n);
}

}  // namespace sheaf::codegen
