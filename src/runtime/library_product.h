// GEMM of bf16 and f16 with cuBLASLt: accumulates in f32, in an order that the library chooses and that no definition
// states; repeated runs give equal bits. The algorithm is selected once and kept for the life of the program.
#pragma once
#include <compare>
#include <cstdint>
#include <memory>
#include <string>

#include "tensor/dtype.h"

namespace sheaf::runtime {

// A batched product c = a b. Strides are in elements. All arrays, lines (contiguous rows or columns) and matrices of a
// batch begin at multiples of kLibraryAlignment bytes.
inline constexpr int64_t kLibraryAlignment = 16;
struct LibraryProduct {
  DType dtype, result;  // of the operands, BF16 or F16; of c, the same or F32
  int64_t batch, m, n, k;
  struct Matrix {
    bool along_k;  // contiguous along k, else along m or n
    int64_t line_step, batch_step;
    friend auto operator<=>(const Matrix&, const Matrix&) = default;
  } a, b;
  int64_t c_line_step, c_batch_step;  // of rows
  friend auto operator<=>(const LibraryProduct&, const LibraryProduct&) = default;
};
std::string print(const LibraryProduct& p);

class PlannedProduct {
 public:
  // Plans a product in the context of the calling thread. nullptr: no library, or no algorithm for the product.
  static std::shared_ptr<const PlannedProduct> find(const LibraryProduct& p);
  ~PlannedProduct();
  PlannedProduct(const PlannedProduct&) = delete;
  PlannedProduct& operator=(const PlannedProduct&) = delete;

  int64_t workspace_bytes() const;
  // Submits the product's kernels to the stream. The workspace must be aligned to 256 bytes.
  void submit(uint64_t a, uint64_t b, uint64_t c, uint64_t workspace, void* stream) const;

 private:
  PlannedProduct() = default;
  static std::shared_ptr<const PlannedProduct> make(const LibraryProduct& p);
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace sheaf::runtime
