// A fake cuBLASLt: computes products one element after the other when the fake driver reaches them. Refuses what the
// real library refuses: lines, matrices and pointers that are not aligned to 16 bytes, another algorithm than the one
// chosen for the matrices, less workspace than that needs. Writes a line for each submitted product to the file
// $FAKE_CUBLASLT_LOG. $FAKE_CUBLASLT_FAULT: "none", there is no algorithm; "fails", all products fail.
#include "runtime/cublas_lt.h"

#include <dlfcn.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "tensor/dtype.h"

namespace {

using sheaf::runtime::CublasLt;

constexpr int kInvalidValue = 7, kExecutionFailed = 13, kNotSupported = 15;
constexpr uint64_t kAlignment = 16, kWorkspaceAlignment = 256, kWorkspaceBytes = 1000;

// Stored by columns.
struct Layout {
  int type = 0;
  uint64_t rows = 0, columns = 0;
  int64_t column_step = 0, batch_step = 0;
  int32_t batch = 1;

  uint64_t width() const { return type == CublasLt::kF32 ? 4 : 2; }
  uint64_t bytes() const {
    const auto last =
        static_cast<uint64_t>((batch - 1) * batch_step) + (columns - 1) * static_cast<uint64_t>(column_step);
    return (last + rows) * width();
  }
  bool is_valid() const {
    return column_step >= static_cast<int64_t>(rows) &&
           static_cast<uint64_t>(column_step) * width() % kAlignment == 0 &&
           static_cast<uint64_t>(batch_step) * width() % kAlignment == 0;
  }
};
struct Operation {
  int compute_type = 0, scale_type = 0;
  int32_t transpose[2] = {};
};
struct Preference {
  uint64_t workspace_bytes = 0;
  uint32_t reductions = 7, alignments[4] = {256, 256, 256, 256};
};

Layout& layout_of(void* p) { return *static_cast<Layout*>(p); }
Operation& operation_of(void* p) { return *static_cast<Operation*>(p); }
bool has_fault(const char* name) {
  const char* fault = std::getenv("FAKE_CUBLASLT_FAULT");
  return fault && std::strcmp(fault, name) == 0;
}

// Functions of the fake driver, next to this library.
template <class F>
F* of_driver(const char* name) {
  Dl_info info;
  dladdr(reinterpret_cast<void*>(&has_fault), &info);
  static void* const driver =
      dlopen((std::filesystem::path(info.dli_fname).parent_path() / "libcuda.so.1").c_str(), RTLD_NOW);
  return reinterpret_cast<F*>(dlsym(driver, name));
}

struct Product {
  Operation operation;
  Layout a, b, d;
  uint64_t depth() const { return operation.transpose[0] ? a.rows : a.columns; }
  bool is_valid() const {
    const bool at = operation.transpose[0], bt = operation.transpose[1];
    return (at ? a.columns : a.rows) == d.rows && (bt ? b.rows : b.columns) == d.columns &&
           (bt ? b.columns : b.rows) == depth() && a.type == b.type && a.type != CublasLt::kF32 &&
           (d.type == a.type || d.type == CublasLt::kF32) && a.batch == d.batch && b.batch == d.batch && a.is_valid() &&
           b.is_valid() && d.is_valid() && operation.compute_type == CublasLt::kComputeF32 &&
           operation.scale_type == CublasLt::kF32;
  }
  // An algorithm is one for these matrices.
  uint64_t key() const {
    uint64_t out = 1469598103934665603u;
    for (const Layout& l : {a, b, d})
      for (uint64_t x : {uint64_t(l.type), l.rows, l.columns, uint64_t(l.column_step), uint64_t(l.batch_step)})
        out = (out ^ x) * 1099511628211u;
    return out;
  }
};

float number_at(const void* from, const Layout& l, uint64_t batch, uint64_t row, uint64_t column) {
  const uint64_t at = batch * static_cast<uint64_t>(l.batch_step) + column * static_cast<uint64_t>(l.column_step) + row;
  const uint16_t bits = static_cast<const uint16_t*>(from)[at];
  return l.type == CublasLt::kBf16 ? sheaf::bf16_to_f32(bits) : sheaf::f16_to_f32(bits);
}

void multiply(const Product& p, const void* a, const void* b, void* d) {
  const uint64_t depth = p.depth();
  std::vector<float> left(p.d.rows * depth), right(depth);  // rows of the first factor, and a column of the second one
  for (uint64_t batch = 0; batch < static_cast<uint64_t>(p.d.batch); ++batch) {
    for (uint64_t i = 0; i < p.d.rows; ++i)
      for (uint64_t l = 0; l < depth; ++l)
        left[i * depth + l] =
            p.operation.transpose[0] ? number_at(a, p.a, batch, l, i) : number_at(a, p.a, batch, i, l);
    for (uint64_t j = 0; j < p.d.columns; ++j) {
      for (uint64_t l = 0; l < depth; ++l)
        right[l] = p.operation.transpose[1] ? number_at(b, p.b, batch, j, l) : number_at(b, p.b, batch, l, j);
      for (uint64_t i = 0; i < p.d.rows; ++i) {
        // Four chains, for the speed of tests: the library's order is its own.
        float sums[4] = {};
        for (uint64_t l = 0; l < depth; ++l)
          sums[l % 4] += left[i * depth + l] * right[l];
        const float sum = (sums[0] + sums[1]) + (sums[2] + sums[3]);
        const uint64_t at =
            batch * static_cast<uint64_t>(p.d.batch_step) + j * static_cast<uint64_t>(p.d.column_step) + i;
        if (p.d.type == CublasLt::kF32)
          static_cast<float*>(d)[at] = sum;
        else
          static_cast<uint16_t*>(d)[at] =
              p.d.type == CublasLt::kBf16 ? sheaf::f32_to_bf16(sum) : sheaf::f32_to_f16(sum);
      }
    }
  }
}

template <class T>
int create(void** out) {
  *out = new T;
  return 0;
}
template <class T>
int destroy(void* p) {
  delete static_cast<T*>(p);
  return 0;
}
int set(void* field, size_t size, const void* value, size_t bytes) {
  if (!field || bytes != size) return kInvalidValue;
  std::memcpy(field, value, bytes);
  return 0;
}

}  // namespace

extern "C" {

size_t cublasLtGetVersion() { return 130102; }
const char* cublasLtGetStatusName(int status) {
  return status == kExecutionFailed ? "CUBLAS_STATUS_EXECUTION_FAILED" : "CUBLAS_STATUS_INVALID_VALUE";
}
int cublasLtCreate(void** library) {
  static int handle;
  *library = &handle;
  return 0;
}

int cublasLtMatrixLayoutCreate(void** layout, int type, uint64_t rows, uint64_t columns, int64_t column_step) {
  *layout = new Layout{type, rows, columns, column_step};
  return 0;
}
int cublasLtMatrixLayoutDestroy(void* layout) { return destroy<Layout>(layout); }
int cublasLtMatrixLayoutSetAttribute(void* layout, int attribute, const void* value, size_t bytes) {
  Layout& l = layout_of(layout);
  if (attribute == CublasLt::kBatchCount) return set(&l.batch, sizeof l.batch, value, bytes);
  if (attribute == CublasLt::kBatchStep) return set(&l.batch_step, sizeof l.batch_step, value, bytes);
  return kInvalidValue;
}

int cublasLtMatmulDescCreate(void** operation, int compute_type, int scale_type) {
  *operation = new Operation{compute_type, scale_type, {}};
  return 0;
}
int cublasLtMatmulDescDestroy(void* operation) { return destroy<Operation>(operation); }
int cublasLtMatmulDescSetAttribute(void* operation, int attribute, const void* value, size_t bytes) {
  const int which = attribute - CublasLt::kTransposeA;
  if (which != 0 && which != 1) return kInvalidValue;
  return set(&operation_of(operation).transpose[which], sizeof(int32_t), value, bytes);
}

int cublasLtMatmulPreferenceCreate(void** preference) { return create<Preference>(preference); }
int cublasLtMatmulPreferenceDestroy(void* preference) { return destroy<Preference>(preference); }
int cublasLtMatmulPreferenceSetAttribute(void* preference, int attribute, const void* value, size_t bytes) {
  Preference& p = *static_cast<Preference*>(preference);
  if (attribute == CublasLt::kMaxWorkspace) return set(&p.workspace_bytes, sizeof p.workspace_bytes, value, bytes);
  if (attribute == CublasLt::kReductions) return set(&p.reductions, sizeof p.reductions, value, bytes);
  const int array = attribute - CublasLt::kMinAlignmentA;
  if (array < 0 || array > 3) return kInvalidValue;
  return set(&p.alignments[array], sizeof(uint32_t), value, bytes);
}

int cublasLtMatmulAlgoGetHeuristic(void*, void* operation, void* a, void* b, void* c, void* d, void* preference, int,
                                   CublasLt::Choice* choices, int* count) {
  const Product product{operation_of(operation), layout_of(a), layout_of(b), layout_of(d)};
  const Preference& p = *static_cast<Preference*>(preference);
  *count = 0;
  if (!product.is_valid() || c != d) return kInvalidValue;
  for (uint32_t alignment : p.alignments)
    if (alignment > kAlignment) return kInvalidValue;
  // Reductions in the type of the result would round more than once.
  if (p.reductions != CublasLt::kReductionInF32) return kInvalidValue;
  if (has_fault("none") || p.workspace_bytes < kWorkspaceBytes) return kNotSupported;
  choices[0] = {};
  choices[0].algorithm.data[3] = product.key();
  choices[0].workspace_bytes = kWorkspaceBytes;
  *count = 1;
  return 0;
}

int cublasLtMatmul(void*, void* operation, const void* alpha, const void* a, void* a_layout, const void* b,
                   void* b_layout, const void* beta, const void* c, void*, void* d, void* d_layout,
                   const CublasLt::Algorithm* algorithm, void* workspace, size_t workspace_bytes, void* stream) {
  const Product product{operation_of(operation), layout_of(a_layout), layout_of(b_layout), layout_of(d_layout)};
  if (has_fault("fails")) return kExecutionFailed;
  const bool right_call = *static_cast<const float*>(alpha) == 1 && *static_cast<const float*>(beta) == 0 && c == d &&
                          product.is_valid() && algorithm->data[3] == product.key() &&
                          workspace_bytes >= kWorkspaceBytes;
  if (!right_call) return kInvalidValue;
  auto* const is_there = of_driver<bool(const void*, size_t)>("fake_cuda_is_there");
  for (const void* p : {a, b, static_cast<const void*>(d)})
    if (reinterpret_cast<uint64_t>(p) % kAlignment != 0) return kInvalidValue;
  if (reinterpret_cast<uint64_t>(workspace) % kWorkspaceAlignment != 0) return kInvalidValue;
  if (const char* path = std::getenv("FAKE_CUBLASLT_LOG"))
    std::ofstream(path, std::ios::app) << product.d.columns << " x " << product.d.rows << " x " << product.depth()
                                       << "\n";
  of_driver<void(void*, std::function<void()>)>("fake_cuda_submit")(stream, [=] {
    if (!is_there(a, product.a.bytes()) || !is_there(b, product.b.bytes()) || !is_there(d, product.d.bytes()) ||
        !is_there(workspace, workspace_bytes)) {
      std::fprintf(stderr, "fake cuBLASLt: a product beyond the memory of the GPU\n");
      std::abort();
    }
    std::memset(workspace, 0x5a, workspace_bytes);
    multiply(product, a, b, d);
  });
  return 0;
}

}  // extern "C"
