// Two launches: dq by groups of rows, dk and dv by blocks of columns. Both compute the scores again.
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
  auto make = [&](const char* suffix, std::string_view format, int64_t blocks, std::vector<int32_t> results) {
    const std::string_view keep_weight = format == kColumns ? "      weights[row][own + 16 * n] = p;\n" : "";
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
                  fmt::arg("weights", text.fill(kWeights, "", piece, threads, fmt::arg("keep_weight", keep_weight))),
                  fmt::arg("own_depth", per_thread(a.depth, 16)), fmt::arg("quarter_depth", per_thread(a.depth, 4)),
                  fmt::arg("quarter_width", per_thread(a.width, 4))));
    return l;
  };
  std::vector<EmittedLaunch> out;
  out.push_back(
      make("_rows", kRows, a.batch * a.heads * ((a.rows + kAttentionRows - 1) / kAttentionRows), {buffers[result]}));
  out.push_back(make("_columns", kColumns, a.batch * a.groups * ((a.columns + kAttentionBlock - 1) / kAttentionBlock),
                     {buffers[result + 1], buffers[result + 2]}));
  return out;
}

}  // namespace sheaf::codegen::gpu
