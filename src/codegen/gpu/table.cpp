#include "codegen/gpu/table.h"

#include <fmt/format.h>

#include <algorithm>

#include "support/error.h"

namespace sheaf::codegen::gpu {
namespace {

// The parts of a kernel's text: launch bounds, parameters, and body.
struct Pieces {
  std::string bounds, parameters, body;
};

Pieces pieces_of(const EmittedLaunch& l, const Dialect& d) {
  constexpr std::string_view kEnd = ") {\n";
  const size_t kernel = l.text.find(d.kernel), name = l.text.find(l.name + "(", kernel),
               parameters = name + l.name.size() + 1, end = l.text.find(kEnd, parameters);
  INVARIANT(end != std::string::npos, "a kernel without a head:\n" << l.text);
  const size_t bounds = kernel + d.kernel.size() + 1;
  return {l.text.substr(bounds, name - bounds), l.text.substr(parameters, end - parameters),
          l.text.substr(end + kEnd.size())};
}

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

// Calls f(type, index) for each parameter of a head.
template <class F>
void each_parameter(const std::string& head, F f) {
  int index = 0;
  for (size_t at = 0; at < head.size(); ++index) {
    const size_t end = std::min(head.find(',', at), head.size());
    const std::string one = head.substr(at, end - at);
    const size_t first = one.find_first_not_of(" \n");
    f(one.substr(first, one.rfind(' ') - first), index);
    at = end + 1;
  }
}

}  // namespace

bool fits_table(const EmittedLaunch& l) {
  return l.schedule.blocks > 0 && l.workspace_bytes == 0 &&
         std::none_of(l.parameters.begin(), l.parameters.end(), [](const Parameter& p) {
           return p.kind == Parameter::Check || p.kind == Parameter::Step || p.kind == Parameter::Workspace;
         });
}

std::optional<EmittedLaunch> make_table(std::span<const EmittedLaunch> parts, int buffers, int sizes,
                                        const Dialect& d) {
  auto text_of = [](const EmittedLaunch& l) { return l.text.substr(l.text.find('\n') + 1); };
  const auto fields = static_cast<int64_t>(parts[0].parameters.size()) + 1;  // of an entry: the last is its first block
  const auto count = static_cast<int64_t>(parts.size());
  if (fields * count * 8 > kMaxParameterBytes) return std::nullopt;
  EmittedLaunch out = parts[0];
  out.schedule.blocks = 0;
  out.parameters.clear();
  for (size_t i = 0; i < parts.size(); ++i) {
    if (!fits_table(parts[i]) || text_of(parts[i]) != text_of(parts[0]) ||
        parts[i].schedule.threads != out.schedule.threads)
      return std::nullopt;
    for (Parameter p : parts[i].parameters) {
      if (p.kind == Parameter::Buffer) p.index += static_cast<int>(i) * buffers;
      if (p.kind == Parameter::Size) p.index += static_cast<int>(i) * sizes;
      out.parameters.push_back(p);
    }
    out.parameters.push_back(number(out.schedule.blocks, false));
    out.schedule.blocks += parts[i].schedule.blocks;
  }
  if (out.schedule.blocks > ValueRange::kNarrow) return std::nullopt;
  const Pieces pieces = pieces_of(parts[0], d);
  if (pieces.body.find(d.num_blocks) != std::string::npos) return std::nullopt;  // it counts on a grid of its own
  std::string arguments;
  each_parameter(pieces.parameters, [&](const std::string& type, int index) {
    arguments += fmt::format("({})table.x[entry + {}], ", type, index);
  });
  int64_t half = 1;
  while (2 * half < count)
    half *= 2;
  out.name = parts[0].name + "_table";
  out.text = fmt::format(
      "// {0}\n{1} void {2}_entry({3}, const int table_block) {{\n{4}\n"
      "struct {2}_entries {{\n  long long x[{5}];\n}};\n\n"
      "{6} {7}{8}(const {9}{2}_entries table) {{\n"
      "  // The last entry whose first block is not beyond this one.\n"
      "  int part = 0;\n  for (int step = {10}; step > 0; step /= 2)\n"
      "    if (part + step < {11} && {12} >= table.x[(part + step) * {13} + {14}]) part += step;\n"
      "  const int entry = part * {13};\n"
      "  {2}_entry({15}{12} - (int)table.x[entry + {14}]);\n}}\n",
      print(out.schedule), d.function, parts[0].name, pieces.parameters, replaced(pieces.body, d.block, "table_block"),
      fields * count, d.kernel, pieces.bounds, out.name, d.by_value, half, count, d.block, fields, fields - 1,
      arguments);
  return out;
}

}  // namespace sheaf::codegen::gpu
