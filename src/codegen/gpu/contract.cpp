#include "codegen/gpu/contract.h"

#include <fmt/format.h>

#include "codegen/gpu/arithmetic.h"
#include "support/error.h"

namespace sheaf::codegen::gpu {
namespace {

using loop::Op;
using routines::GemmArgs;

constexpr int kTileThreads = 256;     // 16 by 16
constexpr int64_t kProcessors = 132;  // of the GPU that this was measured on: an H200

// Tiles of A and B lie in shared memory twice: while one is multiplied, the next one is on its way through registers.
// A thread has `own` by `own` elements of C, in chunks of neighbours that are read at once; rows of the tiles are
// padded so that threads that write one column meet different banks. Beyond the edges stand zeros: terms that are 0
// times 0 change no sum. Blocks of k begin at multiples of {depth}.
constexpr std::string_view kTileLoop =
    R"(  {shared}{t} a_tile[2][{depth}][{side} + {padding}];
  {shared}{t} b_tile[2][{depth}][{side} + {padding}];
  const int row = thread / 16 * {chunk};
  const int column = thread % 16 * {chunk};
  {t} a_next[{each}], b_next[{each}];
  {t} sum[{own}][{own}], total[{own}][{own}];
  for (int i = 0; i < {own}; ++i)
    for (int j = 0; j < {own}; ++j) sum[i][j] = total[i][j] = 0;
  int block_left = block_terms, which = 0;
  for (int at = begin - {depth}; at < end; at += {depth}) {{
    const int next = at + {depth};
    if (next < end) {{
      {unroll}
      for (int e = 0; e < {each}; ++e) {{
        const int l = {a_depth}, i = first_row + {a_side};
        a_next[e] = next + l < end && i < m ? {a_value} : 0;
      }}
      {unroll}
      for (int e = 0; e < {each}; ++e) {{
        const int l = {b_depth}, j = first_column + {b_side};
        b_next[e] = next + l < end && j < n ? {b_value} : 0;
      }}
    }}
    if (at >= begin) {{
      {unroll}
      for (int l = 0; l < {depth}; ++l) {{
        {t} x[{own}], y[{own}];
        {unroll}
        for (int i = 0; i < {own}; ++i) x[i] = a_tile[which][l][row + {spread_i}];
        {unroll}
        for (int j = 0; j < {own}; ++j) y[j] = b_tile[which][l][column + {spread_j}];
        {unroll}
        for (int i = 0; i < {own}; ++i)
          {unroll}
          for (int j = 0; j < {own}; ++j) sum[i][j] = {fma};
      }}
      block_left -= {depth};
      if (block_left == 0 || next >= end) {{
        {unroll}
        for (int i = 0; i < {own}; ++i)
          {unroll}
          for (int j = 0; j < {own}; ++j) {{
            total[i][j] = {add};
            sum[i][j] = 0;
          }}
        block_left = block_terms;
      }}
      which ^= 1;
    }}
    if (next < end) {{
      {unroll}
      for (int e = 0; e < {each}; ++e) a_tile[which][{a_depth}][{a_side}] = a_next[e];
      {unroll}
      for (int e = 0; e < {each}; ++e) b_tile[which][{b_depth}][{b_side}] = b_next[e];
    }}
    {barrier}  // the next tiles are complete, and nobody reads those before
  }}
)";

constexpr std::string_view kTiles =
    R"({kernel} {name}({global}const {s}* a, {global}const {s}* b, {global}{r}* c, int batches, int m, int n,
    int k, int part_terms, int part_blocks, long long a_batch, long long a_row, long long a_column, long long b_batch,
    long long b_row, long long b_column) {{
  const int thread = {thread};
  const int tile_rows = (m + {last}) / {side};
  const int tile_columns = (n + {last}) / {side};
  const int tile = {block} % (tile_rows * tile_columns);
  const int batch = {block} / (tile_rows * tile_columns) % batches;
  const int number = {block} / (tile_rows * tile_columns) / batches;
{part}  const int first_row = tile / tile_columns * {side};
  const int first_column = tile % tile_columns * {side};
  a += batch * a_batch;
  b += batch * b_batch;
{loop}  c += ((long long)number * batches + batch) * m * n;
  for (int i = 0; i < {own}; ++i)
    for (int j = 0; j < {own}; ++j)
      if (first_row + row + {spread_i} < m && first_column + column + {spread_j} < n)
        c[(long long)(first_row + row + {spread_i}) * n + first_column + column + {spread_j}] =
            {result};
}}
)";

// Values of blocks, of which `blocks` in order are a part; parts two neighbours at a time, like the carries of a binary
// counter.
constexpr std::string_view kParts =
    R"({kernel} {name}({global}const {t}* values, {global}{r}* c, int parts, int blocks, int last_blocks,
    long long elements) {{
  const long long i = (long long){block} * 256 + {thread};
  if (i >= elements) return;
  values += i;
  {t} pending[32];
  int count = 0;
  for (int part = 0; part < parts; ++part) {{
    const {global}{t}* value = values + (long long)part * blocks * elements;
    const int own = part + 1 < parts ? blocks : last_blocks;
    {t} total = *value;
    if (blocks > 1) total = {first};
    for (int n = 1; n < own; ++n) total = {add_block};
    for (int number = part; number & 1; number >>= 1) {{
      --count;
      total = {add};
    }}
    pending[count++] = total;
  }}
  {t} total = pending[--count];
  while (count > 0) {{
    --count;
    total = {add};
  }}
  c[i] = {result};
}}
)";

// Values in order.
constexpr std::string_view kInOrder =
    R"({kernel} {name}({global}const {t}* values, {global}{r}* c, int count, long long elements) {{
  const long long i = (long long){block} * 256 + {thread};
  if (i >= elements) return;
  values += i;
  {t} total = 0;
  {unroll_eight}
  for (int n = 0; n < count; ++n) total = {add_value};
  c[i] = {result};
}}
)";

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

// A kernel that adds the values of each element, as the text does it. Its parameters between `to` and `elements` are
// the caller's.
EmittedLaunch combine(std::string_view text, DType d, DType result, const std::string& name, Parameter from, int32_t to,
                      std::vector<Parameter> counts, int64_t elements, Helpers& helpers) {
  const Dialect& words = helpers.dialect();
  Arithmetic arithmetic(helpers);
  auto add = [&](const char* a, const char* b) { return arithmetic.apply({Op::Add, d, d}, {a, b, ""}); };
  EmittedLaunch l;
  l.name = name;
  l.schedule = {.items = elements, .blocks = ceil_div(elements, 256)};
  l.parameters = {from, {Parameter::Buffer, to}};
  l.parameters.insert(l.parameters.end(), counts.begin(), counts.end());
  l.parameters.push_back(number(elements, false));
  l.text =
      fmt::format("// {}\n{}", print(l.schedule),
                  fmt::format(fmt::runtime(text), fmt::arg("kernel", words.kernel), fmt::arg("name", name),
                              fmt::arg("global", words.global), fmt::arg("t", type_name(d)),
                              fmt::arg("r", type_name(result)), fmt::arg("thread", words.thread),
                              fmt::arg("block", words.block), fmt::arg("unroll_eight", words.unroll_by(8)),
                              fmt::arg("first", add("0", "total")), fmt::arg("add", add("pending[count]", "total")),
                              fmt::arg("add_block", add("total", "value[n * elements]")),
                              fmt::arg("add_value", add("total", "values[n * elements]")),
                              fmt::arg("result", arithmetic.convert(d, result, "total"))));
  return l;
}

}  // namespace

DType accumulator(DType d) {
  return d == DType::BF16 || d == DType::F16 ? DType::F32 : d == DType::I8 ? DType::I32 : d;
}

bool has_template(const GemmArgs<>& g) {
  bool type = g.result == g.dtype;
  switch (g.dtype) {
    case DType::F32:
    case DType::F64:
    case DType::I32:
    case DType::I64:
    case DType::U32: break;
    case DType::BF16:
    case DType::F16: type |= g.result == DType::F32; break;
    case DType::I8: type = g.result == DType::I32; break;
    default: type = false;
  }
  // Sizes and numbers of tiles are counted in 32 bits.
  constexpr int64_t kMost = int64_t{1} << 30;
  return type && g.m < kMost && g.n < kMost && g.k < kMost && g.batch < kMost;
}

ProductParts parts_of(const GemmArgs<>& g, bool splits) {
  ProductParts out{.terms = routines::contract_part(g.k), .parts = 1};
  out.parts = std::max<int64_t>(1, ceil_div(g.k, std::max<int64_t>(1, out.terms)));
  auto blocks = [](int64_t terms) { return ceil_div(terms, routines::contract_block(terms)); };
  if (!splits || blocks(std::min(g.k, out.terms)) <= 1) return out;
  out.blocks = blocks(std::min(g.k, out.terms));
  out.last_blocks = blocks(g.k - (out.parts - 1) * out.terms);
  return out;
}

// The largest tiles of which there are enough for all processors; else small ones, and blocks of k by themselves.
Tiling tiling_of(const GemmArgs<>& g) {
  auto tiles = [&](int side) { return ceil_div(g.m, side) * ceil_div(g.n, side) * g.batch; };
  for (int side : {128, 64, 32})
    if (tiles(side) >= kProcessors) return {side, false};
  return {32, true};
}

std::string TileLoop::spread(char i) const {
  return own == chunk ? std::string(1, i) : fmt::format("({0} / {1} * {2} + {0} % {1})", i, chunk, 16 * chunk);
}

TileLoop tile_loop(DType dtype, int side, bool a_along, bool b_along, Helpers& helpers) {
  const Dialect& d = helpers.dialect();
  const DType type = accumulator(dtype);
  Arithmetic arithmetic(helpers);
  TileLoop out;
  out.own = side / 16;
  out.chunk = std::min(out.own, 4);
  const int depth = side == 128 && size_bytes(type) == 8 ? 8 : 16;
  // Neighbouring threads read neighbouring elements, along k or across.
  const std::string element = fmt::format("(thread + e * {})", kTileThreads);
  auto along = [&](bool is, int size) { return fmt::format("{} {} {}", element, is ? '%' : '/', size); };
  auto load = [&](const char* x) { return arithmetic.convert(dtype, type, x); };
  out.text = fmt::format(fmt::runtime(kTileLoop), fmt::arg("shared", d.shared), fmt::arg("t", type_name(type)),
                         fmt::arg("barrier", d.block_barrier), fmt::arg("unroll", d.unroll), fmt::arg("depth", depth),
                         fmt::arg("side", side), fmt::arg("padding", 4), fmt::arg("own", out.own),
                         fmt::arg("chunk", out.chunk), fmt::arg("each", depth * side / kTileThreads),
                         fmt::arg("spread_i", out.spread('i')), fmt::arg("spread_j", out.spread('j')),
                         fmt::arg("a_depth", along(a_along, a_along ? depth : side)),
                         fmt::arg("a_side", along(!a_along, a_along ? depth : side)),
                         fmt::arg("b_depth", along(b_along, b_along ? depth : side)),
                         fmt::arg("b_side", along(!b_along, b_along ? depth : side)),
                         fmt::arg("fma", arithmetic.apply({Op::Fma, type, type}, {"x[i]", "y[j]", "sum[i][j]"})),
                         fmt::arg("add", arithmetic.apply({Op::Add, type, type}, {"total[i][j]", "sum[i][j]", ""})),
                         fmt::arg("a_value", load("a[i * a_row + (next + l) * a_column]")),
                         fmt::arg("b_value", load("b[(next + l) * b_row + j * b_column]")));
  return out;
}

std::vector<EmittedLaunch> emit_contract(const GemmArgs<>& g, Tiling tiling, const std::vector<int32_t>& buffers,
                                         const std::string& prefix, Helpers& helpers) {
  INVARIANT(has_template(g), "contract of " << sheaf::name_of(g.dtype));
  INVARIANT(routines::contract_chains(g.m, g.n) == 1, "tiles of a product with one row or column");
  Arithmetic arithmetic(helpers);
  const Dialect& d = helpers.dialect();
  const DType type = accumulator(g.dtype);
  const ProductParts cut = parts_of(g, tiling.splits);
  const int64_t part_terms = cut.terms, parts = cut.values();
  const int64_t elements = g.batch * g.m * g.n;
  // Values of parts wait in workspace, as they are accumulated.
  const DType result_type = parts > 1 ? type : g.result;
  auto store = [&](const char* x) { return arithmetic.convert(type, result_type, x); };
  const Parameter result = parts > 1 ? Parameter{Parameter::Workspace} : Parameter{Parameter::Buffer, buffers[2]};
  auto format = [&](std::string_view text, const std::string& name, auto... more) {
    return fmt::format(fmt::runtime(text), fmt::arg("kernel", d.kernel), fmt::arg("name", name),
                       fmt::arg("global", d.global), fmt::arg("shared", d.shared), fmt::arg("t", type_name(type)),
                       fmt::arg("s", type_name(g.dtype)), fmt::arg("r", type_name(result_type)),
                       fmt::arg("thread", d.thread), fmt::arg("block", d.block), fmt::arg("barrier", d.block_barrier),
                       fmt::arg("unroll", d.unroll), fmt::arg("part", kPartOfProduct), more...);
  };
  std::vector<EmittedLaunch> out;
  EmittedLaunch l;
  l.name = prefix;
  l.schedule.items = elements;
  l.schedule.longest = g.k;
  l.workspace_bytes = parts > 1 ? parts * elements * size_bytes(type) : 0;
  const int side = tiling.side;
  const TileLoop loop = tile_loop(g.dtype, side, g.a.column == 1, g.b.row == 1 && g.b.column != 1, helpers);
  l.schedule.kind = Schedule::Tiles;
  l.schedule.threads = kTileThreads;
  l.schedule.blocks = ceil_div(g.m, side) * ceil_div(g.n, side) * g.batch * parts;
  l.text = format(kTiles, l.name, fmt::arg("loop", loop.text), fmt::arg("side", side), fmt::arg("last", side - 1),
                  fmt::arg("own", loop.own), fmt::arg("spread_i", loop.spread('i')),
                  fmt::arg("spread_j", loop.spread('j')), fmt::arg("result", store("total[i][j]")));
  l.parameters = {{Parameter::Buffer, buffers[0]},
                  {Parameter::Buffer, buffers[1]},
                  result,
                  number(g.batch, true),
                  number(g.m, true),
                  number(g.n, true),
                  number(g.k, true),
                  number(part_terms, true),
                  number(cut.blocks, true),
                  number(g.a.batch, false),
                  number(g.a.row, false),
                  number(g.a.column, false),
                  number(g.b.batch, false),
                  number(g.b.row, false),
                  number(g.b.column, false)};
  l.text = fmt::format("// {}\n{}", print(l.schedule), l.text);
  out.push_back(std::move(l));
  if (parts > 1) out.push_back(emit_parts(g, cut, prefix + "_parts", buffers[2], helpers));
  return out;
}

EmittedLaunch emit_parts(const GemmArgs<>& g, const ProductParts& cut, const std::string& name, int32_t to,
                         Helpers& helpers) {
  const DType type = accumulator(g.dtype);
  const int64_t elements = g.batch * g.m * g.n, blocks = std::max<int64_t>(1, cut.blocks);
  // A part's value begins with 0 to which its blocks are added; where the part is one number, that has happened.
  EmittedLaunch out =
      cut.parts == 1
          ? combine(kInOrder, type, g.result, name, {Parameter::Workspace}, to, {number(cut.last_blocks, true)},
                    elements, helpers)
          : combine(kParts, type, g.result, name, {Parameter::Workspace}, to,
                    {number(cut.parts, true), number(blocks, true), number(cut.blocks > 0 ? cut.last_blocks : 1, true)},
                    elements, helpers);
  out.workspace_bytes = cut.values() * elements * size_bytes(type);
  return out;
}

EmittedLaunch emit_sum_of_parts(DType from, DType result, const std::string& name, int32_t to, int64_t parts,
                                int64_t elements, Helpers& helpers) {
  return combine(kInOrder, from, result, name, {Parameter::Workspace}, to, {number(parts, true)}, elements, helpers);
}

std::vector<EmittedLaunch> emit_sum_totals(const routines::SumTotalsArgs<>& a, const std::vector<int32_t>& buffers,
                                           const std::string& prefix, Helpers& helpers) {
  return {combine(kParts, a.dtype, a.dtype, prefix, {Parameter::Buffer, buffers[0]}, buffers[1],
                  {number(a.n, true), number(1, true), number(1, true)}, 1, helpers)};
}

}  // namespace sheaf::codegen::gpu
