#include "codegen/gpu/row_products.h"

#include <algorithm>

#include "codegen/gpu/arithmetic.h"
#include "codegen/gpu/template_launch.h"
#include "support/error.h"

namespace sheaf::codegen::gpu {
namespace {

using loop::Op;
using routines::GemmArgs;
using routines::kRowChains;

constexpr int kMostThreads = 512;
constexpr int kSectorBytes = 32;      // of memory, the least that is read
constexpr int64_t kProcessors = 132;  // of an H200
// Loads in flight per thread: elements in kAcross, chunks of 16 bytes in kAlong. A block of k is read in batches of
// kMost…, then its remainder in batches of kSome…, then one by one.
constexpr int kMostLoads = 32, kSomeLoads = 8, kMostPieces = 16, kSomePieces = 4;

// What both texts begin and end with. x is the row or column, w the matrix, `count` the elements of the result. A block
// of threads has `columns` of them, and `slots` blocks of k at a time; one thread per column adds up their values.
constexpr std::string_view kHead =
    R"({kernel} {bounds} {name}({global}const {s}* x, {global}const {s}* w, {global}{r}* y, int batches, int count,
    int k, int part_terms, int part_blocks, long long x_batch, long long x_step, long long w_batch, long long w_step,
    long long w_column) {{
  {shared}{t} sums[{slots}][4][{columns}];
  const int thread = {thread};
  const int lane = thread % {columns};
  const int slot = thread / {threads_of_slot};
  const int groups = (count + {columns} - 1) / {columns};
  const int batch = {block} / groups % batches;
  const int number = {block} / groups / batches;
{part}  const int own = {block} % groups * {columns} + lane;
  const int column = own < count ? own : count - 1;  // all threads meet at the barriers
  x += batch * x_batch;
  w += batch * w_batch + column * w_column;
  {t} total = 0;
  for (int first = begin; first < end; first += {slots} * block_terms) {{
    const int block_begin = first + slot * block_terms;
    const int block_end = end - block_begin < block_terms ? end : block_begin + block_terms;
)";
constexpr std::string_view kTail =
    R"(    {barrier}  // the values of all chains are there
    if (thread < {columns})
      for (int b = 0; b < {slots} && first + b * block_terms < end; ++b) {{
        const {t} left = {left};
        const {t} right = {right};
        const {t} both = {both};
        total = {add};
      }}
    {barrier}  // they have been read
  }}
  if (thread < {columns} && own < count) y[((long long)number * batches + batch) * count + own] = {result};
}}
)";

// A chain for each thread: neighbouring threads read neighbouring columns. Blocks of k are multiples of 32 long, but
// for the last one.
constexpr std::string_view kAcross = R"(    {t} sum = 0;
    int l = block_begin + thread / {columns} % 4;
{most}{some}    for (; l < block_end; l += 4) sum = {fma_rest};
    sums[slot][thread / {columns} % 4][lane] = sum;
)";
// All loads come first: inside a loop with a test, compilers issue each load after the test and wait for it there.
constexpr std::string_view kAcrossAtOnce = R"(    for (; l + 4 * {last} < block_end; l += 4 * {at_once}) {{
      {s} x_value[{at_once}], w_value[{at_once}];
      {unroll}
      for (int u = 0; u < {at_once}; ++u) {{
        w_value[u] = w[(l + 4 * u) * w_step];
        x_value[u] = x[(l + 4 * u) * x_step];
      }}
      {unroll}
      for (int u = 0; u < {at_once}; ++u) sum = {fma};
    }}
)";

// All chains of a block of k for each thread, which reads its column in pieces of 16 bytes: x and w are contiguous
// along k. Blocks begin at multiples of 32, so element e of a piece is of chain e % 4.
constexpr std::string_view kAlong = R"(    {t} sum[4];
    {unroll}
    for (int c = 0; c < 4; ++c) sum[c] = 0;
    int l = block_begin;
{most}{some}    for (; l + {elements} <= block_end; l += {elements}) {{
      {unroll}
      for (int e = 0; e < {elements}; ++e) sum[e % 4] = {fma_rest};
    }}
    {unroll}
    for (int e = 0; e < {elements}; ++e)
      if (l + e < block_end) sum[e % 4] = {fma_rest};
    {unroll}
    for (int c = 0; c < 4; ++c) sums[slot][c][lane] = sum[c];
)";
constexpr std::string_view kAlongAtOnce =
    R"(    for (; l + {at_once} * {elements} <= block_end; l += {at_once} * {elements}) {{
      {piece} w_piece[{at_once}];
      {unroll}
      for (int p = 0; p < {at_once}; ++p) w_piece[p] = *({global}const {piece}*)(w + l + p * {elements});
      {unroll}
      for (int p = 0; p < {at_once}; ++p) {{
        const {piece} x_piece = *({global}const {piece}*)(x + l + p * {elements});
        {unroll}
        for (int e = 0; e < {elements}; ++e) sum[e % 4] = {fma};
      }}
    }}
)";

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

// The row or column x, and the matrix w, by strides.
struct RowProduct {
  int64_t count;
  int64_t x_batch, x_step, w_batch, w_step, w_column;
  explicit RowProduct(const GemmArgs<>& g)
      : count(g.m == 1 ? g.n : g.m),
        x_batch(g.m == 1 ? g.a.batch : g.b.batch),
        x_step(g.m == 1 ? g.a.column : g.b.row),
        w_batch(g.m == 1 ? g.b.batch : g.a.batch),
        w_step(g.m == 1 ? g.b.row : g.a.column),
        w_column(g.m == 1 ? g.b.column : g.a.row) {}

  // True if chunks of `elements` neighbours along k can be loaded at once.
  bool reads_along(int64_t elements, bool aligned, int64_t batch) const {
    auto fits = [&](int64_t stride) { return stride % elements == 0; };
    return aligned && w_step == 1 && x_step == 1 && fits(w_column) && (batch == 1 || (fits(x_batch) && fits(w_batch)));
  }
};

}  // namespace

bool is_row_product(const GemmArgs<>& g) { return routines::contract_chains(g.m, g.n) > 1; }

std::vector<EmittedLaunch> emit_row_product(const GemmArgs<>& g, const std::vector<int32_t>& buffers,
                                            const std::string& prefix, Helpers& helpers, bool aligned) {
  INVARIANT(has_template(g) && is_row_product(g), "a product of rows by columns");
  Arithmetic arithmetic(helpers);
  const Dialect& d = helpers.dialect();
  const DType type = accumulator(g.dtype);
  const ProductParts cut = parts_of(g, false);
  const bool in_parts = cut.parts > 1;
  const DType result_type = in_parts ? type : g.result;
  const RowProduct p(g);
  const auto bytes = static_cast<int64_t>(size_bytes(g.dtype));
  const int64_t elements = 16 / bytes;
  const bool along =
      elements >= kRowChains && p.reads_along(elements, aligned, g.batch) && (!in_parts || cut.terms % elements == 0);

  // As few columns for a block of threads as a sector holds, until there are blocks enough for all processors twice.
  int64_t columns = 32;
  while (columns > (along ? 8 : kSectorBytes / bytes) && columns > 8 &&
         ceil_div(p.count, columns) * g.batch * cut.parts < 2 * kProcessors)
    columns /= 2;
  const int64_t threads_of_slot = columns * (along ? 1 : kRowChains);
  const int64_t terms = std::max<int64_t>(1, std::min(g.k, cut.terms));
  const int64_t blocks_of_k = ceil_div(terms, routines::contract_block(terms));
  const int64_t slots = std::clamp<int64_t>(blocks_of_k, 1, kMostThreads / threads_of_slot);

  Schedule schedule{.kind = Schedule::Chains, .items = g.batch * p.count, .longest = g.k};
  schedule.threads = static_cast<int>(threads_of_slot * slots);
  schedule.blocks = ceil_div(p.count, columns) * g.batch * cut.parts;
  auto sum = [&](const char* a, const char* b) { return arithmetic.apply({Op::Add, type, type}, {a, b, ""}); };
  auto fma = [&](const char* x, const char* w, const char* total) {
    return arithmetic.apply({Op::Fma, type, type},
                            {arithmetic.convert(g.dtype, type, x), arithmetic.convert(g.dtype, type, w), total});
  };
  const std::string piece =
      along ? helpers.function(fmt::format("piece_of_{}", sheaf::name_of(g.dtype)),
                               [&](const std::string& name) {
                                 return fmt::format(fmt::runtime(d.pack), name, type_name(g.dtype), elements, 16);
                               })
            : "";
  auto at_once = [&](int count) {
    return fmt::format(fmt::runtime(along ? kAlongAtOnce : kAcrossAtOnce), fmt::arg("at_once", count),
                       fmt::arg("last", count - 1), fmt::arg("unroll", d.unroll), fmt::arg("global", d.global),
                       fmt::arg("s", type_name(g.dtype)), fmt::arg("elements", elements), fmt::arg("piece", piece),
                       fmt::arg("fma", along ? fma("x_piece.e[e]", "w_piece[p].e[e]", "sum[e % 4]")
                                             : fma("x_value[u]", "w_value[u]", "sum")));
  };
  const std::string text = fmt::format("{}{}{}", kHead, along ? kAlong : kAcross, kTail);
  std::vector<EmittedLaunch> out;
  out.push_back(template_launch(
      text, prefix, schedule,
      {{Parameter::Buffer, buffers[g.m == 1 ? 0 : 1]},
       {Parameter::Buffer, buffers[g.m == 1 ? 1 : 0]},
       in_parts ? Parameter{Parameter::Workspace} : Parameter{Parameter::Buffer, buffers[2]},
       number(g.batch, true),
       number(p.count, true),
       number(g.k, true),
       number(cut.terms, true),
       number(0, true),
       number(p.x_batch, false),
       number(p.x_step, false),
       number(p.w_batch, false),
       number(p.w_step, false),
       number(p.w_column, false)},
      in_parts ? cut.parts * g.batch * p.count * static_cast<int64_t>(size_bytes(type)) : 0, helpers,
      // Without bounds ptxas uses few registers, and delays loads until their values are multiplied.
      fmt::arg("bounds", fmt::format(fmt::runtime(d.launch_bounds), schedule.threads, 1)),
      fmt::arg("t", type_name(type)), fmt::arg("s", type_name(g.dtype)), fmt::arg("r", type_name(result_type)),
      fmt::arg("part", kPartOfProduct), fmt::arg("columns", columns), fmt::arg("slots", slots),
      fmt::arg("threads_of_slot", threads_of_slot), fmt::arg("elements", elements),
      fmt::arg("most", at_once(along ? kMostPieces : kMostLoads)),
      fmt::arg("some", at_once(along ? kSomePieces : kSomeLoads)),
      fmt::arg("fma_rest",
               along ? fma("x[l + e]", "w[l + e]", "sum[e % 4]") : fma("x[l * x_step]", "w[l * w_step]", "sum")),
      fmt::arg("left", sum("sums[b][0][lane]", "sums[b][1][lane]")),
      fmt::arg("right", sum("sums[b][2][lane]", "sums[b][3][lane]")), fmt::arg("both", sum("left", "right")),
      fmt::arg("add", sum("total", "both")), fmt::arg("result", arithmetic.convert(type, result_type, "total"))));
  if (in_parts) out.push_back(emit_parts(g, cut, prefix + "_parts", buffers[2], helpers));
  return out;
}

}  // namespace sheaf::codegen::gpu
