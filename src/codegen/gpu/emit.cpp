// 1. Find what is live. 2. Print the body, remembering which parameters it uses. 3. Put the head before it.
#include "codegen/gpu/emit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "codegen/gpu/emitter.h"
#include "loop/regions.h"
#include "support/error.h"

namespace sheaf::codegen::gpu {

using loop::Inst;
using loop::kNoValue;
using loop::Op;

Emitter::Emitter(const loop::Kernel& k, const Part& part, const Schedule& s, std::span<const int64_t> sizes,
                 Helpers& helpers)
    : k_(k),
      part_(part),
      s_(s),
      sizes_(sizes),
      helpers_(helpers),
      arithmetic_(helpers),
      ranges_(k, sizes),
      reduce_of_(static_cast<size_t>(k.num_reductions)),
      live_(k.values.size()),
      live_reduce_(static_cast<size_t>(k.num_reductions)),
      uses_(k.values.size()),
      folding_uses_(k.values.size()),
      has_let_(k.values.size()),
      names_(k.values.size()) {
  each_stmt(k.body, [&](const Stmt& t) {
    if (t.kind == Stmt::Reduce) reduce_of_[static_cast<size_t>(t.id)] = &t;
    if (t.kind == Stmt::Let) has_let_[t.value] = true;
  });
  if (s.stage != Schedule::Whole) {
    const Stmt& reduce = shared_reduction();
    if (s.stage == Schedule::Totals) {
      live_reduce(reduce);
    } else {
      live_reduce_[static_cast<size_t>(reduce.id)] = true;
      live_value(reduce.extent);
    }
    for (const Stmt* t : s.loops > 0 ? nest_of(k, *part.stmts[0], sizes) : Stmts())
      live_value(t->extent);
    if (s.stage == Schedule::Totals) return;
  } else if (s.kind == Schedule::Columns) {
    live_reduce(shared_reduction());  // even if unread: the schedule is built around it
  }
  for (const Stmt* t : part.stmts)
    live_stmt(*t);
}

bool Emitter::is_live(const Stmt& s) const {
  switch (s.kind) {
    case Stmt::Let: return live_[s.value];
    case Stmt::Reduce: return live_reduce_[static_cast<size_t>(s.id)];
    case Stmt::Loop: return loop::contains_store(s.body) || loop::contains_check(s.body);
    default: return true;
  }
}

void Emitter::live_stmt(const Stmt& s) {
  switch (s.kind) {
    case Stmt::Store:
    case Stmt::Check:
      live_value(s.value);
      live_value(s.offset, s.kind == Stmt::Store);
      break;
    case Stmt::Loop:
      if (!is_live(s)) break;
      live_value(s.extent);
      for (const Stmt& t : s.body)
        live_stmt(t);
      break;
    case Stmt::Reduce:
      if (loop::contains_store(s.body) || loop::contains_check(s.body)) live_reduce(s);
      break;
    default: break;
  }
}

void Emitter::live_reduce(const Stmt& s) {
  if (live_reduce_[static_cast<size_t>(s.id)]) return;
  live_reduce_[static_cast<size_t>(s.id)] = true;
  live_value(s.extent);
  live_value(s.value);
  for (const Stmt& t : s.body)
    live_stmt(t);
}

void Emitter::live_value(ValueId v, bool folds) {
  ++uses_[v];
  folding_uses_[v] += folds;
  if (live_[v]) return;
  live_[v] = true;
  const Inst& inst = k_.values[v];
  if (inst.op == Op::Result) live_reduce(*reduce_of_[static_cast<size_t>(inst.imm)]);
  for (ValueId a : inst.args)
    if (a != kNoValue) live_value(a, inst.op == Op::Load || ranges_.is_plain(v));
}

void Emitter::line(std::string_view text) { text_ += fmt::format("{:{}}{}\n", "", 2 * depth_, text); }
void Emitter::open(std::string_view text) {
  line(text);
  ++depth_;
}
void Emitter::close(std::string_view text) {
  --depth_;
  line(text);
}

// As an operand of an expression, where a minus sign could meet another.
std::string Emitter::ref(ValueId v) {
  std::string text = folded(v, 3);
  return text[0] == '-' ? "(" + text + ")" : text;
}

std::string Emitter::folded(ValueId v, int level) {
  const Inst& inst = k_.values[v];
  switch (inst.op) {
    case Op::Const: return arithmetic_.constant(inst.type, inst.imm);
    case Op::Size: used_sizes_.insert(static_cast<int>(inst.imm)); return fmt::format("s{}", inst.imm);
    case Op::Index: return index_name(inst.imm);
    case Op::Result: return fmt::format("r{}", inst.imm);
    default: break;
  }
  if (!names_[v].empty()) return names_[v];
  INVARIANT(ranges_.is_plain(v), "v" << v << " is used before it is printed in\n" << loop::print(k_));
  return plain(v, level);
}

// In parentheses where it stands for an operand of more than `level`.
std::string Emitter::plain(ValueId v, int level) {
  const Inst& inst = k_.values[v];
  const bool sum = inst.op == Op::Add || inst.op == Op::Sub;
  const int own = sum ? 1 : 2;
  const ValueId a = inst.args[0], b = inst.args[1];
  // Two operands of 32 bits whose result needs more.
  const bool widen = !ranges_.is_narrow(v) && ranges_.is_narrow(a) && ranges_.is_narrow(b);
  std::string left = widen ? "(long long)" + folded(a, 3) : folded(a, own);
  std::string right = folded(b, own + (inst.op != Op::Add));
  char sign = inst.op == Op::Add        ? '+'
              : inst.op == Op::Sub      ? '-'
              : inst.op == Op::Mul      ? '*'
              : inst.op == Op::FloorDiv ? '/'
                                        : '%';
  std::string text = fmt::format("{} {} {}", left, sign, right);
  return own < level ? "(" + text + ")" : text;
}

std::string Emitter::expression(ValueId v) {
  const Inst& inst = k_.values[v];
  if (auto kept = kept_.find(v); kept != kept_.end()) return kept->second;
  if (inst.op == Op::Load) {
    used_buffers_.insert(static_cast<int>(inst.imm));
    return fmt::format("b{}[{}]", inst.imm, folded(inst.args[0], 0));
  }
  if (ranges_.is_plain(v)) return plain(v, 0);
  Arithmetic::Operands x;
  for (size_t i = 0; i < 3; ++i)
    if (inst.args[i] != kNoValue) x[i] = ref(inst.args[i]);
  return arithmetic_.apply(inst, x);
}

std::string Emitter::type_of(ValueId v) const {
  const DType d = k_.values[v].type;
  return d == DType::I64 ? int_name(v) : std::string(type_name(d));
}

void Emitter::let(ValueId v) {
  if (!live_[v] || !names_[v].empty()) return;
  if (ranges_.is_plain(v) && uses_[v] == 1 && folding_uses_[v] == 1) return;
  std::string text = expression(v);
  names_[v] = fmt::format("v{}", next_name_++);
  line(fmt::format("const {} {} = {};", type_of(v), names_[v], text));
  if (auto keep = keeps_.find(v); keep != keeps_.end()) line(fmt::format("{} = {};", keep->second, names_[v]));
}

void Emitter::ensure(ValueId v) {
  if (!has_let_[v]) return;
  for (ValueId a : k_.values[v].args)
    if (a != kNoValue) ensure(a);
  let(v);
}

namespace {

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

template <class F>
void each_word(std::string_view line, F f) {
  for (size_t i = 0; i < line.size();) {
    size_t end = i;
    while (end < line.size() && is_word(line[end]))
      ++end;
    if (end > i) f(line.substr(i, end - i));
    i = end + 1;
  }
}

// The lines without constants that no later line of their block names: indices of axes along which nothing moves, and
// their like. Backwards, with the words of each block that is open.
std::string without_unused(std::string_view text) {
  std::vector<std::string_view> lines, kept;
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find('\n', at) + 1;
    lines.push_back(text.substr(at, end - at));
    at = end;
  }
  std::vector<std::set<std::string_view>> blocks(1);
  for (size_t i = lines.size(); i-- > 0;) {
    std::string_view line = lines[i];
    const size_t equals = line.find(" = "), start = line.find_first_not_of(' ');
    if (line.ends_with("{\n") && blocks.size() > 1) {
      std::set<std::string_view> inner = std::move(blocks.back());
      blocks.pop_back();
      blocks.back().merge(inner);
    }
    if (line[start] == '}') blocks.emplace_back();
    if (line.substr(start).starts_with("const ") && equals != std::string_view::npos) {
      size_t begin = equals;
      while (is_word(line[begin - 1]))
        --begin;
      if (blocks.back().erase(line.substr(begin, equals - begin)) == 0) continue;
      line = line.substr(equals);
    }
    each_word(line, [&](std::string_view word) { blocks.back().insert(word); });
    kept.push_back(lines[i]);
  }
  std::string out;
  for (size_t i = kept.size(); i-- > 0;)
    out += kept[i];
  return out;
}

}  // namespace

EmittedLaunch Emitter::run(std::string name) {
  items();
  text_ = without_unused(text_);
  EmittedLaunch out;
  std::string head;
  auto add = [&](Parameter p, const std::string& text) {
    out.parameters.push_back(p);
    head += (head.empty() ? "" : ", ") + text;
  };
  for (int b : used_buffers_) {
    const loop::BufferParam& buffer = k_.buffers[static_cast<size_t>(b)];
    add({Parameter::Buffer, b}, fmt::format("{}{}{}* b{}", helpers_.dialect().global, buffer.written ? "" : "const ",
                                            type_name(buffer.dtype), b));
  }
  if (workspace_bytes_ > 0)
    add({Parameter::Workspace}, fmt::format("{}{}* totals", helpers_.dialect().global, workspace_type_));
  if (uses_check_) {
    helpers_.failed_check();
    add({Parameter::Check}, "CheckRecord* check");
    add({Parameter::Step}, "int step");
  }
  for (int i : used_sizes_) {
    const bool narrow = static_cast<double>(sizes_[static_cast<size_t>(i)]) <= ValueRange::kNarrow &&
                        static_cast<double>(sizes_[static_cast<size_t>(i)]) >= -ValueRange::kNarrow;
    add({Parameter::Size, i, narrow}, fmt::format("{} s{}", narrow ? "int" : "long long", i));
  }
  // Compilers delay loads to save registers, so that as many threads as possible run at once, unless they are told that
  // fewer do: those then have more bytes under way.
  constexpr int kMostBlocks = 16;  // that every device runs at once on a processor
  // A short row in registers leaves room for more.
  const int at_once = reads_ahead_ ? 512 : kept_registers_ > 0 && kept_registers_ <= 32 ? 768 : 0;
  std::string bounds;
  if (at_once > 0)
    bounds = fmt::format(fmt::runtime(helpers_.dialect().launch_bounds), s_.threads,
                         std::clamp(at_once / s_.threads, 1, kMostBlocks)) +
             " ";
  out.text =
      fmt::format("// {}\n{} {}{}({}) {{\n{}}}\n", print(s_), helpers_.dialect().kernel, bounds, name, head, text_);
  out.name = std::move(name);
  out.schedule = s_;
  out.workspace_bytes = workspace_bytes_;
  return out;
}

EmittedLaunch emit(const loop::Kernel& k, const Part& part, const Schedule& s, std::span<const int64_t> sizes,
                   std::string name, Helpers& helpers) {
  return Emitter(k, part, s, sizes, helpers).run(std::move(name));
}

}  // namespace sheaf::codegen::gpu
