// Items, loops, stores, checks, and the barriers between statements of a team.
#include <fmt/format.h>

#include <algorithm>

#include "codegen/gpu/access.h"
#include "codegen/gpu/emitter.h"
#include "loop/regions.h"
#include "support/error.h"

namespace sheaf::codegen::gpu {

using loop::Mark;
using loop::Op;

namespace {

bool has_check(const loop::Stmt& s) { return s.kind == loop::Stmt::Check || loop::contains_check(s.body); }

std::string joined(const std::string& a, const std::string& b) { return a.empty() ? b : b.empty() ? a : a + " + " + b; }
std::string factor(const std::string& x) { return x.find(' ') == std::string::npos ? x : "(" + x + ")"; }

}  // namespace

// How many checks statements make, as an expression of sizes; empty: none. The place of a check is the number of those
// before it.
std::string Emitter::num_checks(const Stmt& s) {
  if (s.kind == Stmt::Check) return "1";
  if (!has_check(s)) return "";
  ensure(s.extent);
  const std::string body = num_checks(pointers(s.body)), n = "(long long)" + ref(s.extent);
  return body == "1" ? n : n + " * " + factor(body);
}

std::string Emitter::num_checks(const Stmts& all) {
  int64_t alone = 0;
  std::string sum;
  for (const Stmt* s : all)
    if (s->kind == Stmt::Check)
      ++alone;
    else
      sum = joined(sum, num_checks(*s));
  return alone == 0 ? sum : joined(sum, fmt::format("{}", alone));
}

std::string Emitter::key_in_loop(const Stmt& s, const std::string& index) {
  if (s_.counts_checks || !loop::contains_check(s.body)) return key_;
  const std::string each = num_checks(pointers(s.body));
  return joined(key_, "(long long)" + index + (each == "1" ? "" : " * " + factor(each)));
}

// Values outside of loops that this launch computes too.
void Emitter::top_lets() {
  for (const Stmt& s : k_.body)
    if (s.kind == Stmt::Let && std::find(part_.stmts.begin(), part_.stmts.end(), &s) == part_.stmts.end()) {
      if (team_ != Team::Thread && is_live(s)) wait_for(s);
      let(s.value);
    }
}

std::string Emitter::product(const Stmts& loops) {
  std::string text;
  for (const Stmt* s : loops) {
    ensure(s->extent);
    text += (text.empty() ? s_.items > ValueRange::kNarrow ? "(long long)" : "" : " * ") + ref(s->extent);
  }
  return text;
}

void Emitter::items() {
  const Dialect& d = helpers_.dialect();
  team_ = s_.kind == Schedule::WarpRows ? Team::Warp : s_.kind == Schedule::BlockRows ? Team::Block : Team::Thread;
  if (s_.kind == Schedule::SumAll) team_ = s_.stage == Schedule::Totals ? Team::Warp : Team::Block;
  top_lets();
  if (s_.counts_checks) line("long long order = 0;");
  if (team_ != Team::Thread) {
    line(fmt::format("const int thread = {};", d.thread));
    line("const int lane = thread & 31;");
  }
  if (team_ == Team::Block) line("const int warp = thread >> 5;");
  if (s_.kind == Schedule::SumAll && s_.stage == Schedule::Totals) return totals_of_all();
  if (s_.kind == Schedule::Columns && s_.stage != Schedule::Rest) return columns();
  if (s_.kind == Schedule::Scatter) return scatter();
  if (s_.loops == 0) return stmts(part_.stmts);

  Stmts nest = nest_of(k_, *part_.stmts[0], sizes_);
  nest.resize(static_cast<size_t>(s_.loops));
  // A loop that never has iterations is never launched; its text would divide by a constant 0.
  for (const Stmt* s : nest)
    if (const loop::Inst& extent = k_.values[s->extent]; extent.op == Op::Const && extent.imm <= 0) return;
  const bool is_int = static_cast<double>(s_.items) <= ValueRange::kNarrow;
  const std::string total = product(nest), flat = nest.size() == 1 ? fmt::format("i{}", nest[0]->axis) : "item",
                    type = is_int ? "int" : "long long",
                    block = is_int ? std::string(d.block) : fmt::format("(long long){}", d.block);
  const int per_block = team_ == Team::Thread ? s_.threads : team_ == Team::Warp ? s_.threads / kWarp : 1;
  if (s_.each > 1) return several(nest, flat, total);
  const bool in_pieces = s_.kind == Schedule::Map && s_.vector > 1;
  if (per_block == 1)
    line(fmt::format("const {} {} = {};", type, flat, block));
  else
    line(fmt::format("const {} {} = {} * {} + {};", type, in_pieces ? "group" : flat, block, per_block,
                     team_ == Team::Thread ? d.thread : "(thread >> 5)"));
  if (in_pieces) {
    line(fmt::format("if (group >= {} / {}) return;", nest.size() == 1 ? total : "(" + total + ")", s_.vector));
    return pieces(nest, "group");
  }
  if (per_block > 1) line(fmt::format("if ({} >= {}) return;", flat, total));
  const Stmts all = pointers(open_nest(nest, flat, is_int));
  if (s_.registers > 0) keep_row(all);
  stmts(all);
}

// `vector` neighbouring elements of the innermost loop.
void Emitter::pieces(const Stmts& nest, const std::string& group) {
  const Stmt& inner = *nest.back();
  const std::string first = fmt::format("i{}_first", inner.axis), type = integer(ranges_.of(inner.extent).high);
  const bool is_int = static_cast<double>(s_.items) <= ValueRange::kNarrow;
  if (nest.size() == 1) {
    line(fmt::format("const {} {} = {} * {};", type, first, group, s_.vector));
  } else {
    line(fmt::format("const {} item = {} * {};", is_int ? "int" : "long long", group, s_.vector));
  }
  first_of_axis_ = inner.axis;  // where pieces begin
  const Stmts body = pointers(open_nest(nest, "item", is_int));
  first_of_axis_ = -1;
  piece(body, inner, s_.vector, [] {});
}

void Emitter::declare_pieces(const Stmts& body, const Stmt& along, int length, int turns) {
  for (const Stmt* s : body) {
    if (!moves(*s, along)) continue;
    const DType d = k_.buffers[static_cast<size_t>(k_.values[s->value].imm)].dtype;
    pieces_[s->value] = fmt::format("x{}", next_piece_++);
    line(fmt::format("{} {}[{}];", helpers_.pack(d, length), pieces_[s->value], turns));
  }
}

bool Emitter::moves(const Stmt& s, const Stmt& along) const {
  return s.kind == Stmt::Let && live_[s.value] && k_.values[s.value].op == Op::Load &&
         step_of(k_, k_.values[s.value].args[0], along.axis) == Step::One;
}

void Emitter::read_piece(const Stmts& body, const Stmt& along, int length, const std::string& turn) {
  first_of_axis_ = along.axis;
  for (const Stmt* s : body) {
    if (!moves(*s, along)) continue;
    const loop::Inst& inst = k_.values[s->value];
    const int buffer = static_cast<int>(inst.imm);
    used_buffers_.insert(buffer);
    const Dialect& d = helpers_.dialect();
    const std::string pack = helpers_.pack(k_.buffers[static_cast<size_t>(buffer)].dtype, length),
                      address = fmt::format("b{} + {}", buffer, folded(inst.args[0], 1));
    auto [piece, fresh] = pieces_.emplace(s->value, fmt::format("x{}", next_piece_));
    next_piece_ += fresh;
    line(fmt::format("{}{}{} = *({}const {}*)({});", fresh ? "const " + pack + " " : "", piece->second, turn, d.global,
                     pack, address));
  }
  first_of_axis_ = -1;
}

void Emitter::piece(const Stmts& body, const Stmt& along, int length, const std::function<void()>& element,
                    const std::string& turn) {
  const Dialect& d = helpers_.dialect();
  if (turn.empty()) read_piece(body, along, length, "");
  first_of_axis_ = along.axis;
  std::string after;
  for (const Stmt* s : body) {
    if (s->kind != Stmt::Store) continue;
    used_buffers_.insert(s->id);
    const std::string pack = helpers_.pack(k_.buffers[static_cast<size_t>(s->id)].dtype, length),
                      name = fmt::format("y{}", next_piece_++);
    line(fmt::format("{} {};", pack, name));
    after += fmt::format("{:{}}{}*({}{}*)(b{} + {}) = {};\n", "", 2 * depth_,
                         store_guard_.empty() ? "" : "if (" + store_guard_ + ") ", d.global, pack, s->id,
                         folded(s->offset, 1), name);
    kept_stores_[s] = name + ".e[u]";
  }
  first_of_axis_ = -1;
  const std::map<ValueId, std::string> pieces = std::exchange(pieces_, {});
  for (const auto& [v, name] : pieces)
    kept_[v] = name + turn + ".e[u]";
  line(d.unroll);
  open(fmt::format("for (int u = 0; u < {}; ++u) {{", length));
  line(fmt::format("const {0} i{1} = i{1}_first + u;", integer(ranges_.of(along.extent).high), along.axis));
  stmts(body);
  element();
  close();
  for (const auto& [v, name] : pieces)
    kept_.erase(v);
  kept_stores_.clear();
  text_ += after;
}

// `each` elements of a thread, as far apart as a block has threads.
void Emitter::several(const Stmts& nest, const std::string& flat, const std::string& total) {
  const Dialect& d = helpers_.dialect();
  const bool is_int = static_cast<double>(s_.items) <= ValueRange::kNarrow;
  const std::string type = is_int ? "int" : "long long";
  line(fmt::format("const {0} first = ({0}){1} * {2} + {3};", type, d.block, s_.threads * s_.each, d.thread));
  const std::string key = key_;
  auto open_turn = [&] {
    line(d.unroll);
    open(fmt::format("for (int u = 0; u < {}; ++u) {{", s_.each));
    line(fmt::format("const {} {} = first + u * {};", type, flat, s_.threads));
    open(fmt::format("if ({} < {}) {{", flat, total));
    open_nest(nest, flat, is_int);
  };
  auto close_turn = [&] {
    close();
    close();
    key_ = key;
  };
  const std::vector<std::string> names = names_;
  const Stmts body = pointers(nest.back()->body);
  read_ahead(body, s_.each, "u", open_turn, close_turn);
  open_turn();
  stmts(body);
  close_turn();
  names_ = names;
}

void Emitter::read_ahead(const Stmts& body, int turns, const std::string& turn, const std::function<void()>& open_turn,
                         const std::function<void()>& close_turn, const std::set<ValueId>* needed) {
  std::map<ValueId, std::string> ahead;
  for (const Stmt* s : body)
    if (s->kind == Stmt::Let && live_[s->value] && k_.values[s->value].op == Op::Load && !kept_.count(s->value) &&
        (!needed || needed->count(s->value))) {
      const std::string name = fmt::format("ahead{}", next_ahead_++);
      line(fmt::format("{} {}[{}];", type_of(s->value), name, turns));
      ahead[s->value] = fmt::format("{}[{}]", name, turn);
    }
  if (ahead.empty()) return;
  const std::vector<std::string> names = names_;
  const std::map<ValueId, std::string> keeps = std::exchange(keeps_, {});
  open_turn();
  for (const auto& [v, place] : ahead) {
    print_for(body, v);
    line(fmt::format("{} = {};", place, ref(v)));
  }
  close_turn();
  names_ = names;
  keeps_ = keeps;
  for (const auto& [v, place] : ahead)
    kept_[v] = place;
}

// Nothing but values and stores, and what it stores it does not read.
bool Emitter::may_read_ahead(const Stmts& body) const {
  bool stored = false;
  return std::all_of(body.begin(), body.end(), [&](const Stmt* s) {
    stored |= s->kind == Stmt::Store;
    return s->kind == Stmt::Store || (s->kind == Stmt::Let && !(stored && k_.values[s->value].op == Op::Load));
  });
}

// The statements of a loop over a row, each followed by what `element` prints. Loads of a loop that stores are put
// before the stores of some elements: of the whole row they would take the registers of other rows.
void Emitter::row_loop(const Stmt& s, const std::function<void()>& element) {
  constexpr int kAhead = 16;  // registers
  const Team team = std::exchange(team_, Team::Thread);
  const std::string key = key_;
  key_ = key_in_loop(s, fmt::format("i{}", s.axis));
  const Stmts body = pointers(s.body);
  const std::set<ValueId> loads = loads_of_row(s);
  int count = s_.registers;
  auto elements_from = [&](const std::string& first) {
    open_row_loop(s, first, count);
    stmts(body);
    element();
    close();
    close();
  };
  if (loop::contains_store(s.body) && may_read_ahead(body) && !loads.empty()) {
    while (count > 1 && (static_cast<int>(loads.size()) * count > kAhead || s_.registers % count != 0))
      --count;
    const std::map<ValueId, std::string> kept = kept_;
    line(helpers_.dialect().unroll);
    open(fmt::format("for (int first = 0; first < {}; first += {}) {{", s_.registers, count));
    read_ahead(
        body, count, "k - first", [&] { open_row_loop(s, "first", count); },
        [&] {
          close();
          close();
        },
        &loads);
    elements_from("first");
    close();
    kept_ = kept;
  } else {
    elements_from("0");
  }
  team_ = team;
  key_ = key;
}

// The loads needed by its stores or by the value that is reduced, without the values kept in registers.
std::set<loop::ValueId> Emitter::loads_of_row(const Stmt& s) const {
  std::set<ValueId> seen, loads;
  auto need = [&](auto&& self, ValueId v) -> void {
    if (v == loop::kNoValue || kept_.count(v) || !seen.insert(v).second) return;
    if (k_.values[v].op == Op::Load) loads.insert(v);
    for (ValueId a : k_.values[v].args)
      self(self, a);
  };
  if (s.kind == Stmt::Reduce) need(need, s.value);
  for (const Stmt& t : s.body)
    if (t.kind != Stmt::Let) need(need, t.value), need(need, t.offset);
  return loads;
}

// The values of a body that `v` is made of, and itself.
void Emitter::print_for(const Stmts& body, ValueId v) {
  std::set<ValueId> wanted;
  auto want = [&](auto&& self, ValueId x) -> void {
    if (!wanted.insert(x).second) return;
    for (ValueId a : k_.values[x].args)
      if (a != loop::kNoValue) self(self, a);
  };
  want(want, v);
  for (const Stmt* t : body)
    if (t->kind == Stmt::Let && wanted.count(t->value)) let(t->value);
}

// What several loops over the row make of the same loads: the first keeps it in registers.
void Emitter::keep_row(const Stmts& body) {
  const Stmts loops = loops_of_row(k_, body, sizes_);
  row_loops_.insert(loops.begin(), loops.end());
  const std::vector<RowValue> values = row_values(k_, loops, live_);
  for (size_t i = 0; i < values.size(); ++i) {
    line(fmt::format("{} row{}[{}];", type_of(values[i].first), i, s_.registers));
    keeps_[values[i].first] = fmt::format("row{}[k]", i);
    for (ValueId v : values[i].later)
      kept_[v] = fmt::format("row{}[k]", i);
  }
  kept_registers_ = static_cast<int>(values.size()) * s_.registers;
}

// A loop over `count` elements of a lane from the first on; they are numbers, as registers have no addresses. Two
// braces are open.
void Emitter::open_row_loop(const Stmt& s, const std::string& first, int count) {
  line(helpers_.dialect().unroll);
  open(fmt::format("for (int k = {0}; k < {1}{2}; ++k) {{", first, first == "0" ? "" : first + " + ", count));
  line(fmt::format("const {} i{} = {} * k + lane;", integer(ranges_.of(s.extent).high), s.axis, kWarp));
  // All lanes have as many elements where the length says so.
  const bool all_there = s_.longest == int64_t{kWarp} * s_.registers;
  open(all_there ? "{" : fmt::format("if (i{} < {}) {{", s.axis, ref(s.extent)));
}

// Takes the loop variables of a nest from a flat index, and prints what stands between its loops. Returns the innermost
// body.
const loop::Block& Emitter::open_nest(const Stmts& nest, const std::string& flat, bool is_int) {
  for (const Stmt* s : nest)
    ensure(s->extent);
  std::string rest = flat;
  for (size_t i = nest.size(); i-- > 0 && nest.size() > 1;) {
    const Stmt& s = *nest[i];
    // Compilers warn of a division by 0, even where it never runs: a loop without iterations divides by 1.
    const bool runs = ranges_.of(s.extent).high > 0;
    const std::string n = runs ? ref(s.extent) : "1", type = integer(ranges_.of(s.extent).high);
    if (i == 0) {
      line(fmt::format("const {} {} = {};", type, index_name(s.axis), rest));
      break;
    }
    line(fmt::format("const {} {} = {} % {};", type, index_name(s.axis), rest, n));
    if (i == 1) {
      rest = fmt::format("{} / {}", rest, n);
    } else {
      std::string next = fmt::format("{}_{}", flat, i);
      line(fmt::format("const {} {} = {} / {};", is_int ? "int" : "long long", next, rest, n));
      rest = next;
    }
  }
  for (size_t i = 0; i < nest.size(); ++i) {
    const Stmt& s = *nest[i];
    key_ = key_in_loop(s, fmt::format("i{}", s.axis));
    if (i + 1 == nest.size()) break;
    const std::string key = key_;
    Stmts before;
    for (const Stmt& t : s.body) {
      if (has_check(t) && !s_.counts_checks) key_ = joined(key, num_checks(before));
      if (&t == nest[i + 1]) break;
      stmt(t);
      before.push_back(&t);
    }
  }
  return nest.back()->body;
}

void Emitter::stmts(const Stmts& all) {
  const std::string key = key_;
  Stmts before;
  for (const Stmt* s : all) {
    if (has_check(*s) && !s_.counts_checks) key_ = joined(key, num_checks(before));
    stmt(*s);
    before.push_back(s);
  }
  key_ = key;
}

void Emitter::stmt(const Stmt& s) {
  if (!is_live(s)) return;
  if (team_ != Team::Thread) wait_for(s);
  switch (s.kind) {
    case Stmt::Let: return let(s.value);
    case Stmt::Loop: return loop(s);
    case Stmt::Reduce: return reduce(s);
    case Stmt::Store: return store(s);
    case Stmt::Check: return check(s);
    case Stmt::Call: INVARIANT(false, "call inside a launch"); return;
  }
}

void Emitter::loop(const Stmt& s) {
  if (team_ != Team::Thread && !nest_of(k_, s, sizes_).empty()) return shared_loop(s);
  serial_loop(s);
}

void Emitter::serial_loop(const Stmt& s) {
  ensure(s.extent);
  const std::string n = ref(s.extent), i = fmt::format("i{}", s.axis), key = key_;
  const std::set<int> loaded = loaded_, stored = stored_;
  open(fmt::format("for ({0} {1} = 0; {1} < {2}; ++{1}) {{", integer(ranges_.of(s.extent).high), i, n));
  key_ = key_in_loop(s, i);
  ++serial_loops_;
  stmts(pointers(s.body));
  --serial_loops_;
  // The next iteration may read what other threads have written in this one, or overwrite what they read.
  if (team_ != Team::Thread && loop::contains_store(s.body) && !(loaded_.empty() && stored_.empty())) barrier();
  close();
  loaded_.insert(loaded.begin(), loaded.end());
  stored_.insert(stored.begin(), stored.end());
  key_ = key;
}

void Emitter::shared_loop(const Stmt& s) {
  const Stmts nest = nest_of(k_, s, sizes_);
  const Team team = team_;
  const std::string key = key_;
  double elements = 1;
  for (const Stmt* loop : nest)
    elements *= std::max(0.0, ranges_.of(loop->extent).high);
  const std::string total = product(nest),
                    flat = nest.size() == 1 ? fmt::format("i{}", s.axis) : fmt::format("t{}", s.axis);
  if (row_loops_.count(&s) > 0) return row_loop(s, [] {});
  if (const int length = row_piece(s); length > 1) return shared_pieces(s, length);
  open(fmt::format("for ({0} {1} = {2}; {1} < {3}; {1} += {4}) {{", integer(elements), flat,
                   team == Team::Warp ? "lane" : "thread", total, team == Team::Warp ? kWarp : s_.threads));
  team_ = Team::Thread;
  stmts(pointers(open_nest(nest, flat, elements <= ValueRange::kNarrow)));
  team_ = team;
  close();
  key_ = key;
}

// By a block: pieces, then what is left of the last one.
void Emitter::shared_pieces(const Stmt& s, int length) {
  ensure(s.extent);
  const Stmts body = pointers(s.body);
  const std::string i = fmt::format("i{}", s.axis), n = ref(s.extent), type = integer(ranges_.of(s.extent).high);
  in_turns({.index = i + "_first",
            .type = type,
            .first = fmt::format("{} * thread", length),
            .end = n,
            .step = int64_t{length} * s_.threads,
            .lanes = 1,
            .span = length,
            .count = std::min(4, turns_at_once(s, s, length))},
           body, s, length, [] {});
  const std::vector<std::string> names = names_;
  const Team team = std::exchange(team_, Team::Thread);
  open(fmt::format("if ({1} / {0} * {0} + thread < {1}) {{", length, n));
  line(fmt::format("const {0} {1} = {3} / {2} * {2} + thread;", type, i, length, n));
  stmts(body);
  close();
  names_ = names;
  team_ = team;
}

void Emitter::store(const Stmt& s) {
  used_buffers_.insert(s.id);
  if (auto kept = kept_stores_.find(&s); kept != kept_stores_.end())
    return line(fmt::format("{} = {};", kept->second, ref(s.value)));
  std::string text = fmt::format("b{}[{}] = {};", s.id, folded(s.offset, 0), ref(s.value));
  const std::string guard = team_ == Team::Thread ? store_guard_ : first_of_team();
  line(guard.empty() ? text : fmt::format("if ({}) {}", guard, text));
}

void Emitter::check(const Stmt& s) {
  uses_check_ = true;
  std::string condition = ref(s.value);
  if (team_ != Team::Thread) condition = fmt::format("{} || {}", condition, team_ == Team::Warp ? "lane" : "thread");
  line(fmt::format("if (!({})) fail_check(check, step, {}, {}, {});", condition,
                   s_.counts_checks ? "order"
                   : key_.empty()   ? "0"
                                    : key_,
                   s.id, ref(s.offset)));
  if (s_.counts_checks) line("++order;");
}

// Before a statement that another thread's memory accesses could meet: what was stored is read or overwritten, or what
// was read is overwritten, perhaps through another buffer that is the same memory.
void Emitter::wait_for(const Stmt& s) {
  std::set<int> loads, stores;
  auto visit = [&](const Stmt& t) {
    if (t.kind == Stmt::Store) stores.insert(t.id);
    if (t.kind == Stmt::Let && live_[t.value] && k_.values[t.value].op == Op::Load)
      loads.insert(static_cast<int>(k_.values[t.value].imm));
  };
  visit(s);
  each_stmt(s.body, visit);
  auto meet = [](const std::set<int>& a, const std::set<int>& b) {
    return std::any_of(a.begin(), a.end(), [&](int x) { return b.count(x) > 0; });
  };
  if (meet(loads, stored_) || meet(stores, stored_) || (!stores.empty() && !loaded_.empty())) barrier();
  loaded_.insert(loads.begin(), loads.end());
  stored_.insert(stores.begin(), stores.end());
}

void Emitter::barrier() {
  const Dialect& d = helpers_.dialect();
  line(team_ == Team::Warp ? d.warp_barrier : d.block_barrier);
  loaded_.clear();
  stored_.clear();
}

}  // namespace sheaf::codegen::gpu
