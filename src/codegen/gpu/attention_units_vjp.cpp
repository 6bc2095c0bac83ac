// Two launches of one text: dq by rows, dk and dv by columns. A block has 64 rows (or columns), each of its four warps
// 16 of them, and goes through the columns (or rows) tile by tile. Scores and gradients of weights come from the tiles
// of both; what they become is multiplied with the other side's tiles again.
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
// (warp, lane) has lines `own` and own + 8.
constexpr std::string_view kReverse =
    R"({kernel} {bounds} {name}({global}const {s}* q, {global}const {s}* k, {global}const {s}* v,
    {global}const {t}* scales, {global}const long long* offsets, {global}const long long* windows,
    {global}const {t}* lse, {global}const {t}* delta, {global}const {s}* dy, {results},
    {heads}, {strides}, long long lse_batch, long long lse_row, long long lse_head, long long delta_batch,
    long long delta_row, long long delta_head, long long dy_batch, long long dy_row, long long dy_head,
    long long dy_depth{mask_parameters}) {{
  alignas(128) {shared}unsigned short own_scores[64 * {depth_class}];
  alignas(128) {shared}unsigned short own_weights[64 * {width_class}];
  alignas(128) {shared}unsigned short other_scores[{others} * {depth_class}];
  alignas(128) {shared}unsigned short other_weights[{others} * {width_class}];
  const int thread = {thread};
  const int lane = thread & 31;
  const int warp = thread >> 5;
{place}  const {t} scale = scales[b * scale_batch];
  const long long far = 1ll << 40;
  long long offset = offsets[b * offset_batch], window = windows[b * window_batch];
  offset = offset < -far ? -far : offset > far ? far : offset;
  window = window < 0 ? 0 : window > 2 * far ? 2 * far : window;
  const int own = first + warp * 16 + lane / 4;
  {t} gradient[{depth_class} / 8][4];
  {unroll}
  for (int n = 0; n < {depth_class} / 8; ++n)
    {unroll}
    for (int e = 0; e < 4; ++e) gradient[n][e] = 0;
{begin}
    {barrier}  // nobody reads the tiles before
    {load_other_scores};
    {load_other_weights};
    commit_copies();
    wait_for_copies<0>();
    {barrier}  // the tiles are complete
    {t} score[{others} / 8][4], slope[{others} / 8][4];
    {unroll}
    for (int n = 0; n < {others} / 8; ++n)
      {unroll}
      for (int e = 0; e < 4; ++e) score[n][e] = slope[n][e] = 0;
    {unroll_parts}
    for (int l = 0; l < {depth_class} / 16; ++l) {{
      unsigned x[4], z[4];
      int line = warp * 16 + (lane & 15);
      load_matrices(x, own_scores + {own_scores_place});
      {unroll}
      for (int n = 0; n < {others} / 16; ++n) {{
        line = n * 16 + (lane >> 4) * 8 + (lane & 7);
        load_matrices(z, other_scores + {other_scores_place});
        {multiply}(score[2 * n], x, z[0], z[1]);
        {multiply}(score[2 * n + 1], x, z[2], z[3]);
      }}
    }}
    {unroll_parts}
    for (int l = 0; l < {width_class} / 16; ++l) {{
      unsigned x[4], z[4];
      int line = warp * 16 + (lane & 15);
      load_matrices(x, own_weights + {own_weights_place});
      {unroll}
      for (int n = 0; n < {others} / 16; ++n) {{
        line = n * 16 + (lane >> 4) * 8 + (lane & 7);
        load_matrices(z, other_weights + {other_weights_place});
        {multiply}(slope[2 * n], x, z[0], z[1]);
        {multiply}(slope[2 * n + 1], x, z[2], z[3]);
      }}
    }}
    // How far columns of the tile are from positions of rows, at least and at most.
    const long long nearest = {first_column} - ({last_row} + offset), farthest = {last_column} - ({first_row} + offset);
    const bool whole = nearest > -window && farthest < window{whole_causal};
    {unroll}
    for (int half = 0; half < 2; ++half) {{
{by_half}      {unroll}
      for (int n = 0; n < {others} / 8; ++n)
        {unroll}
        for (int e = 0; e < 2; ++e) {{
          const int other = tile + n * 8 + lane % 4 * 2 + e;
{by_element}          {t} &value = score[n][half * 2 + e], &change = slope[n][half * 2 + e];
          const long long distance = j - (i + offset);
          const bool seen = i < rows && j < columns &&
                            (whole || (distance > -window && distance < window{causal})) && ({shown});
          const {t} shifted = seen ? value * scale{add_mask} : {lowest};
          value = i < rows ? power_of_two((shifted - row_lse) * {log2e}) : 0;
          change = seen ? value * (change - row_delta) : 0;
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
        load_matrices_transposed(z, other_scores + {other_scores_across});
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

// Dq: the block's own lines are rows. A row whose lse is not finite has its NaN in every weight: all columns count.
constexpr std::string_view kRowsPlace = R"(  const int row_tiles = (rows + 63) / 64;
  const int first = (row_tiles - 1 - {block} % row_tiles) * 64;
  const int last = first + 63 < rows ? first + 63 : rows - 1;
  const long long h = {block} / row_tiles % heads;
  const long long b = {block} / row_tiles / heads;
  const long long g = h / (heads / groups);
)";
constexpr std::string_view kRowsBegin =
    R"(  {load_q}(own_scores, q + b * q_batch + h * q_head, thread, first, rows, q_row, 0, depth, q_depth);
  {load_dy}(own_weights, dy + b * dy_batch + h * dy_head, thread, first, rows, dy_row, 0, width, dy_depth);
  commit_copies();
  int odd = 0;
  for (int i = first + lane; i <= last; i += 32)
    if (const {t} x = lse[b * lse_batch + i * lse_row + h * lse_head]; x - x != 0) odd = 1;
{any}  long long begin = 0, end = columns;
  if (!odd) {range}(first, last, offset, window, columns, &begin, &end);
  for (long long block = begin / {others} * {others}; block < end; block += {others}) {{
    const int tile = (int)block;)";
constexpr std::string_view kRowsByHalf = R"(      const int i = own + 8 * half;
      const {t} row_lse = i < rows ? lse[b * lse_batch + i * lse_row + h * lse_head] : 0;
      const {t} row_delta = i < rows ? delta[b * delta_batch + i * delta_row + h * delta_head] : 0;
)";
constexpr std::string_view kRowsByElement = "          const int j = other;\n";

// Dk and dv: the block's own lines are columns, and it goes through the query heads that share them.
constexpr std::string_view kColumnsPlace = R"(  const int column_tiles = (columns + 63) / 64;
  const int first = {block} % column_tiles * 64;
  const int last = first + 63 < columns ? first + 63 : columns - 1;
  const long long g = {block} / column_tiles % groups;
  const long long b = {block} / column_tiles / groups;
)";
constexpr std::string_view kColumnsBegin = R"(  {t} weight_gradient[{width_class} / 8][4];
  {unroll}
  for (int n = 0; n < {width_class} / 8; ++n)
    {unroll}
    for (int e = 0; e < 4; ++e) weight_gradient[n][e] = 0;
  {load_k}(own_scores, k + b * k_batch + g * k_head, thread, first, columns, k_row, 0, depth, k_depth);
  {load_v}(own_weights, v + b * v_batch + g * v_head, thread, first, columns, v_row, 0, width, v_depth);
  commit_copies();
  const int per_group = heads / groups, row_tiles = (rows + {others} - 1) / {others};
  for (int step = 0; step < per_group * row_tiles; ++step) {{
    const long long h = g * per_group + step / row_tiles;
    const int tile = step % row_tiles * {others};
    const int tile_last = tile + {others} - 1 < rows ? tile + {others} - 1 : rows - 1;
    int odd = 0;
    for (int i = tile + lane; i <= tile_last; i += 32)
      if (const {t} x = lse[b * lse_batch + i * lse_row + h * lse_head]; x - x != 0) odd = 1;
{any}    const bool far_off = last - (tile + offset) <= -window || first - (tile_last + offset) >= window{past};
    if (!odd && (window == 0 || far_off)) continue;)";
constexpr std::string_view kColumnsByHalf = "      const int j = own + 8 * half;\n";
constexpr std::string_view kColumnsByElement = R"(          const int i = other;
          const {t} row_lse = i < rows ? lse[b * lse_batch + i * lse_row + h * lse_head] : 0;
          const {t} row_delta = i < rows ? delta[b * delta_batch + i * delta_row + h * delta_head] : 0;
)";
constexpr std::string_view kColumnsWeights =
    R"(      const unsigned weights[4] = {{{pack}(score[2 * l][0], score[2 * l][1]),
                                     {pack}(score[2 * l][2], score[2 * l][3]),
                                   {pack}(score[2 * l + 1][0], score[2 * l + 1][1]),
                                   {pack}(score[2 * l + 1][2], score[2 * l + 1][3])}};
      {unroll}
      for (int n = 0; n < {width_class} / 16; ++n) {{
        unsigned z[4];
        load_matrices_transposed(z, other_weights + {other_weights_across});
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

std::vector<Launch> emit_unit_attention_vjp(const AttentionVjpArgs<>& a, const std::vector<int32_t>& buffers,
                                            const std::string& prefix, Helpers& helpers, bool aligned) {
  INVARIANT(suits_matrix_units(a), "attention_vjp of " << sheaf::name_of(a.dtype) << " by matrix units");
  const AttentionText text(a, helpers);
  const UnitHead head(a, helpers, aligned);
  const Dialect& d = helpers.dialect();
  const auto result = static_cast<size_t>(a.first_result(a.kMaskBuffer));
  // Tiles of 64 do not fit into shared memory with wide heads, nor into registers with masks.
  const bool wide = head.depth > 64 || head.width > 64, masked = a.mask != routines::MaskKind::None;
  const int others = wide || masked ? 32 : 64;
  const UnitTile q = head.tile(kOwn, head.depth, a.q), k = head.tile(kOwn, head.depth, a.k),
                 v = head.tile(kOwn, head.width, a.v), dy = head.tile(kOwn, head.width, a.dy);
  auto load = [&](UnitTile tile, int lines) {
    tile.lines = lines;
    return load_tile(tile, UnitHead::kThreads, helpers);
  };
  // Any of the lanes.
  std::string any;
  for (int distance : {1, 2, 4, 8, 16})
    any += fmt::format("    odd |= {};\n", fmt::format(fmt::runtime(d.shuffle_xor), "odd", distance));
  auto make = [&](bool rows) {
    const UnitTile &scores = rows ? k : q, &weights = rows ? v : dy;  // of the other side
    const std::string other_across = place(scores, "line", "n * 2 + (lane >> 4)"),
                      weights_across = place(weights, "line", "n * 2 + (lane >> 4)");
    const auto unroll = fmt::arg("unroll", d.unroll), multiply = fmt::arg("multiply", head.multiply),
               pack = fmt::arg("pack", head.pack);
    const auto depth = fmt::arg("depth_class", head.depth), width = fmt::arg("width_class", head.width),
               many = fmt::arg("others", others);
    const std::string begin = text.fill(
        rows ? kRowsBegin : kColumnsBegin, "", unroll, depth, width, many, fmt::arg("any", any),
        fmt::arg("load_q", load(q, kOwn)), fmt::arg("load_k", load(k, kOwn)), fmt::arg("load_v", load(v, kOwn)),
        fmt::arg("load_dy", load(dy, kOwn)), fmt::arg("past", a.causal ? " || first - (tile_last + offset) > 0" : ""));
    Launch l;
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
        kReverse, l.name, unroll, depth, width, many, multiply, pack,
        fmt::arg("bounds", fmt::format(fmt::runtime(d.launch_bounds), UnitHead::kThreads, 2)),
        fmt::arg("results", text.fill(rows ? "{global}{s}* dq" : "{global}{s}* dk, {global}{s}* dv", "")),
        fmt::arg("place", text.fill(rows ? kRowsPlace : kColumnsPlace, "")), fmt::arg("begin", begin),
        fmt::arg("load_other_scores",
                 rows ? load(k, others) + "(other_scores, k + b * k_batch + g * k_head, thread, tile, columns, k_row, "
                                          "0, depth, k_depth)"
                      : load(q, others) + "(other_scores, q + b * q_batch + h * q_head, thread, tile, rows, q_row, 0, "
                                          "depth, q_depth)"),
        fmt::arg("load_other_weights",
                 rows ? load(v, others) + "(other_weights, v + b * v_batch + g * v_head, thread, tile, columns, v_row, "
                                          "0, width, v_depth)"
                      : load(dy, others) + "(other_weights, dy + b * dy_batch + h * dy_head, thread, tile, rows, "
                                           "dy_row, 0, width, dy_depth)"),
        fmt::arg("own_scores_place", place(rows ? q : k, "line", "l * 2 + (lane >> 4)")),
        fmt::arg("own_weights_place", place(rows ? dy : v, "line", "l * 2 + (lane >> 4)")),
        fmt::arg("other_scores_place", place(scores, "line", "l * 2 + ((lane >> 3) & 1)")),
        fmt::arg("other_weights_place", place(weights, "line", "l * 2 + ((lane >> 3) & 1)")),
        fmt::arg("other_scores_across", other_across), fmt::arg("first_column", rows ? "tile" : "first"),
        fmt::arg("last_column", rows ? fmt::format("(tile + {} - 1)", others) : "last"),
        fmt::arg("first_row", rows ? "first" : "tile"), fmt::arg("last_row", rows ? "last" : "tile_last"),
        fmt::arg("whole_causal", a.causal ? " && farthest <= 0" : ""),
        fmt::arg("causal", a.causal ? " && distance <= 0" : ""),
        fmt::arg("by_half", text.fill(rows ? kRowsByHalf : kColumnsByHalf, "")),
        fmt::arg("by_element", text.fill(rows ? kRowsByElement : kColumnsByElement, "")),
        fmt::arg("log2e", UnitHead::kLog2E),
        // The places of many matrices at once would fill the registers that sums need.
        fmt::arg("unroll_parts", wide || masked ? d.unroll_two : d.unroll),
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
  std::vector<Launch> out;
  out.push_back(make(true));
  out.push_back(make(false));
  return out;
}

}  // namespace sheaf::codegen::gpu
