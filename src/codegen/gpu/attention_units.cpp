// A block has 64 rows of a head, each of its four warps 16 of them. Scores of 64 columns at a time stay in registers of
// the threads that have their sums, and become weights there. The tile of k is read while that of v is on its way, and
// the other way round.
#include "codegen/gpu/attention_units.h"

#include <algorithm>

#include "codegen/gpu/attention_text.h"
#include "codegen/gpu/matrix_units.h"
#include "codegen/gpu/unit_head.h"
#include "support/error.h"

namespace sheaf::codegen::gpu {
namespace {

using routines::AttentionArgs;

constexpr int kThreads = UnitHead::kThreads;
constexpr int kRows = 64;  // of a block, and columns of a tile

constexpr std::string_view kForward =
    R"({kernel} {bounds} {name}({global}const {s}* q, {global}const {s}* k, {global}const {s}* v,
    {global}const {t}* scales, {global}const long long* offsets, {global}const long long* windows, {global}{s}* y,
    {global}{t}* lse, {heads}, {strides}{mask_parameters}) {{
  alignas(128) {shared}unsigned short k_tile[64 * {depth_class}];
  alignas(128) {shared}unsigned short v_tile[64 * {width_class}];
  const int thread = {thread};
  const int lane = thread & 31;
  const int warp = thread >> 5;
  const int row_tiles = (rows + 63) / 64;
  // The last rows first: they see most where rows see what is before them.
  const int first = (row_tiles - 1 - {block} % row_tiles) * 64;
  const int last = first + 63 < rows ? first + 63 : rows - 1;
  const long long h = {block} / row_tiles % heads;
  const long long b = {block} / row_tiles / heads;
  const long long g = h / (heads / groups);
  const {t} scale = scales[b * scale_batch];
  const long long far = 1ll << 40;
  long long offset = offsets[b * offset_batch], window = windows[b * window_batch];
  offset = offset < -far ? -far : offset > far ? far : offset;
  window = window < 0 ? 0 : window > 2 * far ? 2 * far : window;
  q += b * q_batch + h * q_head;
  k += b * k_batch + g * k_head;
  v += b * v_batch + g * v_head;
  // A thread has columns lane % 4 * 2 and the next one, and each eighth from there, of two rows.
  const int warp_first = first + warp * 16, warp_last = warp_first + 15 < last ? warp_first + 15 : last;
  const int own = warp_first + lane / 4;
  long long begin, end, warp_begin = 0, warp_end = 0, row_begin[2] = {{0, 0}}, row_end[2] = {{0, 0}};
  {range}(first, last, offset, window, columns, &begin, &end);
  if (warp_first <= last) {range}(warp_first, warp_last, offset, window, columns, &warp_begin, &warp_end);
  for (int half = 0; half < 2; ++half)
    if (own + 8 * half < rows)
      {range}(own + 8 * half, own + 8 * half, offset, window, columns, &row_begin[half], &row_end[half]);
  {load_q}(k_tile, q, thread, first, rows, q_row, 0, depth, q_depth);
  commit_copies();
  wait_for_copies<0>();
  {barrier}  // the rows of q are there
  unsigned x[{depth_class} / 16][4];
  {unroll}
  for (int l = 0; l < {depth_class} / 16; ++l) {{
    const int line = warp * 16 + (lane & 15);
    load_matrices(x[l], k_tile + {q_place});
  }}
  {barrier}  // all have read them
  {t} m[2] = {{{lowest}, {lowest}}}, sum[2] = {{0, 0}}, total[{width_class} / 8][4];
  {unroll}
  for (int n = 0; n < {width_class} / 8; ++n)
    {unroll}
    for (int e = 0; e < 4; ++e) total[n][e] = 0;
  long long block = begin / 64 * 64;
  if (block < end) {load_k}(k_tile, k, thread, (int)block, (int)end, k_row, 0, depth, k_depth);
  commit_copies();
  for (; block < end; block += 64) {{
    const bool sees = block < warp_end && block + 64 > warp_begin;
    {load_v}(v_tile, v, thread, (int)block, (int)end, v_row, 0, width, v_depth);
    commit_copies();
    wait_for_copies<1>();
    {barrier}  // the tile of k is complete
    {t} score[8][4];
    {unroll}
    for (int n = 0; n < 8; ++n)
      {unroll}
      for (int e = 0; e < 4; ++e) score[n][e] = 0;
    if (sees) {{
      {unroll}
      for (int l = 0; l < {depth_class} / 16; ++l)
        {unroll}
        for (int n = 0; n < 4; ++n) {{
          const int line = n * 16 + (lane >> 4) * 8 + (lane & 7);
          unsigned z[4];
          load_matrices(z, k_tile + {k_place});
          {multiply}(score[2 * n], x[l], z[0], z[1]);
          {multiply}(score[2 * n + 1], x[l], z[2], z[3]);
        }}
    }}
    {barrier}  // nobody reads the tile of k any more
    if (block + 64 < end) {load_k}(k_tile, k, thread, (int)block + 64, (int)end, k_row, 0, depth, k_depth);
    commit_copies();
    if (sees) {{
      {unroll}
      for (int half = 0; half < 2; ++half) {{
{row}        // A bit for each column of this thread.
        unsigned seen = {all_seen};
        if (seen == 0)
          {unroll_two}
          for (int n = 0; n < 16; ++n) {{
            const long long j = block + n / 2 * 8 + lane % 4 * 2 + n % 2;
            if (j >= row_begin[half] && j < row_end[half] && {shown}) seen |= 1u << n;
          }}
        {t} most = m[half];
        {unroll}
        for (int n = 0; n < 8; ++n)
          {unroll}
          for (int e = 0; e < 2; ++e) {{
            {t}& value = score[n][half * 2 + e];
{column}            value = (seen >> (n * 2 + e) & 1) != 0 ? value * scale{add_mask} : {lowest};
            most = fmaxf(most, value);  // a number, where one is NaN
          }}
        most = fmaxf(most, {most_1});
        most = fmaxf(most, {most_2});
        const {t} at = most == {lowest} ? 0 : most, factor = power_of_two((m[half] - at) * {log2e});
        m[half] = most;
        sum[half] = sum[half] * factor;
        {unroll}
        for (int n = 0; n < {width_class} / 8; ++n) {{
          total[n][half * 2] *= factor;
          total[n][half * 2 + 1] *= factor;
        }}
        {unroll}
        for (int n = 0; n < 8; ++n)
          {unroll}
          for (int e = 0; e < 2; ++e) {{
            {t}& value = score[n][half * 2 + e];
            value = power_of_two({fma}(value, {log2e}, -at * {log2e}));
            sum[half] += value;
          }}
      }}
    }}
    wait_for_copies<1>();
    {barrier}  // the tile of v is complete
    if (sees) {{
      {unroll}
      for (int l = 0; l < 4; ++l) {{
        const unsigned weights[4] = {{{pack}(score[2 * l][0], score[2 * l][1]),
                                     {pack}(score[2 * l][2], score[2 * l][3]),
                                     {pack}(score[2 * l + 1][0], score[2 * l + 1][1]),
                                     {pack}(score[2 * l + 1][2], score[2 * l + 1][3])}};
        const int line = l * 16 + (lane & 15);
        {unroll}
        for (int n = 0; n < {width_class} / 16; ++n) {{
          unsigned z[4];
          load_matrices_transposed(z, v_tile + {v_place});
          {multiply}(total[2 * n], weights, z[0], z[1]);
          {multiply}(total[2 * n + 1], weights, z[2], z[3]);
        }}
      }}
    }}
    {barrier}  // nobody reads the tile of v any more
  }}
  {unroll}
  for (int half = 0; half < 2; ++half) {{
    {t} all = sum[half];
    all += {all_1};
    all += {all_2};
    const int i = own + 8 * half;
    const long long to = (b * rows + i) * heads + h;
    const {t} factor = 1 / all;
    if (i < rows) {{
      {unroll}
      for (int n = 0; n < {width_class} / 8; ++n)
        {unroll}
        for (int e = 0; e < 2; ++e)
          if (const int at = n * 8 + lane % 4 * 2 + e; at < width)
            y[to * width + at] = {store}(total[n][half * 2 + e] * factor);
      if (lane % 4 == 0) lse[to] = m[half] + {log}(all);
    }}
  }}
}}
)";

}  // namespace

bool suits_matrix_units(const AttentionArgs<>& a) {
  return (a.dtype == DType::BF16 || a.dtype == DType::F16) && a.rows > kFewRows &&
         std::min(a.depth, a.width) >= kMinUnitHeadWidth && std::max(a.depth, a.width) <= kMaxUnitHeadWidth &&
         has_template(a);
}

std::vector<EmittedLaunch> emit_unit_attention(const AttentionArgs<>& a, const std::vector<int32_t>& buffers,
                                               const std::string& prefix, Helpers& helpers, bool aligned) {
  INVARIANT(suits_matrix_units(a), "attention of " << sheaf::name_of(a.dtype) << " by matrix units");
  const AttentionText text(a, helpers);
  const UnitHead head(a, helpers, aligned);
  const UnitTile q = head.tile(kRows, head.depth, a.q), k = head.tile(kRows, head.depth, a.k),
                 v = head.tile(kRows, head.width, a.v);
  const Dialect& d = helpers.dialect();
  auto across = [&](const char* x, int distance) { return fmt::format(fmt::runtime(d.shuffle_xor), x, distance); };
  EmittedLaunch l;
  l.name = prefix;
  l.schedule.kind = Schedule::Heads;
  l.schedule.items = a.batch * a.heads * a.rows;
  l.schedule.longest = a.columns;
  l.schedule.threads = kThreads;
  l.schedule.blocks = a.batch * a.heads * ((a.rows + kRows - 1) / kRows);
  text.add_operands(buffers, l.parameters);
  const auto result = static_cast<size_t>(a.first_result());
  l.parameters.push_back({Parameter::Buffer, buffers[result]});
  l.parameters.push_back({Parameter::Buffer, buffers[result + 1]});
  text.add_sizes(l.parameters);
  text.add_mask(buffers, a.kMaskBuffer, l.parameters);
  const bool wide = head.depth > 64 || head.width > 64, masked = a.mask != routines::MaskKind::None;
  l.text = text.fill(
      kForward, l.name,
      fmt::arg("bounds", fmt::format(fmt::runtime(d.launch_bounds), kThreads, wide || masked ? 2 : 3)),
      fmt::arg("unroll", d.unroll), fmt::arg("depth_class", head.depth), fmt::arg("width_class", head.width),
      fmt::arg("load_q", load_tile(q, kThreads, helpers)), fmt::arg("load_k", load_tile(k, kThreads, helpers)),
      fmt::arg("load_v", load_tile(v, kThreads, helpers)), fmt::arg("q_place", place(q, "line", "l * 2 + (lane >> 4)")),
      fmt::arg("k_place", place(k, "line", "l * 2 + ((lane >> 3) & 1)")),
      fmt::arg("v_place", place(v, "line", "n * 2 + (lane >> 4)")), fmt::arg("multiply", head.multiply),
      fmt::arg("pack", head.pack), fmt::arg("log2e", UnitHead::kLog2E), fmt::arg("most_1", across("most", 1)),
      fmt::arg("most_2", across("most", 2)), fmt::arg("all_1", across("all", 1)), fmt::arg("all_2", across("all", 2)),
      fmt::arg("unroll_two", d.unroll_by(2)),
      fmt::arg("all_seen", a.mask == routines::MaskKind::Bool
                               ? "0"
                               : "row_begin[half] <= block && block + 64 <= row_end[half] ? 0xffffu : 0"),
      fmt::arg("column", a.mask == routines::MaskKind::Added
                             ? "            const long long j = block + n * 8 + lane % 4 * 2 + e;\n"
                             : ""),
      fmt::arg("row", masked ? "        const int i = own + 8 * half;\n" : ""));
  l.text = fmt::format("// {}\n{}", print(l.schedule), l.text);
  return {std::move(l)};
}

}  // namespace sheaf::codegen::gpu
