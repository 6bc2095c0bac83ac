// Tiles of A and B pass through memory of the block in stages: while one is multiplied, copies of the next ones run in
// the background. The lines of a tile run along k or across it, as those of the operand do; matrices of 8 by 8 are read
// from it as the units want them, transposed where lines run across k.
#include "codegen/gpu/matrix_units.h"

#include <fmt/format.h>

#include <optional>

#include "codegen/gpu/arithmetic.h"
#include "codegen/gpu/contract.h"
#include "codegen/gpu/pack_lines.h"
#include "codegen/gpu/unit_tiles.h"
#include "support/error.h"

namespace sheaf::codegen::gpu {
namespace {

using routines::GemmArgs;

constexpr int kDepth = 32;            // k of a tile
constexpr int kStages = 3;            // tiles at once; 48 KiB with the largest
constexpr int kStripe = 16;           // rows of tiles whose blocks follow one another
constexpr int64_t kProcessors = 132;  // of the GPU that this is tuned for: an H200
constexpr int64_t kLeastTerms = 256;  // of a part
constexpr int64_t kWorkspaceAlignment = 256;
constexpr double kLeastPacked = 1 << 27;  // terms of a product from which on the copy of an operand pays

// One operand: its lines, and how tiles of them are read.
struct Operand {
  bool along;  // k
  Lines lines;
  UnitTile tile;
  std::optional<Lines> packed_from;  // where it is read from a copy: what is copied
};

Operand operand(const GemmArgs<>& g, Factor factor, int side, bool aligned, bool packs) {
  const auto [along, lines] = operand_lines(g, factor);
  Operand o{.along = along, .lines = lines};
  auto tile = [&](bool is_aligned) {
    return unit_tile(o.along ? side : kDepth, o.along ? kDepth : side, o.lines.line_step, o.lines.step,
                     {o.lines.batch_step}, is_aligned);
  };
  o.tile = tile(aligned);
  if (!packs || o.tile.unit == kUnitPiece) return o;
  o.packed_from = o.lines;
  o.lines = packed(o.lines);
  o.tile = tile(true);
  return o;
}

constexpr std::string_view kProduct =
    R"({kernel} {bounds} {name}({global}const unsigned short* a, {global}const unsigned short* b, {global}{r}* c,
    int batches, int m, int n, int line, int k, int part_terms, long long a_batch, long long a_line_step,
    long long a_step, long long b_batch, long long b_line_step, long long b_step) {{
  alignas(128) {shared}unsigned short a_tiles[{stages}][{rows} * {depth}];
  alignas(128) {shared}unsigned short b_tiles[{stages}][{columns} * {depth}];
  const int thread = {thread};
  const int lane = thread & 31;
  const int row = (thread >> 5) / {warps} * {warp_rows};  // of the warp, in the block's tile
  const int column = (thread >> 5) % {warps} * {warp_columns};
  const int tile_rows = (m + {rows} - 1) / {rows};
  const int tile_columns = (n + {columns} - 1) / {columns};
  const int tile = {block} % (tile_rows * tile_columns);
  const int batch = {block} / (tile_rows * tile_columns) % batches;
  const int part = {block} / (tile_rows * tile_columns) / batches;
  // Column by column of a stripe: blocks that run at once read the same rows and columns.
  const int stripe = tile / ({stripe} * tile_columns) * {stripe};
  const int stripe_rows = tile_rows - stripe < {stripe} ? tile_rows - stripe : {stripe};
  const int in_stripe = tile - stripe * tile_columns;
  const int first_row = (stripe + in_stripe % stripe_rows) * {rows};
  const int first_column = in_stripe / stripe_rows * {columns};
  const int begin = part * part_terms;
  const int end = k - begin < part_terms ? k : begin + part_terms;
  const int steps = (end - begin + {depth} - 1) / {depth};
  a += batch * a_batch;
  b += batch * b_batch;
  float sum[{tiles_down}][{tiles_across}][4];
  {unroll}
  for (int i = 0; i < {tiles_down}; ++i)
    {unroll}
    for (int j = 0; j < {tiles_across}; ++j)
      {unroll}
      for (int e = 0; e < 4; ++e) sum[i][j][e] = 0;
  for (int step = 0; step < {stages} - 1; ++step) {{
    const int at = begin + step * {depth};
    if (step < steps) {{
      {load_a}(a_tiles[step], a, thread, {a_range}, a_step);
      {load_b}(b_tiles[step], b, thread, {b_range}, b_step);
    }}
    commit_copies();
  }}
  int now = 0, next = {stages} - 1;
  for (int step = 0; step < steps; ++step) {{
    wait_for_copies<{stages} - 2>();
    {barrier}  // the tiles of this step are complete, and nobody reads those before
    if (step + {stages} - 1 < steps) {{
      const int at = begin + (step + {stages} - 1) * {depth};
      {load_a}(a_tiles[next], a, thread, {a_range}, a_step);
      {load_b}(b_tiles[next], b, thread, {b_range}, b_step);
    }}
    commit_copies();
    const unsigned short *a_tile = a_tiles[now], *b_tile = b_tiles[now];
    {unroll}
    for (int l = 0; l < {depth} / 16; ++l) {{
      unsigned x[{tiles_down}][4], y[{tiles_across} / 2][4];
      {unroll}
      for (int i = 0; i < {tiles_down}; ++i) {{
        const int line = {a_at};
        {a_matrices}(x[i], a_tile + {a_place});
      }}
      {unroll}
      for (int j = 0; j < {tiles_across} / 2; ++j) {{
        const int line = {b_at};
        {b_matrices}(y[j], b_tile + {b_place});
      }}
      {unroll}
      for (int i = 0; i < {tiles_down}; ++i)
        {unroll}
        for (int j = 0; j < {tiles_across}; ++j)
          {multiply}(sum[i][j], x[i], y[j / 2][j % 2 * 2], y[j / 2][j % 2 * 2 + 1]);
    }}
    now = now == {stages} - 1 ? 0 : now + 1;
    next = next == {stages} - 1 ? 0 : next + 1;
  }}
  c += ((long long)part * batches + batch) * m * line;
  {unroll}
  for (int i = 0; i < {tiles_down}; ++i)
    {unroll}
    for (int j = 0; j < {tiles_across}; ++j)
      {unroll}
      for (int half = 0; half < 2; ++half) {{
        const int r = first_row + row + i * 16 + half * 8 + lane / 4, q = first_column + column + j * 8 + lane % 4 * 2;
        const float left = sum[i][j][half * 2], right = sum[i][j][half * 2 + 1];
        if (r < m && q < n) {{
          {global}{r}* to = c + (long long)r * line + q;
{store}        }}
      }}
}}
)";
constexpr std::string_view kStorePair = R"(          {pair} both;
          both.e[0] = {left};
          both.e[1] = {right};
          *({global}{pair}*)to = both;
)";
constexpr std::string_view kStoreElements = R"(          to[0] = {left};
          if (q + 1 < n) to[1] = {right};
)";

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

}  // namespace

bool suits_matrix_units(const GemmArgs<>& g) {
  return (g.dtype == DType::BF16 || g.dtype == DType::F16) && g.m > kFewRows && g.n > kFewRows && has_template(g);
}

UnitTiling unit_tiling_of(const GemmArgs<>& g) {
  auto tiles = [&](int side) { return ceil_div(g.m, side) * ceil_div(g.n, side) * g.batch; };
  const double terms =
      static_cast<double>(g.batch) * static_cast<double>(g.m) * static_cast<double>(g.n) * static_cast<double>(g.k);
  const bool packs = terms >= kLeastPacked;
  // Parts are added where rows follow one another.
  if (tiles(128) >= kProcessors || routines::line_of(g) != g.n) return {.packs = packs};
  UnitTiling small{64, 64, 32, 32, 1, packs};
  if (int64_t most = g.k / kLeastTerms; tiles(64) < kProcessors && most > 1)
    small.parts = std::min(most, ceil_div(2 * kProcessors, tiles(64)));
  return small;
}

std::vector<EmittedLaunch> emit_unit_contract(const GemmArgs<>& g, const UnitTiling& t,
                                              const std::vector<int32_t>& buffers, const std::string& prefix,
                                              Helpers& helpers, bool aligned) {
  INVARIANT(g.dtype == DType::BF16 || g.dtype == DType::F16, "matrix units multiply no " << sheaf::name_of(g.dtype));
  helpers.matrix_units();
  const Dialect& d = helpers.dialect();
  const Operand a = operand(g, Factor::A, t.rows, aligned, t.packs);
  const Operand b = operand(g, Factor::B, t.columns, aligned, t.packs);
  const int64_t part_terms = std::max<int64_t>(kDepth, ceil_div(ceil_div(g.k, t.parts), kDepth) * kDepth);
  const int64_t parts = std::max<int64_t>(1, ceil_div(g.k, part_terms)), elements = g.batch * g.m * g.n;
  const DType result = parts > 1 ? DType::F32 : g.result;
  auto stored = [&](const char* x) {
    return result == DType::F32 ? std::string(x) : fmt::format("{}({})", helpers.conversion(DType::F32, result), x);
  };
  const int64_t line = routines::line_of(g);
  INVARIANT(line == g.n || parts == 1, "parts of a product are added where rows follow one another");
  // The second of the last pair of a row may lie behind it.
  const bool in_pairs = line % 2 == 0 && (aligned || parts > 1);
  const std::string store = fmt::format(
      fmt::runtime(in_pairs ? kStorePair : kStoreElements), fmt::arg("pair", in_pairs ? helpers.pack(result, 2) : ""),
      fmt::arg("global", d.global), fmt::arg("left", stored("left")), fmt::arg("right", stored("right")));
  auto range = [](const Operand& o, char name, const char* first, const char* count) {
    return o.along ? fmt::format("{}, {}, {}_line_step, at, end", first, count, name)
                   : fmt::format("at, end, {}_line_step, {}, {}", name, first, count);
  };
  auto matrices = [](const Operand& o) { return o.along ? "load_matrices" : "load_matrices_transposed"; };
  // Blocks at once that leave registers enough for the sums of a warp, and for the addresses of single elements.
  const bool takes_registers = t.warp_rows * t.warp_columns > 2048 || a.tile.unit < 4 || b.tile.unit < 4;
  const int together = std::max(1, (takes_registers ? 256 : 512) / t.threads());
  EmittedLaunch l;
  l.name = prefix;
  l.schedule.kind = Schedule::Tiles;
  l.schedule.items = elements;
  l.schedule.longest = g.k;
  l.schedule.threads = t.threads();
  l.schedule.blocks = ceil_div(g.m, t.rows) * ceil_div(g.n, t.columns) * g.batch * parts;
  int64_t workspace = parts > 1 ? parts * elements * size_bytes(DType::F32) : 0;
  std::vector<EmittedLaunch> out;
  // The operand where it is, or a copy of it in workspace.
  auto read = [&](const Operand& o, int which) {
    if (!o.packed_from) return Parameter{Parameter::Buffer, buffers[static_cast<size_t>(which)]};
    const int64_t offset = ceil_div(workspace, kWorkspaceAlignment) * kWorkspaceAlignment;
    out.push_back(emit_pack(*o.packed_from, o.lines, buffers[static_cast<size_t>(which)], offset,
                            fmt::format("{}_pack_{}", prefix, "ab"[which]), helpers));
    workspace = out.back().workspace_bytes;
    return Parameter{Parameter::Workspace, 0, false, offset};
  };
  const Parameter a_from = read(a, 0), b_from = read(b, 1);
  l.text = fmt::format(
      fmt::runtime(kProduct), fmt::arg("kernel", d.kernel),
      fmt::arg("bounds", fmt::format(fmt::runtime(d.launch_bounds), t.threads(), together)), fmt::arg("name", prefix),
      fmt::arg("global", d.global), fmt::arg("shared", d.shared), fmt::arg("thread", d.thread),
      fmt::arg("block", d.block), fmt::arg("barrier", d.block_barrier), fmt::arg("unroll", d.unroll),
      fmt::arg("r", type_name(result)), fmt::arg("stages", kStages), fmt::arg("depth", kDepth),
      fmt::arg("rows", t.rows), fmt::arg("columns", t.columns), fmt::arg("warps", t.columns / t.warp_columns),
      fmt::arg("warp_rows", t.warp_rows), fmt::arg("warp_columns", t.warp_columns), fmt::arg("stripe", kStripe),
      fmt::arg("tiles_down", t.warp_rows / 16), fmt::arg("tiles_across", t.warp_columns / 8),
      fmt::arg("load_a", load_tile(a.tile, t.threads(), helpers)),
      fmt::arg("load_b", load_tile(b.tile, t.threads(), helpers)), fmt::arg("a_range", range(a, 'a', "first_row", "m")),
      fmt::arg("b_range", range(b, 'b', "first_column", "n")), fmt::arg("a_matrices", matrices(a)),
      fmt::arg("b_matrices", matrices(b)),
      // The matrices of 8 by 8, in order: of A rows 0 and 8 of k 0, then of k 8; of B k 0 and 8 of column 0, then of
      // column 8. Each thread names a line of one of them.
      fmt::arg("a_at", a.along ? "row + i * 16 + (lane & 15)" : "l * 16 + (lane >> 4) * 8 + (lane & 7)"),
      fmt::arg("a_place",
               place(a.tile, "line", a.along ? "l * 2 + (lane >> 4)" : "row / 8 + i * 2 + ((lane >> 3) & 1)")),
      fmt::arg("b_at", b.along ? "column + j * 16 + (lane >> 4) * 8 + (lane & 7)" : "l * 16 + (lane & 15)"),
      fmt::arg("b_place",
               place(b.tile, "line", b.along ? "l * 2 + ((lane >> 3) & 1)" : "column / 8 + j * 2 + (lane >> 4)")),
      fmt::arg("multiply", g.dtype == DType::BF16 ? "multiply_bf16" : "multiply_f16"), fmt::arg("store", store));
  l.text = fmt::format("// {}\n{}", print(l.schedule), l.text);
  l.parameters = {a_from,
                  b_from,
                  parts > 1 ? Parameter{Parameter::Workspace} : Parameter{Parameter::Buffer, buffers[2]},
                  number(g.batch, true),
                  number(g.m, true),
                  number(g.n, true),
                  number(line, true),
                  number(g.k, true),
                  number(part_terms, true),
                  number(a.lines.batch_step, false),
                  number(a.lines.line_step, false),
                  number(a.lines.step, false),
                  number(b.lines.batch_step, false),
                  number(b.lines.line_step, false),
                  number(b.lines.step, false)};
  out.push_back(std::move(l));
  if (parts > 1)
    out.push_back(emit_sum_of_parts(DType::F32, g.result, prefix + "_parts", buffers[2], parts, elements, helpers));
  for (EmittedLaunch& launch : out)
    launch.workspace_bytes = workspace;
  return out;
}

}  // namespace sheaf::codegen::gpu
