#include "compiler/inspect.h"

#include <fmt/format.h>

#include <set>

#include "graph/op_def.h"

namespace sheaf::compiler {
namespace {

using runtime::Place;

std::string place_text(const Place& p) {
  constexpr const char* kinds[] = {"input", "constant", "scratch", "output"};
  return p.kind == Place::Scratch
             ? fmt::format("scratch+{}", p.offset)
             : fmt::format("{} {}{}", kinds[p.kind], p.index, p.offset ? fmt::format("+{}", p.offset) : "");
}

std::string at(const Span& span) { return span ? "  ; " + place(span) : ""; }

}  // namespace

std::string groups_text(const std::vector<graph::FusionGroup>& groups) {
  constexpr const char* kinds[] = {"map", "rows", "reduce", "single"};
  std::string out;
  for (const graph::FusionGroup& group : groups) {
    out += fmt::format("group {}{} {{", kinds[group.kind],
                       group.behind   ? " behind its product"
                       : group.before ? " in front of its product"
                                      : "");
    for (const auto& m : group.members)
      out += fmt::format(" {}{}", m.node->op->name, m.stored ? "!" : "");
    out += " }" + at(group.root()->span) + "\n";
  }
  return out;
}

std::string plan_text(const runtime::Executable& e) {
  std::string out = fmt::format("plan: {} launches, {} bytes of scratch, {} constants\n", e.launches.size(),
                                e.scratch_bytes, e.constants.size());
  for (size_t i = 0; i < e.output_buffers.size(); ++i) {
    const auto& b = e.output_buffers[i];
    out += fmt::format("  output {}: {} bytes{}\n", i, b.bytes,
                       b.donor >= 0 ? fmt::format(", may take over input {}", b.donor) : "");
  }
  for (const auto& l : e.launches) {
    out += fmt::format("  {}{} (",
                       l.is_copy    ? "copy: "
                       : l.by_parts ? "part by part: "
                       : l.by_rows  ? "row by row: "
                                    : "",
                       l.name);
    for (size_t i = 0; i < l.buffers.size(); ++i)
      out += (i ? ", " : "") + place_text(l.buffers[i]);
    out += ")" + at(l.span) + "\n";
  }
  return out;
}

std::string native_text(const runtime::Executable& e, codegen::NativeText what) {
  std::string out;
  std::set<CodeKey> seen;
  for (const auto& l : e.launches) {
    auto* k = dynamic_cast<const TieredKernel*>(l.kernel.get());
    if (!k || !k->is_compilable() || !seen.insert(k->key(l.sizes)).second) continue;
    out += fmt::format("; {}{}\n{}\n", l.name, at(l.span), codegen::native_text(k->specialized(l.sizes), what));
  }
  return out;
}

std::vector<Hint> performance_hints(const graph::Graph& g, const Compiled& c) {
  std::vector<Hint> out;
  for (const auto& l : c.executable.launches)
    if (l.is_copy)
      out.push_back({l.span,
                     fmt::format("{} is copied: the op reads it in an order that strides cannot give, or changes it "
                                 "while it is still needed",
                                 l.name),
                     0});
  for (const graph::Node* n : live_nodes(g)) {
    if (n->op->name != "cast" || n->inputs[0].rank() == 0) continue;
    DType from = n->inputs[0].type().dtype, to = n->types[0].dtype;
    int64_t grows = size_bytes(to) - size_bytes(from);
    // A cast that the program has written is no surprise.
    if (grows <= 0 || text_of(n->span).starts_with("(cast")) continue;
    int64_t bytes = grows * checked_num_elems(to_dims(n->types[0].sizes));
    out.push_back({n->span,
                   fmt::format("{} {} becomes {} without being asked to: it meets a wider operand", name_of(from),
                               shape_text(to_dims(n->types[0].sizes)), name_of(to)),
                   bytes});
  }
  return out;
}

}  // namespace sheaf::compiler
