#include "codegen/gpu/schedule.h"

#include <fmt/format.h>

#include <algorithm>

#include "codegen/gpu/access.h"
#include "codegen/gpu/arithmetic.h"
#include "codegen/gpu/ranges.h"
#include "codegen/gpu/scatter.h"
#include "loop/regions.h"
#include "support/error.h"

namespace sheaf::codegen::gpu {
namespace {

using loop::Mark;
using loop::Stmt;

constexpr int kThreads = 256;
constexpr int64_t kManyItems = 1024;  // from so many on a thread each keeps a device busy
constexpr int64_t kShortRow = 8;      // elements up to which a warp would mostly wait
constexpr int64_t kFewWarps = 528;    // warps up to which each gets a block of its own: 132 processors, 4 each
constexpr int64_t kLongColumn = 64;   // elements of a column from which on warps share it
constexpr int64_t kLongSum = 8 * loop::kReduceBlock;  // elements of a sum from which on several blocks share it
constexpr int64_t kFewRows = 64;                      // sums up to which they do: half of the processors
constexpr int64_t kLongScatter = 64;                  // iterations of a loop over places from which on warps share it
constexpr int64_t kManyWarps = 4224;                  // that keep a device busy: 132 processors, 32 each
constexpr int64_t kManyElements = 1 << 20;  // from so many on threads take several each: more is under way at once
constexpr int kElements = 4;
constexpr int64_t kMaxBlocks = 2147483647;

// What a team would share in a block: calls f with the elements of each loop and reduction.
template <class F>
void each_shared(const loop::Kernel& k, const Stmt& s, std::span<const int64_t> sizes, const F& f) {
  if (s.kind == Stmt::Reduce) return f(s, evaluate(k, s.extent, sizes).value_or(1));
  if (s.kind != Stmt::Loop) return;
  std::vector<const Stmt*> nest = nest_of(k, s, sizes);
  if (!nest.empty()) {
    int64_t elements = 1;
    for (const Stmt* loop : nest)
      elements *= std::max<int64_t>(0, evaluate(k, loop->extent, sizes).value_or(1));
    return f(s, elements);
  }
  for (const Stmt& inner : s.body)
    each_shared(k, inner, sizes, f);
}

// Whether each check has a place in a lattice that sizes alone decide.
bool checks_have_places(const loop::Kernel& k, const Stmt& s, std::span<const int64_t> sizes) {
  if (s.extent != loop::kNoValue && loop::contains_check(s.body) && !evaluate(k, s.extent, sizes)) return false;
  return std::all_of(s.body.begin(), s.body.end(),
                     [&](const Stmt& inner) { return checks_have_places(k, inner, sizes); });
}

// Whether nothing before the reduction has effects that it could meet, and no check stands outside of it: it may then
// run in a launch of its own.
bool comes_first(const loop::Kernel& k, const Stmt& reduce, const std::vector<const Stmt*>& body) {
  bool before = true;
  for (const Stmt* s : body) {
    if (s == &reduce) {
      before = false;
      continue;
    }
    if (s->kind == Stmt::Check || loop::contains_check(s->body)) return false;
    if (!before) continue;
    if (s->kind != Stmt::Let) return false;
    const loop::Inst& inst = k.values[s->value];
    if (inst.op == loop::Op::Load && k.buffers[static_cast<size_t>(inst.imm)].written) return false;
  }
  return !before;
}

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Warps that share a row: eight threads take a block of 2048 elements by four at once, so that a warp has four blocks.
int warps_of_row(int64_t row_blocks, int piece) {
  return static_cast<int>(std::clamp<int64_t>(ceil_div(row_blocks, piece), 2, 16));
}

// More sums of a thread would take the registers of loads.
constexpr int kMostSums = 8;

std::vector<const Stmt*> statements(const loop::Block& body) {
  std::vector<const Stmt*> out;
  for (const Stmt& s : body)
    out.push_back(&s);
  return out;
}

// How many neighbouring columns a thread takes at once of a reduction inside the innermost loop of a nest.
int column_piece(const loop::Kernel& k, const std::vector<const Stmt*>& nest, const Stmt& reduce, const Ranges& ranges,
                 std::span<const int64_t> sizes) {
  const Stmt& inner = *nest.back();
  for (const Stmt& s : inner.body) {
    if (&s == &reduce) break;
    if (k.values[s.value].op == loop::Op::Load) return 1;  // each column has its own
  }
  int length = std::min(kMostSums, piece_length(k, statements(reduce.body), inner.axis, ranges, sizes));
  while (evaluate(k, inner.extent, sizes).value() % length != 0)
    length /= 2;
  return length;
}

// Whether a map goes along rows that are long, many, and begin where a piece does, but do not end there: a block for
// each then reads and writes pieces, and divides no index.
bool has_odd_rows(const loop::Kernel& k, const std::vector<const Stmt*>& nest, const Ranges& ranges,
                  std::span<const int64_t> sizes) {
  if (nest.size() < 2 || nest.back()->mark != Mark::Vector) return false;
  int64_t rows = 1;
  for (const Stmt* s : nest)
    if (s != nest.back()) rows *= std::max<int64_t>(0, evaluate(k, s->extent, sizes).value());
  const Stmt& inner = *nest.back();
  return rows >= kFewWarps && evaluate(k, inner.extent, sizes).value() >= 2 * loop::kReduceBlock &&
         vector_length(k, nest, ranges, sizes) == 1 &&
         piece_length(k, statements(inner.body), inner.axis, ranges, sizes) > 1;
}

// The lengths of rows that code is made for: few, so that rows of other lengths share it.
int register_class(int64_t elements_of_lane) {
  constexpr int kClasses[] = {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64};
  return *std::lower_bound(std::begin(kClasses), std::end(kClasses), elements_of_lane);
}

}  // namespace

std::vector<const Stmt*> nest_of(const loop::Kernel& k, const Stmt& first, std::span<const int64_t> sizes) {
  std::vector<const Stmt*> nest;
  const Stmt* s = &first;
  while (s && s->kind == Stmt::Loop && s->mark != Mark::Serial) {
    std::optional<int64_t> extent = evaluate(k, s->extent, sizes);
    if (!extent) break;
    // What stands between two loops runs in every iteration of the inner one: there must be some.
    bool between = !nest.empty() && std::any_of(nest.back()->body.begin(), nest.back()->body.end(),
                                                [](const Stmt& t) { return t.kind == Stmt::Check; });
    if (between && *extent <= 0) break;
    nest.push_back(s);
    const Stmt* inner = nullptr;
    for (const Stmt& t : s->body) {
      if (t.kind == Stmt::Let || t.kind == Stmt::Check) continue;
      if (t.kind != Stmt::Loop || inner) return nest;
      inner = &t;
    }
    s = inner;
  }
  return nest;
}

std::vector<const Stmt*> loops_of_row(const loop::Kernel& k, const std::vector<const Stmt*>& body,
                                      std::span<const int64_t> sizes) {
  std::vector<const Stmt*> loops;
  for (const Stmt* s : body) {
    if (s->kind != Stmt::Loop && s->kind != Stmt::Reduce) continue;
    const bool shared = s->kind == Stmt::Reduce || nest_of(k, *s, sizes).size() == 1;
    std::optional<int64_t> extent = evaluate(k, s->extent, sizes);
    if (!shared || !extent || (!loops.empty() && *extent != *evaluate(k, loops[0]->extent, sizes))) return {};
    loops.push_back(s);
  }
  return loops;
}

int row_piece(const loop::Kernel& k, const Stmt& s, const Ranges& ranges, std::span<const int64_t> sizes) {
  if (s.kind == Stmt::Reduce && is_position(s.combine)) return 1;
  return std::min(kMostSums, piece_length(k, statements(s.body), s.axis, ranges, sizes));
}

std::vector<Schedule> schedule(const loop::Kernel& k, const Part& part, std::span<const int64_t> sizes, bool aligned) {
  Schedule out;
  const bool have_places = std::all_of(part.stmts.begin(), part.stmts.end(),
                                       [&](const Stmt* s) { return checks_have_places(k, *s, sizes); });
  if (!have_places) {
    out.kind = Schedule::Serial;
    out.counts_checks = true;
    out.threads = 1;
    return {out};
  }
  std::vector<const Stmt*> nest, body = part.stmts;
  if (part.stmts.size() == 1 && part.stmts[0]->kind == Stmt::Loop) nest = nest_of(k, *part.stmts[0], sizes);
  const Ranges ranges(k, sizes);
  if (aligned && has_odd_rows(k, nest, ranges, sizes)) nest.pop_back();
  if (!nest.empty()) {
    body.clear();
    for (const Stmt& s : nest.back()->body)
      body.push_back(&s);
  }
  out.loops = static_cast<int>(nest.size());
  for (const Stmt* s : nest)
    out.items *= std::max<int64_t>(0, evaluate(k, s->extent, sizes).value());
  if (std::optional<Scatter> scatter = scatter_of(k, nest, sizes)) {
    const int64_t iterations = evaluate(k, scatter->loop->extent, sizes).value_or(0),
                  groups = std::max<int64_t>(1, ceil_div(out.items, kWarp));
    while (out.owners < std::min(iterations, ceil_div(kManyWarps, groups)))
      out.owners *= 2;
    if (iterations >= kLongScatter && out.owners > 1) {
      out.kind = Schedule::Scatter;
      out.blocks = ceil_div(ceil_div(out.items, kWarp) * out.owners, kThreads / kWarp);
      return {out};
    }
    out.owners = 1;
  }
  int shared = 0;
  const Stmt* reduce = nullptr;
  for (const Stmt* s : body)
    each_shared(k, *s, sizes, [&](const Stmt& what, int64_t elements) {
      ++shared;
      if (what.kind == Stmt::Reduce) reduce = &what;
      out.longest = std::max(out.longest, elements);
    });
  const bool one_total = shared == 1 && reduce && !is_position(reduce->combine) && comes_first(k, *reduce, body);
  const int64_t row_blocks = ceil_div(out.longest, loop::kReduceBlock);
  auto in_two_stages = [&](int64_t blocks, Schedule rest) {
    Schedule totals = out;
    totals.stage = Schedule::Totals;
    totals.blocks = blocks;
    rest.stage = Schedule::Rest;
    return std::vector<Schedule>{totals, rest};
  };

  if (shared > 0 && !nest.empty() && nest.back()->mark == Mark::Vector && reduce) {
    out.kind = Schedule::Serial;
    out.threads = kThreads;
    out.blocks = ceil_div(out.items, out.threads);
    if (!one_total || out.longest < kLongColumn) return {out};
    Schedule rest = out;
    out.kind = rest.kind = Schedule::Columns;
    out.reduction = rest.reduction = reduce->id;
    if (aligned) out.vector = column_piece(k, nest, *reduce, ranges, sizes);
    out.threads = std::min(kThreads, kWarp * loop::kReduceLanes / out.vector);
    out.blocks = ceil_div(out.items, kWarp);
    if (row_blocks == 1) return {out};
    return in_two_stages(out.blocks * row_blocks, rest);
  }
  if (shared == 0 || (out.longest <= kShortRow && out.items >= kManyItems)) {
    out.kind = shared == 0 ? Schedule::Map : Schedule::Serial;
    out.threads = out.loops > 0 ? kThreads : 1;
    if (shared == 0 && aligned) out.vector = vector_length(k, nest, ranges, sizes);
    const bool is_plain = std::all_of(body.begin(), body.end(),
                                      [](const Stmt* s) { return s->kind == Stmt::Let || s->kind == Stmt::Store; });
    if (shared == 0 && !nest.empty() && out.vector == 1 && is_plain && out.items >= kManyElements) out.each = kElements;
    out.blocks = ceil_div(out.items, int64_t{out.threads} * out.vector * out.each);
  } else if (out.longest <= loop::kReduceBlock) {
    out.kind = Schedule::WarpRows;
    out.threads = out.items <= kFewWarps ? kWarp : kThreads;
    out.blocks = ceil_div(out.items, out.threads / kWarp);
    if (!row_values(k, loops_of_row(k, body, sizes), std::vector<bool>(k.values.size(), true)).empty())
      out.registers = register_class(ceil_div(out.longest, kWarp));
  } else {
    out.kind = Schedule::BlockRows;
    out.threads = out.longest <= 4 * loop::kReduceBlock ? 256 : 512;
    out.blocks = out.items;
    int piece = kWarp;  // the least of a reduction
    for (const Stmt* s : body) {
      if (!aligned || (s->kind != Stmt::Loop && s->kind != Stmt::Reduce)) continue;
      const int own = row_piece(k, *s, ranges, sizes);
      out.vector = std::max(out.vector, own);
      if (s->kind == Stmt::Reduce) piece = std::min(piece, own);
    }
    if (out.vector > 1 && piece > 1) out.threads = kWarp * warps_of_row(row_blocks, std::min(piece, out.vector));
    if (one_total && out.items <= kFewRows && out.longest >= kLongSum) {
      out.kind = Schedule::SumAll;
      out.reduction = reduce->id;
      out.threads = kThreads;
      Schedule rest = out;
      if (aligned) out.vector = row_piece(k, *reduce, ranges, sizes);
      if (out.items * ceil_div(row_blocks, out.vector) <= kFewWarps) out.threads = kWarp;
      out.together = rest.together = out.threads / kWarp * out.vector;
      return in_two_stages(out.items * ceil_div(row_blocks, out.together), rest);
    }
  }
  INVARIANT(out.blocks <= kMaxBlocks, k.name << " needs " << out.blocks << " blocks");
  return {out};
}

std::string print(const Schedule& s) {
  constexpr std::string_view kNames[] = {"map",        "serial",  "rows by warps", "rows by blocks",
                                         "sum of all", "columns", "scatter",       "tiles",
                                         "chains",     "heads",   "routine"};
  std::string out = fmt::format("{}: {} items of {} loops", kNames[s.kind], s.items, s.loops);
  if (s.stage != Schedule::Whole) out += s.stage == Schedule::Totals ? ", totals" : ", rest";
  if (s.longest > 0) out += fmt::format(", rows of {}", s.longest);
  if (s.registers > 0) out += fmt::format(", {} registers of a lane", s.registers);
  if (s.owners > 1) out += fmt::format(", places of {} owners", s.owners);
  if (s.each > 1) out += fmt::format(", {} elements of a thread", s.each);
  if (s.vector > 1) out += fmt::format(", {} elements at once", s.vector);
  if (s.counts_checks) out += ", checks counted";
  return out + fmt::format("; {} x {} threads", s.blocks, s.threads);
}

}  // namespace sheaf::codegen::gpu
