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

int Emitter::turns_at_once(const Stmt& s, const Stmt& along, int length) const {
  constexpr int kPieces = 16;             // of 16 bytes: more are bound to meet the limit of registers
  constexpr int kInstructions = 1 << 10;  // of a loop that is written out
  int loads = 0, values = 0;
  for (const Stmt& t : s.body) {
    if (t.kind != Stmt::Let || !live_[t.value]) continue;
    ++values;
    // Loop-invariant scalars take few registers compared with vector loads.
    loads += k_.values[t.value].op == loop::Op::Load && (length == 1 || moves(t, along));
  }
  int turns = kPieces;
  while (turns > 2 && (turns * loads > kPieces || turns * length * values > kInstructions))
    turns /= 2;
  return turns;
}

// Compilers keep loads behind the test of the turn before, and behind stores, which may be to the same memory: so they
// are written out. First turns that are all there, then a few at once of which those beyond the end read what the first
// one reads.
void Emitter::in_turns(Turns t, const Stmts& body, const Stmt& along, int length,
                       const std::function<void()>& element) {
  constexpr int kLast = 4;
  reads_ahead_ = true;
  const Team team = std::exchange(team_, Team::Thread);
  line(fmt::format("{} {}_turn = {};", t.type, t.index, t.first));
  if (t.count > std::max(kLast, t.lanes)) turns(t, true, body, along, length, element);
  t.count = std::max(std::min(t.count, kLast), t.lanes);
  turns(t, false, body, along, length, element);
  team_ = team;
}

void Emitter::turns(const Turns& t, bool all_there, const Stmts& body, const Stmt& along, int length,
                    const std::function<void()>& element) {
  const Dialect& dialect = helpers_.dialect();
  const std::vector<std::string> names = names_;
  const std::map<ValueId, std::string> kept = kept_;
  const std::string turn = t.index + "_turn", at = t.index + "_at";
  const int groups = t.count / t.lanes;
  auto inside = [&](const std::string& x, int64_t further) {
    further += t.span - 1;
    return further == 0 ? fmt::format("{} < {}", x, t.end) : fmt::format("{} + {} < {}", x, further, t.end);
  };
  auto open_turn = [&](const std::string& index) {
    line(dialect.unroll);
    open(fmt::format("for (int t = 0; t < {}; ++t) {{", t.count));
    line(fmt::format(
        "const {} {} = {} + {};", t.type, index, turn,
        t.lanes == 1 ? fmt::format("t * {}", t.step) : fmt::format("t / {0} * {1} + t % {0}", t.lanes, t.step)));
  };
  open(fmt::format("for (; {}; {} += {}) {{", inside(turn, all_there ? (groups - 1) * t.step + t.lanes - 1 : 0), turn,
                   groups * t.step));
  auto open_read = [&] {
    open_turn(all_there ? t.index : at);
    if (!all_there) line(fmt::format("const {} {} = {} ? {} : {};", t.type, t.index, inside(at, 0), at, turn));
  };
  if (length == 1) {
    read_ahead(body, t.count, "t", open_read, [&] { close(); });
  } else {
    declare_pieces(body, along, length, t.count);
    open_read();
    read_piece(body, along, length, "[t]");
    close();
    names_ = names;
    // What all elements of a piece share.
    std::set<ValueId> still;
    for (const Stmt* s : body)
      if (s->kind == Stmt::Let && k_.values[s->value].op == loop::Op::Load && !moves(*s, along)) still.insert(s->value);
    first_of_axis_ = along.axis;
    read_ahead(body, t.count, "t", open_read, [&] { close(); }, &still);
    first_of_axis_ = -1;
  }
  open_turn(t.index);
  if (!all_there) open(fmt::format("if ({}) {{", inside(t.index, 0)));
  if (length == 1) {
    stmts(body);
    element();
  } else {
    piece(body, along, length, element, "[t]");
  }
  if (!all_there) close();
  close();
  close();
  kept_ = kept;
  names_ = names;
}

void Emitter::elements_in_pieces(const Stmt& s, int length, const std::string& first, const std::string& end,
                                 int64_t step, const std::string& into) {
  const Dialect& dialect = helpers_.dialect();
  const Stmts body = pointers(s.body);
  const std::string i = fmt::format("i{}", s.axis), at = i + "_cut", type = integer(ranges_.of(s.extent).high);
  auto combine = [&] {
    line(fmt::format("{} = {};", into, arithmetic_.combine(s.combine, reduced(s), into, ref(s.value))));
  };
  in_turns({.index = i + "_first",
            .type = type,
            .first = first,
            .end = end,
            .step = step,
            .lanes = 1,
            .span = length,
            .count = turns_at_once(s, s, length)},
           body, s, length, combine);
  // The last piece of a row may be cut.
  const Team team = std::exchange(team_, Team::Thread);
  const std::vector<std::string> names = names_;
  line(fmt::format("{} {} = {};", type, at, first));
  line(fmt::format("if ({0} + {1} < {2}) {0} += ({2} - {0} + {3}) / {4} * {4};", at, length - 1, end, step - length,
                   step));
  line(dialect.unroll);
  open(fmt::format("for (int u = 0; u < {}; ++u) {{", length - 1));
  line(fmt::format("const {} {} = {} + u;", type, i, at));
  open(fmt::format("if ({} < {}) {{", i, end));
  stmts(body);
  combine();
  close();
  close();
  names_ = names;
  team_ = team;
}

void Emitter::lanes_in_pieces(const Stmt& s, int length, const std::string& begin, const std::string& end) {
  const DType d = reduced(s);
  const int group = kReduceLanes / length;
  const std::string r = fmt::format("r{}", s.id);
  line(fmt::format("{} {}_lanes[{}];", type_name(d), r, length));
  line(fmt::format("for (int u = 0; u < {}; ++u) {}_lanes[u] = {};", length, r, arithmetic_.identity(s.combine, d)));
  elements_in_pieces(s, length, fmt::format("{} + lane % {} * {}", begin, group, length), end, kReduceLanes,
                     r + "_lanes[u]");
  const std::string_view t = type_name(d);
  const std::string halve = helpers_.function(
      fmt::format("lanes{}_{}_{}", length, name_of(s.combine), sheaf::name_of(d)), [&](const std::string& name) {
        const Dialect& dialect = helpers_.dialect();
        const std::string value = d == DType::Bool ? "(int)x[u]" : "x[u]",
                          other = fmt::format(fmt::runtime(dialect.shuffle_down), value, "half");
        return fmt::format(
            "// Each thread of {7} has {3} neighbouring lanes of a reduction; the first one gets the value.\n"
            "{0} {2} {1}({2}* x) {{\n  {11}\n  for (int half = {4}; half > 0; half /= 2)\n    {11}\n"
            "    for (int u = 0; u < {3}; ++u) {{\n      const {2} other = {5}{6};\n      x[u] = {8};\n    }}\n"
            "  {11}\n  for (int half = {9}; half > 0; half /= 2)\n    {11}\n"
            "    for (int u = 0; u < half; ++u) x[u] = {10};\n  return x[0];\n}}\n",
            dialect.function, name, t, length, group / 2, d == DType::Bool ? "(bool)" : "", other, group,
            arithmetic_.combine(s.combine, d, "x[u]", "other"), length / 2,
            arithmetic_.combine(s.combine, d, "x[u]", "x[u + half]"), dialect.unroll);
      });
  line(fmt::format("const {} {}_total = {}({}_lanes);", t, r, halve, r));
}

// A loop over elements begin, begin + step, … that combines each into `into`, or keeps the best there and where it is.
void Emitter::elements(const Stmt& s, const std::string& begin, const std::string& end, int64_t step,
                       const std::string& into, const std::string& position) {
  const Team team = team_;
  const std::string i = fmt::format("i{}", s.axis), key = key_, type = integer(ranges_.of(s.extent).high);
  const DType d = reduced(s);
  const Stmts body = pointers(s.body);
  auto combine = [&] {
    const std::string x = ref(s.value);
    if (position.empty()) return line(fmt::format("{} = {};", into, arithmetic_.combine(s.combine, d, into, x)));
    open(fmt::format("if ({}) {{", arithmetic_.replaces(s.combine, d, x, into)));
    line(fmt::format("{} = {};", into, x));
    line(fmt::format("{} = {};", position, i));
    close();
  };
  if (row_loops_.count(&s) > 0) return row_loop(s, combine);
  if (step != 1 && may_read_ahead(body)) {
    return in_turns({.index = i,
                     .type = type,
                     .first = begin,
                     .end = end,
                     .step = step,
                     .lanes = 1,
                     .span = 1,
                     .count = turns_at_once(s, s, 1)},
                    body, s, 1, combine);
  }
  open(fmt::format("for ({0} {1} = {2}; {1} < {3}; {4}) {{", type, i, begin, end,
                   step == 1 ? "++" + i : fmt::format("{} += {}", i, step)));
  key_ = key_in_loop(s, i);
  team_ = Team::Thread;
  stmts(body);
  team_ = team;
  combine();
  close();
  key_ = key;
}

void Emitter::reduce(const Stmt& s) {
  ensure(s.extent);
  if (s.id == s_.reduction && s_.stage == Schedule::Rest) return combine_totals(s);
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
    return elements(s, "0", n, 1, r + "_best", r);
  }
  if (!is_ordered(s.combine, d)) {
    line(fmt::format("{} {} = {};", t, r, identity));
    return elements(s, "0", n, 1, r, "");
  }
  const bool one_block = ranges_.of(s.extent).high <= kReduceBlock;
  const std::string lanes = r + "_lanes", lane = fmt::format("{}[{} & {}]", lanes, i, kReduceLanes - 1),
                    clear = fmt::format("for (int lane = 0; lane < {}; ++lane) {}[lane] = {};", kReduceLanes, lanes,
                                        identity);
  line(fmt::format("{} {}[{}];", t, lanes, kReduceLanes));
  if (one_block) {
    line(clear);
    elements(s, "0", n, 1, lane, "");
    line(fmt::format("const {} {} = {}({});", t, r, team_function("halve", s), lanes));
    return;
  }
  const std::string type = integer(ranges_.of(s.extent).high), begin = i + "_begin", end = i + "_end";
  line(fmt::format("{} {}_pending[{}];", t, r, kPending));
  line(fmt::format("int {}_count = 0;", r));
  open(fmt::format("for ({0} {1} = 0; {1} < {2}; {1} += {3}) {{", type, begin, n, kReduceBlock));
  line(clear);
  line(fmt::format("const {0} {1} = {2} - {3} < {4} ? {2} : {3} + {4};", type, end, n, begin, kReduceBlock));
  elements(s, begin, end, 1, lane, "");
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
    elements(s, "lane", n, kReduceLanes, r + "_best", r);
    line(fmt::format("{0}(&{1}_best, &{1});", team_function("warp", s), r));
    return;
  }
  line(fmt::format("{} {} = {};", type_name(d), r, identity));
  elements(s, "lane", n, kReduceLanes, r, "");
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
    if (const int length = row_piece(s); length > 1)
      elements_in_pieces(s, length, fmt::format("{} * thread", length), n, int64_t{length} * s_.threads, r);
    else
      elements(s, "thread", n, s_.threads, best, position ? r : "");
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
  const std::string totals = r + "_totals", block = i + "_block", first = i + "_wave", total = r + "_total";
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
  const int length = row_piece(s);
  line(fmt::format("const int {}_blocks = {};", i, blocks));
  if (length > 1) {
    // All threads of a warp meet at the shuffles: those without a block take an empty one.
    open(fmt::format("for (int {0}_warp = {1} * warp; {0}_warp < {0}_blocks; {0}_warp += {2}) {{", i, length,
                     length * warps));
    line(fmt::format("const int {} = {}_warp + lane / {};", block, i, kReduceLanes / length));
  } else {
    open(fmt::format("for (int {0} = warp; {0} < {1}_blocks; {0} += {2}) {{", block, i, warps));
  }
  line(fmt::format("const {0} {1}_begin = {2};", type, i, begin));
  line(fmt::format("const {0} {1}_end = {2} - {1}_begin < {3} ? {2} : {1}_begin + {3};", type, i, n, kReduceBlock));
  if (length > 1) {
    lanes_in_pieces(s, length, i + "_begin", i + "_end");
    line(fmt::format("if (lane % {} == 0 && {} < {}_blocks) {}[{}] = {};", kReduceLanes / length, block, i, totals,
                     block, total));
  } else {
    line(fmt::format("{} {} = {};", t, total, identity));
    elements(s, fmt::format("{}_begin + lane", i), i + "_end", kReduceLanes, total, "");
    line(fmt::format("{0} = {1}({0});", total, team_function("warp", s)));
    line(fmt::format("if (lane == 0) {}[{}] = {};", totals, block, total));
  }
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
