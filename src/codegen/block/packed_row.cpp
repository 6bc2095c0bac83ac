#include "codegen/block/packed_row.h"

#include "codegen/block/block.h"
#include "codegen/block/machine.h"
#include "codegen/block/simd.h"
#include "codegen/block/thin.h"
#include "loop/library.h"
#include "loop/pairs.h"
#include "runtime/executable.h"
#include "runtime/thread_pool.h"

namespace sheaf::codegen::block {
namespace {

template <class T>
struct Kernels {
  template <class S>
  struct Ways {
    RowPanels<S> one_stream, several;
  };
  bool pays;  // panels are read faster than rows
  Ways<float> same;
  Ways<BFloat16> bf16;
  const Ways<float>& of(const float*) const { return same; }
  const Ways<BFloat16>& of(const BFloat16*) const { return bf16; }
};

#define SHEAF_KERNELS "codegen/block/packed_row_kernels.h"
#include "codegen/block/instruction_sets.h"

template <class S>
const RowPanels<S>& panels() {
  if constexpr (std::is_same_v<S, BFloat16>)
    if (loop::has_bf16_instructions()) return bf16_row_panels();
  const auto& ways = kernels<float>().of(static_cast<const S*>(nullptr));
  return reads_one_stream_best() ? ways.one_stream : ways.several;
}

}  // namespace

template <class S>
int64_t packed_row_elements(int64_t n, int64_t k) { return round_up(n, panels<S>().width) * k; }

template <class S>
void pack_for_row(const Operand<S>& b, int64_t n, int64_t k, S* to) {
  const int64_t width = panels<S>().width;
  runtime::parallel_for(pieces(n, width), [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p) pack(to + p * width * k, b, p * width, 0, std::min(width, n - p * width), width, k);
  }, std::max<int64_t>(1, kTaskFlops / (width * k + 1)));
}

template <class S>
void packed_row(const S* a, const S* from, S* c, int64_t n, int64_t k) {
  const RowPanels<S>& way = panels<S>();
  const int64_t panel = way.width * k, count = pieces(n, way.width);
  const StoredRow<S> x{a, contiguous_rows<float>(Operand<S>{a, k, 1}, 1, k).data};
  float* wide = scratch<float>(2, count * way.width);
  for_streams(count, way.streams, panel * int64_t(sizeof(S)), kTaskFlops / (2 * panel + 1), [&] {
    return [&](int64_t first, int64_t apart) {
      way.multiply(x, from + first * panel, apart * panel, k, wide + first * way.width, apart * way.width);  // with 0 one panel in all places
      for (int64_t s = 0; s < (apart > 0 ? way.streams : 1); ++s)
        for (int64_t j = (first + s * apart) * way.width, last = std::min(n, j + way.width); j < last; ++j) c[j] = loop::scalar::convert<S>(wide[j]);
    };
  });
}

template int64_t packed_row_elements<float>(int64_t, int64_t);
template int64_t packed_row_elements<BFloat16>(int64_t, int64_t);
template void pack_for_row(const Operand<float>&, int64_t, int64_t, float*);
template void pack_for_row(const Operand<BFloat16>&, int64_t, int64_t, BFloat16*);
template void packed_row(const float*, const float*, float*, int64_t, int64_t);
template void packed_row(const BFloat16*, const BFloat16*, BFloat16*, int64_t, int64_t);

namespace {

template <class S>
class PackedRow : public runtime::PackedForm {
 public:
  PackedRow(int64_t n, int64_t k, int64_t stride_k, int64_t stride_n)
      : PackedForm(1, packed_row_elements<S>(n, k) * sizeof(S), {n, k, stride_k, stride_n}), n_(n), k_(k), stride_k_(stride_k), stride_n_(stride_n) {}

  void pack(const std::byte* from, std::byte* to) const override {
    pack_for_row<S>({reinterpret_cast<const S*>(from), stride_n_, stride_k_}, n_, k_, reinterpret_cast<S*>(to));
  }
  void run(std::span<std::byte* const> buffers) const override {
    auto elements = [&](int i) { return reinterpret_cast<S*>(buffers[i]); };
    packed_row(elements(0), elements(1), elements(2), n_, k_);
  }

 private:
  int64_t n_, k_, stride_k_, stride_n_;
};

}  // namespace
}  // namespace sheaf::codegen::block

namespace sheaf::codegen {

std::shared_ptr<const runtime::PackedForm> packed_row_form(DType dtype, int64_t n, int64_t k, int64_t stride_k, int64_t stride_n) {
  constexpr int64_t kLeast = 1 << 17;  // elements: fewer are in a cache when they are read again
  if (!block::kernels<float>().pays || stride_n != 1 || n * k < kLeast || k > loop::kContractPart) return nullptr;
  if (dtype == DType::BF16) return std::make_shared<block::PackedRow<block::BFloat16>>(n, k, stride_k, stride_n);
  constexpr int64_t kLongRows = 3072;  // longer ones are read well as they are
  if (dtype == DType::F32 && n <= kLongRows) return std::make_shared<block::PackedRow<float>>(n, k, stride_k, stride_n);
  return nullptr;
}

}  // namespace sheaf::codegen
