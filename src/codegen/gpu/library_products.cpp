#include "codegen/gpu/library_products.h"

#include <algorithm>

#include "codegen/gpu/contract.h"
#include "codegen/gpu/pack_lines.h"

namespace sheaf::codegen::gpu {
namespace {

using routines::GemmArgs;

// Of an H200: operations in a second by the templates for matrix units and by cuBLASLt at the shapes of models, and
// bytes in a second of a copy.
constexpr double kUnitRate = 2.7e14, kLibraryRate = 6.5e14, kCopyRate = 3e12;
constexpr double kLaunchSeconds = 2e-6;
// Less is lost again where tiles fill the device badly.
constexpr double kLeastSaved = 5e-7;
// The library's tiles; smaller products wait for memory either way.
constexpr int64_t kLeastSide = 64;
// Lines that do not begin at multiples of so many bytes are copied.
constexpr int64_t kReadAlignment = runtime::kLibraryAlignment, kWriteAlignment = runtime::kLibraryAlignment;
constexpr int64_t kWorkspaceAlignment = 256;

int64_t round_up(int64_t x, int64_t to) { return (x + to - 1) / to * to; }

// Whether the library can read lines where they are.
bool fits(const Lines& l) {
  constexpr int64_t kUnit = kReadAlignment / 2;
  return l.step == 1 && l.line_step >= l.length && l.line_step % kUnit == 0 && l.batch_step >= 0 &&
         l.batch_step % kUnit == 0;
}

int64_t result_line(const GemmArgs<>& g) { return round_up(g.n, kWriteAlignment / size_bytes(g.result)); }
bool copies_result(const GemmArgs<>& g) { return result_line(g) != g.n; }

runtime::LibraryProduct::Matrix matrix(const GemmArgs<>& g, Factor factor) {
  const auto [along_k, lines] = operand_lines(g, factor);
  const Lines read = fits(lines) ? lines : packed(lines);
  return {along_k, read.line_step, read.batch_step};
}

}  // namespace

// Operands that are copied for the library are copied for the templates as well.
bool suits_library(const GemmArgs<>& g) {
  if ((g.dtype != DType::BF16 && g.dtype != DType::F16) || !has_template(g)) return false;
  if (std::min({g.m, g.n, g.k}) < kLeastSide) return false;
  const double results = static_cast<double>(g.batch) * static_cast<double>(g.m) * static_cast<double>(g.n);
  const double operations = 2 * results * static_cast<double>(g.k);
  const double copied = 2 * results * static_cast<double>(size_bytes(g.result));
  const double saved = operations / kUnitRate - operations / kLibraryRate;
  const double spent = copies_result(g) ? copied / kCopyRate + kLaunchSeconds : 0;
  return saved - spent >= kLeastSaved;
}

runtime::LibraryProduct library_product(const GemmArgs<>& g) {
  return {.dtype = g.dtype,
          .result = g.result,
          .batch = g.batch,
          .m = g.m,
          .n = g.n,
          .k = g.k,
          .a = matrix(g, Factor::A),
          .b = matrix(g, Factor::B),
          .c_line_step = result_line(g),
          .c_batch_step = g.m * result_line(g)};
}

LibrarySteps emit_library_product(const GemmArgs<>& g, int64_t workspace_bytes, const std::vector<int32_t>& buffers,
                                  const std::string& prefix, Helpers& helpers) {
  LibrarySteps out{.before = {}, .call = {.product = library_product(g)}, .after = {}};
  int64_t used = 0;
  auto take = [&](int64_t bytes) {
    const Parameter at{Parameter::Workspace, 0, false, used};
    used = round_up(used + bytes, kWorkspaceAlignment);
    return at;
  };
  auto read = [&](Factor factor, int32_t buffer, const char* suffix) {
    const Lines lines = operand_lines(g, factor).lines;
    if (fits(lines)) return Parameter{Parameter::Buffer, buffer};
    const Parameter copy = take(packed_bytes(lines));
    out.before.push_back(emit_pack(lines, buffer, copy.value, prefix + suffix, helpers));
    return copy;
  };
  out.call.a = read(Factor::A, buffers[0], "_pack_a");
  out.call.b = read(Factor::B, buffers[1], "_pack_b");
  out.call.c = {Parameter::Buffer, buffers[2]};
  if (copies_result(g)) {
    const int64_t rows = g.batch * g.m;
    out.call.c = take(rows * result_line(g) * size_bytes(g.result));
    out.after.push_back(
        emit_unpack(g.result, rows, g.n, result_line(g), buffers[2], out.call.c.value, prefix + "_unpack", helpers));
  }
  out.call.workspace = take(workspace_bytes);
  out.call.workspace_bytes = used;
  for (auto* launches : {&out.before, &out.after})
    for (Launch& l : *launches)
      l.workspace_bytes = used;
  return out;
}

}  // namespace sheaf::codegen::gpu
