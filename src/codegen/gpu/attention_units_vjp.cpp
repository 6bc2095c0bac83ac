// Two launches of one text: dq by rows, dk and dv by columns. A block has 64 rows (or columns), each of its four warps
// 16 of them, and goes through the columns (or rows) tile by tile. Scores and gradients of weights come from the tiles
// of both; what they become is multiplied with the other side's tiles again. With heads of at most 64 elements a warp
// has its own lines in registers, and the next tile is on its way while one is multiplied.
#include <fmt/format.h>

#include "codegen/gpu/attention_text.h"
#include "codegen/gpu/attention_units.h"
#include "codegen/gpu/unit_head.h"
#include "support/error.h"

namespace sheaf::codegen::gpu {
namespace {

using routines::AttentionVjpArgs;

constexpr int kOwn = 64;

// {own} and {other} are "row" and "column", or the other way round. `first` to `last` are the block's own lines; thread
// (warp, lane) has lines `own` and own + 8, which see the others from `low` to `high`.
constexpr std::string_view kReverse =
    R"({kernel} {bounds} {name}({global}const {s}* q, {global}const {s}* k, {global}const {s}* v,
    {global}const {t}* scales, {global}const long long* offsets, {global}const long long* windows,
    {global}const {t}* lse, {global}const {t}* delta, {global}const {s}* dy, {results},
    {heads}, {strides}, long long lse_batch, long long lse_row, long long lse_head, long long delta_batch,
    long long delta_row, long long delta_head, long long dy_batch, long long dy_row, long long dy_head,
    long long dy_depth{mask_parameters}) {{
  alignas(128) {shared}unsigned short other_scores[{stages}][{others} * {depth_class}];
  alignas(128) {shared}unsigned short other_weights[{stages}][{others} * {width_class}];
{own_memory}  const int thread = {thread};
  const int lane = thread & 31;
  const int warp = thread >> 5;
{place}  const {t} scale = scales[b * scale_batch];
  const long long far = 1ll << 40;
  long long offset = offsets[b * offset_batch], window = windows[b * window_batch];
  offset = offset < -far ? -far : offset > far ? far : offset;
  window = window < 0 ? 0 : window > 2 * far ? 2 * far : window;
  const int own = first + warp * 16 + lane / 4;
  int low[2], high[2];
  {unroll}
  for (int half = 0; half < 2; ++half) {{
    long long from = 0, to = 0;
{sight}    low[half] = (int)from;
    high[half] = (int)to;
  }}
  {t} gradient[{depth_class} / 8][4];
  {unroll}
  for (int n = 0; n < {depth_class} / 8; ++n)
    {unroll}
    for (int e = 0; e < 4; ++e) gradient[n][e] = 0;
{load_own}{begin}
{before_loads}    if (loads) {{
      {load_other_scores};
      {load_other_weights};
{load_sums}    }}
    commit_copies();
{advance}    {t} score[{others} / 8][4], slope[{others} / 8][4];
    {unroll}
    for (int n = 0; n < {others} / 8; ++n)
      {unroll}
      for (int e = 0; e < 4; ++e) score[n][e] = slope[n][e] = 0;
    {unroll_parts}
    for (int l = 0; l < {depth_class} / 16; ++l) {{
      unsigned z[4];
{own_scores}      {unroll}
      for (int n = 0; n < {others} / 16; ++n) {{
        const int line = n * 16 + (lane >> 4) * 8 + (lane & 7);
        load_matrices(z, other_scores[now] + {other_scores_place});
        {multiply}(score[2 * n], {own_score}, z[0], z[1]);
        {multiply}(score[2 * n + 1], {own_score}, z[2], z[3]);
      }}
    }}
    {unroll_parts}
    for (int l = 0; l < {width_class} / 16; ++l) {{
      unsigned z[4];
{own_weights}      {unroll}
      for (int n = 0; n < {others} / 16; ++n) {{
        const int line = n * 16 + (lane >> 4) * 8 + (lane & 7);
        load_matrices(z, other_weights[now] + {other_weights_place});
        {multiply}(slope[2 * n], {own_weight}, z[0], z[1]);
        {multiply}(slope[2 * n + 1], {own_weight}, z[2], z[3]);
      }}
    }}
{all_seen}    if (!all_seen) {{
      {unroll}
      for (int half = 0; half < 2; ++half) {{
{by_half}        {unroll}
        for (int n = 0; n < {others} / 8; ++n)
          {unroll}
          for (int e = 0; e < 2; ++e) {{
            const int other = tile + n * 8 + lane % 4 * 2 + e;
{by_element}            {t} &value = score[n][half * 2 + e], &change = slope[n][half * 2 + e];
            const bool seen = other >= low[half] && other < high[half] && ({shown});
            const {t} shifted = seen ? value * scale{add_mask} : {lowest};
            value = i < rows ? power_of_two((shifted - row_lse) * {log2e}) : 0;
            change = seen ? value * (change - row_delta) : 0;
          }}
      }}
    }}
    {unroll}
    for (int l = 0; l < {others} / 16; ++l) {{
      const int line = l * 16 + (lane & 15);
      const unsigned changes[4] = {{{pack}(slope[2 * l][0], slope[2 * l][1]), {pack}(slope[2 * l][2], slope[2 * l][3]),
                                   {pack}(slope[2 * l + 1][0], slope[2 * l + 1][1]),
                                   {pack}(slope[2 * l + 1][2], slope[2 * l + 1][3])}};
      {unroll}
      for (int n = 0; n < {depth_class} / 16; ++n) {{
        unsigned z[4];
        load_matrices_transposed(z, other_scores[now] + {other_scores_across});
        {multiply}(gradient[2 * n], changes, z[0], z[1]);
        {multiply}(gradient[2 * n + 1], changes, z[2], z[3]);
      }}
{weights}    }}
  }}
  {unroll}
  for (int half = 0; half < 2; ++half)
    if (own + 8 * half <= last) {{
      const long long to = {to};
      {unroll}
      for (int n = 0; n < {depth_class} / 8; ++n)
        {unroll}
        for (int e = 0; e < 2; ++e)
          if (const int at = n * 8 + lane % 4 * 2 + e; at < depth)
            {scores_result}[to * depth + at] = {store}(gradient[n][half * 2 + e] * scale);
{store_weights}    }}
}}
)";

// Own lines in memory of the block, for wide heads.
constexpr std::string_view kOwnMemory = R"(  alignas(128) {shared}unsigned short own_scores[64 * {depth_class}];
  alignas(128) {shared}unsigned short own_weights[64 * {width_class}];
)";
constexpr std::string_view kOwnFromMemory = R"(      unsigned x[4];
      const int own_line = warp * 16 + (lane & 15);
      load_matrices(x, {own_tile} + {own_place});
)";
// Or in registers. They pass through the memory that other tiles have later.
constexpr std::string_view kOwnInRegisters = R"(  commit_copies();
  wait_for_copies<0>();
  {barrier}  // own lines are there
  unsigned own_scores[{depth_class} / 16][4], own_weights[{width_class} / 16][4];
  const int own_line = warp * 16 + (lane & 15);
  {unroll}
  for (int l = 0; l < {depth_class} / 16; ++l) load_matrices(own_scores[l], other_scores[0] + {own_scores_place});
  {unroll}
  for (int l = 0; l < {width_class} / 16; ++l) load_matrices(own_weights[l], other_weights[0] + {own_weights_place});
)";

// What is at hand is what was loaded in this turn, or in the one before.
constexpr std::string_view kBeforeOne = "    {barrier}  // nobody reads the tiles that are filled now\n";
constexpr std::string_view kAdvanceOne = R"(    const int tile = next;
    constexpr int now = 0;
{keep_head}    wait_for_copies<0>();
    {barrier}  // the tiles are complete
)";
constexpr std::string_view kBeforeTwo = R"(    wait_for_copies<0>();
    {barrier}  // the tiles at hand are complete, and nobody reads those before
)";
constexpr std::string_view kAdvanceTwo = R"(    const int tile = before, now = stage ^ 1;
    stage ^= 1;
    before = loads ? next : -1;
{keep_head}    if (tile < 0) continue;
)";

// A tile of which every line sees every other: no element is asked.
constexpr std::string_view kAllSeen =
    R"(    // How far columns of the tile are from positions of rows, at least and at most.
    const long long nearest = {first_column} - ({last_row} + offset);
    const long long farthest = {last_column} - ({first_row} + offset);
    const bool is_whole = last - first == 63 && tile + {others} <= {all_others};
    const bool all_seen = is_whole && nearest > -window && farthest < window{whole_causal};
    if (all_seen) {{
      const {t} exponent_scale = scale * {log2e};
      {unroll}
      for (int half = 0; half < 2; ++half) {{
        {unroll}
        for (int n = 0; n < {others} / 8; ++n)
          {unroll}
          for (int e = 0; e < 2; ++e) {{
            const int i = {row};
            {t} &value = score[n][half * 2 + e], &change = slope[n][half * 2 + e];
            value = power_of_two({fma}(value, exponent_scale, -{row_lse} * {log2e}));
            change = value * (change - {row_delta});
          }}
      }}
    }}
)";

// Dq: the block's own lines are rows. A row whose lse is not finite has its NaN in every weight: all columns count.
constexpr std::string_view kRowsPlace = R"(  const int row_tiles = (rows + 63) / 64;
  const int all_heads = {num_blocks} / row_tiles, head = {block} % all_heads;
  const int first = (row_tiles - 1 - {block} / all_heads) * 64;
  const int last = first + 63 < rows ? first + 63 : rows - 1;
  const long long h = head % heads;
  const long long b = head / heads;
  const long long g = h / (heads / groups);
)";
constexpr std::string_view kRowsSight =
    R"(    if (own + 8 * half < rows) {range}(own + 8 * half, own + 8 * half, offset, window, columns, &from, &to);
)";
constexpr std::string_view kRowsLoadOwn =
    R"(  {load_q}({own_scores_memory}, q + b * q_batch + h * q_head, thread, first, rows, q_row, 0, depth, q_depth);
  {load_dy}({own_weights_memory}, dy + b * dy_batch + h * dy_head, thread, first, rows, dy_row, 0, width, dy_depth);
)";
constexpr std::string_view kRowsBegin = R"(  {t} lse_of[2], delta_of[2];
  {unroll}
  for (int half = 0; half < 2; ++half) {{
    const int i = own + 8 * half;
    lse_of[half] = i < rows ? lse[b * lse_batch + i * lse_row + h * lse_head] : 0;
    delta_of[half] = i < rows ? delta[b * delta_batch + i * delta_row + h * delta_head] : 0;
  }}
  int odd = 0;
  for (int i = first + lane; i <= last; i += 32)
    if (const {t} x = lse[b * lse_batch + i * lse_row + h * lse_head]; x - x != 0) odd = 1;
{any}  long long begin = 0, end = columns;
  if (!odd) {range}(first, last, offset, window, columns, &begin, &end);
{stage}  const long long stop = end + {turns_after} * {others};
  for (long long block = begin / {others} * {others}; block < stop; block += {others}) {{
    const int next = (int)block;
    const bool loads = block < end;)";
constexpr std::string_view kRowsByHalf = R"(        const int i = own + 8 * half;
        const {t} row_lse = lse_of[half], row_delta = delta_of[half];
)";
constexpr std::string_view kRowsByElement = "            const int j = other;\n";

// Dk and dv: the block's own lines are columns, and it goes through the query heads that share them.
constexpr std::string_view kColumnsPlace = R"(  const int column_tiles = (columns + 63) / 64;
  const int all_groups = {num_blocks} / column_tiles, group = {block} % all_groups;
  const int first = {block} / all_groups * 64;
  const int last = first + 63 < columns ? first + 63 : columns - 1;
  const long long g = group % groups;
  const long long b = group / groups;
)";
constexpr std::string_view kColumnsSight = R"(    const long long j = own + 8 * half;
    from = j - offset - window + 1;
    to = j - offset + window;
{causal_sight}    if (from < 0) from = 0;
    if (to > rows) to = rows;
    if (j >= columns || window == 0 || from >= to) from = to = 0;
)";
constexpr std::string_view kColumnsLoadOwn =
    R"(  {load_k}({own_scores_memory}, k + b * k_batch + g * k_head, thread, first, columns, k_row, 0, depth, k_depth);
  {load_v}({own_weights_memory}, v + b * v_batch + g * v_head, thread, first, columns, v_row, 0, width, v_depth);
)";
constexpr std::string_view kColumnsBegin = R"(  {t} weight_gradient[{width_class} / 8][4];
  {unroll}
  for (int n = 0; n < {width_class} / 8; ++n)
    {unroll}
    for (int e = 0; e < 4; ++e) weight_gradient[n][e] = 0;
  const int per_group = heads / groups, row_tiles = (rows + {others} - 1) / {others}, turns = per_group * row_tiles;
{stage}  for (int turn = 0; turn < turns + {turns_after}; ++turn) {{
    const bool loads = turn < turns;
    const long long next_head = g * per_group + turn / row_tiles;
    const int next = turn % row_tiles * {others};
    const int next_last = next + {others} - 1 < rows ? next + {others} - 1 : rows - 1;
    if (loads && (window == 0 || last - (next + offset) <= -window || first - (next_last + offset) >= window{past})) {{
      int odd = 0;
      for (int i = next + lane; i <= next_last; i += 32)
        if (const {t} x = lse[b * lse_batch + i * lse_row + next_head * lse_head]; x - x != 0) odd = 1;
{any}      if (!odd) continue;
    }})";
constexpr std::string_view kColumnsByHalf = "        const int j = own + 8 * half;\n";
// Sums of the rows of a tile, each by a thread.
constexpr std::string_view kSumsMemory = R"(  {shared}{t} lse_of[2][{others}], delta_of[2][{others}];
)";
constexpr std::string_view kLoadSums = R"(      if (thread < {others}) {{
        const long long i = next + thread < rows ? next + thread : 0;
        const int bytes = next + thread < rows ? 4 : 0;
        const {t} *from = lse + b * lse_batch + i * lse_row + next_head * lse_head,
                  *delta_from = delta + b * delta_batch + i * delta_row + next_head * delta_head;
        copy_async<4>(&lse_of[stage][thread], from, bytes);
        copy_async<4>(&delta_of[stage][thread], delta_from, bytes);
      }}
)";
constexpr std::string_view kColumnsByElement = R"(            const int i = other;
            const {t} row_lse = {lse_of_element}, row_delta = {delta_of_element};
)";
constexpr std::string_view kColumnsWeights =
    R"(      const unsigned weights[4] = {{{pack}(score[2 * l][0], score[2 * l][1]),
                                     {pack}(score[2 * l][2], score[2 * l][3]),
                                   {pack}(score[2 * l + 1][0], score[2 * l + 1][1]),
                                   {pack}(score[2 * l + 1][2], score[2 * l + 1][3])}};
      {unroll}
      for (int n = 0; n < {width_class} / 16; ++n) {{
        unsigned z[4];
        load_matrices_transposed(z, other_weights[now] + {other_weights_across});
        {multiply}(weight_gradient[2 * n], weights, z[0], z[1]);
        {multiply}(weight_gradient[2 * n + 1], weights, z[2], z[3]);
      }}
)";
constexpr std::string_view kColumnsStore = R"(      {unroll}
      for (int n = 0; n < {width_class} / 8; ++n)
        {unroll}
        for (int e = 0; e < 2; ++e)
          if (const int at = n * 8 + lane % 4 * 2 + e; at < width)
            dv[to * width + at] = {store}(weight_gradient[n][half * 2 + e]);
)";

}  // namespace

std::vector<EmittedLaunch> emit_unit_attention_vjp(const AttentionVjpArgs<>& a, const std::vector<int32_t>& buffers,
                                                   const std::string& prefix, Helpers& helpers, bool aligned) {
  INVARIANT(suits_matrix_units(a), "attention_vjp of " << sheaf::name_of(a.dtype) << " by matrix units");
  const AttentionText text(a, helpers);
  const UnitHead head(a, helpers, aligned);
  const Dialect& d = helpers.dialect();
  const auto result = static_cast<size_t>(a.first_result(a.kMaskBuffer));
  // Tiles of 64 do not fit into registers with masks, nor own lines and two stages with wide heads.
  const bool wide = head.depth > 64 || head.width > 64, masked = a.mask != routines::MaskKind::None;
  const int others = wide && masked ? 16 : wide || masked ? 32 : 64, stages = wide ? 1 : 2;
  const UnitTile q = head.tile(kOwn, head.depth, a.q), k = head.tile(kOwn, head.depth, a.k),
                 v = head.tile(kOwn, head.width, a.v), dy = head.tile(kOwn, head.width, a.dy);
  auto load = [&](UnitTile tile, int lines) {
    tile.lines = lines;
    return load_tile(tile, UnitHead::kThreads, helpers);
  };
  const auto unroll = fmt::arg("unroll", d.unroll), multiply = fmt::arg("multiply", head.multiply),
             pack = fmt::arg("pack", head.pack), log2e = fmt::arg("log2e", UnitHead::kLog2E);
  const auto depth = fmt::arg("depth_class", head.depth), width = fmt::arg("width_class", head.width),
             many = fmt::arg("others", others);
  const std::string_view scores_memory = wide ? "own_scores" : "other_scores[0]",
                         weights_memory = wide ? "own_weights" : "other_weights[0]";
  // Any of the lanes.
  std::string any;
  for (int distance : {1, 2, 4, 8, 16})
    any += fmt::format("  odd |= {};\n", fmt::format(fmt::runtime(d.shuffle_xor), "odd", distance));
  auto make = [&](bool rows) {
    const UnitTile &own_scores = rows ? q : k, &own_weights = rows ? dy : v;
    const UnitTile &scores = rows ? k : q, &weights = rows ? v : dy;  // of the other side
    const std::string other_across = place(scores, "line", "n * 2 + (lane >> 4)"),
                      weights_across = place(weights, "line", "n * 2 + (lane >> 4)"),
                      scores_place = place(own_scores, "own_line", "l * 2 + (lane >> 4)"),
                      weights_place = place(own_weights, "own_line", "l * 2 + (lane >> 4)");
    const bool keeps_sums = !rows && !wide;
    const std::string stage = wide ? "0" : "stage";
    const std::string element = "[now][n * 8 + lane % 4 * 2 + e]";
    auto sum_of_element = [&](const char* name) {
      return keeps_sums ? name + ("_of" + element)
                        : fmt::format("i < rows ? {0}[b * {0}_batch + i * {0}_row + h * {0}_head] : 0", name);
    };
    auto in_memory = [&](const char* tile, const std::string& where) {
      return wide ? text.fill(kOwnFromMemory, "", fmt::arg("own_tile", tile), fmt::arg("own_place", where)) : "";
    };
    const std::string begin =
        text.fill(rows ? kRowsBegin : kColumnsBegin, "", unroll, width, many, fmt::arg("any", any),
                  fmt::arg("turns_after", stages - 1),
                  fmt::arg("stage", wide   ? ""
                                    : rows ? "  int stage = 0, before = -1;\n"
                                           : "  int stage = 0, before = -1;\n  long long head_before = 0;\n"),
                  fmt::arg("past", a.causal ? " || first - (next_last + offset) > 0" : ""));
    const std::string load_own =
        text.fill(rows ? kRowsLoadOwn : kColumnsLoadOwn, "", fmt::arg("own_scores_memory", scores_memory),
                  fmt::arg("own_weights_memory", weights_memory), fmt::arg("load_q", load(q, kOwn)),
                  fmt::arg("load_k", load(k, kOwn)), fmt::arg("load_v", load(v, kOwn)),
                  fmt::arg("load_dy", load(dy, kOwn))) +
        (wide ? ""
              : text.fill(kOwnInRegisters, "", unroll, depth, width, fmt::arg("own_scores_place", scores_place),
                          fmt::arg("own_weights_place", weights_place)));
    const std::string all_seen =
        masked ? "    constexpr bool all_seen = false;\n"
               : text.fill(kAllSeen, "", unroll, many, log2e, fmt::arg("first_column", rows ? "tile" : "first"),
                           fmt::arg("last_column", rows ? fmt::format("(tile + {} - 1)", others) : "last"),
                           fmt::arg("first_row", rows ? "first" : "tile"),
                           fmt::arg("last_row", rows ? "last" : fmt::format("(tile + {} - 1)", others)),
                           fmt::arg("row", rows ? "own + 8 * half" : "tile + n * 8 + lane % 4 * 2 + e"),
                           fmt::arg("all_others", rows ? "columns" : "rows"),
                           fmt::arg("whole_causal", a.causal ? " && farthest <= 0" : ""),
                           fmt::arg("row_lse", rows ? "lse_of[half]" : "(" + sum_of_element("lse") + ")"),
                           fmt::arg("row_delta", rows ? "delta_of[half]" : "(" + sum_of_element("delta") + ")"));
    EmittedLaunch l;
    l.name = prefix + (rows ? "_rows" : "_columns");
    l.schedule.kind = Schedule::Heads;
    l.schedule.items = a.batch * a.heads * a.rows;
    l.schedule.longest = a.columns;
    l.schedule.threads = UnitHead::kThreads;
    l.schedule.blocks =
        a.batch * (rows ? a.heads * ((a.rows + kOwn - 1) / kOwn) : a.groups * ((a.columns + kOwn - 1) / kOwn));
    text.add_operands(buffers, l.parameters);
    for (size_t i : {6, 7, 8})
      l.parameters.push_back({Parameter::Buffer, buffers[i]});
    l.parameters.push_back({Parameter::Buffer, buffers[rows ? result : result + 1]});
    if (!rows) l.parameters.push_back({Parameter::Buffer, buffers[result + 2]});
    text.add_sizes(l.parameters);
    for (const auto& strides : {a.lse, a.delta})
      for (int64_t s : strides)
        l.parameters.push_back(number(s, false));
    for (int64_t s : a.dy)
      l.parameters.push_back(number(s, false));
    text.add_mask(buffers, a.kMaskBuffer, l.parameters);
    l.text = text.fill(
        kReverse, l.name, unroll, depth, width, many, multiply, pack, log2e, fmt::arg("stages", stages),
        fmt::arg("bounds", fmt::format(fmt::runtime(d.launch_bounds), UnitHead::kThreads, 2)),
        fmt::arg("results", text.fill(rows ? "{global}{s}* dq" : "{global}{s}* dk, {global}{s}* dv", "")),
        fmt::arg("own_memory", wide         ? text.fill(kOwnMemory, "", depth, width)
                               : keeps_sums ? text.fill(kSumsMemory, "", many)
                                            : ""),
        fmt::arg("place", text.fill(rows ? kRowsPlace : kColumnsPlace, "")),
        fmt::arg("sight", text.fill(rows ? kRowsSight : kColumnsSight, "",
                                    fmt::arg("causal_sight",
                                             a.causal ? "    if (from < j - offset) from = j - offset;\n" : ""))),
        fmt::arg("load_own", load_own), fmt::arg("begin", begin),
        fmt::arg("load_other_scores",
                 load(scores, others) +
                     (rows ? "(other_scores[" + stage +
                                 "], k + b * k_batch + g * k_head, thread, next, columns, k_row, 0, depth, "
                                 "k_depth)"
                           : "(other_scores[" + stage +
                                 "], q + b * q_batch + next_head * q_head, thread, next, rows, q_row, 0, depth, "
                                 "q_depth)")),
        fmt::arg("load_other_weights",
                 load(weights, others) +
                     (rows ? "(other_weights[" + stage +
                                 "], v + b * v_batch + g * v_head, thread, next, columns, v_row, 0, width, "
                                 "v_depth)"
                           : "(other_weights[" + stage +
                                 "], dy + b * dy_batch + next_head * dy_head, thread, next, rows, dy_row, 0, "
                                 "width, dy_depth)")),
        fmt::arg("load_sums", keeps_sums ? text.fill(kLoadSums, "", many) : ""),
        fmt::arg("before_loads", text.fill(wide ? kBeforeOne : kBeforeTwo, "")),
        fmt::arg("advance", text.fill(wide ? kAdvanceOne : kAdvanceTwo, "",
                                      fmt::arg("keep_head", rows   ? ""
                                                            : wide ? "    const long long h = next_head;\n"
                                                                   : "    const long long h = head_before;\n"
                                                                     "    head_before = next_head;\n"))),
        fmt::arg("own_scores", in_memory("own_scores", scores_place)),
        fmt::arg("own_weights", in_memory("own_weights", weights_place)),
        fmt::arg("own_score", wide ? "x" : "own_scores[l]"), fmt::arg("own_weight", wide ? "x" : "own_weights[l]"),
        fmt::arg("other_scores_place", place(scores, "line", "l * 2 + ((lane >> 3) & 1)")),
        fmt::arg("other_weights_place", place(weights, "line", "l * 2 + ((lane >> 3) & 1)")),
        fmt::arg("other_scores_across", other_across), fmt::arg("all_seen", all_seen),
        fmt::arg("by_half", text.fill(rows ? kRowsByHalf : kColumnsByHalf, "")),
        fmt::arg("by_element", text.fill(rows ? kRowsByElement : kColumnsByElement, "",
                                         fmt::arg("lse_of_element", sum_of_element("lse")),
                                         fmt::arg("delta_of_element", sum_of_element("delta")))),
        // The places of many matrices at once would fill the registers that sums need.
        fmt::arg("unroll_parts", wide || masked ? d.unroll_by(2) : std::string(d.unroll)),
        fmt::arg("weights", rows
                                ? ""
                                : text.fill(kColumnsWeights, "", unroll, width, multiply, pack,
                                            fmt::arg("other_weights_across", weights_across))),
        fmt::arg("to",
                 rows ? "(b * rows + own + 8 * half) * heads + h" : "(b * columns + own + 8 * half) * groups + g"),
        fmt::arg("scores_result", rows ? "dq" : "dk"),
        fmt::arg("store_weights", rows ? "" : text.fill(kColumnsStore, "", unroll, width)));
    l.text = fmt::format("// {}\n{}", print(l.schedule), l.text);
    return l;
  };
  std::vector<EmittedLaunch> out;
  out.push_back(make(true));
  out.push_back(make(false));
  return out;
}

}  // namespace sheaf::codegen::gpu
