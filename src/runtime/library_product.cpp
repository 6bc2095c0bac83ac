// The library's matrices are column-major, so it computes the transposed product: its first operand is b, its second
// one a, and the columns of its result are the rows of c.
#include "runtime/library_product.h"

#include <fmt/format.h>

#include <map>

#include "runtime/cublas_lt.h"
#include "support/error.h"
#include "support/mutex.h"

namespace sheaf::runtime {
namespace {

using Handle = CublasLt::Handle;

const CublasLt& library() { return CublasLt::find(); }

// The workspace limit that NVIDIA recommends for this kind of GPU; most products use none.
constexpr uint64_t kMostWorkspace = 32 << 20;

int type_of(DType d) { return d == DType::F32 ? CublasLt::kF32 : d == DType::F16 ? CublasLt::kF16 : CublasLt::kBf16; }

void check(int status, const char* call, const LibraryProduct& p) {
  INVARIANT(status == CublasLt::kSuccess, call << ": " << library().name_of(status) << ", for " << print(p));
}

// The library handle, kept for the life of the program; nullptr: the library does not work with the driver.
Handle library_handle() {
  static const Handle handle = [] {
    Handle made = nullptr;
    return library().create(&made) == CublasLt::kSuccess ? made : nullptr;
  }();
  return handle;
}

}  // namespace

std::string print(const LibraryProduct& p) {
  auto matrix = [](const LibraryProduct::Matrix& m) {
    return fmt::format("lines {} k every {}", m.along_k ? "along" : "across", m.line_step);
  };
  return fmt::format("{} to {}, {} x {} x {} x {}, {} and {} to rows every {}", sheaf::name_of(p.dtype),
                     sheaf::name_of(p.result), p.batch, p.m, p.n, p.k, matrix(p.a), matrix(p.b), p.c_line_step);
}

struct PlannedProduct::State {
  explicit State(const LibraryProduct& p) : product(p) {}
  ~State() {
    for (const Handle layout : {a, b, c})
      if (layout) library().destroy_layout(layout);
    if (operation) library().destroy_operation(operation);
  }

  // A matrix layout; our lines are the library's columns.
  Handle layout(DType type, int64_t length, int64_t lines, int64_t line_step, int64_t batch_step) const {
    Handle out = nullptr;
    check(library().create_layout(&out, type_of(type), static_cast<uint64_t>(length), static_cast<uint64_t>(lines),
                                  line_step),
          "cublasLtMatrixLayoutCreate", product);
    if (product.batch == 1) return out;
    const auto count = static_cast<int32_t>(product.batch);
    set_layout(out, CublasLt::kBatchCount, count);
    set_layout(out, CublasLt::kBatchStep, batch_step);
    return out;
  }
  template <class T>
  void set_layout(Handle layout, int attribute, T value) const {
    check(library().set_layout(layout, attribute, &value, sizeof value), "cublasLtMatrixLayoutSetAttribute", product);
  }

  const LibraryProduct product;
  Handle operation = nullptr, a = nullptr, b = nullptr, c = nullptr;  // a and b: those of the product
  CublasLt::Choice choice;
};

std::shared_ptr<const PlannedProduct> PlannedProduct::find(const LibraryProduct& p) {
  static auto* mu = new Mutex;
  static auto* known = new std::map<LibraryProduct, std::shared_ptr<const PlannedProduct>>;
  if (!library().missing.empty() || !library_handle()) return nullptr;
  MutexLock lock(*mu);
  auto it = known->find(p);
  if (it == known->end()) it = known->emplace(p, make(p)).first;
  return it->second;
}

std::shared_ptr<const PlannedProduct> PlannedProduct::make(const LibraryProduct& p) {
  const CublasLt& l = library();
  std::shared_ptr<PlannedProduct> out(new PlannedProduct);
  out->state_ = std::make_unique<State>(p);
  State& s = *out->state_;
  check(l.create_operation(&s.operation, CublasLt::kComputeF32, CublasLt::kF32), "cublasLtMatmulDescCreate", p);
  auto set_operation = [&](int attribute, int32_t value) {
    check(l.set_operation(s.operation, attribute, &value, sizeof value), "cublasLtMatmulDescSetAttribute", p);
  };
  if (p.b.along_k) set_operation(CublasLt::kTransposeA, CublasLt::kTransposed);
  if (!p.a.along_k) set_operation(CublasLt::kTransposeB, CublasLt::kTransposed);
  auto operand = [&](const LibraryProduct::Matrix& m, int64_t count) {
    return s.layout(p.dtype, m.along_k ? p.k : count, m.along_k ? count : p.k, m.line_step, m.batch_step);
  };
  s.a = operand(p.a, p.m);
  s.b = operand(p.b, p.n);
  s.c = s.layout(p.result, p.n, p.m, p.c_line_step, p.c_batch_step);
  Handle preference = nullptr;
  check(l.create_preference(&preference), "cublasLtMatmulPreferenceCreate", p);
  auto prefer = [&](int attribute, auto value) {
    check(l.set_preference(preference, attribute, &value, sizeof value), "cublasLtMatmulPreferenceSetAttribute", p);
  };
  prefer(CublasLt::kMaxWorkspace, kMostWorkspace);
  // Reduce in f32, so that sums are rounded once, at the end.
  prefer(CublasLt::kReductions, uint32_t{CublasLt::kReductionInF32});
  for (int array = 0; array < 4; ++array)
    prefer(CublasLt::kMinAlignmentA + array, static_cast<uint32_t>(kLibraryAlignment));
  int count = 0;
  const int status = l.choose(library_handle(), s.operation, s.b, s.a, s.c, s.c, preference, 1, &s.choice, &count);
  l.destroy_preference(preference);
  const bool found = status == CublasLt::kSuccess && count > 0 && s.choice.status == CublasLt::kSuccess;
  return found ? out : nullptr;
}

PlannedProduct::~PlannedProduct() = default;

int64_t PlannedProduct::workspace_bytes() const { return static_cast<int64_t>(state_->choice.workspace_bytes); }

void PlannedProduct::submit(uint64_t a, uint64_t b, uint64_t c, uint64_t workspace, void* stream) const {
  const State& s = *state_;
  auto at = [](uint64_t address) { return reinterpret_cast<void*>(address); };
  const float alpha = 1, beta = 0;
  check(library().multiply(library_handle(), s.operation, &alpha, at(b), s.b, at(a), s.a, &beta, at(c), s.c, at(c), s.c,
                           &s.choice.algorithm, at(workspace), s.choice.workspace_bytes, stream),
        "cublasLtMatmul", s.product);
}

}  // namespace sheaf::runtime
