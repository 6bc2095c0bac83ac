// A block has four warps, each of 16 rows of a head, or of 32 where heads are narrow and rows are many. Scores of a
// tile of columns stay in registers of the threads that have their sums, and become weights there. The next tiles of k
// and v are on their way while those at hand are used: one wait and one barrier a tile.
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
constexpr int kWarps = kThreads / 32;
constexpr int64_t kManyBlocks = 264;  // that keep a device busy: 132 processors, two each

constexpr std::string_view kForward =
    R"({kernel} {bounds} {name}({global}const {s}* q, {global}const {s}* k, {global}const {s}* v,
    {global}const {t}* scales, {global}const long long* offsets, {global}const long long* windows, {global}{s}* y,
    {global}{t}* lse, {heads}, {strides}{mask_parameters}) {{
  alignas(128) {shared}unsigned short k_tiles[2 * {others} * {depth_class}];
  alignas(128) {shared}unsigned short v_tiles[2 * {others} * {width_class}];
  const int thread = {thread};
  const int lane = thread & 31;
  const int warp = thread >> 5;
  const int row_tiles = (rows + {block_rows} - 1) / {block_rows};
  // The last rows of all heads first: they see most where rows see what is before them.
  const int all_heads = {num_blocks} / row_tiles, head = {block} % all_heads;
  const int first = (row_tiles - 1 - {block} / all_heads) * {block_rows};
  const int last = first + {block_rows} - 1 < rows ? first + {block_rows} - 1 : rows - 1;
  const long long h = head % heads;
  const long long b = head / heads;
  const long long g = h / (heads / groups);
  // Scores are kept times log2(e).
  const {t} scale = scales[b * scale_batch] * {log2e};
  const long long far = 1ll << 40;
  long long offset = offsets[b * offset_batch], window = windows[b * window_batch];
  offset = offset < -far ? -far : offset > far ? far : offset;
  window = window < 0 ? 0 : window > 2 * far ? 2 * far : window;
  q += b * q_batch + h * q_head;
  k += b * k_batch + g * k_head;
  v += b * v_batch + g * v_head;
  // A thread has columns lane % 4 * 2 and the next one, and each eighth from there, of two rows of each 16.
  const int warp_first = first + warp * {down} * 16;
  const int warp_last = warp_first + {down} * 16 - 1 < last ? warp_first + {down} * 16 - 1 : last;
  const int own = warp_first + lane / 4;
  long long from = 0, to = 0;
  {range}(first, last, offset, window, columns, &from, &to);
  const int begin = (int)from, end = (int)to;
  from = to = 0;
  if (warp_first <= last) {range}(warp_first, warp_last, offset, window, columns, &from, &to);
  const int warp_begin = (int)from, warp_end = (int)to;
{all_sight}  unsigned x[{down}][{depth_class} / 16][4];
  {unroll}
  for (int part = 0; part < {down}; ++part) {{
    {load_q}(k_tiles, q, thread, first + part * 64, rows, q_row, 0, depth, q_depth);
    commit_copies();
    wait_for_copies<0>();
    {barrier}  // these rows of q are there
    {unroll}
    for (int i = 0; i < {down}; ++i)
      if ((warp * {down} + i) / 4 == part)
        {unroll}
        for (int l = 0; l < {depth_class} / 16; ++l) {{
          const int line = (warp * {down} + i) % 4 * 16 + (lane & 15);
          load_matrices(x[i][l], k_tiles + {q_place});
        }}
    {barrier}  // all have read them
  }}
  {t} m[{down} * 2], sum[{down} * 2], total[{down}][{width_class} / 8][4];
  {unroll}
  for (int i = 0; i < {down}; ++i) {{
    m[2 * i] = m[2 * i + 1] = {lowest};
    sum[2 * i] = sum[2 * i + 1] = 0;
    {unroll}
    for (int n = 0; n < {width_class} / 8; ++n)
      {unroll}
      for (int e = 0; e < 4; ++e) total[i][n][e] = 0;
  }}
  int block = begin / {others} * {others}, stage = 0;
  if (block < end) {{
    {load_k}(k_tiles, k, thread, block, end, k_row, 0, depth, k_depth);
    {load_v}(v_tiles, v, thread, block, end, v_row, 0, width, v_depth);
  }}
  commit_copies();
  for (; block < end; block += {others}) {{
    wait_for_copies<0>();
    {barrier}  // the tiles at hand are complete, and nobody reads those before
    const unsigned short *k_tile = k_tiles + stage * {others} * {depth_class},
                         *v_tile = v_tiles + stage * {others} * {width_class};
    stage ^= 1;
    if (block + {others} < end) {{
      {load_k}(k_tiles + stage * {others} * {depth_class}, k, thread, block + {others}, end, k_row, 0, depth, k_depth);
      {load_v}(v_tiles + stage * {others} * {width_class}, v, thread, block + {others}, end, v_row, 0, width, v_depth);
    }}
    commit_copies();
    if (block >= warp_end || block + {others} <= warp_begin) continue;
    {t} score[{down}][{others} / 8][4];
    {unroll}
    for (int i = 0; i < {down}; ++i)
      {unroll}
      for (int n = 0; n < {others} / 8; ++n)
        {unroll}
        for (int e = 0; e < 4; ++e) score[i][n][e] = 0;
    {unroll}
    for (int l = 0; l < {depth_class} / 16; ++l)
      {unroll}
      for (int n = 0; n < {others} / 16; ++n) {{
        const int line = n * 16 + (lane >> 4) * 8 + (lane & 7);
        unsigned z[4];
        load_matrices(z, k_tile + {k_place});
        {unroll}
        for (int i = 0; i < {down}; ++i) {{
          {multiply}(score[i][2 * n], x[i][l], z[0], z[1]);
          {multiply}(score[i][2 * n + 1], x[i][l], z[2], z[3]);
        }}
      }}
    {unroll}
    for (int half = 0; half < {down} * 2; ++half) {{
{masked_sight}      {t} most = m[half];
      {unroll}
      for (int n = 0; n < {others} / 8; ++n)
        {unroll}
        for (int e = 0; e < 2; ++e) {{
          {t}& value = score[half / 2][n][half % 2 * 2 + e];
{column}          value = {scaled};
        }}
      if ({some_unseen}) {{
{sight}        {unroll}
        for (int n = 0; n < {others} / 8; ++n)
          {unroll}
          for (int e = 0; e < 2; ++e) {{
            const int j = block + n * 8 + lane % 4 * 2 + e;
            if (!(j >= row_begin && j < row_end && {shown})) score[half / 2][n][half % 2 * 2 + e] = {lowest};
          }}
      }}
      {unroll}
      for (int n = 0; n < {others} / 8; ++n)
        {unroll}
        for (int e = 0; e < 2; ++e)
          most = fmaxf(most, score[half / 2][n][half % 2 * 2 + e]);  // a number, where one is NaN
      most = fmaxf(most, {most_1});
      most = fmaxf(most, {most_2});
      const {t} at = most == {lowest} ? 0 : most;
      if (most != m[half]) {{
        const {t} factor = power_of_two(m[half] - at);
        m[half] = most;
        sum[half] *= factor;
        {unroll}
        for (int n = 0; n < {width_class} / 8; ++n) {{
          total[half / 2][n][half % 2 * 2] *= factor;
          total[half / 2][n][half % 2 * 2 + 1] *= factor;
        }}
      }}
      {unroll}
      for (int n = 0; n < {others} / 8; ++n)
        {unroll}
        for (int e = 0; e < 2; ++e) {{
          {t}& value = score[half / 2][n][half % 2 * 2 + e];
          value = power_of_two(value - at);
          sum[half] += value;
        }}
    }}
    {unroll}
    for (int l = 0; l < {others} / 16; ++l) {{
      unsigned weights[{down}][4];
      {unroll}
      for (int i = 0; i < {down}; ++i)
        {unroll}
        for (int e = 0; e < 4; ++e)
          weights[i][e] = {pack}(score[i][2 * l + e / 2][e % 2 * 2], score[i][2 * l + e / 2][e % 2 * 2 + 1]);
      const int line = l * 16 + (lane & 15);
      {unroll}
      for (int n = 0; n < {width_class} / 16; ++n) {{
        unsigned z[4];
        load_matrices_transposed(z, v_tile + {v_place});
        {unroll}
        for (int i = 0; i < {down}; ++i) {{
          {multiply}(total[i][2 * n], weights[i], z[0], z[1]);
          {multiply}(total[i][2 * n + 1], weights[i], z[2], z[3]);
        }}
      }}
    }}
  }}
  {unroll}
  for (int half = 0; half < {down} * 2; ++half) {{
    {t} all = sum[half];
    all += {all_1};
    all += {all_2};
    const int i = own + 8 * half;
    const long long at = (b * rows + i) * heads + h;
    const {t} factor = 1 / all;
    if (i < rows) {{
      {unroll}
      for (int n = 0; n < {width_class} / 8; ++n) {{
        const int element = n * 8 + lane % 4 * 2;
        const {t} left = total[half / 2][n][half % 2 * 2] * factor,
                  right = total[half / 2][n][half % 2 * 2 + 1] * factor;
{store_pair}      }}
      if (lane % 4 == 0) lse[at] = {fma}(m[half], {ln2}, {log}(all));
    }}
  }}
}}
)";
constexpr std::string_view kAllSight =
    R"(  // What each of its rows sees: from where the last one begins to where the first one ends.
  from = to = 0;
  if (warp_first <= last) {range}(warp_last, warp_last, offset, window, columns, &from, &to);
  const int all_begin = (int)from;
  from = to = 0;
  if (warp_first <= last) {range}(warp_first, warp_first, offset, window, columns, &from, &to);
  const int all_end = (int)to;
)";
constexpr std::string_view kSight = R"(      const int i = own + 8 * half;
      long long row_from = 0, row_to = 0;
      if (i < rows) {range}(i, i, offset, window, columns, &row_from, &row_to);
      const int row_begin = (int)row_from, row_end = (int)row_to;
)";
constexpr std::string_view kStorePair =
    "        if (element < width) *({global}unsigned*)(y + at * width + element) = {pack}(left, right);\n";
constexpr std::string_view kStoreElements = R"(        if (element < width) y[at * width + element] = {store}(left);
        if (element + 1 < width) y[at * width + element + 1] = {store}(right);
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
  const bool wide = head.depth > 64 || head.width > 64, masked = a.mask != routines::MaskKind::None;
  // Registers are for 32 rows of narrow heads, memory of a block for two tiles of 32 columns of wide ones.
  const int down = !wide && !masked && a.batch * a.heads * ((a.rows + 127) / 128) >= kManyBlocks ? 2 : 1;
  const int others = wide ? 32 : 64, block_rows = kWarps * 16 * down;
  const UnitTile q = head.tile(64, head.depth, a.q), k = head.tile(others, head.depth, a.k),
                 v = head.tile(others, head.width, a.v);
  const Dialect& d = helpers.dialect();
  auto across = [&](const char* x, int distance) { return fmt::format(fmt::runtime(d.shuffle_xor), x, distance); };
  EmittedLaunch l;
  l.name = prefix;
  l.schedule.kind = Schedule::Heads;
  l.schedule.items = a.batch * a.heads * a.rows;
  l.schedule.longest = a.columns;
  l.schedule.threads = kThreads;
  l.schedule.blocks = a.batch * a.heads * ((a.rows + block_rows - 1) / block_rows);
  text.add_operands(buffers, l.parameters);
  const auto result = static_cast<size_t>(a.first_result());
  l.parameters.push_back({Parameter::Buffer, buffers[result]});
  l.parameters.push_back({Parameter::Buffer, buffers[result + 1]});
  text.add_sizes(l.parameters);
  text.add_mask(buffers, a.kMaskBuffer, l.parameters);
  const bool in_pairs = aligned && a.width % 2 == 0;
  const auto pack = fmt::arg("pack", head.pack);
  l.text = text.fill(
      kForward, l.name,
      fmt::arg("bounds", fmt::format(fmt::runtime(d.launch_bounds), kThreads, wide || masked || down == 2 ? 2 : 3)),
      fmt::arg("unroll", d.unroll), fmt::arg("depth_class", head.depth), fmt::arg("width_class", head.width),
      fmt::arg("down", down), fmt::arg("others", others), fmt::arg("block_rows", block_rows),
      fmt::arg("load_q", load_tile(q, kThreads, helpers)), fmt::arg("load_k", load_tile(k, kThreads, helpers)),
      fmt::arg("load_v", load_tile(v, kThreads, helpers)), fmt::arg("q_place", place(q, "line", "l * 2 + (lane >> 4)")),
      fmt::arg("k_place", place(k, "line", "l * 2 + ((lane >> 3) & 1)")),
      fmt::arg("v_place", place(v, "line", "n * 2 + (lane >> 4)")), fmt::arg("multiply", head.multiply), pack,
      fmt::arg("log2e", UnitHead::kLog2E), fmt::arg("ln2", "0.6931471805599453f"),
      fmt::arg("most_1", across("most", 1)), fmt::arg("most_2", across("most", 2)), fmt::arg("all_1", across("all", 1)),
      fmt::arg("all_2", across("all", 2)),
      fmt::arg("some_unseen",
               a.mask == routines::MaskKind::Bool
                   ? "true"
                   : text.fill("block < all_begin || block + {others} > all_end", "", fmt::arg("others", others))),
      fmt::arg("scaled", a.mask == routines::MaskKind::Added
                             ? text.fill("j >= row_begin && j < row_end\n              ? {fma}(0{add_mask}, {log2e}, "
                                         "value * scale)\n              : {lowest}",
                                         "", fmt::arg("log2e", UnitHead::kLog2E))
                             : "value * scale"),
      fmt::arg("column", a.mask == routines::MaskKind::Added
                             ? "          const int j = block + n * 8 + lane % 4 * 2 + e;\n"
                             : ""),
      // A boolean mask is read for each element, so no tile is wholly visible.
      fmt::arg("all_sight", a.mask == routines::MaskKind::Bool ? "" : text.fill(kAllSight, "")),
      fmt::arg("masked_sight", masked ? text.fill(kSight, "") : ""),
      fmt::arg("sight", masked ? "" : text.fill(kSight, "")),
      fmt::arg("store_pair", text.fill(in_pairs ? kStorePair : kStoreElements, "", pack)));
  l.text = fmt::format("// {}\n{}", print(l.schedule), l.text);
  return {std::move(l)};
}

}  // namespace sheaf::codegen::gpu
