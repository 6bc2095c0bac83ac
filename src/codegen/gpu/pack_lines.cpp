#include "codegen/gpu/pack_lines.h"

#include <fmt/format.h>

#include "codegen/gpu/ranges.h"
#include "codegen/gpu/unit_tiles.h"

namespace sheaf::codegen::gpu {
namespace {

constexpr int kThreads = 256;
constexpr int kEach = 4;  // pairs of a thread, so that enough bytes are under way

// Threads take pairs of neighbours, `line_pairs` of which make a line of the copy.
constexpr std::string_view kPack =
    R"({kernel} {name}({global}const unsigned short* from, {global}unsigned* to, {int} lines, {int} pairs, int length,
    {int} line_pairs, long long batch_step, long long line_step, long long step) {{
  {unroll}
  for (int e = 0; e < {each}; ++e) {{
    const {int} pair = (({int}){block} * {each} + e) * {threads} + {thread};
    if (pair < pairs) {{
      const {int} line = pair / line_pairs;
      const int at = (int)(pair - line * line_pairs) * 2;
      {global}const unsigned short* x = from + line / lines * batch_step + line % lines * line_step + at * step;
      const unsigned left = at < length ? x[0] : 0, right = at + 1 < length ? x[step] : 0;
      to[pair] = left | right << 16;
    }}
  }}
}}
)";

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
int64_t batches(const Lines& l) { return l.batch_step == 0 ? 1 : l.batch; }

}  // namespace

Lines packed(const Lines& l) {
  const int64_t line_step = ceil_div(l.length, kUnitPiece) * kUnitPiece;
  return {l.batch, l.lines, l.length, l.batch_step == 0 ? 0 : l.lines * line_step, line_step, 1};
}

int64_t packed_bytes(const Lines& l) { return batches(l) * l.lines * packed(l).line_step * 2; }

Launch emit_pack(const Lines& l, int32_t buffer, int64_t offset, const std::string& name, Helpers& helpers) {
  const Dialect& d = helpers.dialect();
  const int64_t line_pairs = packed(l).line_step / 2, pairs = batches(l) * l.lines * line_pairs;
  const bool narrow = static_cast<double>(pairs) <= Range::kNarrow;
  Launch out;
  out.name = name;
  out.schedule = {.items = pairs, .threads = kThreads, .blocks = ceil_div(pairs, int64_t{kThreads} * kEach)};
  out.workspace_bytes = offset + packed_bytes(l);
  out.parameters = {{Parameter::Buffer, buffer}, {Parameter::Workspace, 0, false, offset},
                    number(l.lines, narrow),     number(pairs, narrow),
                    number(l.length, true),      number(line_pairs, narrow),
                    number(l.batch_step, false), number(l.line_step, false),
                    number(l.step, false)};
  out.text = fmt::format("// {}\n{}", print(out.schedule),
                         fmt::format(fmt::runtime(kPack), fmt::arg("kernel", d.kernel), fmt::arg("name", name),
                                     fmt::arg("global", d.global), fmt::arg("int", narrow ? "int" : "long long"),
                                     fmt::arg("unroll", d.unroll), fmt::arg("each", kEach), fmt::arg("block", d.block),
                                     fmt::arg("threads", kThreads), fmt::arg("thread", d.thread)));
  return out;
}

}  // namespace sheaf::codegen::gpu
