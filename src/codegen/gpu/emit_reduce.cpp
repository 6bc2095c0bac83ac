// Reductions in the order that loop::kReduceLanes documents. A warp's lanes are the lanes of a block of kReduceBlock
// elements: lane i takes elements i, i + 32, …, and the halving tree is five shuffles. Totals of blocks are combined
// two neighbours at a time, an odd one waiting for the next round: the order of the carries of a binary counter. Where
// the order decides no bit (integers, Max, Min, positions) elements go to threads in turn.
#include <fmt/format.h>

#include "codegen/gpu/emitter.h"
#include "loop/regions.h"
#include "loop/text.h"

namespace sheaf::codegen::gpu {

using loop::Combine;
using loop::kReduceBlock;
using loop::kReduceLanes;

namespace {

constexpr int kPending = 32;  // levels of the binary counter: enough for 2^43 elements
constexpr int kTotals = 512;  // totals of blocks that wait in shared memory

std::string_view name_of(Combine c) { return loop::kCombineNames[static_cast<int>(c)]; }

}  // namespace

// A device function that a kind of reduction needs: "warp_sum_f32".
std::string Emitter::team_function(std::string_view what, const Stmt& s) {
  const DType d = reduced(s);
  const Combine c = s.combine;
  const Dialect& dialect = helpers_.dialect();
  auto shuffle = [&](std::string_view format, DType of, auto... x) {
    const std::string call = fmt::format(fmt::runtime(format), x...);
    return of == DType::Bool ? fmt::format("(bool){}", call) : call;
  };
  return helpers_.function(fmt::format("{}_{}_{}", what, name_of(c), sheaf::name_of(d)), [&](const std::string& name) {
    const std::string_view t = type_name(d);
    auto combine = [&](std::string_view a, std::string_view b) {
      return arithmetic_.combine(c, d, std::string(a), std::string(b));
    };
    const std::string value = d == DType::Bool ? "(int)x" : "x";
    if (what == "warp" && is_position(c)) {
      // The first of equals wins, whatever lane it is on.
      return fmt::format(
          "{0} void {1}({2}* best, long long* position) {{\n"
          "  {2} x = *best;\n  long long at = *position;\n"
          "  for (int half = 16; half > 0; half /= 2) {{\n"
          "    const {2} other = {3};\n    const long long other_at = {4};\n"
          "    if (({5}) || ({6} && other_at < at)) {{\n      x = other;\n      at = other_at;\n    }}\n  }}\n"
          "  *best = {7};\n  *position = {8};\n}}\n",
          dialect.function, name, t, shuffle(dialect.shuffle_down, d, value, "half"),
          shuffle(dialect.shuffle_down, DType::I64, "at", "half"), arithmetic_.replaces(c, d, "other", "x"),
          arithmetic_.ties(d, "other", "x"), shuffle(dialect.broadcast, d, value),
          shuffle(dialect.broadcast, DType::I64, "at"));
    }
    if (what == "warp")
      return fmt::format(
          "{0} {2} {1}({2} x) {{\n  for (int half = 16; half > 0; half /= 2) {{\n    const {2} other = {3};\n"
          "    x = {4};\n  }}\n  return {5};\n}}\n",
          dialect.function, name, t, shuffle(dialect.shuffle_down, d, value, "half"), combine("x", "other"),
          shuffle(dialect.broadcast, d, value));
    if (what == "halve")
      return fmt::format(
          "{0} {2} {1}({2}* lanes) {{\n  for (int half = 16; half > 0; half /= 2)\n"
          "    for (int i = 0; i < half; ++i) lanes[i] = {3};\n  return lanes[0];\n}}\n",
          dialect.function, name, t, combine("lanes[i]", "lanes[i + half]"));
    if (what == "push")
      return fmt::format(
          "// Block `number` is complete; returns how many totals wait.\n"
          "{0} int {1}({2}* pending, int count, long long number, {2} total) {{\n"
          "  for (; number & 1; number >>= 1) {{\n    --count;\n    total = {3};\n  }}\n"
          "  pending[count] = total;\n  return count + 1;\n}}\n",
          dialect.function, name, t, combine("pending[count]", "total"));
    if (what == "pop")
      return fmt::format(
          "{0} {2} {1}(const {2}* pending, int count) {{\n  {2} total = pending[--count];\n"
          "  while (count > 0) {{\n    --count;\n    total = {3};\n  }}\n  return total;\n}}\n",
          dialect.function, name, t, combine("pending[count]", "total"));
    // "block": the tree of totals, in place.
    return fmt::format(
        "{0} void {1}({2}* totals, int count, int thread, int threads) {{\n"
        "  for (int step = 1; step < count; step *= 2) {{\n    {4}\n"
        "    for (int i = 2 * step * thread; i + step < count; i += 2 * step * threads)\n"
        "      totals[i] = {3};\n  }}\n  {4}\n}}\n",
        dialect.function, name, t, combine("totals[i]", "totals[i + step]"), dialect.block_barrier);
  });
}

// A loop over elements begin, begin + step, … that combines each into `into`, or keeps the best there and where it is.
void Emitter::elements(const Stmt& s, const std::string& begin, const std::string& end, const std::string& step,
                       const std::string& into, const std::string& position) {
  const Team team = team_;
  const std::string i = fmt::format("i{}", s.axis), key = key_;
  const DType d = reduced(s);
  const bool row = row_loops_.count(&s) > 0;
  // Loads of several turns are then under way at once.
  if (!row && step != "1" && !loop::contains_store(s.body) && !loop::contains_check(s.body))
    line(helpers_.dialect().unroll_eight);
  if (row) read_row_ahead(s);
  if (row)
    open_row_loop(s);
  else
    open(fmt::format("for ({0} {1} = {2}; {1} < {3}; {4}) {{", integer(ranges_.of(s.extent).high), i, begin, end,
                     step == "1" ? "++" + i : i + " += " + step));
  key_ = key_in_loop(s, i);
  team_ = Team::Thread;
  stmts(pointers(s.body));
  team_ = team;
  const std::string x = ref(s.value);
  if (position.empty()) {
    line(fmt::format("{} = {};", into, arithmetic_.combine(s.combine, d, into, x)));
  } else {
    open(fmt::format("if ({}) {{", arithmetic_.replaces(s.combine, d, x, into)));
    line(fmt::format("{} = {};", into, x));
    line(fmt::format("{} = {};", position, i));
    close();
  }
  if (row) close();
  close();
  key_ = key;
}

void Emitter::reduce(const Stmt& s) {
  ensure(s.extent);
  if (s.id == s_.reduction && s_.stage == Schedule::Rest) return combine_totals(s);
  if (s.id == s_.reduction && s_.kind == Schedule::Columns) return accumulate_columns(s, "0", ref(s.extent));
  switch (team_) {
    case Team::Thread: return reduce_by_thread(s);
    case Team::Warp: return reduce_by_warp(s);
    case Team::Block: return reduce_by_block(s);
  }
}

void Emitter::reduce_by_thread(const Stmt& s) {
  const DType d = reduced(s);
  const std::string n = ref(s.extent), r = fmt::format("r{}", s.id), i = fmt::format("i{}", s.axis),
                    identity = arithmetic_.identity(s.combine, d);
  const std::string_view t = type_name(d);
  if (is_position(s.combine)) {
    line(fmt::format("{} {}_best = {};", t, r, identity));
    line(fmt::format("long long {} = 0;", r));
    return elements(s, "0", n, "1", r + "_best", r);
  }
  if (!is_ordered(s.combine, d)) {
    line(fmt::format("{} {} = {};", t, r, identity));
    return elements(s, "0", n, "1", r, "");
  }
  const bool one_block = ranges_.of(s.extent).high <= kReduceBlock;
  const std::string lanes = r + "_lanes", lane = fmt::format("{}[{} & {}]", lanes, i, kReduceLanes - 1),
                    clear = fmt::format("for (int lane = 0; lane < {}; ++lane) {}[lane] = {};", kReduceLanes, lanes,
                                        identity);
  line(fmt::format("{} {}[{}];", t, lanes, kReduceLanes));
  if (one_block) {
    line(clear);
    elements(s, "0", n, "1", lane, "");
    line(fmt::format("const {} {} = {}({});", t, r, team_function("halve", s), lanes));
    return;
  }
  const std::string type = integer(ranges_.of(s.extent).high), begin = i + "_begin", end = i + "_end";
  line(fmt::format("{} {}_pending[{}];", t, r, kPending));
  line(fmt::format("int {}_count = 0;", r));
  open(fmt::format("for ({0} {1} = 0; {1} < {2}; {1} += {3}) {{", type, begin, n, kReduceBlock));
  line(clear);
  line(fmt::format("const {0} {1} = {2} - {3} < {4} ? {2} : {3} + {4};", type, end, n, begin, kReduceBlock));
  elements(s, begin, end, "1", lane, "");
  line(fmt::format("{0}_count = {1}({0}_pending, {0}_count, {2} / {3}, {4}({5}));", r, team_function("push", s), begin,
                   kReduceBlock, team_function("halve", s), lanes));
  close();
  line(fmt::format("const {0} {1} = {1}_count > 0 ? {2}({1}_pending, {1}_count) : {3};", t, r, team_function("pop", s),
                   identity));
}

// Rows of at most a block.
void Emitter::reduce_by_warp(const Stmt& s) {
  const DType d = reduced(s);
  const std::string r = fmt::format("r{}", s.id), n = ref(s.extent), identity = arithmetic_.identity(s.combine, d);
  if (is_position(s.combine)) {
    line(fmt::format("{} {}_best = {};", type_name(d), r, identity));
    line(fmt::format("long long {} = 0;", r));
    elements(s, "lane", n, "32", r + "_best", r);
    line(fmt::format("{0}(&{1}_best, &{1});", team_function("warp", s), r));
    return;
  }
  line(fmt::format("{} {} = {};", type_name(d), r, identity));
  elements(s, "lane", n, "32", r, "");
  line(fmt::format("{0} = {1}({0});", r, team_function("warp", s)));
}

void Emitter::reduce_by_block(const Stmt& s) {
  const Dialect& dialect = helpers_.dialect();
  const DType d = reduced(s);
  const std::string r = fmt::format("r{}", s.id), n = ref(s.extent), i = fmt::format("i{}", s.axis),
                    identity = arithmetic_.identity(s.combine, d), type = integer(ranges_.of(s.extent).high);
  const std::string_view t = type_name(d);
  const int warps = s_.threads / kWarp;
  // The memory that threads share is used again by the next iteration.
  if (serial_loops_ > 0) barrier();
  if (!is_ordered(s.combine, d)) {
    const bool position = is_position(s.combine);
    const std::string best = position ? r + "_best" : r;
    line(fmt::format("{} {} = {};", t, best, identity));
    if (position) line(fmt::format("long long {} = 0;", r));
    elements(s, "thread", n, fmt::format("{}", s_.threads), best, position ? r : "");
    line(position ? fmt::format("{0}(&{1}, &{2});", team_function("warp", s), best, r)
                  : fmt::format("{0} = {1}({0});", r, team_function("warp", s)));
    line(fmt::format("{}{} {}_of_warp[{}];", dialect.shared, t, best, warps));
    if (position) line(fmt::format("{}long long {}_of_warp[{}];", dialect.shared, r, warps));
    line(fmt::format("if (lane == 0) {0}_of_warp[warp] = {0};", best));
    if (position) line(fmt::format("if (lane == 0) {0}_of_warp[warp] = {0};", r));
    barrier();
    const std::string other = best + "_of_warp[w]", other_at = r + "_of_warp[w]";
    if (!position) {
      line(fmt::format("{0} = {0}_of_warp[0];", r));
      line(fmt::format("for (int w = 1; w < {}; ++w) {} = {};", warps, r, arithmetic_.combine(s.combine, d, r, other)));
      return;
    }
    line(fmt::format("{0} = {0}_of_warp[0];", best));
    line(fmt::format("{0} = {0}_of_warp[0];", r));
    open(fmt::format("for (int w = 1; w < {}; ++w) {{", warps));
    open(fmt::format("if (({}) || ({} && {} < {})) {{", arithmetic_.replaces(s.combine, d, other, best),
                     arithmetic_.ties(d, other, best), other_at, r));
    line(fmt::format("{} = {};", best, other));
    line(fmt::format("{} = {};", r, other_at));
    close();
    close();
    return;
  }

  const bool waves = s_.longest > kTotals * kReduceBlock;
  const std::string totals = r + "_totals", block = i + "_block", first = i + "_first", total = r + "_total";
  const int64_t wave = kTotals * kReduceBlock;
  line(fmt::format("{}{} {}[{}];", dialect.shared, t, totals, kTotals));
  std::string blocks = fmt::format("(int)(({} + {}) / {})", n, kReduceBlock - 1, kReduceBlock);
  std::string begin = fmt::format("{} * {}", block, kReduceBlock);
  if (waves) {
    line(fmt::format("{} {}_pending[{}];", t, r, kPending));
    line(fmt::format("int {}_count = 0;", r));
    open(fmt::format("for ({0} {1} = 0; {1} < {2}; {1} += {3}) {{", type, first, n, wave));
    line(fmt::format("const {0} {1}_left = {2} - {3};", type, i, n, first));
    blocks = fmt::format("{0}_left < {1} ? (int)(({0}_left + {2}) / {3}) : {4}", i, wave, kReduceBlock - 1,
                         kReduceBlock, kTotals);
    begin = fmt::format("{} + {}", first, begin);
    ++serial_loops_;
  }
  line(fmt::format("const int {}_blocks = {};", i, blocks));
  open(fmt::format("for (int {0} = warp; {0} < {1}_blocks; {0} += {2}) {{", block, i, warps));
  line(fmt::format("const {0} {1}_begin = {2};", type, i, begin));
  line(fmt::format("const {0} {1}_end = {2} - {1}_begin < {3} ? {2} : {1}_begin + {3};", type, i, n, kReduceBlock));
  line(fmt::format("{} {} = {};", t, total, identity));
  elements(s, fmt::format("{}_begin + lane", i), i + "_end", "32", total, "");
  line(fmt::format("{0} = {1}({0});", total, team_function("warp", s)));
  line(fmt::format("if (lane == 0) {}[{}] = {};", totals, block, total));
  close();
  line(fmt::format("{}({}, {}_blocks, thread, {});", team_function("block", s), totals, i, s_.threads));
  if (waves) {
    line(fmt::format("{0}_count = {1}({0}_pending, {0}_count, {2} / {3}, {4}[0]);", r, team_function("push", s), first,
                     wave, totals));
    line(dialect.block_barrier);
    close();
    --serial_loops_;
    line(fmt::format("const {0} {1} = {1}_count > 0 ? {2}({1}_pending, {1}_count) : {3};", t, r,
                     team_function("pop", s), identity));
  } else {
    line(fmt::format("const {} {} = {}_blocks > 0 ? {}[0] : {};", t, r, i, totals, identity));
  }
  loaded_.clear();
  stored_.clear();
}

}  // namespace sheaf::codegen::gpu
