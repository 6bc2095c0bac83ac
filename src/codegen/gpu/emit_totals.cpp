// Reductions that several blocks share: a few sums of many elements, and sums of columns. A first launch leaves totals
// of kReduceBlock elements in workspace, a second one combines them in order. Which threads add does not change the
// order: emit_reduce.cpp.
#include <fmt/format.h>

#include <algorithm>

#include "codegen/gpu/emitter.h"
#include "loop/regions.h"
#include "support/error.h"

namespace sheaf::codegen::gpu {

using loop::kReduceBlock;
using loop::kReduceLanes;

void Emitter::use_workspace(const Stmt& s, int64_t totals) {
  workspace_type_ = std::string(type_name(reduced(s)));
  workspace_bytes_ = std::max<int64_t>(1, totals) * size_bytes(reduced(s));
}

// A warp has as many blocks of an item as a thread takes elements at once, a block of threads `together`: as that is a
// power of two, their totals are combined as they would be among all.
void Emitter::totals_of_all() {
  const Stmt& s = shared_reduction();
  const Dialect& d = helpers_.dialect();
  const DType type_of_sum = reduced(s);
  const int length = s_.vector, group = kReduceLanes / length;
  const std::string n = ref(s.extent), i = fmt::format("i{}", s.axis), r = fmt::format("r{}", s.id),
                    type = integer(ranges_.of(s.extent).high), blocks = i + "_blocks";
  Stmts before = part_.stmts;
  line(fmt::format("const int {} = {};", blocks, blocks_of(s)));
  std::string part(d.block);
  if (s_.loops > 0) {
    const Stmts nest = nest_of(k_, *part_.stmts[0], sizes_);
    line(fmt::format("const int parts = {};", parts_of(s)));
    line(fmt::format("const int {} = {} / parts;", item_name(nest), d.block));
    part = fmt::format("{} % parts", d.block);
    before = pointers(open_nest(nest, item_name(nest), true));
  }
  line(fmt::format("const int own = {};", part));
  line(fmt::format("const int block = own * {} + thread / {};", s_.together, group));
  for (const Stmt* t : before) {
    if (t == &s) break;
    stmt(*t);
  }
  // Threads without a block take an empty one: all meet at shuffles and barriers.
  line(fmt::format("const {0} {1}_begin = ({0})block * {2};", type, i, kReduceBlock));
  line(fmt::format("const {0} {1}_end = {2} - {1}_begin < {3} ? {2} : {1}_begin + {3};", type, i, n, kReduceBlock));
  if (length > 1) {
    lanes_in_pieces(s, length, i + "_begin", i + "_end");
  } else {
    line(fmt::format("{} {}_total = {};", type_name(type_of_sum), r, arithmetic_.identity(s.combine, type_of_sum)));
    elements(s, fmt::format("{}_begin + lane", i), i + "_end", kReduceLanes, r + "_total", "");
    line(fmt::format("{0}_total = {1}({0}_total);", r, team_function("warp", s)));
  }
  if (s_.together > 1) {
    line(fmt::format("{}{} {}_own[{}];", d.shared, type_name(type_of_sum), r, s_.together));
    line(fmt::format("if (thread % {0} == 0) {1}_own[thread / {0}] = {1}_total;", group, r));
    line(fmt::format("const int left = {} - own * {};", blocks, s_.together));
    line(fmt::format("{0}({1}_own, left < {2} ? left : {2}, thread, {3});", team_function("block", s), r, s_.together,
                     s_.threads));
  }
  line(fmt::format("if (thread == 0) totals[{}] = {}{};", s_.loops > 0 ? std::string(d.block) : "own", r,
                   s_.together > 1 ? "_own[0]" : "_total"));
  use_workspace(s, parts_of_longest() * s_.items);
}

// Threads are `side` beside each other, of `vector` columns each, and 32 lanes of a column are shared out among them.
void Emitter::columns() {
  const Stmt& s = shared_reduction();
  const Dialect& d = helpers_.dialect();
  const Stmts nest = nest_of(k_, *part_.stmts[0], sizes_);
  const bool is_int = static_cast<double>(s_.items) <= ValueRange::kNarrow, whole = s_.stage == Schedule::Whole;
  const std::string total = product(nest), item = item_name(nest), type = is_int ? "int" : "long long",
                    r = fmt::format("r{}", s.id);
  const int side = kWarp / s_.vector;
  line(fmt::format("const int thread = {};", d.thread));
  line(fmt::format("const {} items = {};", type, total));
  if (!whole) {
    line(fmt::format("const int groups = (int)((items + {}) / {});", kWarp - 1, kWarp));
    line(fmt::format("const int block = {} / groups;", d.block));
  }
  line(fmt::format("const {0} base = ({0})({1}) * {2};", type,
                   whole ? std::string(d.block) : fmt::format("{} % groups", d.block), kWarp));
  line(fmt::format("{}{} {}_lanes[{}][{}];", d.shared, type_name(reduced(s)), r, kReduceLanes, kWarp));
  const std::vector<std::string> names = names_;
  const std::string key = key_;
  open("{");
  line(fmt::format("const {} own = base + thread % {} * {};", type, side, s_.vector));
  // Threads without columns take the last ones, as all meet at the barriers.
  if (s_.vector > 1) first_of_axis_ = nest.back()->axis;
  line(fmt::format("const {} {} = own < items ? own : items - {};", type,
                   nest.size() == 1 ? index_name(nest[0]->axis) : item, s_.vector));
  const Stmts body = pointers(open_nest(nest, item, is_int));
  first_of_axis_ = -1;
  for (const Stmt* t : body) {
    if (t == &s) break;
    stmt(*t);
  }
  ensure(s.extent);
  std::string begin = "0", end = ref(s.extent);
  if (!whole) {
    const std::string i = fmt::format("i{}", s.axis), index = integer(ranges_.of(s.extent).high);
    begin = i + "_begin", end = i + "_end";
    line(fmt::format("const {} {} = ({})block * {};", index, begin, index, kReduceBlock));
    line(fmt::format("const {0} {1} = {2} - {3} < {4} ? {2} : {3} + {4};", index, end, ref(s.extent), begin,
                     kReduceBlock));
  }
  accumulate_columns(s, begin, end, *nest.back());
  close();
  names_ = names;
  key_ = key;
  open(fmt::format("for (int half = {}; half > 0; half /= 2) {{", kReduceLanes / 2));
  line(d.block_barrier);
  line(fmt::format("for (int i = thread; i < half * {0}; i += {1}) {2}_lanes[i / {0}][i % {0}] = {3};", kWarp,
                   s_.threads, r,
                   arithmetic_.combine(s.combine, reduced(s), fmt::format("{1}_lanes[i / {0}][i % {0}]", kWarp, r),
                                       fmt::format("{1}_lanes[i / {0} + half][i % {0}]", kWarp, r))));
  close();
  line(d.block_barrier);
  line(fmt::format("if (thread >= {} || base + thread >= items) return;", kWarp));
  if (!whole) {
    line(fmt::format("totals[block * items + base + thread] = {}_lanes[0][thread];", r));
    return use_workspace(s, blocks_of_longest() * s_.items);
  }
  line(fmt::format("const {} {} = base + thread;", type, item));
  open_nest(nest, item, is_int);
  line(fmt::format("const {0} {1} = {1}_lanes[0][thread];", type_name(reduced(s)), r));
  for (const Stmt* t : body)
    if (t != &s) stmt(*t);
}

// Elements [begin, end), at most a block, of the columns of each thread. Lanes are one row apart.
void Emitter::accumulate_columns(const Stmt& s, const std::string& begin, const std::string& end, const Stmt& column) {
  const Dialect& dialect = helpers_.dialect();
  const DType d = reduced(s);
  const int side = kWarp / s_.vector, lanes = kReduceLanes * side / s_.threads, sums = lanes * s_.vector;
  const std::string i = fmt::format("i{}", s.axis), r = fmt::format("r{}", s.id), key = key_,
                    type = integer(ranges_.of(s.extent).high), of_lane = lanes == 1 ? "" : fmt::format("t % {}", lanes),
                    sum = fmt::format("{}_sums[{}{}]", r, of_lane,
                                      s_.vector == 1 ? ""
                                      : lanes == 1   ? "u"
                                                     : fmt::format(" * {} + u", s_.vector));
  line(fmt::format("{} {}_sums[{}];", type_name(d), r, sums));
  line(dialect.unroll);
  line(fmt::format("for (int q = 0; q < {}; ++q) {}_sums[q] = {};", sums, r, arithmetic_.identity(s.combine, d)));
  auto combine = [&] { line(fmt::format("{} = {};", sum, arithmetic_.combine(s.combine, d, sum, ref(s.value)))); };
  const std::string first =
      fmt::format("{} + thread / {}{}", begin, side, lanes == 1 ? "" : fmt::format(" * {}", lanes));
  const Stmts body = pointers(s.body);
  if (may_read_ahead(body)) {
    const std::string guard = std::exchange(store_guard_, "own < items");
    in_turns({.index = i,
              .type = type,
              .first = first,
              .end = end,
              .step = kReduceLanes,
              .lanes = lanes,
              .span = 1,
              .count = turns_at_once(s, column, s_.vector)},
             body, column, s_.vector, combine);
    store_guard_ = guard;
  } else {
    // Where a check stands in the order of all is known from its row.
    open(fmt::format("for ({0} {1}_row = {2}; {1}_row < {3}; {1}_row += {4}) {{", type, i, first, end, kReduceLanes));
    line(dialect.unroll);
    open(fmt::format("for (int t = 0; t < {}; ++t) {{", lanes));
    line(fmt::format("const {0} {1} = {1}_row + t;", type, i));
    line(fmt::format("if ({} >= {}) break;", i, end));
    key_ = key_in_loop(s, i);
    const std::string guard = std::exchange(store_guard_, "own < items");
    stmts(body);
    store_guard_ = guard;
    combine();
    close();
    close();
    key_ = key;
  }
  line(dialect.unroll);
  line(fmt::format("for (int q = 0; q < {0}; ++q) {1}_lanes[thread / {2}{3}][thread % {2}{4}] = {1}_sums[q];", sums, r,
                   side, lanes == 1 ? "" : fmt::format(" * {} + q / {}", lanes, s_.vector),
                   s_.vector == 1 ? "" : fmt::format(" * {0} + q % {0}", s_.vector)));
}

// Totals are in workspace, in the order of blocks.
void Emitter::combine_totals(const Stmt& s) {
  const DType d = reduced(s);
  const std::string_view t = type_name(d);
  const std::string r = fmt::format("r{}", s.id), i = fmt::format("i{}", s.axis);
  const Stmts nest = s_.loops > 0 ? nest_of(k_, *part_.stmts[0], sizes_) : Stmts();
  line(fmt::format("const int {}_blocks = {};", i, blocks_of(s)));
  use_workspace(s, parts_of_longest() * s_.items);
  if (s_.kind == Schedule::SumAll) {
    constexpr int64_t kShared = 2048;
    std::string own = nest.empty() ? "totals" : fmt::format("(totals + (long long){} * parts)", item_name(nest));
    line(fmt::format("const int parts = {};", parts_of(s)));
    if (parts_of_longest() <= kShared) {
      line(fmt::format("{}{} {}_totals[{}];", helpers_.dialect().shared, t, r, kShared));
      line(fmt::format("for (int i = thread; i < parts; i += {}) {}_totals[i] = {}[i];", s_.threads, r, own));
      own = r + "_totals";
    }
    line(fmt::format("{}({}, parts, thread, {});", team_function("block", s), own, s_.threads));
    line(fmt::format("const {} {} = {}[0];", t, r, own));
    return;
  }
  line(fmt::format("{} {}_pending[32];", t, r));
  line(fmt::format("int {}_count = 0;", r));
  line(fmt::format("for (int block = 0; block < {}_blocks; ++block)", i));
  line(fmt::format("  {0}_count = {1}({0}_pending, {0}_count, block, totals[(long long)block * {2} + {3}]);", r,
                   team_function("push", s), "(" + product(nest) + ")", item_name(nest)));
  line(fmt::format("const {0} {1} = {2}({1}_pending, {1}_count);", t, r, team_function("pop", s)));
}

std::string Emitter::blocks_of(const Stmt& s) {
  return fmt::format("(int)(({} + {}) / {})", ref(s.extent), kReduceBlock - 1, kReduceBlock);
}
int64_t Emitter::blocks_of_longest() const { return (s_.longest + kReduceBlock - 1) / kReduceBlock; }
std::string Emitter::parts_of(const Stmt& s) {
  const std::string blocks = fmt::format("i{}_blocks", s.axis);
  return s_.together == 1 ? blocks : fmt::format("({} + {}) / {}", blocks, s_.together - 1, s_.together);
}
int64_t Emitter::parts_of_longest() const { return (blocks_of_longest() + s_.together - 1) / s_.together; }

}  // namespace sheaf::codegen::gpu
