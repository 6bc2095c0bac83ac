// Control flow on traced values: runs parts of a function on copies of its registers, to become sub-graphs.
#include <algorithm>

#include "eval/vm.h"
#include "trace/control.h"
#include "trace/loops.h"

namespace sheaf::eval {
namespace {

const Fork& fork_at(const Proto& p, int at) {
  auto it = std::lower_bound(p.forks.begin(), p.forks.end(), at, [](const Fork& f, int x) { return f.at < x; });
  INVARIANT(it != p.forks.end() && it->at == at, "a conditional jump at " << at << " is not listed");
  return *it;
}

// The code of a function, truncated at `end`.
std::shared_ptr<Proto> part_of(const Proto& p, int end, int dst) {
  auto part = std::make_shared<Proto>();
  part->num_slots = p.num_slots;
  part->num_captures = p.num_captures;
  part->span = p.span;
  part->code = p.code;
  part->spans = p.spans;
  part->constants = p.constants;
  part->cells = p.cells;
  part->builtin_refs = p.builtin_refs;
  part->protos = p.protos;
  part->forks = p.forks;
  part->num_registers = p.num_registers;
  auto insn = [](Code op, int a, int b = 0, int c = 0) {
    Insn i{};
    i.op = static_cast<uint16_t>(op);
    i.a = static_cast<uint16_t>(a);
    i.b = static_cast<uint16_t>(b);
    i.c = static_cast<uint16_t>(c);
    return i;
  };
  if (dst >= 0) {
    part->code[end] = insn(Code::Return, dst);
    return part;
  }
  const Insn jump = part->code[end];
  auto op = static_cast<Code>(jump.op);
  if (op == Code::JumpIf || op == Code::JumpIfNot) {
    part->code[end] = insn(Code::Return, jump.a);
    return part;
  }
  // Splits a comparison fused with its jump (two words): the comparison alone, into a register of its own.
  auto compare =
      static_cast<Code>(static_cast<int>(Code::Lt) + static_cast<int>(op) - static_cast<int>(Code::UnlessLt));
  int result = part->num_registers++;
  part->code[end] = insn(compare, result, jump.a, jump.b);
  part->code[end + 1] = insn(Code::Return, result);
  return part;
}

}  // namespace

Value Vm::run_part(int start, int end, int dst, std::initializer_list<std::pair<int, Value>> replaced) {
  const Frame& from = frames_.back();
  std::shared_ptr<Proto> part = part_of(*from.proto, end, dst);
  int n = from.proto->num_registers;
  Value* base = from.base + n + 1;
  if (frames_.size() >= kMaxFrames || base + n >= stack_end_ || native_depth_ >= max_native_depth_)
    throw trace::Untraceable("branches on traced values are nested too deep", trace::current_span());
  for (int i = 0; i < n; ++i)
    base[i] = from.base[i];
  for (const auto& [slot, value] : replaced)
    base[slot] = value;
  size_t bottom = frames_.size();
  Frame frame{part->code.data() + start, base, from.closure, part.get(), true};
  frames_.push_back(std::move(frame));
  return run(bottom);
}

void Vm::fork(const Value& condition) {
  const Frame& f = frames_.back();
  Fork fork = fork_at(*f.proto, static_cast<int>(f.pc - f.proto->code.data()) - 1);
  trace::current_span() = fork.span;
  if (fork.kind == Fork::Recur) throw trace::Untraceable("a recur depends on a traced value", fork.span);
  if (fork.kind == Fork::While) return trace_while(fork);
  Value c = condition;
  Value v = trace::trace_cond(
      c, [&] { return run_part(fork.yes, fork.join, fork.dst); },
      [&] { return run_part(fork.no, fork.join, fork.dst); });
  Frame& back = frames_.back();
  back.base[fork.dst] = std::move(v);
  back.pc = back.proto->code.data() + fork.join;
}

void Vm::trace_while(const Fork& fork) {
  auto test = [&](Value acc) { return run_part(fork.start, fork.at, -1, {{fork.dst, std::move(acc)}}); };
  auto body = [&](Value acc) { return run_part(fork.yes, fork.join, fork.dst, {{fork.dst, std::move(acc)}}); };
  Value v = trace::trace_while(frames_.back().base[fork.dst], test, body);
  Frame& back = frames_.back();
  back.base[fork.dst] = std::move(v);
  back.pc = back.proto->code.data() + fork.no;
}

bool Vm::trace_repeat() {
  const Frame& f = frames_.back();
  Fork fork = fork_at(*f.proto, static_cast<int>(f.pc - f.proto->code.data()) - 1);
  trace::current_span() = fork.span;
  auto turn = [&](const trace::Operand& index, Value acc, const std::vector<trace::Operand>&) {
    Value i = trace::to_value(index, trace::Kind::Int);
    return std::pair(run_part(fork.yes, fork.join, fork.dst, {{fork.start, std::move(i)}, {fork.dst, std::move(acc)}}),
                     Value::nil());
  };
  auto done = trace::trace_loop({f.base[fork.start + 1].as_int(), f.base[fork.dst], {}, turn});
  if (!done) return false;
  Frame& back = frames_.back();
  back.base[fork.dst] = std::move(done->carry);
  back.pc = back.proto->code.data() + fork.no;
  return true;
}

}  // namespace sheaf::eval
