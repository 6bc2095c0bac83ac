#include "routines/gemm/views.h"

#include <utility>

#include "scalar/scalar_ops.h"
#include "support/error.h"

namespace sheaf::routines {
namespace {

template <class T>
std::vector<T> written_out(const T* from, int64_t batch, const MatrixOfView<int64_t>& matrix) {
  const std::vector<int64_t> rows = offsets(matrix.rows), columns = offsets(matrix.columns);
  std::vector<T> out;
  out.reserve(static_cast<size_t>(batch) * rows.size() * columns.size());
  for (int64_t p = 0; p < batch; ++p)
    for (int64_t row : rows)
      for (int64_t column : columns)
        out.push_back(from[p * matrix.batch + row + column]);
  return out;
}

template <class T>
void contract_as(const RoutineCall& call, const ContractViewsArgs<>& args,
                 void (*contract)(const RoutineCall&, const GemmArgs<>&)) {
  std::vector<T> a = written_out(call.buffer<const T>(0), args.batch, args.a),
                 b = written_out(call.buffer<const T>(1), args.batch, args.b);
  const int64_t m = num_offsets(args.a.rows), k = num_offsets(args.a.columns), n = num_offsets(args.b.columns);
  std::byte* buffers[] = {reinterpret_cast<std::byte*>(a.data()), reinterpret_cast<std::byte*>(b.data()),
                          call.buffers[2]};
  contract({buffers, call.arithmetic}, {.dtype = args.dtype,
                                        .batch = args.batch,
                                        .m = m,
                                        .n = n,
                                        .k = k,
                                        .a = {m * k, k, 1},
                                        .b = {k * n, n, 1},
                                        .result = args.dtype});
}

}  // namespace

std::vector<int64_t> offsets(const ViewAxes<int64_t>& axes) {
  std::vector<int64_t> out{0};
  // Axis by axis, from the outermost to the innermost.
  for (size_t a = 0; a < kViewAxes; ++a) {
    if (axes.sizes[a] == 1) continue;
    std::vector<int64_t> inner;
    inner.reserve(out.size() * static_cast<size_t>(axes.sizes[a]));
    for (int64_t at : out)
      for (int64_t i = 0; i < axes.sizes[a]; ++i)
        inner.push_back(at + i * axes.strides[a]);
    out = std::move(inner);
  }
  return out;
}

void contract_written_out(const RoutineCall& call, const ContractViewsArgs<>& args,
                          void (*contract)(const RoutineCall&, const GemmArgs<>&)) {
  switch (args.dtype) {
    case DType::F32: return contract_as<float>(call, args, contract);
    case DType::F64: return contract_as<double>(call, args, contract);
    default: INVARIANT(false, "contract_views of dtype " << name_of(args.dtype));
  }
}

void contract_views(const RoutineCall& call, const ContractViewsArgs<>& args) {
  contract_written_out(call, args, contract);
}

}  // namespace sheaf::routines
