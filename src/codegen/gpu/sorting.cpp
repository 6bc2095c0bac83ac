#include "codegen/gpu/sorting.h"

#include <algorithm>
#include <bit>
#include <optional>

#include "codegen/gpu/arithmetic.h"
#include "codegen/gpu/template_launch.h"
#include "support/error.h"

namespace sheaf::codegen::gpu {
namespace {

using routines::SearchArgs;
using routines::SortArgs;

// A place that no element has: of what fills up the rows that a network sorts.
constexpr int64_t kNoPlace = 2147483647;

// An unsigned number that orders as the element of these bits does: both zeros are one, NaN comes last also when
// descending.
constexpr std::string_view kFloatKey = R"({function} {bits} {name}({bits} x) {{
  const {bits} size = x & {rest};
  if (size > {infinity}) return {all};
  if (size == 0) x = 0;
  return (x & {sign} ? {negative} : {positive}) & {all};
}}
)";
constexpr std::string_view kIntKey = R"({function} {bits} {name}({bits} x) {{ return (x ^ {flipped}) & {all}; }}
)";

// A block sorts {size} elements, in groups of {padded}: rows, or segments of `segment` elements of a row. Of each it
// keeps the first `count`. Elements that fill up a group come last.
constexpr std::string_view kNetwork =
    R"({kernel} {name}({global}const {bits}* x, {from}{global}{bits}* values, {global}int* positions,
    long long groups, int n, int segments, int segment, int count) {{
  {shared}{bits} own[{size}];
  {shared}int place[{size}];
  const int thread = {thread};
  const long long first = (long long){block} * {groups_of_block};
  for (int e = thread; e < {size}; e += {threads}) {{
    const long long group = first + e / {padded};
    const int begin = (int)(group % segments) * segment, i = begin + e % {padded};
    const bool is_there = group < groups && e % {padded} < segment && i < n;
    own[e] = is_there ? x[group / segments * n + i] : 0;
    place[e] = is_there ? {place} : {no_place};
  }}
  {barrier}  // the groups are complete
  for (int sorted = 2; sorted <= {padded}; sorted *= 2)
    for (int step = sorted / 2; step > 0; step /= 2) {{
      for (int pair = thread; pair < {size} / 2; pair += {threads}) {{
        const int low = (pair & ~(step - 1)) * 2 + (pair & (step - 1)), high = low + step;
        const bool rises = (low & sorted & ({padded} - 1)) == 0;
        const {bits} a = own[low], b = own[high];
        const int a_place = place[low], b_place = place[high];
        const {bits} a_key = a_place == {no_place} ? {all} : {key}(a), b_key = b_place == {no_place} ? {all} : {key}(b);
        if ((b_key < a_key || (b_key == a_key && b_place < a_place)) == rises) {{
          own[low] = b;
          own[high] = a;
          place[low] = b_place;
          place[high] = a_place;
        }}
      }}
      {barrier}  // the next step has other pairs
    }}
  for (int e = thread; e < {size}; e += {threads}) {{
    const long long group = first + e / {padded};
    const int i = e % {padded};
    if (group < groups && i < count) {{
      values[group * count + i] = own[e];
      positions[group * count + i] = place[e];
    }}
  }}
}}
)";

// How many elements of a tile of a row have each digit.
constexpr std::string_view kCount =
    R"({kernel} {name}({global}const {bits}* x, {global}int* table, int n, int tiles, int shift) {{
  {shared}int counts[256];
  const int thread = {thread};
  const long long row = {block} / tiles;
  const int begin = (int)({block} % tiles) * {tile};
  counts[thread] = 0;
  {barrier}  // all counts are zero
  {unroll}
  for (int e = 0; e < {each}; ++e) {{
    const int i = begin + e * 256 + thread;
    if (i < n) {count};
  }}
  {barrier}  // all have counted
  table[(long long){block} * 256 + thread] = counts[thread];
}}
)";

// From counts to where in the row the first element of each digit of each tile goes. Four threads for each digit have a
// part of the tiles.
constexpr std::string_view kPlaces =
    R"({kernel} {name}({global}int* table, int tiles) {{
  {shared}int sums[4][256], places[256];
  const int digit = {thread} & 255, part = {thread} >> 8;
  const int each = (tiles + 3) / 4, begin = part * each, end = begin + each < tiles ? begin + each : tiles;
  table += (long long){block} * tiles * 256 + digit;
  int sum = 0;
  {unroll_eight}
  for (int tile = begin; tile < end; ++tile) sum += table[(long long)tile * 256];
  sums[part][digit] = sum;
  {barrier}  // the parts are counted
  const int all = sums[0][digit] + sums[1][digit] + sums[2][digit] + sums[3][digit];
  if (part == 0) places[digit] = all;
  {barrier}  // the digits are counted
  for (int step = 1; step < 256; step *= 2) {{
    const int before = digit >= step ? places[digit - step] : 0;
    {barrier}  // all have read
    if (part == 0) places[digit] += before;
    {barrier}  // all have added
  }}
  int place = places[digit] - all;
  for (int p = 0; p < part; ++p) place += sums[p][digit];
  {unroll_eight}
  for (int tile = begin; tile < end; ++tile) {{
    const int count = table[(long long)tile * 256];
    table[(long long)tile * 256] = place;
    place += count;
  }}
}}
)";

// Moves the elements of a tile to their places by one digit, in order. A warp has neighbouring elements, 32 at a time:
// an element's position is the first position of its digit, plus the number of equal digits in earlier warps, in
// earlier iterations, and on lower lanes.
constexpr std::string_view kMove =
    R"({kernel} {name}({global}const {bits}* x, {from}{global}{bits}* values, {global}int* positions,
    {global}const int* table, int n, int tiles, int shift, int count) {{
  {shared}int counts[8][256];
  const int thread = {thread}, lane = thread & 31, warp = thread >> 5;
  const long long row = {block} / tiles;
  const int begin = (int)({block} % tiles) * {tile} + warp * {each} * 32 + lane;
  for (int w = 0; w < 8; ++w) counts[w][thread] = 0;
  {barrier}  // all counts are zero
  {bits} own[{each}];
  int rank[{each}];
  x += row * n;
  {unroll}
  for (int e = 0; e < {each}; ++e) own[e] = begin + e * 32 < n ? x[begin + e * 32] : 0;
  {unroll}
  for (int e = 0; e < {each}; ++e) {{
    const bool is_there = begin + e * 32 < n;
    const int digit = (int)({key}(own[e]) >> shift) & 255;
    unsigned same = {is_there};
    {unroll}
    for (int bit = 0; bit < 8; ++bit) {{
      const unsigned ones = {has_bit};
      same &= digit >> bit & 1 ? ones : ~ones;
    }}
    const int before = counts[warp][digit];
    rank[e] = before + {lanes_before};
    {warp_barrier}  // all have read
    if (is_there && same >> lane == 1) counts[warp][digit] = before + {lanes};
    {warp_barrier}  // the counts are those after this turn
  }}
  {barrier}  // all warps have counted
  int place = table[(long long){block} * 256 + thread];
  for (int w = 0; w < 8; ++w) {{
    const int own_count = counts[w][thread];
    counts[w][thread] = place;
    place += own_count;
  }}
  {barrier}  // the places are known
  {unroll}
  for (int e = 0; e < {each}; ++e) {{
    const int i = begin + e * 32, to = counts[warp][(int)({key}(own[e]) >> shift) & 255] + rank[e];
    if (i < n && to < count) {{
      values[row * count + to] = own[e];
      positions[row * count + to] = {place};
    }}
  }}
}}
)";

constexpr std::string_view kSearch =
    R"({kernel} {name}({global}const {s}* sorted, {global}const {s}* x, {global}int* positions, long long elements,
    long long count, int n) {{
  const long long at = (long long){block} * 256 + {thread};
  if (at >= elements) return;
  sorted += at / count * n;
  const {t} own = {own};
  int low = 0, high = n;
  while (low < high) {{
    const int middle = low + (high - low) / 2;
    const {t} other = {other};
    if ({comes_first})
      high = middle;
    else
      low = middle + 1;
  }}
  positions[at] = low;
}}
)";

constexpr int64_t kEach = 16;           // elements of a thread in a pass by digits
constexpr int64_t kTile = 256 * kEach;  // of a block
constexpr int64_t kFewest = 1024;       // elements of a row that are kept at most by way of segments

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

std::string_view bits_name(DType d) {
  switch (size_bytes(d)) {
    case 1: return "unsigned char";
    case 2: return "unsigned short";
    case 4: return "unsigned";
    default: return "unsigned long long";
  }
}

class Sorter {
 public:
  Sorter(const SortArgs<>& a, const std::vector<int32_t>& buffers, const std::string& prefix, Helpers& helpers)
      : a_(a), prefix_(prefix), helpers_(helpers), bytes_(size_bytes(a.dtype)) {
    x_ = {Parameter::Buffer, buffers[0]};
    values_ = {Parameter::Buffer, buffers[1]};
    positions_ = {Parameter::Buffer, buffers[2]};
  }

  std::vector<EmittedLaunch> run() {
    if (a_.n <= kSortedByBlock)
      network(a_.n, a_.count, std::nullopt, {values_, positions_});
    else if (a_.count <= kFewest)
      by_segments();
    else
      by_digits();
    for (EmittedLaunch& l : out_)
      l.workspace_bytes = workspace_bytes_;
    return std::move(out_);
  }

 private:
  // Elements and their places.
  struct Items {
    Parameter values, positions;
  };

  Parameter take(int64_t bytes) {
    constexpr int64_t kAlign = 256;
    const int64_t at = workspace_bytes_;
    workspace_bytes_ += ceil_div(bytes, kAlign) * kAlign;
    return {Parameter::Workspace, 0, false, at};
  }
  Items take_items(int64_t count) { return {take(count * bytes_), take(count * 4)}; }

  std::string hex(uint64_t x) const { return fmt::format("{:#x}{}", x, bytes_ == 8 ? "ull" : "u"); }
  uint64_t all() const { return ~uint64_t{0} >> (64 - 8 * bytes_); }

  std::string key() {
    return helpers_.function(
        fmt::format("{}key_of_{}", a_.descending ? "falling_" : "", sheaf::name_of(a_.dtype)),
        [&](const std::string& name) {
          const uint64_t sign = uint64_t{1} << (8 * bytes_ - 1);
          auto fill = [&](std::string_view text, auto... words) {
            return fmt::format(fmt::runtime(text), fmt::arg("function", helpers_.dialect().function),
                               fmt::arg("bits", bits_name(a_.dtype)), fmt::arg("name", name),
                               fmt::arg("all", hex(all())), words...);
          };
          if (!is_float(a_.dtype)) {
            const bool has_sign =
                a_.dtype == DType::I8 || a_.dtype == DType::I16 || a_.dtype == DType::I32 || a_.dtype == DType::I64;
            return fill(kIntKey, fmt::arg("flipped", hex((has_sign ? sign : 0) ^ (a_.descending ? all() : 0))));
          }
          const uint64_t infinity = a_.dtype == DType::F64    ? 0x7ff0000000000000
                                    : a_.dtype == DType::F32  ? 0x7f800000
                                    : a_.dtype == DType::BF16 ? 0x7f80
                                                              : 0x7c00;
          const std::string flipped = "x ^ " + hex(sign);
          return fill(kFloatKey, fmt::arg("sign", hex(sign)), fmt::arg("rest", hex(sign - 1)),
                      fmt::arg("infinity", hex(infinity)), fmt::arg("negative", a_.descending ? "x" : "~x"),
                      fmt::arg("positive", a_.descending ? "~(" + flipped + ")" : flipped));
        });
  }

  // What the text of a launch takes of its items: `from` is none where an element's place is where it stands.
  EmittedLaunch& launch(std::string_view text, const Schedule& schedule, std::vector<Parameter> parameters,
                        bool has_places, auto... words) {
    const std::string name = out_.empty() ? prefix_ : fmt::format("{}_{}", prefix_, out_.size());
    const std::string from = fmt::format("{}const int* from, ", helpers_.dialect().global);
    return out_.emplace_back(template_launch(
        text, name, schedule, std::move(parameters), 0, helpers_, fmt::arg("bits", bits_name(a_.dtype)),
        fmt::arg("from", has_places ? from : ""), fmt::arg("key", key()), fmt::arg("all", hex(all())), words...));
  }

  // Sorts segments of rows of n elements, and keeps `count` of each.
  void network(int64_t n, int64_t count, const std::optional<Items>& from, const Items& to) {
    const int64_t segments = std::max<int64_t>(1, ceil_div(n, kSortedByBlock)), segment = std::min(n, kSortedByBlock),
                  groups = a_.rows * segments;
    const auto padded = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(std::max<int64_t>(2, segment))));
    constexpr int64_t kLeast = 512;
    const int64_t size = std::max(padded, kLeast), groups_of_block = size / padded;
    Schedule s{.kind = Schedule::Routine, .items = groups, .longest = n};
    s.threads = static_cast<int>(size / 4);
    s.blocks = count == 0 ? 0 : ceil_div(groups, groups_of_block);
    std::vector<Parameter> parameters{from ? from->values : x_};
    if (from) parameters.push_back(from->positions);
    parameters.insert(parameters.end(), {to.values, to.positions, number(groups, false), number(n, true),
                                         number(segments, true), number(segment, true), number(count, true)});
    launch(kNetwork, s, std::move(parameters), from.has_value(), fmt::arg("size", size), fmt::arg("padded", padded),
           fmt::arg("groups_of_block", groups_of_block), fmt::arg("threads", s.threads), fmt::arg("no_place", kNoPlace),
           fmt::arg("place", from ? "from[group / segments * n + i]" : "i"));
  }

  void by_segments() {
    std::optional<Items> from;
    int64_t n = a_.n;
    while (n > kSortedByBlock) {
      const int64_t kept = ceil_div(n, kSortedByBlock) * a_.count;
      const Items to = take_items(a_.rows * kept);
      network(n, a_.count, from, to);
      from = to;
      n = kept;
    }
    network(n, a_.count, from, {values_, positions_});
  }

  void by_digits() {
    const int64_t tiles = ceil_div(a_.n, kTile), blocks = a_.rows * tiles;
    // The last pass writes to values, which may be where x is: it never reads from there.
    const int passes = std::max(2, bytes_);
    const Items kept[] = {take_items(a_.rows * a_.n), take_items(a_.rows * a_.n)};
    const Parameter table = take(blocks * 256 * 4);
    const Dialect& d = helpers_.dialect();
    auto word = [](std::string_view text, auto... x) { return fmt::format(fmt::runtime(text), x...); };
    const Schedule tile{.kind = Schedule::Routine, .items = a_.rows * a_.n, .longest = a_.n, .blocks = blocks},
        row{.kind = Schedule::Routine, .items = a_.rows, .longest = tiles, .threads = 1024, .blocks = a_.rows};
    for (int pass = 0; pass < passes; ++pass) {
      const bool first = pass == 0, last = pass + 1 == passes;
      const Items from = first ? Items{x_, {}} : kept[pass % 2],
                  to = last ? Items{values_, positions_} : kept[1 - pass % 2];
      const Parameter shift = number(std::min(8 * pass, 8 * bytes_ - 1), true);
      launch(kCount, tile, {from.values, table, number(a_.n, true), number(tiles, true), shift}, false,
             fmt::arg("tile", kTile), fmt::arg("each", kEach),
             fmt::arg("count",
                      word(d.atomic_add, fmt::format("&counts[(int)({}(x[row * n + i]) >> shift) & 255]", key()), 1)));
      launch(kPlaces, row, {table, number(tiles, true)}, false, fmt::arg("unroll_eight", d.unroll_by(8)));
      std::vector<Parameter> parameters{from.values};
      if (!first) parameters.push_back(from.positions);
      parameters.insert(parameters.end(), {to.values, to.positions, table, number(a_.n, true), number(tiles, true),
                                           shift, number(last ? a_.count : a_.n, true)});
      launch(kMove, tile, std::move(parameters), !first, fmt::arg("tile", kTile), fmt::arg("each", kEach),
             fmt::arg("is_there", word(d.ballot, "is_there")), fmt::arg("has_bit", word(d.ballot, "digit >> bit & 1")),
             fmt::arg("lanes_before", word(d.count_bits, "same & ((1u << lane) - 1)")),
             fmt::arg("lanes", word(d.count_bits, "same")), fmt::arg("place", first ? "i" : "from[row * n + i]"));
    }
  }

  const SortArgs<>& a_;
  std::string prefix_;
  Helpers& helpers_;
  int bytes_;
  Parameter x_, values_, positions_;
  int64_t workspace_bytes_ = 0;
  std::vector<EmittedLaunch> out_;
};

}  // namespace

bool has_template(const SortArgs<>& a) {
  constexpr int64_t kMost = int64_t{1} << 30;
  return a.n < kMost && a.rows < kMost && a.rows * ceil_div(std::max<int64_t>(1, a.n), kTile) < kMost;
}
bool has_template(const SearchArgs<>& a) {
  constexpr int64_t kMost = int64_t{1} << 30;
  return a.n < kMost && a.rows * a.count < kMost;
}

std::vector<EmittedLaunch> emit_sort(const SortArgs<>& a, const std::vector<int32_t>& buffers,
                                     const std::string& prefix, Helpers& helpers) {
  return Sorter(a, buffers, prefix, helpers).run();
}

std::vector<EmittedLaunch> emit_search(const SearchArgs<>& a, const std::vector<int32_t>& buffers,
                                       const std::string& prefix, Helpers& helpers) {
  const DType type = compute_type(a.dtype);
  const int64_t elements = a.rows * a.count;
  auto load = [&](const char* x) {
    return type == a.dtype ? std::string(x)
                           : Arithmetic(helpers).apply({loop::Op::Convert, type, a.dtype}, {x, "", ""});
  };
  // NaN is greater than every number.
  auto before = [&](const char* x, const char* y) {
    return is_real(type) ? fmt::format("{0} < {1} || ({0} == {0} && {1} != {1})", x, y) : fmt::format("{} < {}", x, y);
  };
  return {
      template_launch(kSearch, prefix,
                      {.kind = Schedule::Routine, .items = elements, .longest = a.n, .blocks = ceil_div(elements, 256)},
                      {{Parameter::Buffer, buffers[0]},
                       {Parameter::Buffer, buffers[1]},
                       {Parameter::Buffer, buffers[2]},
                       number(elements, false),
                       number(a.count, false),
                       number(a.n, true)},
                      0, helpers, fmt::arg("s", type_name(a.dtype)), fmt::arg("t", type_name(type)),
                      fmt::arg("own", load("x[at]")), fmt::arg("other", load("sorted[middle]")),
                      fmt::arg("comes_first", a.right ? before("own", "other") : "!(" + before("other", "own") + ")"))};
}

}  // namespace sheaf::codegen::gpu
