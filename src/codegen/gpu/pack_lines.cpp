#include "codegen/gpu/pack_lines.h"

#include <fmt/format.h>

#include "codegen/gpu/ranges.h"
#include "codegen/gpu/unit_tiles.h"

namespace sheaf::codegen::gpu {
namespace {

constexpr int kThreads = 256;
constexpr int kEach = 4;  // pairs of a thread, so that enough bytes are under way

// Counts are numbers in the text: division by one that only the launch knows takes longer than the copy waits for
// memory. Threads take pairs of neighbours, `line_pairs` of which make a line of the copy.
constexpr std::string_view kPack =
    R"({kernel} {name}({global}const unsigned short* from, {global}unsigned* to, long long batch_step,
    long long line_step, long long step) {{
  {unroll}
  for (int e = 0; e < {each}; ++e) {{
    const {int} pair = (({int}){block} * {each} + e) * {threads} + {thread};
    if (pair < {pairs}) {{
      const {int} line = pair / {line_pairs};
      const int at = (int)(pair - line * {line_pairs}) * 2;
      {global}const unsigned short* x = from + {line_at} + at * step;
      const unsigned left = {is_there}at < {length} ? x[0] : 0, right = {is_there}at + 1 < {length} ? x[step] : 0;
      to[pair] = left | right << 16;
    }}
  }}
}}
)";

// Threads take pairs of neighbours of the copy, which may lie in two lines.
constexpr std::string_view kUnpackPairs =
    R"({kernel} {name}({global}const unsigned short* from, {global}unsigned* to) {{
  {unroll}
  for (int e = 0; e < {each}; ++e) {{
    const {int} pair = (({int}){block} * {each} + e) * {threads} + {thread};
    const {int} i = pair * 2;
    if (i < {elements}) {{
      const {int} line = i / {length};
      const int at = (int)(i - line * {length});
      {global}const unsigned short* x = from + (long long)line * {line_step} + at;
      if (i + 1 < {elements})
        to[pair] = x[0] | (unsigned)(at + 1 < {length} ? x[1] : x[{line_step} - at]) << 16;
      else
        (({global}unsigned short*)to)[i] = x[0];
    }}
  }}
}}
)";
constexpr std::string_view kUnpack =
    R"({kernel} {name}({global}const unsigned* from, {global}unsigned* to) {{
  {unroll}
  for (int e = 0; e < {each}; ++e) {{
    const {int} i = (({int}){block} * {each} + e) * {threads} + {thread};
    if (i < {elements}) {{
      const {int} line = i / {length};
      to[i] = from[(long long)line * {line_step} + (i - line * {length})];
    }}
  }}
}}
)";

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
int64_t batches(const Lines& l) { return l.batch_step == 0 ? 1 : l.batch; }

}  // namespace

OperandLines operand_lines(const routines::GemmArgs<>& g, Factor factor) {
  const bool is_a = factor == Factor::A;
  const auto& s = is_a ? g.a : g.b;
  const int64_t count = is_a ? g.m : g.n, across = is_a ? s.row : s.column, along = is_a ? s.column : s.row;
  const bool along_k = along == 1 || across != 1;
  const int64_t batch_step = g.batch == 1 ? 0 : s.batch;
  return {along_k, along_k ? Lines{g.batch, count, g.k, batch_step, across, along}
                           : Lines{g.batch, g.k, count, batch_step, along, 1}};
}

Lines packed(const Lines& l, int64_t lines) {
  const int64_t line_step = ceil_div(l.length, kUnitPiece) * kUnitPiece;
  return {l.batch, lines, l.length, l.batch_step == 0 ? 0 : lines * line_step, line_step, 1};
}
Lines packed(const Lines& l) { return packed(l, l.lines); }

int64_t packed_bytes(const Lines& copy) { return batches(copy) * copy.lines * copy.line_step * 2; }

EmittedLaunch emit_pack(const Lines& l, const Lines& copy, int32_t buffer, int64_t offset, const std::string& name,
                        Helpers& helpers) {
  const Dialect& d = helpers.dialect();
  const int64_t line_pairs = copy.line_step / 2, pairs = batches(l) * copy.lines * line_pairs;
  const bool narrow = static_cast<double>(pairs) <= ValueRange::kNarrow;
  const std::string line = batches(l) == 1 ? "line" : fmt::format("line % {}", copy.lines);
  const std::string line_at = batches(l) == 1
                                  ? "line * line_step"
                                  : fmt::format("line / {0} * batch_step + line % {0} * line_step", copy.lines);
  EmittedLaunch out;
  out.name = name;
  out.schedule = {.items = pairs, .threads = kThreads, .blocks = ceil_div(pairs, int64_t{kThreads} * kEach)};
  out.workspace_bytes = offset + packed_bytes(copy);
  out.parameters = {{Parameter::Buffer, buffer},
                    {Parameter::Workspace, 0, false, offset},
                    number(l.batch_step, false),
                    number(l.line_step, false),
                    number(l.step, false)};
  out.text = fmt::format(
      "// {}\n{}", print(out.schedule),
      fmt::format(fmt::runtime(kPack), fmt::arg("kernel", d.kernel), fmt::arg("name", name),
                  fmt::arg("global", d.global), fmt::arg("int", narrow ? "int" : "long long"),
                  fmt::arg("unroll", d.unroll), fmt::arg("each", kEach), fmt::arg("block", d.block),
                  fmt::arg("threads", kThreads), fmt::arg("thread", d.thread), fmt::arg("pairs", pairs),
                  fmt::arg("line_pairs", line_pairs), fmt::arg("length", l.length), fmt::arg("line_at", line_at),
                  fmt::arg("is_there", copy.lines == l.lines ? "" : fmt::format("{} < {} && ", line, l.lines))));
  return out;
}

EmittedLaunch emit_unpack(DType type, int64_t count, int64_t length, int64_t line_step, int32_t buffer, int64_t offset,
                          const std::string& name, Helpers& helpers) {
  const Dialect& d = helpers.dialect();
  const bool in_pairs = size_bytes(type) == 2;
  const int64_t elements = count * length, items = in_pairs ? ceil_div(elements, 2) : elements;
  const bool narrow = static_cast<double>(elements) <= ValueRange::kNarrow;
  EmittedLaunch out;
  out.name = name;
  out.schedule = {.items = items, .threads = kThreads, .blocks = ceil_div(items, int64_t{kThreads} * kEach)};
  out.workspace_bytes = offset + count * line_step * size_bytes(type);
  out.parameters = {{Parameter::Workspace, 0, false, offset}, {Parameter::Buffer, buffer}};
  out.text = fmt::format(
      "// {}\n{}", print(out.schedule),
      fmt::format(fmt::runtime(in_pairs ? kUnpackPairs : kUnpack), fmt::arg("kernel", d.kernel), fmt::arg("name", name),
                  fmt::arg("global", d.global), fmt::arg("int", narrow ? "int" : "long long"),
                  fmt::arg("unroll", d.unroll), fmt::arg("each", kEach), fmt::arg("block", d.block),
                  fmt::arg("threads", kThreads), fmt::arg("thread", d.thread), fmt::arg("elements", elements),
                  fmt::arg("length", length), fmt::arg("line_step", line_step)));
  return out;
}

}  // namespace sheaf::codegen::gpu
