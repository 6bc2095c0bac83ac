// 1. A block finds its group: the rows before it, how many it has, and which tile of its product the block computes.
// 2. For each part of k: a tile by the loop of contract.h; or four chains per element, where the group's product has
// one
//    row or one column.
// 3. Values of parts are added pairwise, like the carries of a binary counter.
#include "codegen/gpu/grouped.h"

#include <algorithm>
#include <bit>

#include "codegen/gpu/arithmetic.h"
#include "codegen/gpu/contract.h"
#include "codegen/gpu/template_launch.h"

namespace sheaf::codegen::gpu {
namespace {

using loop::Op;
using routines::GroupedArgs;

constexpr int kSide = 64, kThreads = 256;

constexpr std::string_view kGrouped =
    R"({kernel} {name}({global}const {s}* x, {global}const {s}* other, {global}const long long* counts,
    {global}{r}* y, int rows, int groups, int depth, int n, int row_tiles, long long counts_batch,
    long long counts_group, long long x_batch, long long x_row, long long x_column, long long other_batch,
    long long other_group, long long other_row, long long other_column) {{
  const int thread = {thread};
  const int column_tiles = (n + {last}) / {side};
  const int first_column = {block} % column_tiles * {side};
  int tile = {block} / column_tiles % row_tiles;
  const long long batch = {block} / column_tiles / row_tiles{groups_of_grid};
  counts += batch * counts_batch;
  auto count_of = [&](int group, int from) {{
    const long long count = counts[group * counts_group];
    return count < 0 ? 0 : count > rows - from ? rows - from : (int)count;
  }};
  int from = 0, count = 0, group = 0;
{find}  const int first_row = tile * {side};
  {fold_memory}
  for (int number = 0, part_begin = 0; number == 0 || part_begin < k; ++number, part_begin += part_terms) {{
    const int terms = k - part_begin < part_terms ? k - part_begin : part_terms;
    const int blocks = terms > 0 ? (terms + 511) / 512 : 1;
    const int block_terms = ((terms + blocks - 1) / blocks + 31) / 32 * 32;
    const int begin = part_begin, end = part_begin + terms;
    const bool is_last_part = end >= k;
    if (m == 1 || n == 1) {{
      {shared}{t} sums[4][64];
      const int element = thread & 63, chain = thread >> 6;
      const int i = m == 1 ? 0 : first_row + element, j = m == 1 ? first_column + element : 0;
      {global}const {s}* a_line = a + (i < m ? i : m - 1) * a_row;
      {global}const {s}* b_line = b + (j < n ? j : n - 1) * b_column;
      {t} total = 0;
      for (int block_begin = begin; block_begin < end; block_begin += block_terms) {{
        const int block_end = end - block_begin < block_terms ? end : block_begin + block_terms;
        {t} sum = 0;
        for (int l = block_begin + chain; l < block_end; l += 4) sum = {chain_fma};
        sums[chain][element] = sum;
        {barrier}  // all chains of the block are complete
        const {t} left = {left};
        const {t} right = {right};
        const {t} both = {both};
        total = {add_both};
        {barrier}  // all have read them
      }}
{fold_element}      if (chain == 0 && i < m && j < n && is_last_part) c[(long long)i * n + j] = {element_result};
    }} else {{
{loop}      {unroll}
      for (int i = 0; i < {own}; ++i)
        {unroll}
        for (int j = 0; j < {own}; ++j) {{
{fold_tile}          if (first_row + row + {spread_i} < m && first_column + column + {spread_j} < n && is_last_part)
            c[(long long)(first_row + row + {spread_i}) * n + first_column + column + {spread_j}] = {result};
        }}
    }}
{folded}  }}
}}
)";

// Of groups of rows, tiles one after the other; the rows after the last group are one of zeros.
constexpr std::string_view kFindTile =
    R"(  for (;; ++group) {{
    count = group < groups ? count_of(group, from) : rows - from;
    const int tiles = (count + {last}) / {side};
    if (tile < tiles) break;
    if (group == groups) return;
    tile -= tiles;
    from += count;
  }}
  const int m = count, k = group < groups ? depth : 0;
  {global}const {s}* a = x + batch * x_batch + from * x_row;
  {global}const {s}* b = other + batch * other_batch + (group < groups ? group * other_group : 0);
  {global}{r}* c = y + (batch * rows + from) * n;
  const long long a_row = x_row, a_column = x_column, b_row = other_row, b_column = other_column;
)";
// Each group has a product, whose terms are its rows.
constexpr std::string_view kFindGroup =
    R"(  const int own_group = {block} / column_tiles / row_tiles % groups;
  for (; group < own_group; ++group) from += count_of(group, from);
  count = count_of(group, from);
  const int m = depth, k = count;
  {global}const {s}* a = x + batch * x_batch + from * x_row;
  {global}const {s}* b = other + batch * other_batch + from * other_row;
  {global}{r}* c = y + (batch * groups + group) * m * n;
  const long long a_row = x_column, a_column = x_row, b_row = other_row, b_column = other_column;
)";

// The length of parts (contract_part), and the values that wait for a neighbour.
constexpr std::string_view kFoldMemory =
    R"(const int parts = (k + {part} - 1) / {part};
  const int part_terms = parts <= 1 ? {part} : ((k + parts - 1) / parts + 511) / 512 * 512;
  {t} waiting[{depth}][{values}];
  int count_waiting = 0;)";
// At the last part all values are added.
constexpr std::string_view kFold =
    R"({indent}int at = count_waiting;
{indent}for (int bits = number; is_last_part ? at > 0 : (bits & 1) != 0; bits >>= 1) {{
{indent}  --at;
{indent}  {total} = {add};
{indent}}}
{indent}waiting[at][{value}] = {total};
)";
constexpr std::string_view kFolded = R"(    for (int bits = number; bits & 1; bits >>= 1) --count_waiting;
    ++count_waiting;
)";

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

// The most terms that a product has.
int64_t terms_of(const GroupedArgs<>& a) { return a.outer ? a.rows : a.k; }

}  // namespace

bool has_template(const GroupedArgs<>& a) {
  constexpr int64_t kMost = int64_t{1} << 28;
  const bool type = a.result == a.dtype || (size_bytes(a.dtype) == 2 && a.result == DType::F32);
  return type && is_float(a.dtype) && a.rows < kMost && a.k < kMost && a.n < kMost &&
         a.batch * a.groups * ceil_div(std::max(a.rows, a.k), kSide) * ceil_div(a.n, kSide) < kMost;
}

std::vector<EmittedLaunch> emit_grouped(const GroupedArgs<>& a, const std::vector<int32_t>& buffers,
                                        const std::string& prefix, Helpers& helpers) {
  const DType type = compute_type(a.dtype);
  Arithmetic arithmetic(helpers);
  const Dialect& d = helpers.dialect();
  auto sum = [&](const char* x, const char* y) { return arithmetic.apply({Op::Add, type, type}, {x, y, ""}); };
  auto load = [&](const char* x) { return arithmetic.convert(a.dtype, type, x); };
  const bool a_along = a.outer ? a.x.row == 1 && a.x.column != 1 : a.x.column == 1;
  const TileLoop loop = tile_loop(a.dtype, kSide, a_along, a.other.row == 1 && a.other.column != 1, helpers);
  // Every group may end with a tile that is not full, and so may the rows after the last one.
  const int64_t row_tiles = a.outer ? ceil_div(a.k, kSide) : a.rows / kSide + a.groups + 1;
  const int64_t products = a.batch * (a.outer ? a.groups : 1);
  Schedule s{.kind = Schedule::Routine, .items = products, .longest = terms_of(a), .threads = kThreads};
  s.blocks = a.rows == 0 && !a.outer ? 0 : row_tiles * ceil_div(a.n, kSide) * products;
  const auto most_parts = static_cast<uint64_t>(ceil_div(terms_of(a), routines::kContractPart));
  const bool has_parts = most_parts > 1;
  auto fold = [&](int indent, const std::string& total, const std::string& value) {
    if (!has_parts) return std::string();
    const std::string waiting = fmt::format("waiting[at][{}]", value);
    return fmt::format(fmt::runtime(kFold), fmt::arg("indent", std::string(static_cast<size_t>(indent), ' ')),
                       fmt::arg("total", total), fmt::arg("value", value),
                       fmt::arg("add", sum(waiting.c_str(), total.c_str())));
  };
  const std::string fold_memory =
      has_parts ? fmt::format(fmt::runtime(kFoldMemory), fmt::arg("part", routines::kContractPart),
                              fmt::arg("t", type_name(type)), fmt::arg("depth", std::bit_width(most_parts)),
                              fmt::arg("values", loop.own * loop.own))
                : fmt::format("const int part_terms = {};", routines::kContractPart);
  const std::string find =
      fmt::format(fmt::runtime(a.outer ? kFindGroup : kFindTile), fmt::arg("side", kSide), fmt::arg("last", kSide - 1),
                  fmt::arg("block", d.block), fmt::arg("global", d.global), fmt::arg("s", type_name(a.dtype)),
                  fmt::arg("r", type_name(a.result)));
  return {template_launch(
      kGrouped, prefix, s,
      {{Parameter::Buffer, buffers[0]},
       {Parameter::Buffer, buffers[1]},
       {Parameter::Buffer, buffers[2]},
       {Parameter::Buffer, buffers[3]},
       number(a.rows, true),
       number(a.groups, true),
       number(a.k, true),
       number(a.n, true),
       number(row_tiles, true),
       number(a.counts[0], false),
       number(a.counts[1], false),
       number(a.x.batch, false),
       number(a.x.row, false),
       number(a.x.column, false),
       number(a.other.batch, false),
       number(a.outer ? 0 : a.other.group, false),
       number(a.other.row, false),
       number(a.other.column, false)},
      0, helpers, fmt::arg("s", type_name(a.dtype)), fmt::arg("t", type_name(type)), fmt::arg("r", type_name(a.result)),
      fmt::arg("side", kSide), fmt::arg("last", kSide - 1), fmt::arg("groups_of_grid", a.outer ? " / groups" : ""),
      fmt::arg("find", find), fmt::arg("loop", loop.text), fmt::arg("fold_memory", fold_memory),
      fmt::arg("fold_element", fold(6, "total", "0")),
      fmt::arg("fold_tile", fold(10, "total[i][j]", fmt::format("i * {} + j", loop.own))),
      fmt::arg("folded", has_parts ? std::string(fmt::format(fmt::runtime(kFolded))) : std::string()),
      fmt::arg("own", loop.own), fmt::arg("spread_i", loop.spread('i')), fmt::arg("spread_j", loop.spread('j')),
      fmt::arg("chain_fma", arithmetic.apply({Op::Fma, type, type},
                                             {load("a_line[l * a_column]"), load("b_line[l * b_row]"), "sum"})),
      fmt::arg("left", sum("sums[0][element]", "sums[1][element]")),
      fmt::arg("right", sum("sums[2][element]", "sums[3][element]")), fmt::arg("both", sum("left", "right")),
      fmt::arg("add_both", sum("total", "both")),
      fmt::arg("element_result", arithmetic.convert(type, a.result, "total")),
      fmt::arg("result", arithmetic.convert(type, a.result, "total[i][j]")))};
}

}  // namespace sheaf::codegen::gpu
