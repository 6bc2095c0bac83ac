#include "codegen/gpu/attention.h"

#include "codegen/gpu/attention_text.h"
#include "support/error.h"

namespace sheaf::codegen::gpu {
namespace {

using routines::AttentionArgs;
using routines::kAttentionRows;

constexpr int kThreads = 256;
constexpr int kPiece = 32;                  // of the depth, in shared memory at once
constexpr int64_t kValueTileBytes = 16384;  // of rows of v, likewise

// A block has a group of 16 rows of a head. Thread (row, own) has the scores of its row in columns own + 16 n and the
// elements own + 16 n of its result; the first thread of a row also keeps the row's maximum and its sum.
constexpr std::string_view kRows = R"({kernel} {name}({global}const {s}* q, {global}const {s}* k, {global}const {s}* v,
    {global}const {t}* scales, {global}const long long* offsets, {global}const long long* windows, {global}{s}* y,
    {global}{t}* lse, {heads}, {strides}{mask_parameters}) {{
  {shared}{t} q_tile[16][{piece} + 1];
  {shared}{t} k_tile[64][{piece} + 1];
  {shared}{t} v_tile[{v_rows}][{v_width}];
  {shared}{t} scores[16][65];
  {shared}{t} parts[16][16];
  {shared}{t} factors[16][2];
{any}  const int thread = {thread};
  const int row = thread / 16;
  const int own = thread % 16;
  const int row_groups = (rows + 15) / 16;
  const int first = {block} % row_groups * 16;
  const int last = first + 15 < rows ? first + 15 : rows - 1;
  const long long h = {block} / row_groups % heads;
  const long long b = {block} / row_groups / heads;
  const long long g = h / (heads / groups);
  const {t} scale = scales[b * scale_batch];
  const long long far = 1ll << 40;
  long long offset = offsets[b * offset_batch], window = windows[b * window_batch];
  offset = offset < -far ? -far : offset > far ? far : offset;
  window = window < 0 ? 0 : window > 2 * far ? 2 * far : window;
  q += b * q_batch + h * q_head;
  k += b * k_batch + g * k_head;
  v += b * v_batch + g * v_head;
  const int i = first + row;
  const bool is_row = i < rows;
  long long begin, end, row_begin, row_end;
  {range}(first, last, offset, window, columns, &begin, &end);
  {range}(i, i, offset, window, columns, &row_begin, &row_end);
  {t} m = {lowest}, l = 0, total_m = {lowest}, total_l = 0;
  {t} part[{own_width}], total[{own_width}];
  for (int n = 0; n < {own_width}; ++n) part[n] = total[n] = 0;
  long long stretch = -1;
  bool joined = false;
  for (long long block = begin / 64 * 64;; block += 64) {{
    const bool done = block >= end;
    const long long low = block > begin ? block : begin, high = block + 64 < end ? block + 64 : end;
{skip}    // A stretch is complete: it joins those before it.
    if (done || (stretch >= 0 && low / 512 != stretch)) {{
      if (joined) {{
        if (own == 0) {{
          const {t} both = {max}(total_m, m);
          const {t} at = both == {lowest} ? 0 : both;
          const {t} x = {decay}(total_m - at), z = {decay}(m - at);
          total_l = {fma}(l, z, total_l * x);
          total_m = both;
          factors[row][0] = x;
          factors[row][1] = z;
        }}
        {barrier}  // the factors of all rows are there
        for (int n = 0; n < {own_width}; ++n) total[n] = {fma}(part[n], factors[row][1], total[n] * factors[row][0]);
        {barrier}  // all have read them
      }} else {{
        total_m = m;
        total_l = l;
        for (int n = 0; n < {own_width}; ++n) total[n] = part[n];
      }}
      m = {lowest};
      l = 0;
      for (int n = 0; n < {own_width}; ++n) part[n] = 0;
      joined = true;
    }}
    if (done) break;
    stretch = low / 512;
    {t} sum[4] = {{0, 0, 0, 0}};
    for (int at = 0; at < depth; at += {piece}) {{
      const int terms = depth - at < {piece} ? depth - at : {piece};
      {barrier}  // nobody reads the tiles of the piece before
      for (int e = thread; e < 16 * {piece}; e += {threads}) {{
        const int r = e / {piece}, d = e % {piece};
        if (first + r < rows && d < terms)
          q_tile[r][d] = {load}(q[(first + r) * q_row + (at + d) * q_depth]) * scale;
      }}
      for (int e = thread; e < 64 * {piece}; e += {threads}) {{
        const int c = e / {piece}, d = e % {piece};
        if (block + c < columns && d < terms) k_tile[c][d] = {load}(k[(block + c) * k_row + (at + d) * k_depth]);
      }}
      {barrier}  // the tiles are complete
      for (int d = 0; d < terms; ++d)
        for (int n = 0; n < 4; ++n) sum[n] = {fma}(q_tile[row][d], k_tile[own + 16 * n][d], sum[n]);
    }}
    {t} most = {lowest};
    for (int n = 0; n < 4; ++n) {{
      const long long j = block + own + 16 * n;
      const bool seen = is_row && j >= row_begin && j < row_end && ({shown});
      const {t} score = seen ? sum[n]{add_mask} : {lowest};
      scores[row][own + 16 * n] = score;
      if (j >= low && j < high && score == score) most = {max}(score, most);
    }}
    parts[row][own] = most;
    {barrier}  // scores and maxima are there
    if (own == 0) {{
      most = m;
      for (int n = 0; n < 16; ++n) most = {max}(parts[row][n], most);
      const {t} at = most == {lowest} ? 0 : most;
      factors[row][0] = {decay}(m - at);
      factors[row][1] = at;
      m = most;
    }}
    {barrier}  // what is subtracted from the scores of each row is there
    for (int n = 0; n < 4; ++n)
      scores[row][own + 16 * n] = {decay}(scores[row][own + 16 * n] - factors[row][1]);
    for (int n = 0; n < {own_width}; ++n) part[n] = part[n] * factors[row][0];
    {barrier}  // the weights are there
    const int from = (int)(low - block), to = (int)(high - block);
    if (own == 0) {{
      l = l * factors[row][0];
      for (int c = from; c < to; ++c) l = l + scores[row][c];
    }}
    for (int at = from; at < to; at += {v_rows}) {{
      const int count = to - at < {v_rows} ? to - at : {v_rows};
      {barrier}  // nobody reads the tile of v before
      for (int e = thread; e < count * width; e += {threads})
        v_tile[e / width][e % width] = {load}(v[(block + at + e / width) * v_row + e % width * v_depth]);
      {barrier}  // it is complete
      for (int c = 0; c < count; ++c)
        for (int n = 0; n < {own_width}; ++n)
          if (own + 16 * n < width) part[n] = {fma}(scores[row][at + c], v_tile[c][own + 16 * n], part[n]);
    }}
    {barrier}  // nobody reads the weights any more
  }}
  if (own == 0) factors[row][0] = 1 / total_l;
  {barrier}  // the factors of all rows are there
  if (!is_row) return;
  const long long to = (b * rows + i) * heads + h;
  for (int n = 0; n < {own_width}; ++n)
    if (own + 16 * n < width) y[to * width + own + 16 * n] = {store}(total[n] * factors[row][0]);
  if (own == 0) lse[to] = total_m + {log}(total_l);
}}
)";

// A block in which a mask shows no row of the group anything is left out.
constexpr std::string_view kSkip = R"(    if (!done) {{
      {barrier}  // nobody reads the answer of the block before
      if (thread == 0) any = 0;
      {barrier}  // it is cleared
      for (int n = 0; n < 4; ++n)
        if (const long long j = block + own + 16 * n; is_row && j >= low && j < high && {shown}) any = 1;
      {barrier}  // all have looked
      if (!any) continue;
    }}
)";

// A block has the only row of a head. Thread (column, quarter) has every fourth of the 16 chains of a score; thread e
// has element e of the result, and the first 16 have the chains of the sum.
constexpr std::string_view kRow = R"({kernel} {name}({global}const {s}* q, {global}const {s}* k, {global}const {s}* v,
    {global}const {t}* scales, {global}const long long* offsets, {global}const long long* windows, {global}{s}* y,
    {global}{t}* lse, {heads}, {strides}{mask_parameters}) {{
  {shared}{t} q_row_values[{max_width}];
  {shared}{t} quarters[64][4];
  {shared}{t} scores[64];
  {shared}{t} chains[16];
  {shared}int any;
  const int thread = {thread};
  const long long h = {block} % heads;
  const long long b = {block} / heads;
  const long long g = h / (heads / groups);
  const {t} scale = scales[b * scale_batch];
  const long long far = 1ll << 40;
  long long offset = offsets[b * offset_batch], window = windows[b * window_batch];
  offset = offset < -far ? -far : offset > far ? far : offset;
  window = window < 0 ? 0 : window > 2 * far ? 2 * far : window;
  q += b * q_batch + h * q_head;
  k += b * k_batch + g * k_head;
  v += b * v_batch + g * v_head;
{only_row}  long long begin, end;
  {range}(0, 0, offset, window, columns, &begin, &end);
  if (thread < depth) q_row_values[thread] = {load}(q[thread * q_depth]) * scale;
  {t} m = {lowest}, l = 0, total_m = {lowest}, total_l = 0, part = 0, total = 0;
  long long stretch = -1;
  bool joined = false;
  for (long long block = begin / 64 * 64;; block += 64) {{
    const bool done = block >= end;
    const long long low = block > begin ? block : begin, high = block + 64 < end ? block + 64 : end;
    const int column = thread / 4, quarter = thread % 4;
    const long long j = block + column;
    const bool seen = !done && j >= low && j < high && ({shown});
    {barrier}  // q is there, and nobody reads what the block before has left
    if (thread == 0) any = 0;
    {barrier}  // it is cleared
    if (seen) any = 1;
    {barrier}  // all have looked
    if (!done && !any) continue;
    // A stretch is complete: it joins those before it. All threads keep the sums.
    if (done || (stretch >= 0 && low / 512 != stretch)) {{
      if (joined) {{
        const {t} both = {max}(total_m, m);
        const {t} at = both == {lowest} ? 0 : both;
        const {t} x = {decay}(total_m - at), z = {decay}(m - at);
        total_l = {fma}(l, z, total_l * x);
        total = {fma}(part, z, total * x);
        total_m = both;
      }} else {{
        total_m = m;
        total_l = l;
        total = part;
      }}
      m = {lowest};
      l = 0;
      part = 0;
      joined = true;
    }}
    if (done) break;
    stretch = low / 512;
    {t} sum[4] = {{0, 0, 0, 0}};
    if (seen)
      for (int d = quarter; d < depth; d += 16)
        for (int n = 0; n < 4; ++n)
          if (d + 4 * n < depth)
            sum[n] = {fma}(q_row_values[d + 4 * n], {load}(k[j * k_row + (d + 4 * n) * k_depth]), sum[n]);
    quarters[column][quarter] = (sum[0] + sum[2]) + (sum[1] + sum[3]);
    {barrier}  // the quarters are there
    if (quarter == 0) {{
      const {t}* of = quarters[column];
      scores[column] = seen ? (of[0] + of[1]) + (of[2] + of[3]){add_mask} : {lowest};
    }}
    {barrier}  // the scores are there
    const int from = (int)(low - block), to = (int)(high - block);
    {t} most = m;
    for (int c = from; c < to; ++c)
      if (scores[c] == scores[c]) most = {max}(scores[c], most);
    const {t} at = most == {lowest} ? 0 : most, factor = {decay}(m - at);
    m = most;
    {barrier}  // all have read the scores
    if (quarter == 0) scores[column] = {decay}(scores[column] - at);
    {barrier}  // the weights are there
    if (thread < 16) {{
      {t} chain = thread == 0 ? l * factor : 0;
      for (int c = from + thread; c < to; c += 16) chain = chain + scores[c];
      chains[thread] = chain;
    }}
    {barrier}  // the chains of the sum are there
    {t} four[4];
    for (int n = 0; n < 4; ++n) four[n] = (chains[n] + chains[n + 8]) + (chains[n + 4] + chains[n + 12]);
    l = (four[0] + four[1]) + (four[2] + four[3]);
    part = part * factor;
    if (thread < width)
      for (int c = from; c < to; ++c)
        part = {fma}(scores[c], {load}(v[(block + c) * v_row + thread * v_depth]), part);
  }}
  const long long to = b * heads + h;
  if (thread < width) y[to * width + thread] = {store}(total * (1 / total_l));
  if (thread == 0) lse[to] = total_m + {log}(total_l);
}}
)";

}  // namespace

std::vector<EmittedLaunch> emit_attention(const AttentionArgs<>& a, const std::vector<int32_t>& buffers,
                                          const std::string& prefix, Helpers& helpers) {
  INVARIANT(has_template(a), "attention of " << sheaf::name_of(a.dtype) << ", " << a.depth << " by " << a.width);
  const AttentionText text(a, helpers);
  const bool alone = a.rows == 1;
  EmittedLaunch l;
  l.name = prefix;
  l.schedule.kind = Schedule::Heads;
  l.schedule.items = a.batch * a.heads * a.rows;
  l.schedule.longest = a.columns;
  l.schedule.threads = kThreads;
  l.schedule.blocks = a.batch * a.heads * (alone ? 1 : (a.rows + kAttentionRows - 1) / kAttentionRows);
  text.add_operands(buffers, l.parameters);
  const auto result = static_cast<size_t>(a.first_result());
  l.parameters.push_back({Parameter::Buffer, buffers[result]});
  l.parameters.push_back({Parameter::Buffer, buffers[result + 1]});
  text.add_sizes(l.parameters);
  text.add_mask(buffers, a.kMaskBuffer, l.parameters);
  if (alone) {
    const bool masked = a.mask != routines::MaskKind::None;
    l.text = text.fill(kRow, l.name, fmt::arg("max_width", kMaxHeadWidth),
                       fmt::arg("only_row", masked ? "  const int i = 0;\n" : ""));
  } else {
    const bool skips = a.mask == routines::MaskKind::Bool;
    const int64_t width = std::max<int64_t>(1, (a.width + 15) / 16 * 16);
    const int64_t v_rows = std::clamp<int64_t>(kValueTileBytes / (width * text.value_bytes()), 1, 64);
    l.text = text.fill(kRows, l.name, fmt::arg("piece", kPiece), fmt::arg("threads", kThreads),
                       fmt::arg("v_rows", v_rows), fmt::arg("v_width", width), fmt::arg("own_width", width / 16),
                       fmt::arg("any", skips ? text.fill("  {shared}int any;\n", "") : ""),
                       fmt::arg("skip", skips ? text.fill(kSkip, "") : ""));
  }
  l.text = fmt::format("// {}\n{}", print(l.schedule), l.text);
  return {std::move(l)};
}

}  // namespace sheaf::codegen::gpu
