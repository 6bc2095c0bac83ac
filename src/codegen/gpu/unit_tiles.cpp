#include "codegen/gpu/unit_tiles.h"

#include <fmt/format.h>

#include <algorithm>

#include "support/error.h"

namespace sheaf::codegen::gpu {
namespace {

// Lines [first_line, first_line + {lines}), of each the elements [first, first + {length}). Zeros stand beyond `lines`
// and `end`: terms that are 0 times 0.
constexpr std::string_view kLoad =
    R"({function} void {name}(unsigned short* tile, {global}const unsigned short* from, int thread, int first_line,
    int lines, long long line_step, int first, int end, long long step) {{
{whole}  {unroll}
  for (int e = 0; e < {each}; ++e) {{
    const int piece = thread + e * {threads};
{guard}    const int line = piece / {per_line}, at = piece % {per_line} * {unit};
{copy}  }}
}}
)";
// A tile that is all there. The lines of a thread are as far apart as what swaps their pieces repeats.
constexpr std::string_view kWhole =
    R"(  if (first_line + {lines} <= lines && end - first >= {length}) {{
    const int line = thread / {per_line}, at = thread % {per_line} * {unit};
    unsigned short* const to = tile + {place};
    {global}const unsigned short* source = from + (first_line + line) * line_step + first + at;
    {unroll}
    for (int e = 0; e < {each}; ++e) {{
      copy_async<{bytes}>(to + e * {apart} * {length}, source, {bytes});
      source += {apart} * line_step;
    }}
    return;
  }}
)";
constexpr std::string_view kCopyPiece =
    R"(    const int left = first_line + line < lines ? end - first - at : 0;
    copy_async<{bytes}>(tile + {place}, left > 0 ? from + (first_line + line) * line_step + first + at : from,
                        left >= {unit} ? {bytes} : left > 0 ? 2 * left : 0);
)";
constexpr std::string_view kCopyElement =
    R"(    const bool is_there = first_line + line < lines && first + at < end;
    tile[{place}] = is_there ? from[(first_line + line) * line_step + (first + at) * step] : 0;
)";

}  // namespace

UnitTile unit_tile(int lines, int length, int64_t line_step, int64_t step, std::initializer_list<int64_t> other,
                   bool aligned) {
  UnitTile t{lines, length, line_step, step, 1};
  if (!aligned || step != 1) return t;
  for (int unit : {2, 4, 8})
    if (line_step % unit == 0 && std::all_of(other.begin(), other.end(), [&](int64_t s) { return s % unit == 0; }))
      t.unit = unit;
  return t;
}

std::string place(const UnitTile& t, const std::string& line, const std::string& piece) {
  const std::string swap = t.length >= 64 ? fmt::format("({} & 7)", line) : fmt::format("(({} >> 1) & 3)", line);
  return fmt::format("{} * {} + (({}) ^ {}) * 8", line, t.length, piece, swap);
}

std::string load_tile(const UnitTile& t, int threads, Helpers& helpers) {
  const int per_line = t.length / t.unit, pieces = t.lines * per_line, each = (pieces + threads - 1) / threads;
  return helpers.function(
      fmt::format("load_{}x{}_by_{}_{}", t.lines, t.length, t.unit, threads), [&](const std::string& name) {
        const std::string at = place(t, "line", "at / 8") + (t.unit < 8 ? " + at % 8" : "");
        const std::string copy =
            fmt::format(fmt::runtime(t.unit == 1 ? kCopyElement : kCopyPiece), fmt::arg("place", at),
                        fmt::arg("unit", t.unit), fmt::arg("bytes", 2 * t.unit));
        const Dialect& d = helpers.dialect();
        const int apart = threads / per_line;
        std::string whole;
        if (t.unit > 1 && pieces % threads == 0 && threads % per_line == 0 && apart % 8 == 0)
          whole = fmt::format(fmt::runtime(kWhole), fmt::arg("lines", t.lines), fmt::arg("length", t.length),
                              fmt::arg("per_line", per_line), fmt::arg("unit", t.unit), fmt::arg("place", at),
                              fmt::arg("global", d.global), fmt::arg("unroll", d.unroll), fmt::arg("each", each),
                              fmt::arg("bytes", 2 * t.unit), fmt::arg("apart", apart));
        // The addresses of many pieces at once would fill the registers that sums need.
        return fmt::format(
            fmt::runtime(kLoad), fmt::arg("function", d.function), fmt::arg("name", name), fmt::arg("global", d.global),
            fmt::arg("unroll", each <= 4 ? std::string(d.unroll) : d.unroll_by(2)), fmt::arg("each", each),
            fmt::arg("threads", threads), fmt::arg("per_line", per_line),
            fmt::arg("guard", pieces % threads == 0 ? "" : fmt::format("    if (piece >= {}) break;\n", pieces)),
            fmt::arg("unit", t.unit), fmt::arg("copy", copy), fmt::arg("whole", whole));
      });
}

}  // namespace sheaf::codegen::gpu
