#include "codegen/gpu/quantized.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "codegen/gpu/template_launch.h"

namespace sheaf::codegen::gpu {
namespace {

using routines::QuantizedArgs;

constexpr int kColumns = kWarp;  // of a block of threads
constexpr int kMostPiece = 8;    // words of a column that a thread reads before it multiplies
constexpr int64_t kProcessors = 132;

// QuantizedStep of the routine: the exponent of the step from the bits of the largest element.
constexpr std::string_view kStep = R"({function} int {name}(unsigned largest) {{
  const unsigned finite = largest < 0x7f800000u ? largest : 0x7f7fffffu;
  const int exponent = (int)((finite + 0x20000u) >> 23);
  return exponent < 27 ? 27 : exponent;
}}
)";
constexpr std::string_view kCountFunction = R"({function} int {name}(float x, int exponent) {{
  const float inverse = __int_as_float(({bits_254} - exponent) << 23);
  return __float_as_int({rounded}) - 0x4b400000;
}}
)";
constexpr std::string_view kStepValue = R"({function} float {name}(unsigned largest, int exponent) {{
  return __int_as_float(largest >= 0x7f800000u ? 0x7fc00000 : (exponent - {bits}) << 23);
}}
)";

// The lanes of a warp count the group at `x`, into `planes`. Weights of 8 bits are multiplied by high and by low bytes,
// the two planes of a group; those of 4 bits by the first and the second half of the group's rows.
constexpr std::string_view kCountGroup = R"(  unsigned largest = 0;
  for (int l = lane; l < {size}; l += 32) {{
    const unsigned bits = __float_as_uint(x[l * x_k]) & 0x7fffffffu;
    largest = bits > largest ? bits : largest;
  }}
  {unroll}
  for (int step = 16; step > 0; step /= 2) {{
    const unsigned other = {other};
    largest = other > largest ? other : largest;
  }}
  const int exponent = {exponent}(largest);
  for (int l = lane; l < {size}; l += 32) {{
    const int count = {count}(x[l * x_k], exponent);
{keep}  }}
)";
// A launch of its own: a warp for each group.
constexpr std::string_view kCounts =
    R"({kernel} {name}({global}const float* x, {global}signed char* planes, {global}float* steps, long long groups,
    int groups_of_row, int rows, long long x_batch, long long x_line, long long x_k) {{
  const int lane = {thread} & 31;
  const long long group = (long long){block} * 8 + ({thread} >> 5);
  if (group >= groups) return;
  const long long row = group / groups_of_row;
  x += row / rows * x_batch + row % rows * x_line + group % groups_of_row * {size} * x_k;
  planes += group * {plane} * 2;
{count_group}  if (lane == 0) steps[group] = {step}(largest, exponent);
}}
)";
// In the product, where so few rows are counted that a launch would take longer: each warp counts the groups that it
// multiplies.
constexpr std::string_view kCountHere =
    R"(      float step_of[{at_once}][{rows}];
      {unroll}
      for (int a = 0; a < {at_once}; ++a) {{
        const int group = first + a * {warps} < end ? first + a * {warps} : end - 1;
        {unroll}
        for (int i = 0; i < {rows}; ++i) {{
          const int x_row = first_row + i < m ? first_row + i : m - 1;
          {global}const float* x = counted_x + batch * x_batch + x_row * x_line + group * {size} * x_k;
          signed char* planes = (signed char*)counted[warp][a][i];
{count_group}          step_of[a][i] = {step}(largest, exponent);
        }}
      }}
      {warp_barrier}  // the groups are counted
)";

constexpr std::string_view kBothBytes = R"(    planes[l] = (signed char)((count + 128) >> 8);
    planes[l + {plane}] = (signed char)count;
)";

// A block has 32 columns of {rows} rows of the result. Its {warps} warps share the groups of a chunk, each {at_once} at
// once; then {rows} of them go on with the sums of their row.
constexpr std::string_view kProduct =
    R"({kernel} {name}({x_parameters}, {global}const signed char* values,
    {global}const float* scales, {global}float* out, int m, int n, int groups, long long values_batch,
    long long values_group, long long values_tile, long long scales_batch, long long scales_group,
    long long scales_column) {{
  {shared}float sums[{chunk}][{rows}][32], scale[{chunk}][32];
{counted}  const int lane = {thread} & 31, warp = {thread} >> 5;
  const int column_blocks = (n + 31) / 32, row_blocks = (m + {rows} - 1) / {rows};
  const int batch = {block} / (column_blocks * row_blocks);
  const int first_row = {block} / column_blocks % row_blocks * {rows};
  const int own = {block} % column_blocks * 32 + lane, column = own < n ? own : n - 1;
  values += batch * values_batch + column / 4 * values_tile + column % 4 * {deep};
  scales += batch * scales_batch + column * scales_column;
  const int row = first_row + warp;  // where the warp goes on with sums
  float total = 0.0f;
  for (int begin = 0; begin < groups; begin += {chunk}) {{
    const int end = begin + {chunk} < groups ? begin + {chunk} : groups;
    for (int first = begin + warp; first < end; first += {warps} * {at_once}) {{
      int sum[{at_once}][{rows}][2];
      {unroll}
      for (int a = 0; a < {at_once}; ++a)
        {unroll}
        for (int i = 0; i < {rows}; ++i) sum[a][i][0] = sum[a][i][1] = 0;
{pieces}      {words} word[{at_once}][{loads}];
      {unroll}
      for (int a = 0; a < {at_once}; ++a) {{
        const int group = first + a * {warps} < end ? first + a * {warps} : end - 1;
        {global}const signed char* from = values + group * values_group{piece_bytes};
        {unroll}
        for (int u = 0; u < {loads}; ++u)
          word[a][u] = *({global}const {words}*)(from + u / {loads_of_row} * {row_bytes} +
                                                 u % {loads_of_row} * {load_bytes});
      }}
{count_here}      {unroll}
      for (int a = 0; a < {at_once}; ++a) {{
        {unroll}
        for (int i = 0; i < {rows}; ++i) {{
{x_place}          const {x_words}* x = {x_at};
          {x_words} first_plane[{x_loads}], second_plane[{x_loads}];
          {unroll}
          for (int u = 0; u < {x_loads}; ++u) {{
            first_plane[u] = x[u];
            second_plane[u] = x[u + {plane_loads}];
          }}
          {unroll}
          for (int u = 0; u < {piece}; ++u) {{
            const int w = word[a][u / {load_words}].e[u % {load_words}];
{multiply}          }}
        }}
      }}
{pieces_end}      {unroll}
      for (int a = 0; a < {at_once}; ++a) {{
        const int group = first + a * {warps};
        if (group < end) {{
          {unroll}
          for (int i = 0; i < {rows}; ++i) {{
{step_place}            const float step = {step_at};
            sums[group - begin][i][lane] = {group_value};
          }}
          scale[group - begin][lane] = scales[group * scales_group];
        }}
      }}
{counts_are_used}    }}
    {barrier}  // the groups of the chunk are summed
    if (warp < {rows})
      for (int group = 0; group < end - begin; ++group) total = {add_group};
    {barrier}  // all have read them
  }}
  if (warp < {rows} && row < m && own < n) out[((long long)batch * m + row) * n + own] = total;
}}
)";

constexpr std::string_view kMultiplyBytes = R"(            sum[a][i][0] = {high};
            sum[a][i][1] = {low};
)";
// Each half of a byte, less 8: the bits above take up what is borrowed.
constexpr std::string_view kMultiplyHalves =
    R"(            const unsigned low_bits = (unsigned)w & 0x0f0f0f0fu, high_bits = (unsigned)w >> 4 & 0x0f0f0f0fu;
            const int first_half = (int)(((low_bits | 0x80808080u) - 0x08080808u) ^ 0x80808080u);
            const int second_half = (int)(((high_bits | 0x80808080u) - 0x08080808u) ^ 0x80808080u);
            sum[a][i][0] = {high};
            sum[a][i][1] = {low};
)";

// An element by itself, as the definition has it.
constexpr std::string_view kPlain =
    R"({kernel} {name}({global}const {t}* x, {global}const {w}* values, {global}const {t}* scales, {global}{t}* out,
    long long elements, int m, int n, int groups, long long x_batch, long long x_row, long long x_k,
    long long values_batch, long long values_group, long long values_tile, long long values_row,
    long long values_column, long long values_deep, long long scales_batch, long long scales_group,
    long long scales_column) {{
  const long long at = (long long){block} * 256 + {thread};
  if (at >= elements) return;
  const int column = (int)(at % n), row = (int)(at / n % m);
  const long long batch = at / n / m;
  x += batch * x_batch + row * x_row;
  values += batch * values_batch + column / 4 * values_tile + column % 4 * values_column;
  scales += batch * scales_batch + column * scales_column;
  {t} total = 0;
  for (int group = 0; group < groups; ++group) {{
{begin}    for (int l = 0; l < {size}; ++l) {{
      const int r = l % {stored}, w = values[r / {deep} * values_row + r % {deep} * values_deep];
      const int level = {level};
{add}    }}
    const {t} value = {value};
    total = {add_group};
    x += {size} * x_k;
    values += values_group;
    scales += scales_group;
  }}
  out[at] = total;
}}
)";
constexpr std::string_view kPlainBegin = R"(    unsigned largest = 0;
    for (int l = 0; l < {size}; ++l) {{
      const unsigned bits = __float_as_uint(x[l * x_k]) & 0x7fffffffu;
      largest = bits > largest ? bits : largest;
    }}
    const int exponent = {exponent}(largest);
    long long sum = 0;
)";

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

// How a column of a group is read: in loads of neighbouring words, some of which are a piece.
struct Words {
  int64_t load;   // words
  int64_t piece;  // the same
};

// Nothing where weights lie in memory otherwise than a product would write them.
std::optional<Words> words_of(const QuantizedArgs<>& a, bool aligned) {
  const auto& v = a.values;
  const bool lies_as_written = (a.rows == 1 || v.row == 4 * a.deep) && v.column == a.deep && v.deep == 1;
  if (!aligned || a.dtype != DType::F32 || a.deep % 4 != 0 || a.deep > 4 * kMostPiece || !lies_as_written || a.rows < 1)
    return {};
  Words out{a.deep % 16 == 0 ? 4 : a.deep % 8 == 0 ? 2 : 1, 0};
  const int64_t bytes = 4 * out.load;
  if (v.batch % bytes != 0 || v.group % bytes != 0 || v.tile % bytes != 0) return {};
  for (int64_t rows = 1; rows * a.deep <= 4 * kMostPiece; ++rows)
    if (a.rows % rows == 0) out.piece = rows * a.deep / 4;
  return out;
}

// The functions that count x.
struct StepFunctions {
  std::string exponent, count, step;
  StepFunctions(Helpers& helpers, bool four_bits) {
    const Dialect& d = helpers.dialect();
    const int bits = four_bits ? 6 : 14;
    auto fill = [&](std::string_view text, const std::string& name, auto... words) {
      return fmt::format(fmt::runtime(text), fmt::arg("function", d.function), fmt::arg("name", name), words...);
    };
    const std::string product = fmt::format(fmt::runtime(d.f32.mul), "x", "inverse");
    exponent = helpers.function("quantized_exponent", [&](const std::string& name) { return fill(kStep, name); });
    count = helpers.function(fmt::format("quantized_count{}", bits), [&](const std::string& name) {
      return fill(kCountFunction, name, fmt::arg("bits_254", 254 + bits),
                  fmt::arg("rounded", fmt::format(fmt::runtime(d.f32.add), product, "12582912.0f")));
    });
    step = helpers.function(fmt::format("quantized_step{}", bits),
                            [&](const std::string& name) { return fill(kStepValue, name, fmt::arg("bits", bits)); });
  }
};

std::vector<EmittedLaunch> emit_by_groups(const QuantizedArgs<>& a, const Words& words,
                                          const std::vector<int32_t>& buffers, const std::string& prefix,
                                          Helpers& helpers) {
  const Dialect& d = helpers.dialect();
  auto word = [](std::string_view text, auto... x) { return fmt::format(fmt::runtime(text), x...); };
  const StepFunctions functions(helpers, a.four_bits);
  const int64_t stored = a.stored(), groups = a.batch * a.m * a.groups;
  constexpr int64_t kAlign = 256;
  const int64_t plane_bytes = ceil_div(groups * stored * 2, kAlign) * kAlign, workspace = plane_bytes + groups * 4;
  const Parameter planes{Parameter::Workspace}, steps{Parameter::Workspace, 0, false, plane_bytes};

  const int rows = a.m >= 5 ? 8 : a.m >= 3 ? 4 : static_cast<int>(std::max<int64_t>(1, a.m));
  const int64_t row_blocks = ceil_div(a.m, rows), blocks = ceil_div(a.n, kColumns) * row_blocks * a.batch;
  const int warps = blocks < kProcessors ? 16 : 8, chunk = rows == 8 ? 16 : rows == 4 ? 32 : 64;
  const int64_t all_words = stored / 4;
  const bool has_pieces = words.piece < all_words;
  const int at_once = rows <= 2 && !has_pieces ? 4 : 1;
  // Such x take a launch of microseconds to count, and a warp some of its waiting time. Every 32 columns count x again,
  // which pays for small matrices only: with 2048 x 8192 weights the product took five times as long (H200).
  constexpr int64_t kMostWeights = 1 << 22;
  const bool counts_here =
      rows <= 2 && !has_pieces && a.group_size() % kWarp == 0 && a.n * a.groups * a.group_size() <= kMostWeights;
  // Words of x that are read at once: both planes begin at multiples of them.
  const int64_t x_load = std::gcd(std::gcd(words.piece, all_words), int64_t{4});
  auto x_word = [&](const char* plane) { return fmt::format("{0}[u / {1}].e[u % {1}]", plane, x_load); };
  const std::string x_first = x_word("first_plane"), x_second = x_word("second_plane");
  auto dot = [&](std::string_view w, const std::string& x, std::string_view sum) {
    return word(d.dot_bytes, w, x, sum);
  };
  const std::string multiply =
      fmt::format(fmt::runtime(a.four_bits ? kMultiplyHalves : kMultiplyBytes),
                  fmt::arg("high", dot(a.four_bits ? "first_half" : "w", x_first, "sum[a][i][0]")),
                  fmt::arg("low", dot(a.four_bits ? "second_half" : "w", x_second, "sum[a][i][1]")));
  // Sums of a group fit into 32 bits: of counts of 15 bits and a sign with bytes, or of bytes with halves of bytes.
  const bool narrow = a.four_bits ? a.group_size() < (1 << 20) : a.group_size() < 512;
  const std::string exact = a.four_bits
                                ? (narrow ? "sum[a][i][0] + sum[a][i][1]" : "(long long)sum[a][i][0] + sum[a][i][1]")
                            : narrow ? "sum[a][i][0] * 256 + sum[a][i][1]"
                                     : "(long long)sum[a][i][0] * 256 + sum[a][i][1]";
  const std::string value = fmt::format("{}({})", narrow ? "__int2float_rn" : "__ll2float_rn", exact);
  const std::string both = fmt::format(fmt::runtime(kBothBytes), fmt::arg("plane", stored));
  const std::string count_group =
      fmt::format(fmt::runtime(kCountGroup), fmt::arg("size", a.group_size()), fmt::arg("unroll", d.unroll),
                  fmt::arg("other", word(d.shuffle_xor, "largest", "step")), fmt::arg("exponent", functions.exponent),
                  fmt::arg("count", functions.count),
                  fmt::arg("keep", a.four_bits ? "    planes[l] = (signed char)count;\n" : both));
  const Parameter x{Parameter::Buffer, buffers[0]};
  std::vector<EmittedLaunch> out;
  std::vector<Parameter> parameters;
  if (counts_here) {
    parameters = {x, number(a.x.batch, false), number(a.x.row, false), number(a.x.k, false)};
  } else {
    const Schedule counts{
        .kind = Schedule::Routine, .items = groups, .longest = a.group_size(), .blocks = ceil_div(groups, 8)};
    out.push_back(template_launch(kCounts, prefix, counts,
                                  {x, planes, steps, number(groups, false), number(a.groups, true), number(a.m, true),
                                   number(a.x.batch, false), number(a.x.row, false), number(a.x.k, false)},
                                  workspace, helpers, fmt::arg("size", a.group_size()), fmt::arg("plane", stored),
                                  fmt::arg("count_group", count_group), fmt::arg("step", functions.step)));
    parameters = {planes, steps};
  }
  parameters.insert(parameters.end(), {{Parameter::Buffer, buffers[1]},
                                       {Parameter::Buffer, buffers[2]},
                                       {Parameter::Buffer, buffers[3]},
                                       number(a.m, true),
                                       number(a.n, true),
                                       number(a.groups, true),
                                       number(a.values.batch, false),
                                       number(a.values.group, false),
                                       number(a.values.tile, false),
                                       number(a.scales.batch, false),
                                       number(a.scales.group, false),
                                       number(a.scales.column, false)});
  const std::string x_words = helpers.pack(DType::I32, static_cast<int>(x_load));
  // Which of the launch's counts an element takes.
  auto place = [&](int indent, const std::string& group) {
    if (counts_here) return std::string();
    return fmt::format("{}{:{}}const int x_row = first_row + i < m ? first_row + i : m - 1;\n", group, "", indent);
  };
  const std::string count_here = fmt::format(
      fmt::runtime(kCountHere), fmt::arg("at_once", at_once), fmt::arg("rows", rows), fmt::arg("warps", warps),
      fmt::arg("unroll", d.unroll), fmt::arg("global", d.global), fmt::arg("size", a.group_size()),
      fmt::arg("count_group", count_group), fmt::arg("step", functions.step), fmt::arg("warp_barrier", d.warp_barrier));
  Schedule schedule{.kind = Schedule::Routine, .items = a.batch * a.m * a.n, .longest = a.groups};
  schedule.threads = warps * kWarp;
  schedule.blocks = blocks;
  out.push_back(template_launch(
      kProduct, counts_here ? prefix : prefix + "_product", schedule, std::move(parameters),
      counts_here ? 0 : workspace, helpers, fmt::arg("chunk", chunk), fmt::arg("rows", rows), fmt::arg("warps", warps),
      fmt::arg("at_once", at_once), fmt::arg("deep", a.deep),
      fmt::arg("words", helpers.pack(DType::I32, static_cast<int>(words.load))),
      fmt::arg("loads", words.piece / words.load), fmt::arg("loads_of_row", a.deep / 4 / words.load),
      fmt::arg("row_bytes", 4 * a.deep), fmt::arg("load_bytes", 4 * words.load), fmt::arg("load_words", words.load),
      fmt::arg("x_words", x_words),
      fmt::arg("x_parameters",
               counts_here ? fmt::format("{}const float* counted_x, long long x_batch, long long x_line, long long x_k",
                                         d.global)
                           : fmt::format("{0}const int* planes, {0}const float* steps", d.global)),
      fmt::arg("counted", counts_here ? fmt::format("  {}{} counted[{}][{}][{}][{}];\n", d.shared, x_words, warps,
                                                    at_once, rows, 2 * all_words / x_load)
                                      : std::string()),
      fmt::arg("count_here", counts_here ? count_here : std::string()),
      fmt::arg("x_at", counts_here ? std::string("counted[warp][a][i]")
                                   : fmt::format("(const {}*)(planes + (((long long)batch * m + x_row) * groups + "
                                                 "group) * {}{})",
                                                 x_words, 2 * all_words, has_pieces ? " + piece" : "")),
      fmt::arg("x_place", place(10, fmt::format("          const int group = first + a * {0} < end ? first + a * {0} : "
                                                "end - 1;\n",
                                                warps))),
      fmt::arg("step_place", place(12, "")),
      fmt::arg("step_at", counts_here ? "step_of[a][i]" : "steps[((long long)batch * m + x_row) * groups + group]"),
      fmt::arg("counts_are_used",
               counts_here ? fmt::format("      {}  // the counts are used\n", d.warp_barrier) : std::string()),
      fmt::arg("x_loads", words.piece / x_load), fmt::arg("plane_loads", all_words / x_load),
      fmt::arg("piece", words.piece), fmt::arg("multiply", multiply),
      // A piece begins with a row, of which four columns lie side by side.
      fmt::arg("pieces", has_pieces ? fmt::format("      for (int piece = 0; piece < {}; piece += {}) {{\n", all_words,
                                                  words.piece)
                                    : std::string()),
      fmt::arg("pieces_end", has_pieces ? "      }\n" : ""), fmt::arg("piece_bytes", has_pieces ? " + piece * 16" : ""),
      fmt::arg("group_value", word(d.f32.mul, value, "step")),
      fmt::arg("add_group", word(d.f32.fma, "sums[group][warp][lane]", "scale[group][lane]", "total"))));
  return out;
}

std::vector<EmittedLaunch> emit_plain(const QuantizedArgs<>& a, const std::vector<int32_t>& buffers,
                                      const std::string& prefix, Helpers& helpers) {
  const Dialect& d = helpers.dialect();
  auto word = [](std::string_view text, auto... x) { return fmt::format(fmt::runtime(text), x...); };
  const bool wide = a.dtype == DType::F64;
  const int64_t elements = a.batch * a.m * a.n;
  std::string begin, add, value;
  if (wide) {
    begin = "    double sum = 0;\n";
    add = fmt::format("      sum = {};\n", word(d.f64.fma, "x[l * x_k]", "__int2double_rn(level)", "sum"));
    value = "sum";
  } else {
    const StepFunctions functions(helpers, a.four_bits);
    begin = fmt::format(fmt::runtime(kPlainBegin), fmt::arg("size", a.group_size()),
                        fmt::arg("exponent", functions.exponent));
    add = fmt::format("      sum += (long long){}(x[l * x_k], exponent) * level;\n", functions.count);
    value = word(d.f32.mul, "__ll2float_rn(sum)", fmt::format("{}(largest, exponent)", functions.step));
  }
  return {template_launch(
      kPlain, prefix,
      {.kind = Schedule::Routine, .items = elements, .longest = a.groups, .blocks = ceil_div(elements, 256)},
      {{Parameter::Buffer, buffers[0]},
       {Parameter::Buffer, buffers[1]},
       {Parameter::Buffer, buffers[2]},
       {Parameter::Buffer, buffers[3]},
       number(elements, false),
       number(a.m, true),
       number(a.n, true),
       number(a.groups, true),
       number(a.x.batch, false),
       number(a.x.row, false),
       number(a.x.k, false),
       number(a.values.batch, false),
       number(a.values.group, false),
       number(a.values.tile, false),
       number(a.values.row, false),
       number(a.values.column, false),
       number(a.values.deep, false),
       number(a.scales.batch, false),
       number(a.scales.group, false),
       number(a.scales.column, false)},
      0, helpers, fmt::arg("t", type_name(a.dtype)), fmt::arg("w", a.four_bits ? "unsigned char" : "signed char"),
      fmt::arg("size", a.group_size()), fmt::arg("stored", std::max<int64_t>(1, a.stored())),
      fmt::arg("deep", std::max<int64_t>(1, a.deep)),
      fmt::arg("level", a.four_bits ? fmt::format("(l < {} ? w & 15 : w >> 4) - 8", a.stored()) : "w"),
      fmt::arg("begin", begin), fmt::arg("add", add), fmt::arg("value", value),
      fmt::arg("add_group", word(helpers.words(a.dtype).fma, "value", "*scales", "total")))};
}

}  // namespace

// Sums of bytes are counted in 32 bits.
bool has_template(const QuantizedArgs<>& a) {
  constexpr int64_t kMost = int64_t{1} << 30;
  return a.batch * a.m * a.n < kMost && a.batch * a.m * a.groups < kMost && a.group_size() <= 1 << 16;
}

std::vector<EmittedLaunch> emit_quantized(const QuantizedArgs<>& a, const std::vector<int32_t>& buffers,
                                          const std::string& prefix, Helpers& helpers, bool aligned) {
  const std::optional<Words> words = words_of(a, aligned);
  return words ? emit_by_groups(a, *words, buffers, prefix, helpers) : emit_plain(a, buffers, prefix, helpers);
}

}  // namespace sheaf::codegen::gpu
