#include "codegen/gpu/remaining_terms.h"

#include <fmt/format.h>

#include "codegen/gpu/ranges.h"

namespace sheaf::codegen::gpu {
namespace {

constexpr int kThreads = 256;
constexpr int kEach = 4;  // elements of a thread

constexpr std::string_view kAdd =
    R"({kernel} {name}({global}const unsigned short* a, {global}const unsigned short* b, {global}float* c,
    long long a_batch, long long a_row, long long a_column, long long b_batch, long long b_row, long long b_column) {{
  {unroll}
  for (int e = 0; e < {each}; ++e) {{
    const {int} i = (({int}){block} * {each} + e) * {threads} + {thread};
    if (i < {elements}) {{
      const {int} line = i / {columns}, batch = line / {rows};
      const int column = (int)(i - line * {columns}), row = (int)(line - batch * {rows});
      {global}const unsigned short* x = a + batch * a_batch + row * a_row + {first} * a_column;
      {global}const unsigned short* y = b + batch * b_batch + {first} * b_row + column * b_column;
      {global}float* to = c + (long long)line * {c_line_step} + column;
      float sum = *to;
      {unroll}
      for (int l = 0; l < {terms}; ++l) sum = {multiplied};
      *to = sum;
    }}
  }}
}}
)";

}  // namespace

EmittedLaunch emit_remaining_terms(const routines::GemmArgs<>& g, int64_t first, const std::vector<int32_t>& buffers,
                                   const Parameter& c, int64_t c_line_step, const std::string& name, Helpers& helpers) {
  const Dialect& d = helpers.dialect();
  const int64_t elements = g.batch * g.m * g.n, a_batch = g.batch == 1 ? 0 : g.a.batch,
                b_batch = g.batch == 1 ? 0 : g.b.batch;
  const bool narrow = static_cast<double>(elements) <= ValueRange::kNarrow;
  const std::string widen = helpers.conversion(g.dtype, DType::F32);
  const std::string multiplied = fmt::format(fmt::runtime(helpers.words(DType::F32).fma), widen + "(x[l * a_column])",
                                             widen + "(y[l * b_row])", "sum");
  EmittedLaunch out;
  out.name = name;
  out.schedule = {.items = elements,
                  .threads = kThreads,
                  .blocks = (elements + int64_t{kThreads} * kEach - 1) / (int64_t{kThreads} * kEach)};
  out.parameters = {{Parameter::Buffer, buffers[0]}, {Parameter::Buffer, buffers[1]}, c,
                    number(a_batch, false),          number(g.a.row, false),          number(g.a.column, false),
                    number(b_batch, false),          number(g.b.row, false),          number(g.b.column, false)};
  out.text = fmt::format("// {}\n{}", print(out.schedule),
                         fmt::format(fmt::runtime(kAdd), fmt::arg("kernel", d.kernel), fmt::arg("name", name),
                                     fmt::arg("global", d.global), fmt::arg("int", narrow ? "int" : "long long"),
                                     fmt::arg("unroll", d.unroll), fmt::arg("each", kEach), fmt::arg("block", d.block),
                                     fmt::arg("threads", kThreads), fmt::arg("thread", d.thread),
                                     fmt::arg("elements", elements), fmt::arg("columns", g.n), fmt::arg("rows", g.m),
                                     fmt::arg("first", first), fmt::arg("terms", g.k - first),
                                     fmt::arg("c_line_step", c_line_step), fmt::arg("multiplied", multiplied)));
  return out;
}

}  // namespace sheaf::codegen::gpu
