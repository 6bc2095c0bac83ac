// A warp has 32 items and owns some of the places: it looks at the places of 256 iterations at a time and does those
// that are its own, in order. They wait until there are several: what these read is read at once, as only the element
// that they change has an order. It stays in a register while its place does not change.
#include <fmt/format.h>

#include <algorithm>

#include "codegen/gpu/access.h"
#include "codegen/gpu/emitter.h"

namespace sheaf::codegen::gpu {

using loop::Op;

namespace {

constexpr int kChunks = 8;  // of 32 iterations, whose places are read at once
constexpr int kAtOnce = 8;  // iterations whose operands are read at once

}  // namespace

void Emitter::scatter() {
  const Dialect& d = helpers_.dialect();
  const Stmts nest = nest_of(k_, *part_.stmts[0], sizes_);
  const Scatter s = scatter_of(k_, nest, sizes_).value();
  const bool is_int = static_cast<double>(s_.items) <= ValueRange::kNarrow;
  const std::string total = product(nest), flat = nest.size() == 1 ? fmt::format("i{}", nest[0]->axis) : "item",
                    type = is_int ? "int" : "long long";
  line(fmt::format("const int lane = {} & 31;", d.thread));
  line(fmt::format("const {0} warp = ({0}){1} * {2} + {3} / 32;", type, d.block, s_.threads / kWarp, d.thread));
  line(fmt::format("const int owner = (int)(warp % {});", s_.owners));
  line(fmt::format("const {} items = {};", type, total));
  line(fmt::format("const {} own = warp / {} * {} + lane;", type, s_.owners, kWarp));
  line("if (own - lane >= items) return;");
  // Lanes without an item take the last one, as all meet at the ballots; they store nothing.
  line(fmt::format("const {} {} = own < items ? own : items - 1;", type, flat));
  const loop::Block& body = open_nest(nest, flat, is_int);
  for (const Stmt& t : body)
    if (&t != s.loop) stmt(t);
  ensure(s.loop->extent);
  const std::string n = ref(s.loop->extent), i = fmt::format("i{}", s.loop->axis),
                    index = integer(ranges_.of(s.loop->extent).high + kChunks * kWarp),
                    element = std::string(type_name(k_.buffers[static_cast<size_t>(s.store->id)].dtype));
  used_buffers_.insert(s.store->id);
  if (s.old != loop::kNoValue) {
    line(fmt::format("{} to = -1;", int_name(s.store->offset)));
    line(fmt::format("{} stored;", element));
  }
  line(fmt::format("{}{} waiting_of[{}][{}];", d.shared, index, s_.threads / kWarp, kAtOnce + kChunks * kWarp));
  line(fmt::format("{}* const waiting = waiting_of[{} / 32];", index, d.thread));
  line("int count = 0;");
  open(fmt::format("for ({0} base = 0; base < {1}; base += {2}) {{", index, n, kChunks * kWarp));
  const std::vector<std::string> names = names_;
  line(fmt::format("bool is_own[{}];", kChunks));
  line(d.unroll);
  open(fmt::format("for (int chunk = 0; chunk < {}; ++chunk) {{", kChunks));
  line(fmt::format("const {} at = base + chunk * 32 + lane;", index));
  line(fmt::format("const {0} {1} = at < {2} ? at : {2} - 1;", index, i, n));
  print_for(pointers(s.loop->body), s.place);
  line(fmt::format("is_own[chunk] = at < {} && ((int){} & {}) == owner;", n, ref(s.place), s_.owners - 1));
  close();
  names_ = names;
  line(d.unroll);
  open(fmt::format("for (int chunk = 0; chunk < {}; ++chunk) {{", kChunks));
  line(fmt::format("const unsigned mine = {};", fmt::format(fmt::runtime(d.ballot), "is_own[chunk]")));
  line(fmt::format("if (is_own[chunk]) waiting[count + {}] = base + chunk * 32 + lane;",
                   fmt::format(fmt::runtime(d.count_bits), "mine & ((1u << lane) - 1)")));
  line(fmt::format("count += {};", fmt::format(fmt::runtime(d.count_bits), "mine")));
  close();
  line(d.warp_barrier);
  line("int done = 0;");
  open(fmt::format("for (; done + {0} <= count || (base + {1} >= {2} && done < count); done += {0}) {{", kAtOnce,
                   kChunks * kWarp, n));
  iterations(s);
  close();
  // Those that are left wait in front.
  line(fmt::format("const {} rest = lane < count - done ? waiting[done + lane] : 0;", index));
  line(d.warp_barrier);
  line("if (lane < count - done) waiting[lane] = rest;");
  line("count = count > done ? count - done : 0;");
  close();
  if (s.old != loop::kNoValue) line(fmt::format("if (to >= 0 && own < items) b{}[to] = stored;", s.store->id));
}

// Those that wait, from `done` on, at most kAtOnce.
void Emitter::iterations(const Scatter& s) {
  const Dialect& d = helpers_.dialect();
  const std::string i = fmt::format("i{}", s.loop->axis), index = integer(ranges_.of(s.loop->extent).high);
  const std::vector<std::string> names = names_;
  // What the changed element is combined with, and where it is.
  std::vector<ValueId> operands = {s.store->offset};
  std::set<ValueId> after;  // values that need the old element
  if (s.old != loop::kNoValue) after.insert(s.old);
  auto add_operand = [&](ValueId v) {
    const Op op = k_.values[v].op;
    if (after.count(v) || op == Op::Const || op == Op::Size || !depends_on(k_, v, s.loop->axis)) return;
    if (std::find(operands.begin(), operands.end(), v) == operands.end()) operands.push_back(v);
  };
  for (const Stmt& t : s.loop->body) {
    if (t.kind != Stmt::Let || !live_[t.value] || t.value == s.old) continue;
    const auto& args = k_.values[t.value].args;
    if (std::none_of(std::begin(args), std::end(args), [&](ValueId a) { return after.count(a) > 0; })) continue;
    after.insert(t.value);
    for (ValueId a : args)
      if (a != loop::kNoValue) add_operand(a);
  }
  add_operand(s.store->value);

  for (size_t o = 0; o < operands.size(); ++o)
    line(fmt::format("{} operand{}[{}];", type_of(operands[o]), o, kAtOnce));
  line(d.unroll);
  open(fmt::format("for (int e = 0; e < {}; ++e)", kAtOnce));
  open("if (done + e < count) {");
  line(fmt::format("const {} {} = waiting[done + e];", index, i));
  for (size_t o = 0; o < operands.size(); ++o) {
    print_for(pointers(s.loop->body), operands[o]);
    line(fmt::format("operand{}[e] = {};", o, ref(operands[o])));
  }
  close();
  --depth_;
  names_ = names;

  line(d.unroll);
  open(fmt::format("for (int e = 0; e < {}; ++e)", kAtOnce));
  open("if (done + e < count) {");
  for (size_t o = 0; o < operands.size(); ++o)
    names_[operands[o]] = fmt::format("operand{}[e]", o);
  if (s.old == loop::kNoValue) {
    line(fmt::format("if (own < items) b{}[operand0[e]] = {};", s.store->id, ref(s.store->value)));
  } else {
    open("if (operand0[e] != to) {");
    line(fmt::format("if (to >= 0 && own < items) b{}[to] = stored;", s.store->id));
    line("to = operand0[e];");
    line(fmt::format("stored = b{}[to];", s.store->id));
    close();
    kept_[s.old] = "stored";
    for (const Stmt& t : s.loop->body)
      if (t.kind == Stmt::Let && after.count(t.value)) let(t.value);
    line(fmt::format("stored = {};", ref(s.store->value)));
  }
  close();
  --depth_;
  names_ = names;
}

}  // namespace sheaf::codegen::gpu
