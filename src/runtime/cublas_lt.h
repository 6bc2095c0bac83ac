// The functions of cuBLASLt, NVIDIA's GEMM library, that this program calls; the library is loaded at run time. Members
// keep the library's names without "cublasLt"; handles are opaque pointers. Any thread may call them.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

namespace sheaf::runtime {

struct CublasLt {
  // Opens the library at the first call; it stays open for the life of the program.
  static const CublasLt& find();
  // The reason if there is no usable library (none, or too old); empty if all functions are available.
  std::string missing;
  std::string path;     // of the library
  std::string version;  // "13.0.2"

  using Handle = void*;
  struct Algorithm {
    uint64_t data[8] = {};
  };
  // An algorithm that the library proposes for a product.
  struct Choice {
    Algorithm algorithm;
    size_t workspace_bytes = 0;
    int status = 0;
    float waves = 0;
    int reserved[4] = {};
  };
  size_t (*get_version)() = nullptr;
  const char* (*status_name)(int status) = nullptr;
  int (*create)(Handle* library) = nullptr;
  int (*create_layout)(Handle* layout, int type, uint64_t rows, uint64_t columns, int64_t column_step) = nullptr;
  int (*destroy_layout)(Handle layout) = nullptr;
  int (*set_layout)(Handle layout, int attribute, const void* value, size_t bytes) = nullptr;
  int (*create_operation)(Handle* operation, int compute_type, int scale_type) = nullptr;
  int (*destroy_operation)(Handle operation) = nullptr;
  int (*set_operation)(Handle operation, int attribute, const void* value, size_t bytes) = nullptr;
  int (*create_preference)(Handle* preference) = nullptr;
  int (*destroy_preference)(Handle preference) = nullptr;
  int (*set_preference)(Handle preference, int attribute, const void* value, size_t bytes) = nullptr;
  int (*choose)(Handle library, Handle operation, Handle a, Handle b, Handle c, Handle d, Handle preference, int most,
                Choice* choices, int* count) = nullptr;
  int (*multiply)(Handle library, Handle operation, const void* alpha, const void* a, Handle a_layout, const void* b,
                  Handle b_layout, const void* beta, const void* c, Handle c_layout, void* d, Handle d_layout,
                  const Algorithm* algorithm, void* workspace, size_t workspace_bytes, void* stream) = nullptr;

  // Values of the library's enumerations.
  static constexpr int kSuccess = 0;
  static constexpr int kF32 = 0, kF16 = 2, kBf16 = 14;                          // types
  static constexpr int kComputeF32 = 68;                                        // of create_operation
  static constexpr int kBatchCount = 5, kBatchStep = 6;                         // of set_layout
  static constexpr int kTransposeA = 3, kTransposeB = 4;                        // of set_operation
  static constexpr int kMaxWorkspace = 1, kReductions = 3, kMinAlignmentA = 5;  // of set_preference; then B, C and D
  static constexpr int kTransposed = 1;
  static constexpr int kReductionInF32 = 2;  // split-k: a separate launch adds the partial sums in f32

  // The library's name for a status.
  std::string name_of(int status) const;

 private:
  CublasLt();
};

}  // namespace sheaf::runtime
