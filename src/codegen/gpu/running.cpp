#include "codegen/gpu/running.h"

#include <algorithm>

#include "codegen/gpu/arithmetic.h"
#include "codegen/gpu/template_launch.h"

namespace sheaf::codegen::gpu {
namespace {

using loop::Op;
using routines::CumulateArgs;
using routines::RecurrenceArgs;
using routines::Running;

constexpr int kThreads = 256;
constexpr int kTile = 1024;           // elements that a warp has in shared memory
constexpr int kAtOnce = 8;            // elements of a column that a thread reads before it goes on
constexpr int64_t kColumnBytes = 32;  // of neighbouring chains, from which on threads read them side by side
constexpr int64_t kFewWarps = 528;    // warps below which fewer chains each are better: 132 processors, 4 each

// What every text begins with: chain `c` of row `o`, block `number` and column `j`.
constexpr std::string_view kPlace =
    R"(long long j = c % inner, number = c / inner % blocks, o = c / inner / blocks;
)";

// A warp has {chains} chains, of each a tile of {each} elements, which it reads and writes side by side; a lane goes
// along its chain in shared memory, while the next tiles are on their way through registers. Elements beyond the end
// are zeros, and go nowhere.
constexpr std::string_view kTiles =
    R"({kernel} {name}({global}const {s}* x, {factors}{global}{r}* y, long long count, int blocks, int n, int length,
    long long inner, long long x_first, long long x_row, long long x_block, long long x_step, long long y_first,
    long long y_row, long long y_block, long long y_step) {{
  {shared}{t} tile[{chains}][{each} + 1];
{factor_tile}  {shared}long long x_at[{chains}], y_at[{chains}];
  {shared}int lengths[{chains}];
  const int lane = {thread};
  const long long c = (long long){block} * {chains} + lane;
  if (lane < {chains}) {{
    const {place}    x_at[lane] = x_first + o * x_row + number * x_block + j;
    y_at[lane] = y_first + o * y_row + number * y_block + j;
    const long long left = n - number * length;
    lengths[lane] = c >= count ? 0 : left < length ? (int)left : length;
  }}
  {warp_barrier}  // the chains are known
  {s} next[{loads}];
{factor_next}  {t} own = 0;
  for (int at = -{each}; at < length; at += {each}) {{
    if (at >= 0) {{
      {unroll}
      for (int e = 0; e < {loads}; ++e) {{
        tile[(e * 32 + lane) / {each}][(e * 32 + lane) % {each}] = {load};
{keep_factor}      }}
    }}
    {unroll}
    for (int e = 0; e < {loads}; ++e) {{
      const int chain = (e * 32 + lane) / {each}, i = at + {each} + (e * 32 + lane) % {each};
      next[e] = i < lengths[chain] ? x[x_at[chain] + i * x_step] : ({s})0;
{load_factor}    }}
    if (at < 0) continue;
    {warp_barrier}  // the tile is complete
    if (lane < {chains}) {{
      {unroll_some}
      for (int i = 0; i < {each}; ++i) {{
        const {t} value = tile[lane][i];
{chain_factor}        own = at + i == 0 ? value : {step};
        tile[lane][i] = own;
      }}
    }}
    {warp_barrier}  // the chains have gone through it
    {unroll}
    for (int e = 0; e < {loads}; ++e) {{
      const int chain = (e * 32 + lane) / {each}, i = (e * 32 + lane) % {each};
      if (at + i < lengths[chain]) {{
        const {t} value = tile[chain][i];
        y[y_at[chain] + (at + i) * y_step] = {store};
      }}
    }}
    {warp_barrier}  // the tile is free
  }}
}}
)";

// Neighbouring threads have neighbouring chains.
constexpr std::string_view kColumns =
    R"({kernel} {name}({global}const {s}* x, {factors}{global}{r}* y, long long count, int blocks, int n, int length,
    long long inner, long long x_first, long long x_row, long long x_block, long long x_step, long long y_first,
    long long y_row, long long y_block, long long y_step) {{
  const long long c = (long long){block} * {threads} + {thread};
  if (c >= count) return;
  const {place}  x += x_first + o * x_row + number * x_block + j;
  y += y_first + o * y_row + number * y_block + j;
{place_factor}  const long long left = n - number * length;
  const int end = left < length ? (int)left : length;
  {t} own = 0;
  for (int at = 0; at < end; at += {at_once}) {{
    {s} next[{at_once}];
{factor_next}    {unroll}
    for (int e = 0; e < {at_once}; ++e) {{
      const int i = at + e;
      next[e] = i < end ? x[i * x_step] : ({s})0;
{load_factor}    }}
    {unroll}
    for (int e = 0; e < {at_once}; ++e) {{
      const {t} value_read = {load};
{keep_factor}      {{
        const {t} value = value_read;
        own = at + e == 0 ? value : {step};
      }}
      if (at + e < end) {{
        const {t} value = own;
        y[(at + e) * y_step] = {store};
      }}
    }}
  }}
}}
)";

// Elements beyond the first block, with what the blocks before theirs come to.
constexpr std::string_view kJoin =
    R"({kernel} {name}({global}const {t}* local, {global}const {t}* before, {global}{r}* y, long long count,
    long long n, long long inner, int length, int blocks) {{
  const long long at = (long long){block} * {threads} + {thread};
  if (at >= count) return;
  const long long row = at / inner, number = row % n / length;
  {t} value = local[at];
  if (number > 0) {{
    const {t} own = before[(row / n * (blocks - 1) + number - 1) * inner + at % inner];
    value = {step};
  }}
  y[at] = {store};
}}
)";

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Chains of `length` elements at most, the blocks of rows.
struct Chains {
  int64_t rows, blocks, n, length, inner;
  struct {
    int64_t first, row, block, step;
  } x, y;
  int64_t count() const { return rows * blocks * inner; }
};

// How a step is said of `own` and `value`, and of `factor` in a recurrence.
struct Step {
  DType stored, type, result;
  std::string step;
  bool has_factors = false;
  int64_t ahead = 0;  // of a factor, in elements from where `value` stands
};

EmittedLaunch emit_chains(const Chains& c, const Step& s, Parameter x, Parameter factors, Parameter y,
                          const std::string& name, int64_t workspace_bytes, Helpers& helpers) {
  Arithmetic arithmetic(helpers);
  const bool columns = c.inner * size_bytes(s.stored) >= kColumnBytes;
  const int64_t count = c.count();
  const int chains = count >= kFewWarps * 32 ? 32 : count >= kFewWarps * 4 ? 4 : 1, each = kTile / chains;
  Schedule schedule{.kind = Schedule::Routine, .items = count, .longest = c.length};
  schedule.threads = columns ? kThreads : kWarp;
  schedule.blocks = c.n == 0 ? 0 : columns ? ceil_div(count, kThreads) : ceil_div(count, chains);
  std::vector<Parameter> parameters{x};
  if (s.has_factors) parameters.insert(parameters.end(), {factors, number(s.ahead, false)});
  parameters.insert(parameters.end(),
                    {y, number(count, false), number(c.blocks, true), number(c.n, true), number(c.length, true),
                     number(c.inner, false), number(c.x.first, false), number(c.x.row, false), number(c.x.block, false),
                     number(c.x.step, false), number(c.y.first, false), number(c.y.row, false),
                     number(c.y.block, false), number(c.y.step, false)});
  const std::string stored(type_name(s.stored)), type(type_name(s.type));
  auto if_factors = [&](std::string text) { return s.has_factors ? text : std::string(); };
  return template_launch(
      columns ? kColumns : kTiles, name, schedule, std::move(parameters), workspace_bytes, helpers,
      fmt::arg("s", stored), fmt::arg("t", type), fmt::arg("r", type_name(s.result)), fmt::arg("chains", chains),
      fmt::arg("each", each), fmt::arg("loads", kTile / 32), fmt::arg("threads", kThreads),
      fmt::arg("at_once", kAtOnce), fmt::arg("place", kPlace), fmt::arg("unroll_some", helpers.dialect().unroll_by(16)),
      fmt::arg("load", arithmetic.convert(s.stored, s.type, "next[e]")),
      fmt::arg("store", arithmetic.convert(s.type, s.result, "value")), fmt::arg("step", s.step),
      fmt::arg("factors",
               if_factors(fmt::format("{}const {}* f, long long ahead, ", helpers.dialect().global, stored))),
      fmt::arg("factor_tile", if_factors(fmt::format("  {}{} factor_tile[{}][{} + 1];\n", helpers.dialect().shared,
                                                     type, chains, each))),
      fmt::arg("place_factor", if_factors("  f += x_first + o * x_row + number * x_block + j + ahead;\n")),
      fmt::arg("factor_next", if_factors(fmt::format("{}  {} next_factor[{}];\n", columns ? "  " : "", stored,
                                                     columns ? kAtOnce : kTile / 32))),
      fmt::arg("load_factor",
               if_factors(fmt::format("      next_factor[e] = i > 0 && i < {} ? {} : ({})0;\n",
                                      columns ? "end" : "lengths[chain]",
                                      columns ? "f[i * x_step]" : "f[x_at[chain] + i * x_step + ahead]", stored))),
      fmt::arg("chain_factor", if_factors(fmt::format("        const {} factor = factor_tile[lane][i];\n", type))),
      fmt::arg(
          "keep_factor",
          if_factors(columns ? fmt::format("      const {} factor = {};\n", type,
                                           arithmetic.convert(s.stored, s.type, "next_factor[e]"))
                             : fmt::format("        factor_tile[(e * 32 + lane) / {0}][(e * 32 + lane) % {0}] = {1};\n",
                                           each, arithmetic.convert(s.stored, s.type, "next_factor[e]")))));
}

// Elements are counted in 64 bits, those of a row and launches in 32.
bool fits(int64_t outer, int64_t n, int64_t inner) {
  constexpr int64_t kMost = int64_t{1} << 30;
  return n < kMost && inner < kMost && outer < kMost && outer * std::max<int64_t>(1, inner) < kMost;
}

}  // namespace

bool has_template(const CumulateArgs<>& a) { return fits(a.outer, a.n, a.inner); }
bool has_template(const RecurrenceArgs<>& a) { return fits(a.outer, a.n, a.inner); }

std::vector<EmittedLaunch> emit_cumulate(const CumulateArgs<>& a, const std::vector<int32_t>& buffers,
                                         const std::string& prefix, Helpers& helpers) {
  const DType type = compute_type(a.dtype);
  const int64_t row = a.n * a.inner, elements = a.outer * row, block = routines::kRunningBlock;
  const int64_t blocks = std::max<int64_t>(1, ceil_div(a.n, block));
  constexpr loop::Combine kCombine[] = {loop::Combine::Sum, loop::Combine::Prod, loop::Combine::Max,
                                        loop::Combine::Min};
  Arithmetic arithmetic(helpers);
  const std::string step = arithmetic.combine(kCombine[static_cast<size_t>(a.what)], type, "own", "value");
  const Parameter x{Parameter::Buffer, buffers[0]}, y{Parameter::Buffer, buffers[1]};
  const Chains own{a.outer,
                   blocks,
                   a.n,
                   std::min(a.n, block),
                   a.inner,
                   {0, row, block * a.inner, a.inner},
                   {0, row, block * a.inner, a.inner}};
  if (blocks == 1) return {emit_chains(own, {a.dtype, type, a.dtype, step}, x, {}, y, prefix, 0, helpers)};

  // Values inside of blocks wait in y, or where it is narrower than they are, in workspace.
  constexpr int64_t kAlign = 256;
  const bool waits = type != a.dtype;
  const int64_t local_bytes = waits ? ceil_div(elements * size_bytes(type), kAlign) * kAlign : 0;
  const int64_t workspace = local_bytes + a.outer * (blocks - 1) * a.inner * size_bytes(type);
  const Parameter local = waits ? Parameter{Parameter::Workspace} : y,
                  before{Parameter::Workspace, 0, false, local_bytes};
  std::vector<EmittedLaunch> out;
  out.push_back(emit_chains(own, {a.dtype, type, type, step}, x, {}, local, prefix, workspace, helpers));
  const Chains totals{a.outer,
                      1,
                      blocks - 1,
                      blocks - 1,
                      a.inner,
                      {(block - 1) * a.inner, row, 0, block * a.inner},
                      {0, (blocks - 1) * a.inner, 0, a.inner}};
  out.push_back(
      emit_chains(totals, {type, type, type, step}, local, {}, before, prefix + "_blocks", workspace, helpers));
  Schedule join{
      .kind = Schedule::Routine, .items = elements, .threads = kThreads, .blocks = ceil_div(elements, kThreads)};
  out.push_back(template_launch(kJoin, prefix + "_join", join,
                                {local, before, y, number(elements, false), number(a.n, false), number(a.inner, false),
                                 number(block, true), number(blocks, true)},
                                workspace, helpers, fmt::arg("t", type_name(type)), fmt::arg("r", type_name(a.dtype)),
                                fmt::arg("threads", kThreads), fmt::arg("step", step),
                                fmt::arg("store", arithmetic.convert(type, a.dtype, "value"))));
  return out;
}

std::vector<EmittedLaunch> emit_recurrence(const RecurrenceArgs<>& a, const std::vector<int32_t>& buffers,
                                           const std::string& prefix, Helpers& helpers) {
  const DType type = compute_type(a.dtype);
  Arithmetic arithmetic(helpers);
  const std::string product = arithmetic.apply({Op::Mul, type, type}, {"factor", "own", ""}),
                    step = arithmetic.apply({Op::Add, type, type}, {"value", product, ""});
  const int64_t row = a.n * a.inner, first = a.backward ? row - a.inner : 0, next = a.backward ? -a.inner : a.inner;
  // Backward it is the factor of the element before in this direction.
  const Step s{a.dtype, type, a.dtype, step, true, a.backward ? a.inner : 0};
  return {emit_chains({a.outer, 1, a.n, a.n, a.inner, {first, row, 0, next}, {first, row, 0, next}}, s,
                      {Parameter::Buffer, buffers[1]}, {Parameter::Buffer, buffers[0]}, {Parameter::Buffer, buffers[2]},
                      prefix, 0, helpers)};
}

}  // namespace sheaf::codegen::gpu
