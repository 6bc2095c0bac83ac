// Reductions that several blocks share: the sum of all elements, and sums of columns. A first launch leaves totals of
// kReduceBlock elements in workspace, a second one combines them in order. Which threads add does not change the order:
// emit_reduce.cpp.
#include <fmt/format.h>

#include <algorithm>

#include "codegen/gpu/emitter.h"
#include "loop/regions.h"
#include "support/error.h"

namespace sheaf::codegen::gpu {

using loop::kReduceBlock;
using loop::kReduceLanes;

namespace {

constexpr int kColumnWarps = 8, kLanesOfWarp = kReduceLanes / kColumnWarps;

}  // namespace

void Emitter::use_workspace(const Stmt& s, int64_t totals) {
  workspace_type_ = std::string(type_name(reduced(s)));
  workspace_bytes_ = std::max<int64_t>(1, totals) * size_bytes(reduced(s));
}

// A warp per block of elements.
void Emitter::totals_of_all() {
  const Stmt& s = shared_reduction();
  const DType d = reduced(s);
  for (const Stmt* t : part_.stmts) {
    if (t == &s) break;
    stmt(*t);
  }
  ensure(s.extent);
  const std::string n = ref(s.extent), i = fmt::format("i{}", s.axis), r = fmt::format("r{}", s.id),
                    type = integer(ranges_.of(s.extent).high);
  line(fmt::format("const int block = {} * {} + (thread >> 5);", helpers_.dialect().block, s_.threads / kWarp));
  line(fmt::format("const {0} {1}_begin = ({0})block * {2};", type, i, kReduceBlock));
  line(fmt::format("if ({0}_begin >= {1}) return;", i, n));
  line(fmt::format("const {0} {1}_end = {2} - {1}_begin < {3} ? {2} : {1}_begin + {3};", type, i, n, kReduceBlock));
  line(fmt::format("{} {} = {};", type_name(d), r, arithmetic_.identity(s.combine, d)));
  elements(s, fmt::format("{}_begin + lane", i), i + "_end", "32", r, "");
  line(fmt::format("{0} = {1}({0});", r, team_function("warp", s)));
  line(fmt::format("if (lane == 0) totals[block] = {};", r));
  use_workspace(s, (s_.longest + kReduceBlock - 1) / kReduceBlock);
}

// Lane i of a warp has item i of 32; warp w has lanes 4 w … 4 w + 3 of each item's reduction.
void Emitter::columns() {
  const Stmt& s = shared_reduction();
  const Dialect& d = helpers_.dialect();
  const Stmts nest = nest_of(k_, *part_.stmts[0], sizes_);
  const bool is_int = static_cast<double>(s_.items) <= ValueRange::kNarrow, whole = s_.stage == Schedule::Whole;
  const std::string total = product(nest), flat = nest.size() == 1 ? fmt::format("i{}", nest[0]->axis) : "item",
                    type = is_int ? "int" : "long long";
  line(fmt::format("const int thread = {};", d.thread));
  line("const int lane = thread & 31;");
  line("const int warp = thread >> 5;");
  line(fmt::format("const {} items = {};", type, total));
  if (!whole) {
    line(fmt::format("const int groups = (int)((items + {}) / {});", kWarp - 1, kWarp));
    line(fmt::format("const int block = {} / groups;", d.block));
  }
  const std::string group = whole ? std::string(d.block) : fmt::format("{} % groups", d.block);
  line(fmt::format("const {0} own = ({0})({1}) * {2} + lane;", type, group, kWarp));
  // Threads without an item take the last one, as all meet at the barriers; they store nothing.
  line(fmt::format("const {} {} = own < items ? own : items - 1;", type, flat));
  const loop::Block& body = open_nest(nest, flat, is_int);
  store_guard_ = "warp == 0 && own < items";
  if (whole) return stmts(pointers(body));

  for (const Stmt& t : body) {
    if (&t == &s) break;
    stmt(t);
  }
  ensure(s.extent);
  const std::string n = ref(s.extent), i = fmt::format("i{}", s.axis), index = integer(ranges_.of(s.extent).high);
  line(fmt::format("const {0} {1}_begin = ({0})block * {2};", index, i, kReduceBlock));
  line(fmt::format("const {0} {1}_end = {2} - {1}_begin < {3} ? {2} : {1}_begin + {3};", index, i, n, kReduceBlock));
  accumulate_columns(s, i + "_begin", i + "_end");
  line(fmt::format("if ({}) totals[(long long)block * items + own] = r{};", store_guard_, s.id));
  use_workspace(s, (s_.longest + kReduceBlock - 1) / kReduceBlock * s_.items);
}

// Elements [begin, end), at most a block, of each item of the thread's block.
void Emitter::accumulate_columns(const Stmt& s, const std::string& begin, const std::string& end) {
  const Dialect& dialect = helpers_.dialect();
  const DType d = reduced(s);
  const std::string_view t = type_name(d);
  const std::string i = fmt::format("i{}", s.axis), r = fmt::format("r{}", s.id), row = i + "_row",
                    type = integer(ranges_.of(s.extent).high), identity = arithmetic_.identity(s.combine, d),
                    key = key_;
  line(fmt::format("{0} {1}_sums[{2}] = {{{3}, {3}, {3}, {3}}};", t, r, kLanesOfWarp, identity));
  static_assert(kLanesOfWarp == 4);
  line(fmt::format("{} {} = {} + {} * warp;", type, row, begin, kLanesOfWarp));
  // `inside`: all four rows are there, so that nothing keeps the loads of several turns from being under way at once.
  auto turns = [&](bool inside) {
    const std::vector<std::string> names = names_;
    if (inside) line(dialect.unroll_eight);
    open(fmt::format("for (; {}{} < {}; {} += {}) {{", row, inside ? " + 3" : "", end, row, kReduceLanes));
    line(dialect.unroll);
    open(fmt::format("for (int q = 0; q < {}; ++q) {{", kLanesOfWarp));
    line(fmt::format("const {} {} = {} + q;", type, i, row));
    if (!inside) line(fmt::format("if ({} >= {}) break;", i, end));
    key_ = key_in_loop(s, i);
    const std::string guard = std::exchange(store_guard_, "own < items");
    stmts(pointers(s.body));
    store_guard_ = guard;
    const std::string sum = fmt::format("{}_sums[q]", r);
    line(fmt::format("{} = {};", sum, arithmetic_.combine(s.combine, d, sum, ref(s.value))));
    close();
    close();
    key_ = key;
    names_ = names;
  };
  if (!loop::contains_store(s.body) && !loop::contains_check(s.body)) turns(true);
  turns(false);

  line(fmt::format("{}{} {}_lanes[{}][{}];", dialect.shared, t, r, kReduceLanes, kWarp));
  line(fmt::format("for (int q = 0; q < {0}; ++q) {1}_lanes[{0} * warp + q][lane] = {1}_sums[q];", kLanesOfWarp, r));
  open(fmt::format("for (int half = {}; half > 0; half /= 2) {{", kReduceLanes / 2));
  line(dialect.block_barrier);
  const std::string low = r + "_lanes[i][lane]", high = r + "_lanes[i + half][lane]";
  line(fmt::format("for (int i = warp; i < half; i += {}) {} = {};", kColumnWarps, low,
                   arithmetic_.combine(s.combine, d, low, high)));
  close();
  line(dialect.block_barrier);
  line(fmt::format("const {0} {1} = {1}_lanes[0][lane];", t, r));
}

// Totals are in workspace, in the order of blocks.
void Emitter::combine_totals(const Stmt& s) {
  const DType d = reduced(s);
  const std::string_view t = type_name(d);
  const std::string r = fmt::format("r{}", s.id), n = ref(s.extent), i = fmt::format("i{}", s.axis);
  line(fmt::format("const int {}_blocks = (int)(({} + {}) / {});", i, n, kReduceBlock - 1, kReduceBlock));
  if (s_.kind == Schedule::SumAll) {
    line(fmt::format("{}(totals, {}_blocks, thread, {});", team_function("block", s), i, s_.threads));
    line(fmt::format("const {} {} = totals[0];", t, r));
    use_workspace(s, (s_.longest + kReduceBlock - 1) / kReduceBlock);
    return;
  }
  const Stmts nest = nest_of(k_, *part_.stmts[0], sizes_);
  const std::string item = nest.size() == 1 ? fmt::format("i{}", nest[0]->axis) : "item";
  line(fmt::format("{} {}_pending[32];", t, r));
  line(fmt::format("int {}_count = 0;", r));
  line(fmt::format("for (int block = 0; block < {}_blocks; ++block)", i));
  line(fmt::format("  {0}_count = {1}({0}_pending, {0}_count, block, totals[(long long)block * {2} + {3}]);", r,
                   team_function("push", s), "(" + product(nest) + ")", item));
  line(fmt::format("const {0} {1} = {2}({1}_pending, {1}_count);", t, r, team_function("pop", s)));
  use_workspace(s, (s_.longest + kReduceBlock - 1) / kReduceBlock * s_.items);
}

}  // namespace sheaf::codegen::gpu
