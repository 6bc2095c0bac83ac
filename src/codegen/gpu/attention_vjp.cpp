// Two launches: dq by groups of rows, dk and dv by blocks of columns. Both compute the scores again. With narrow heads
// whole rows wait in shared memory, so that little is read in turn: short sequences are all latency.
#include <algorithm>

#include "codegen/gpu/attention.h"
#include "codegen/gpu/attention_text.h"
#include "support/error.h"

namespace sheaf::codegen::gpu {
namespace {

using routines::AttentionVjpArgs;
using routines::kAttentionBlock;
using routines::kAttentionRows;

constexpr int kThreads = 256;
constexpr int kPiece = 32;  // of the depth and of the width, in shared memory at once

// What both begin with: the head, and where its arrays lie.
constexpr std::string_view kHead = R"(  const {t} scale = scales[b * scale_batch];
  const long long far = 1ll << 40;
  long long offset = offsets[b * offset_batch], window = windows[b * window_batch];
  offset = offset < -far ? -far : offset > far ? far : offset;
  window = window < 0 ? 0 : window > 2 * far ? 2 * far : window;
)";

constexpr std::string_view kParameters = R"({global}const {s}* q, {global}const {s}* k, {global}const {s}* v,
    {global}const {t}* scales, {global}const long long* offsets, {global}const long long* windows,
    {global}const {t}* lse, {global}const {t}* delta, {global}const {s}* dy)";
constexpr std::string_view kVjpStrides = R"(, {strides},
    long long lse_batch, long long lse_row, long long lse_head, long long delta_batch, long long delta_row,
    long long delta_head, long long dy_batch, long long dy_row, long long dy_head, long long dy_depth)";

// Weights p and gradients ds of the scores of rows [first, last] by columns [block, block + 64), in shared memory:
// thread (row, own) has columns own + 16 n.
constexpr std::string_view kWeights = R"(    {t} sum[4] = {{0, 0, 0, 0}}, dp[4] = {{0, 0, 0, 0}};
    for (int at = 0; at < depth; at += {piece}) {{
      const int terms = depth - at < {piece} ? depth - at : {piece};
      {barrier}  // nobody reads the tiles of the piece before
      for (int e = thread; e < 16 * {piece}; e += {threads}) {{
        const int r = e / {piece}, d = e % {piece};
        if (first + r < rows && d < terms)
          row_tile[r][d] = {load}(q[q_at + (first + r) * q_row + (at + d) * q_depth]) * scale;
      }}
      for (int e = thread; e < 64 * {piece}; e += {threads}) {{
        const int c = e / {piece}, d = e % {piece};
        if (block + c < columns && d < terms)
          column_tile[c][d] = {load}(k[k_at + (block + c) * k_row + (at + d) * k_depth]);
      }}
      {barrier}  // the tiles are complete
      for (int d = 0; d < terms; ++d)
        for (int n = 0; n < 4; ++n) sum[n] = {fma}(row_tile[row][d], column_tile[own + 16 * n][d], sum[n]);
    }}
    for (int at = 0; at < width; at += {piece}) {{
      const int terms = width - at < {piece} ? width - at : {piece};
      {barrier}  // nobody reads the tiles of the piece before
      for (int e = thread; e < 16 * {piece}; e += {threads}) {{
        const int r = e / {piece}, d = e % {piece};
        if (first + r < rows && d < terms)
          row_tile[r][d] = {load}(dy[dy_at + (first + r) * dy_row + (at + d) * dy_depth]);
      }}
      for (int e = thread; e < 64 * {piece}; e += {threads}) {{
        const int c = e / {piece}, d = e % {piece};
        if (block + c < columns && d < terms)
          column_tile[c][d] = {load}(v[v_at + (block + c) * v_row + (at + d) * v_depth]);
      }}
      {barrier}  // the tiles are complete
      for (int d = 0; d < terms; ++d)
        for (int n = 0; n < 4; ++n) dp[n] = {fma}(row_tile[row][d], column_tile[own + 16 * n][d], dp[n]);
    }}
    for (int n = 0; n < 4; ++n) {{
      const long long j = block + own + 16 * n;
      const bool seen = is_row && j >= row_begin && j < row_end && ({shown});
      const {t} score = seen ? sum[n]{add_mask} : {lowest};
      const {t} p = {decay}(score - row_lse);
{keep_weight}      score_gradients[row][own + 16 * n] = seen ? p * (dp[n] - row_delta) : 0;
    }}
    {barrier}  // weights and gradients are there
)";

// A block in which a mask shows no row of the group anything is left out, unless all columns count.
constexpr std::string_view kSkip = R"(      if (thread == 0) any = 0;
      {barrier}  // it is cleared
      for (int n = 0; n < 4; ++n)
        if (const long long j = block + own + 16 * n; is_row && j >= low && j < high && {shown}) any = 1;
      {barrier}  // all have looked
      const bool skips = !all && !any;
      {barrier}  // all have read the answer
      if (skips) continue;
)";

// A row whose lse is not finite has its NaN in every weight: its group then takes all columns.
constexpr std::string_view kGroup = R"(    if (thread == 0) any = 0;
    {barrier}  // it is cleared
    const int i = first + row;
    const bool is_row = i < rows;
    const {t} row_lse = is_row ? lse[b * lse_batch + i * lse_row + h * lse_head] : 0;
    const {t} row_delta = is_row ? delta[b * delta_batch + i * delta_row + h * delta_head] : 0;
    if (row_lse - row_lse != 0) any = 1;
    {barrier}  // all have looked
    const bool all = any;
    {barrier}  // all have read the answer
    long long begin = 0, end = columns, row_begin, row_end;
    if (!all) {range}(first, first + 15 < rows ? first + 15 : rows - 1, offset, window, columns, &begin, &end);
    {range}(i, i, offset, window, columns, &row_begin, &row_end);
)";

// A block has a group of 16 rows of a head; thread (row, own) has the elements own + 16 n of its row of dq.
constexpr std::string_view kRows = R"({kernel} {name}({parameters}, {global}{s}* dq,
    {heads}{vjp_strides}{mask_parameters}) {{
  {shared}{t} row_tile[16][{piece} + 1];
  {shared}{t} column_tile[64][{piece} + 1];
  {shared}{t} score_gradients[16][65];
  {shared}int any;
  const int thread = {thread};
  const int row = thread / 16;
  const int own = thread % 16;
  const int row_groups = (rows + 15) / 16;
  const int first = {block} % row_groups * 16;
  const long long h = {block} / row_groups % heads;
  const long long b = {block} / row_groups / heads;
  const long long g = h / (heads / groups);
{head}  const long long q_at = b * q_batch + h * q_head, k_at = b * k_batch + g * k_head,
                  v_at = b * v_batch + g * v_head, dy_at = b * dy_batch + h * dy_head;
  {t} gradient[{own_depth}];
  for (int n = 0; n < {own_depth}; ++n) gradient[n] = 0;
  {{
{group}    for (long long block = begin / 64 * 64; block < end; block += 64) {{
      const long long low = block > begin ? block : begin, high = block + 64 < end ? block + 64 : end;
{skip}{weights}      const int from = (int)(low - block), to = (int)(high - block);
      for (int c = from; c < to; ++c)
        for (int n = 0; n < {own_depth}; ++n)
          if (own + 16 * n < depth)
            gradient[n] = {fma}(score_gradients[row][c],
                                {load}(k[k_at + (block + c) * k_row + (own + 16 * n) * k_depth]), gradient[n]);
      {barrier}  // nobody reads the gradients of the scores any more
    }}
    if (!is_row) return;
    const long long to = ((b * rows + i) * heads + h) * depth;
    for (int n = 0; n < {own_depth}; ++n)
      if (own + 16 * n < depth) dq[to + own + 16 * n] = {store}(gradient[n] * scale);
  }}
}}
)";

// A block has 64 columns of a head of keys and goes through its query heads and their groups of rows in order; thread
// (column, quarter) has the elements quarter + 4 n of its column of dk and dv.
constexpr std::string_view kColumns = R"({kernel} {name}({parameters}, {global}{s}* dk, {global}{s}* dv,
    {heads}{vjp_strides}{mask_parameters}) {{
  {shared}{t} row_tile[16][{piece} + 1];
  {shared}{t} column_tile[64][{piece} + 1];
  {shared}{t} weights[16][65];
  {shared}{t} score_gradients[16][65];
  {shared}int any;
  const int thread = {thread};
  const int row = thread / 16;
  const int own = thread % 16;
  const int column = thread / 4;
  const int quarter = thread % 4;
  const int blocks = (columns + 63) / 64;
  const long long block = {block} % blocks * 64;
  const long long g = {block} / blocks % groups;
  const long long b = {block} / blocks / groups;
{head}  {t} k_gradient[{quarter_depth}], v_gradient[{quarter_width}];
  for (int n = 0; n < {quarter_depth}; ++n) k_gradient[n] = 0;
  for (int n = 0; n < {quarter_width}; ++n) v_gradient[n] = 0;
  const int per_group = heads / groups;
  for (int step = 0; step < per_group * ((rows + 15) / 16); ++step) {{
    const long long h = g * per_group + step / ((rows + 15) / 16);
    const int first = step % ((rows + 15) / 16) * 16;
    const long long q_at = b * q_batch + h * q_head, k_at = b * k_batch + g * k_head, v_at = b * v_batch + g * v_head,
                    dy_at = b * dy_batch + h * dy_head;
{group}    const long long low = block > begin ? block : begin, high = block + 64 < end ? block + 64 : end;
    if (low >= high) continue;
{skip}{weights}    if (block + column >= low && block + column < high) {{
      const int count = rows - first < 16 ? rows - first : 16;
      for (int r = 0; r < count; ++r) {{
        const {t} p = weights[r][column], ds = score_gradients[r][column];
        for (int n = 0; n < {quarter_depth}; ++n)
          if (quarter + 4 * n < depth)
            k_gradient[n] = {fma}(ds, {load}(q[q_at + (first + r) * q_row + (quarter + 4 * n) * q_depth]),
                                  k_gradient[n]);
        for (int n = 0; n < {quarter_width}; ++n)
          if (quarter + 4 * n < width)
            v_gradient[n] = {fma}(p, {load}(dy[dy_at + (first + r) * dy_row + (quarter + 4 * n) * dy_depth]),
                                  v_gradient[n]);
      }}
    }}
    {barrier}  // nobody reads the weights any more
  }}
  if (block + column >= columns) return;
  const long long to = (b * columns + block + column) * groups + g;
  for (int n = 0; n < {quarter_depth}; ++n)
    if (quarter + 4 * n < depth) dk[to * depth + quarter + 4 * n] = {store}(k_gradient[n] * scale);
  for (int n = 0; n < {quarter_width}; ++n)
    if (quarter + 4 * n < width) dv[to * width + quarter + 4 * n] = {store}(v_gradient[n]);
}}
)";

// The same for narrow heads. Tiles have whole rows, `length` of them at most.
constexpr std::string_view kLoadRows = R"(      for (int e = thread; e < 16 * {length}; e += {threads}) {{
        const int r = e / {length}, d = e % {length};
        if (first + r < rows && d < depth)
          q_tile[r][d] = {load}(q[q_at + (first + r) * q_row + d * q_depth]);
        if (first + r < rows && d < width)
          dy_tile[r][d] = {load}(dy[dy_at + (first + r) * dy_row + d * dy_depth]);
      }}
)";
constexpr std::string_view kLoadColumns = R"(      for (int e = thread; e < {own_columns} * {length}; e += {threads}) {{
        const int c = e / {length}, d = e % {length};
        if (from_column + c < columns && d < depth)
          k_tile[c][d] = {load}(k[k_at + (from_column + c) * k_row + d * k_depth]);
        if (from_column + c < columns && d < width)
          v_tile[c][d] = {load}(v[v_at + (from_column + c) * v_row + d * v_depth]);
      }}
)";
// Thread (row, own) has the columns own + 16 n of `own_columns`, from `from_column` on.
constexpr std::string_view kNarrowWeights = R"(      {barrier}  // the tiles are complete
      {t} sum[{own_columns} / 16], dp[{own_columns} / 16];
      for (int n = 0; n < {own_columns} / 16; ++n) sum[n] = dp[n] = 0;
      for (int d = 0; d < depth; ++d)
        for (int n = 0; n < {own_columns} / 16; ++n)
          sum[n] = {fma}(q_tile[row][d] * scale, k_tile[own + 16 * n][d], sum[n]);
      for (int d = 0; d < width; ++d)
        for (int n = 0; n < {own_columns} / 16; ++n)
          dp[n] = {fma}(dy_tile[row][d], v_tile[own + 16 * n][d], dp[n]);
      for (int n = 0; n < {own_columns} / 16; ++n) {{
        const long long j = from_column + own + 16 * n;
        const bool seen = is_row && j >= row_begin && j < row_end && ({shown});
        const {t} score = seen ? sum[n]{add_mask} : {lowest};
        const {t} p = {decay}(score - row_lse);
{keep_weight}        score_gradients[row][own + 16 * n] = seen ? p * (dp[n] - row_delta) : 0;
      }}
      {barrier}  // weights and gradients are there
)";

constexpr std::string_view kNarrowRows = R"({kernel} {name}({parameters}, {global}{s}* dq,
    {heads}{vjp_strides}{mask_parameters}) {{
  {shared}{t} q_tile[16][{length} + 1];
  {shared}{t} dy_tile[16][{length} + 1];
  {shared}{t} k_tile[64][{length} + 1];
  {shared}{t} v_tile[64][{length} + 1];
  {shared}{t} score_gradients[16][65];
  {shared}int any;
  const int thread = {thread};
  const int row = thread / 16;
  const int own = thread % 16;
  const int row_groups = (rows + 15) / 16;
  const int first = {block} % row_groups * 16;
  const long long h = {block} / row_groups % heads;
  const long long b = {block} / row_groups / heads;
  const long long g = h / (heads / groups);
{head}  const long long q_at = b * q_batch + h * q_head, k_at = b * k_batch + g * k_head,
                  v_at = b * v_batch + g * v_head, dy_at = b * dy_batch + h * dy_head;
  {t} gradient[{length} / 16];
  for (int n = 0; n < {length} / 16; ++n) gradient[n] = 0;
  {{
{load_rows}{group}    for (long long block = begin / 64 * 64; block < end; block += 64) {{
      const long long low = block > begin ? block : begin, high = block + 64 < end ? block + 64 : end;
      const long long from_column = block;
{skip}{load_columns}{weights}      const int from = (int)(low - block), to = (int)(high - block);
      for (int c = from; c < to; ++c)
        for (int n = 0; n < {length} / 16; ++n)
          gradient[n] = {fma}(score_gradients[row][c], own + 16 * n < depth ? k_tile[c][own + 16 * n] : 0, gradient[n]);
      {barrier}  // nobody reads the tiles any more
    }}
    if (!is_row) return;
    const long long to = ((b * rows + i) * heads + h) * depth;
    for (int n = 0; n < {length} / 16; ++n)
      if (own + 16 * n < depth) dq[to + own + 16 * n] = {store}(gradient[n] * scale);
  }}
}}
)";

// A block has a quarter of the 64 columns that groups of rows leave out together; thread (row, own) has the elements
// own + 16 n of the column that is as far in the quarter as `row`.
constexpr std::string_view kNarrowColumns = R"({kernel} {name}({parameters}, {global}{s}* dk, {global}{s}* dv,
    {heads}{vjp_strides}{mask_parameters}) {{
  {shared}{t} q_tile[16][{length} + 1];
  {shared}{t} dy_tile[16][{length} + 1];
  {shared}{t} k_tile[16][{length} + 1];
  {shared}{t} v_tile[16][{length} + 1];
  {shared}{t} weights[16][17];
  {shared}{t} score_gradients[16][17];
  {shared}int any;
  const int thread = {thread};
  const int row = thread / 16;
  const int own = thread % 16;
  const int quarters = (columns + 15) / 16;
  const long long from_column = {block} % quarters * 16;
  const long long block = from_column / 64 * 64;
  const long long g = {block} / quarters % groups;
  const long long b = {block} / quarters / groups;
{head}  const long long k_at = b * k_batch + g * k_head, v_at = b * v_batch + g * v_head;
{load_columns}  {t} k_gradient[{length} / 16], v_gradient[{length} / 16];
  for (int n = 0; n < {length} / 16; ++n) k_gradient[n] = v_gradient[n] = 0;
  const int per_group = heads / groups;
  for (int step = 0; step < per_group * ((rows + 15) / 16); ++step) {{
    const long long h = g * per_group + step / ((rows + 15) / 16);
    const int first = step % ((rows + 15) / 16) * 16;
    const long long q_at = b * q_batch + h * q_head, dy_at = b * dy_batch + h * dy_head;
{group}    const long long low = block > begin ? block : begin, high = block + 64 < end ? block + 64 : end;
    if (low >= high) continue;
{skip}{load_rows}{weights}    const long long j = from_column + row;
    if (j >= low && j < high) {{
      const int count = rows - first < 16 ? rows - first : 16;
      for (int r = 0; r < count; ++r) {{
        const {t} p = weights[r][row], ds = score_gradients[r][row];
        for (int n = 0; n < {length} / 16; ++n) {{
          k_gradient[n] = {fma}(ds, own + 16 * n < depth ? q_tile[r][own + 16 * n] : 0, k_gradient[n]);
          v_gradient[n] = {fma}(p, own + 16 * n < width ? dy_tile[r][own + 16 * n] : 0, v_gradient[n]);
        }}
      }}
    }}
    {barrier}  // nobody reads the tiles any more
  }}
  if (from_column + row >= columns) return;
  const long long to = (b * columns + from_column + row) * groups + g;
  for (int n = 0; n < {length} / 16; ++n) {{
    if (own + 16 * n < depth) dk[to * depth + own + 16 * n] = {store}(k_gradient[n] * scale);
    if (own + 16 * n < width) dv[to * width + own + 16 * n] = {store}(v_gradient[n]);
  }}
}}
)";

int64_t per_thread(int64_t elements, int64_t threads) {
  return std::max<int64_t>(1, (elements + threads - 1) / threads);
}

}  // namespace

std::vector<EmittedLaunch> emit_attention_vjp(const AttentionVjpArgs<>& a, const std::vector<int32_t>& buffers,
                                              const std::string& prefix, Helpers& helpers) {
  INVARIANT(has_template(a), "attention_vjp of " << sheaf::name_of(a.dtype) << ", " << a.depth << " by " << a.width);
  const AttentionText text(a, helpers);
  const auto result = static_cast<size_t>(a.first_result(a.kMaskBuffer));
  const auto piece = fmt::arg("piece", kPiece), threads = fmt::arg("threads", kThreads);
  // Tiles of whole rows in 48 KB.
  const int64_t longest = std::max(a.depth, a.width);
  const bool narrow = longest <= 64 && text.value_bytes() == 4;
  const int tile_length = longest <= 32 ? 32 : 64;
  const auto length = fmt::arg("length", tile_length);
  auto make = [&](const char* suffix, bool by_rows, int64_t blocks, std::vector<int32_t> results) {
    const std::string_view format = narrow ? (by_rows ? kNarrowRows : kNarrowColumns) : by_rows ? kRows : kColumns;
    const std::string_view keep_weight = by_rows ? "" : "      weights[row][own + 16 * n] = p;\n";
    const int columns_at_once = by_rows ? 64 : 16;
    const auto own_columns = fmt::arg("own_columns", columns_at_once);
    EmittedLaunch l;
    l.name = prefix + suffix;
    l.schedule.kind = Schedule::Heads;
    l.schedule.items = a.batch * a.heads * a.rows;
    l.schedule.longest = a.columns;
    l.schedule.threads = kThreads;
    l.schedule.blocks = blocks;
    text.add_operands(buffers, l.parameters);
    for (size_t i : {6, 7, 8})
      l.parameters.push_back({Parameter::Buffer, buffers[i]});
    for (int32_t b : results)
      l.parameters.push_back({Parameter::Buffer, b});
    text.add_sizes(l.parameters);
    for (const auto& strides : {a.lse, a.delta})
      for (int64_t s : strides)
        l.parameters.push_back(number(s, false));
    for (int64_t s : a.dy)
      l.parameters.push_back(number(s, false));
    text.add_mask(buffers, a.kMaskBuffer, l.parameters);
    const bool skips = a.mask == routines::MaskKind::Bool;
    l.text = fmt::format(
        "// {}\n{}", print(l.schedule),
        text.fill(format, l.name, piece, threads, fmt::arg("parameters", text.fill(kParameters, "")),
                  fmt::arg("vjp_strides", text.fill(kVjpStrides, "")), fmt::arg("head", text.fill(kHead, "")),
                  fmt::arg("group", text.fill(kGroup, "")), fmt::arg("skip", skips ? text.fill(kSkip, "") : ""),
                  fmt::arg("weights", text.fill(narrow ? kNarrowWeights : kWeights, "", piece, threads, own_columns,
                                                fmt::arg("keep_weight", keep_weight))),
                  length, fmt::arg("load_rows", text.fill(kLoadRows, "", threads, length)),
                  fmt::arg("load_columns", text.fill(kLoadColumns, "", threads, length, own_columns)),
                  fmt::arg("own_depth", per_thread(a.depth, 16)), fmt::arg("quarter_depth", per_thread(a.depth, 4)),
                  fmt::arg("quarter_width", per_thread(a.width, 4))));
    return l;
  };
  std::vector<EmittedLaunch> out;
  const int64_t columns = narrow ? kAttentionBlock / 4 : kAttentionBlock;  // of a block of threads
  out.push_back(
      make("_rows", true, a.batch * a.heads * ((a.rows + kAttentionRows - 1) / kAttentionRows), {buffers[result]}));
  out.push_back(make("_columns", false, a.batch * a.groups * ((a.columns + columns - 1) / columns),
                     {buffers[result + 1], buffers[result + 2]}));
  return out;
}

}  // namespace sheaf::codegen::gpu
