#include "codegen/gpu/contract_tiles.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "codegen/gpu/arithmetic.h"
#include "codegen/gpu/contract.h"
#include "support/error.h"

namespace sheaf::codegen::gpu {
namespace {

using loop::Op;
using routines::GemmArgs;
using routines::MatrixStrides;

constexpr int kMostStages = 4;  // steps of k whose tiles are there or on their way
constexpr int kSharedBytes = 48 << 10;
constexpr int kRegisters = 65536;              // of a processor
constexpr int kPadding = 4;                    // elements after a line: copies that write a column meet different banks
constexpr int kPieceBytes = 16;                // of the largest copy
constexpr int kWarpDown = 4, kWarpAcross = 8;  // threads of a warp, in the tile

// The lines of a tile run across k. Of an operand whose lines run along k each element is copied by itself.
constexpr std::string_view kLoadAlong =
    R"({function} void {name}({t}* tile, {global}const {t}* from, int thread, int lines, long long line_step, int terms,
    long long step) {{
  const int l = thread % {depth}, first = thread / {depth};
  {global}const {t}* x = from + first * line_step + l * step;
  {t}* to = tile + l * {pitch} + first;
  if (lines >= {side} && terms >= {depth}) {{
    {unroll}
    for (int e = 0; e < {each}; ++e, x += {apart} * line_step) copy_async<{bytes}>(to + e * {apart}, x, {bytes});
    return;
  }}
  {unroll}
  for (int e = 0; e < {each}; ++e, x += {apart} * line_step) {{
    const bool is_there = first + e * {apart} < lines && l < terms;
    copy_async<{bytes}>(to + e * {apart}, is_there ? x : from, is_there ? {bytes} : 0);
  }}
}}
)";
constexpr std::string_view kLoadAcross =
    R"({function} void {name}({t}* tile, {global}const {t}* from, int thread, int lines, long long line_step, int terms,
    long long step) {{
  const int i = thread % {per_line} * {unit}, first = thread / {per_line};
  {global}const {t}* x = from + i * line_step + first * step;
  {t}* to = tile + first * {pitch} + i;
  if (lines >= {side} && terms >= {depth}) {{
    {unroll}
    for (int e = 0; e < {each}; ++e, x += {apart} * step)
      copy_async<{bytes}>(to + e * {apart} * {pitch}, x, {bytes});
    return;
  }}
  {unroll}
  for (int e = 0; e < {each}; ++e, x += {apart} * step) {{
    const int left = first + e * {apart} < terms ? lines - i : 0;
    copy_async<{bytes}>(to + e * {apart} * {pitch}, left > 0 ? x : from,
                        left >= {unit} ? {bytes} : left > 0 ? left * {element_bytes} : 0);
  }}
}}
)";

constexpr std::string_view kProduct =
    R"({kernel} {bounds} {name}({global}const {t}* a, {global}const {t}* b, {global}{t}* c, int batches, int m, int n,
    int k, int part_terms, int part_blocks, long long a_batch, long long a_row, long long a_column, long long b_batch,
    long long b_row, long long b_column) {{
  alignas(16) {shared}{t} a_tile[{stages}][{depth}][{rows} + {padding}];
  alignas(16) {shared}{t} b_tile[{stages}][{depth}][{columns} + {padding}];
  const int thread = {thread};
  const int tile_rows = (m + {rows} - 1) / {rows};
  const int tile_columns = (n + {columns} - 1) / {columns};
  const int tile = {block} % (tile_rows * tile_columns);
  const int batch = {block} / (tile_rows * tile_columns) % batches;
  const int number = {block} / (tile_rows * tile_columns) / batches;
{part}  const int first_row = tile / tile_columns * {rows};
  const int first_column = tile % tile_columns * {columns};
  // A warp has {warp_down} by {warp_across} threads.
  const int lane = thread & 31, warp = thread >> 5;
  const int row = (warp / {warps_across} * {warp_down} + lane / {warp_across}) * {row_chunk};
  const int column = (warp % {warps_across} * {warp_across} + lane % {warp_across}) * {column_chunk};
  a += batch * a_batch + first_row * a_row;
  b += batch * b_batch + first_column * b_column;
  {t} sum[{own_rows}][{own_columns}], total[{own_rows}][{own_columns}];
  {unroll}
  for (int i = 0; i < {own_rows}; ++i)
    {unroll}
    for (int j = 0; j < {own_columns}; ++j) sum[i][j] = total[i][j] = 0;
  const int steps = (end - begin + {depth} - 1) / {depth};
  for (int step = 0; step < {stages} - 1; ++step) {{
    const int at = begin + step * {depth};
    if (step < steps) {{
      {load_a}(a_tile[step][0], a + at * a_column, thread, m - first_row, a_row, end - at, a_column);
      {load_b}(b_tile[step][0], b + at * b_row, thread, n - first_column, b_column, end - at, b_row);
    }}
    commit_copies();
  }}
  int block_left = block_terms, now = 0, next = {stages} - 1;
  for (int step = 0; step < steps; ++step) {{
    wait_for_copies<{stages} - 2>();
    {barrier}  // the tiles of this step are complete, and nobody reads those before
    if (step + {stages} - 1 < steps) {{
      const int at = begin + (step + {stages} - 1) * {depth};
      {load_a}(a_tile[next][0], a + at * a_column, thread, m - first_row, a_row, end - at, a_column);
      {load_b}(b_tile[next][0], b + at * b_row, thread, n - first_column, b_column, end - at, b_row);
    }}
    commit_copies();
    {t} x[2][{own_rows}], y[2][{own_columns}];
    {unroll}
    for (int i = 0; i < {own_rows}; ++i) x[0][i] = a_tile[now][0][row + {spread_i}];
    {unroll}
    for (int j = 0; j < {own_columns}; ++j) y[0][j] = b_tile[now][0][column + {spread_j}];
    {unroll}
    for (int l = 0; l < {depth}; ++l) {{
      // The operands of the next term are on their way while this one is multiplied.
      if (l + 1 < {depth}) {{
        {unroll}
        for (int i = 0; i < {own_rows}; ++i) x[(l + 1) & 1][i] = a_tile[now][l + 1][row + {spread_i}];
        {unroll}
        for (int j = 0; j < {own_columns}; ++j) y[(l + 1) & 1][j] = b_tile[now][l + 1][column + {spread_j}];
      }}
      {unroll}
      for (int i = 0; i < {own_rows}; ++i)
        {unroll}
        for (int j = 0; j < {own_columns}; ++j) sum[i][j] = {fma};
    }}
    block_left -= {depth};
    if (block_left == 0 || step + 1 == steps) {{
      {unroll}
      for (int i = 0; i < {own_rows}; ++i)
        {unroll}
        for (int j = 0; j < {own_columns}; ++j) {{
          total[i][j] = {add};
          sum[i][j] = 0;
        }}
      block_left = block_terms;
    }}
    now = now == {stages} - 1 ? 0 : now + 1;
    next = next == {stages} - 1 ? 0 : next + 1;
  }}
  c += ((long long)number * batches + batch) * m * n;
  {unroll}
  for (int i = 0; i < {own_rows}; ++i)
    {unroll}
    for (int j = 0; j < {own_columns}; ++j)
      if (first_row + row + {spread_i} < m && first_column + column + {spread_j} < n)
        c[(long long)(first_row + row + {spread_i}) * n + first_column + column + {spread_j}] = total[i][j];
}}
)";

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

// What an H200 does, for choosing shapes. Nanoseconds that a block takes for a term, by itself on a processor, and of
// the processor's time among many blocks; bytes and launches.
struct Speed {
  static constexpr int64_t kProcessors = 132;
  static constexpr double kAlone[] = {43, 29, 21}, kAmongMany[] = {28, 18.8, 11.8};
  static constexpr double kBytes = 3500, kLaunch = 2500;
};

}  // namespace

bool suits_tiles(const GemmArgs<>& g) {
  return has_template(g) && g.result == g.dtype && size_bytes(g.dtype) >= 4 && routines::contract_chains(g.m, g.n) == 1;
}

TileShape tile_shape_of(const GemmArgs<>& g) {
  TileShape best = kTileShapes[0];
  double least = INFINITY;
  for (size_t s = 0; s < std::size(kTileShapes); ++s)
    for (bool splits : {false, true}) {
      TileShape shape = kTileShapes[s];
      shape.splits = splits;
      const ProductParts cut = parts_of(g, splits);
      if (splits && cut.blocks == 0) continue;
      const int64_t terms = std::min(g.k, cut.terms);
      const int64_t blocks = ceil_div(g.m, shape.rows) * ceil_div(g.n, shape.columns) * g.batch * cut.values();
      const auto turns = static_cast<double>(ceil_div(blocks, Speed::kProcessors));
      double time = std::max(Speed::kAlone[s], turns * Speed::kAmongMany[s]) *
                    static_cast<double>(splits ? routines::contract_block(terms) : terms);
      if (splits) {
        const double values = static_cast<double>(cut.values()) * static_cast<double>(g.batch * g.m * g.n);
        time += 2 * values * size_bytes(g.dtype) / Speed::kBytes + Speed::kLaunch;
      }
      if (time < least) least = time, best = shape;
    }
  return best;
}

std::vector<EmittedLaunch> emit_tiles(const GemmArgs<>& g, const TileShape& shape, const std::vector<int32_t>& buffers,
                                      const std::string& prefix, Helpers& helpers, bool aligned) {
  INVARIANT(suits_tiles(g), "tiles of " << sheaf::name_of(g.dtype));
  helpers.matrix_units();
  Arithmetic arithmetic(helpers);
  const Dialect& d = helpers.dialect();
  const std::string_view t = type_name(g.dtype);
  const int bytes = size_bytes(g.dtype), depth = shape.depth * 4 / bytes, threads = shape.threads();
  const int stages =
      std::min(kMostStages, kSharedBytes / ((shape.rows + shape.columns + 2 * kPadding) * depth * bytes));
  const ProductParts parts = parts_of(g, shape.splits);
  // Neighbouring threads read neighbouring elements, along k or across.
  auto load = [&](const MatrixStrides<int64_t>& s, int64_t across, int64_t along_k, int side) {
    const int pitch = side + kPadding, elements = depth * side;
    const bool along = along_k == 1 && across != 1;
    const int most = kPieceBytes / bytes;
    const int unit = aligned && across == 1 && along_k % most == 0 && (g.batch == 1 || s.batch % most == 0) ? most : 1;
    return helpers.function(fmt::format("load_{}_{}x{}_{}_{}", sheaf::name_of(g.dtype), depth, side,
                                        along ? "along" : fmt::format("by_{}", unit), threads),
                            [&](const std::string& name) {
                              const int per_line = side / unit;
                              return fmt::format(
                                  fmt::runtime(along ? kLoadAlong : kLoadAcross), fmt::arg("function", d.function),
                                  fmt::arg("name", name), fmt::arg("t", t), fmt::arg("global", d.global),
                                  fmt::arg("unroll", d.unroll), fmt::arg("depth", depth), fmt::arg("side", side),
                                  fmt::arg("pitch", pitch), fmt::arg("unit", unit), fmt::arg("per_line", per_line),
                                  fmt::arg("apart", along ? threads / depth : threads / per_line),
                                  fmt::arg("each", elements / (along ? 1 : unit) / threads),
                                  fmt::arg("element_bytes", bytes), fmt::arg("bytes", along ? bytes : bytes * unit));
                            });
  };
  // Elements of a thread stand in chunks of four neighbours, which are read at once.
  auto spread = [](char i, int own, int side) {
    const int chunk = std::min(own, 4);
    return own == chunk ? std::string(1, i)
                        : fmt::format("({0} / {1} * {2} + {0} % {1})", i, chunk, side / (own / chunk));
  };
  const int64_t elements = g.batch * g.m * g.n;
  // Sums, totals, operands, and what addresses take.
  const int registers =
      2 * (shape.own_rows * shape.own_columns + shape.own_rows + shape.own_columns) * bytes / 4 + 10 * bytes;
  const int together = std::clamp(kRegisters / (registers * threads), 1, 1024 / threads);
  EmittedLaunch l;
  l.name = prefix;
  l.schedule.kind = Schedule::Tiles;
  l.schedule.items = elements;
  l.schedule.longest = g.k;
  l.schedule.threads = threads;
  l.schedule.blocks = ceil_div(g.m, shape.rows) * ceil_div(g.n, shape.columns) * g.batch * parts.values();
  l.workspace_bytes = parts.values() > 1 ? parts.values() * elements * bytes : 0;
  l.text = fmt::format(
      fmt::runtime(kProduct), fmt::arg("kernel", d.kernel),
      fmt::arg("bounds", fmt::format(fmt::runtime(d.launch_bounds), threads, together)), fmt::arg("name", l.name),
      fmt::arg("global", d.global), fmt::arg("shared", d.shared), fmt::arg("t", t), fmt::arg("thread", d.thread),
      fmt::arg("block", d.block), fmt::arg("barrier", d.block_barrier), fmt::arg("unroll", d.unroll),
      fmt::arg("part", kPartOfProduct), fmt::arg("stages", stages), fmt::arg("depth", depth),
      fmt::arg("padding", kPadding), fmt::arg("rows", shape.rows), fmt::arg("columns", shape.columns),
      fmt::arg("own_rows", shape.own_rows), fmt::arg("own_columns", shape.own_columns),
      fmt::arg("row_chunk", std::min(shape.own_rows, 4)), fmt::arg("column_chunk", std::min(shape.own_columns, 4)),
      fmt::arg("warp_down", kWarpDown), fmt::arg("warp_across", kWarpAcross),
      fmt::arg("warps_across", shape.columns / shape.own_columns / kWarpAcross),
      fmt::arg("spread_i", spread('i', shape.own_rows, shape.rows)),
      fmt::arg("spread_j", spread('j', shape.own_columns, shape.columns)),
      fmt::arg("load_a", load(g.a, g.a.row, g.a.column, shape.rows)),
      fmt::arg("load_b", load(g.b, g.b.column, g.b.row, shape.columns)),
      fmt::arg("fma", arithmetic.apply({Op::Fma, g.dtype, g.dtype}, {"x[l & 1][i]", "y[l & 1][j]", "sum[i][j]"})),
      fmt::arg("add", arithmetic.apply({Op::Add, g.dtype, g.dtype}, {"total[i][j]", "sum[i][j]", ""})));
  l.text = fmt::format("// {}\n{}", print(l.schedule), l.text);
  l.parameters = {{Parameter::Buffer, buffers[0]},
                  {Parameter::Buffer, buffers[1]},
                  parts.values() > 1 ? Parameter{Parameter::Workspace} : Parameter{Parameter::Buffer, buffers[2]},
                  number(g.batch, true),
                  number(g.m, true),
                  number(g.n, true),
                  number(g.k, true),
                  number(parts.terms, true),
                  number(parts.blocks, true),
                  number(g.a.batch, false),
                  number(g.a.row, false),
                  number(g.a.column, false),
                  number(g.b.batch, false),
                  number(g.b.row, false),
                  number(g.b.column, false)};
  std::vector<EmittedLaunch> out{std::move(l)};
  if (parts.values() > 1) out.push_back(emit_parts(g, parts, prefix + "_parts", buffers[2], helpers));
  return out;
}

}  // namespace sheaf::codegen::gpu
