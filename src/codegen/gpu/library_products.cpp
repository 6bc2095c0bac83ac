#include "codegen/gpu/library_products.h"

#include <algorithm>

#include "codegen/gpu/contract.h"
#include "codegen/gpu/pack_lines.h"
#include "codegen/gpu/remaining_terms.h"

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
// Columns of c, and terms of an operand whose lines run along them, are as many as a multiple of this: the library's
// fast kernels take no others, wherever lines begin (8192 x 50257 x 768 on an H200: 6.6 ms, with 50264 columns 1.0).
constexpr int64_t kPiece = runtime::kLibraryAlignment / 2;
constexpr int64_t kWorkspaceAlignment = 256;

int64_t round_up(int64_t x, int64_t to) { return (x + to - 1) / to * to; }

// Whether the library can read lines where they are.
bool fits(const Lines& l) {
  return l.step == 1 && l.line_step >= l.length && l.line_step % kPiece == 0 && l.batch_step >= 0 &&
         l.batch_step % kPiece == 0;
}

int64_t columns(const GemmArgs<>& g) { return round_up(g.n, kPiece); }
bool widens(const GemmArgs<>& g) { return columns(g) != g.n; }
// Rows may be where the library writes them.
bool copies_result(const GemmArgs<>& g) {
  const int64_t line = routines::line_of(g);
  return line < columns(g) || line * size_bytes(g.result) % runtime::kLibraryAlignment != 0;
}
int64_t library_line(const GemmArgs<>& g) { return copies_result(g) ? columns(g) : routines::line_of(g); }

// The terms that the library adds up. A result that was rounded cannot take the rest.
int64_t library_terms(const GemmArgs<>& g) {
  const bool along_k = operand_lines(g, Factor::A).along_k || operand_lines(g, Factor::B).along_k;
  return along_k && g.result == DType::F32 ? g.k / kPiece * kPiece : g.k;
}

// How the library reads an operand: as it is, or from a copy.
struct Read {
  bool along_k, copies;
  Lines from, lines;
};
Read read_of(const GemmArgs<>& g, Factor factor) {
  const auto [along_k, lines] = operand_lines(g, factor);
  const bool wider = factor == Factor::B && widens(g);
  if (fits(lines) && !wider) return {along_k, false, lines, lines};
  return {along_k, true, lines, packed(lines, wider && along_k ? columns(g) : lines.lines)};
}
runtime::LibraryProduct::Matrix matrix(const Read& r) { return {r.along_k, r.lines.line_step, r.lines.batch_step}; }

}  // namespace

// Operands that are copied for the library are copied for the templates as well.
bool suits_library(const GemmArgs<>& g) {
  if ((g.dtype != DType::BF16 && g.dtype != DType::F16) || !has_template(g)) return false;
  if (std::min({g.m, g.n, g.k}) < kLeastSide) return false;
  if (routines::line_of(g) != g.n && copies_result(g)) return false;
  const bool along_k = operand_lines(g, Factor::A).along_k || operand_lines(g, Factor::B).along_k;
  if (along_k && library_terms(g) % kPiece != 0) return false;
  const double results = static_cast<double>(g.batch) * static_cast<double>(g.m) * static_cast<double>(g.n);
  const double operations = 2 * results * static_cast<double>(g.k);
  const double saved = operations / kUnitRate - operations / kLibraryRate;
  double spent = 0;
  auto spend = [&](double bytes) { spent += 2 * bytes / kCopyRate + kLaunchSeconds; };
  if (copies_result(g)) spend(results * static_cast<double>(size_bytes(g.result)));
  if (library_terms(g) != g.k) spend(results * sizeof(float));
  if (const Read b = read_of(g, Factor::B); b.copies && fits(b.from)) spend(static_cast<double>(packed_bytes(b.lines)));
  return saved - spent >= kLeastSaved;
}

std::optional<int64_t> library_line_of(const GemmArgs<>& g) {
  GemmArgs<> in_lines = g;
  in_lines.line = columns(g);
  return suits_library(in_lines) ? std::optional(columns(g)) : std::nullopt;
}

runtime::LibraryProduct library_product(const GemmArgs<>& g) {
  return {.dtype = g.dtype,
          .result = g.result,
          .batch = g.batch,
          .m = g.m,
          .n = columns(g),
          .k = library_terms(g),
          .a = matrix(read_of(g, Factor::A)),
          .b = matrix(read_of(g, Factor::B)),
          .c_line_step = library_line(g),
          .c_batch_step = g.m * library_line(g)};
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
    const Read r = read_of(g, factor);
    if (!r.copies) return Parameter{Parameter::Buffer, buffer};
    const Parameter copy = take(packed_bytes(r.lines));
    out.before.push_back(emit_pack(r.from, r.lines, buffer, copy.value, prefix + suffix, helpers));
    return copy;
  };
  out.call.a = read(Factor::A, buffers[0], "_pack_a");
  out.call.b = read(Factor::B, buffers[1], "_pack_b");
  const int64_t rows = g.batch * g.m;
  out.call.c =
      copies_result(g) ? take(rows * columns(g) * size_bytes(g.result)) : Parameter{Parameter::Buffer, buffers[2]};
  if (const int64_t terms = library_terms(g); terms != g.k)
    out.after.push_back(emit_remaining_terms(g, terms, {buffers[0], buffers[1]}, out.call.c, library_line(g),
                                             prefix + "_rest", helpers));
  if (copies_result(g))
    out.after.push_back(
        emit_unpack(g.result, rows, g.n, columns(g), buffers[2], out.call.c.value, prefix + "_unpack", helpers));
  out.call.workspace = take(workspace_bytes);
  out.call.workspace_bytes = used;
  for (auto* launches : {&out.before, &out.after})
    for (EmittedLaunch& l : *launches)
      l.workspace_bytes = used;
  return out;
}

}  // namespace sheaf::codegen::gpu
