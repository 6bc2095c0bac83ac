#include "loop/builder.h"

#include "support/error.h"

namespace sheaf::loop {

Builder::Builder(std::string name) {
  kernel_.name = std::move(name);
  scopes_.emplace_back();
}

int Builder::buffer(DType dtype, bool written) {
  kernel_.buffers.push_back({dtype, written});
  return static_cast<int>(kernel_.buffers.size()) - 1;
}

Builder::V Builder::size() {
  return emit({Op::Size, DType::I64, DType::I64, {kNoValue, kNoValue, kNoValue}, kernel_.num_sizes++});
}

Builder::V Builder::constant(DType type, int64_t bits) {
  return emit({Op::Const, type, type, {kNoValue, kNoValue, kNoValue}, bits});
}

Builder::V Builder::number(DType type, double x) {
  switch (type) {
    case DType::F32: return f32(static_cast<float>(x));
    case DType::F64: return f64(x);
    case DType::Bool: return boolean(x != 0);
    default: return constant(type, static_cast<int64_t>(x));
  }
}

Builder::V Builder::emit(Inst inst) {
  // Loads are not reused: a store to the same buffer may come in between.
  Key key{inst.op, inst.type, inst.from, inst.args[0], inst.args[1], inst.args[2], inst.imm};
  bool pure = inst.op != Op::Load;
  if (pure)
    for (const Scope& s : scopes_)
      if (auto it = s.known.find(key); it != s.known.end()) return it->second;
  V id = static_cast<V>(kernel_.values.size());
  kernel_.values.push_back(inst);
  // Constants and sizes are available everywhere; the rest belongs to the open block.
  bool leaf = inst.op == Op::Const || inst.op == Op::Size || inst.op == Op::Index || inst.op == Op::Result;
  if (!leaf) block().push_back(Stmt{.kind = Stmt::Let, .value = id});
  if (pure) (inst.op == Op::Const || inst.op == Op::Size ? scopes_.front() : scopes_.back()).known.emplace(key, id);
  return id;
}

Builder::V Builder::same(const Inst& inst, V a, V b, V c) {
  // Arithmetic on two operands goes through `binary`, which folds x + 0 and x * 1.
  bool arithmetic = inst.op >= Op::Add && inst.op < Op::Lt && b != kNoValue && c == kNoValue;
  return arithmetic ? binary(inst.op, a, b) : emit({inst.op, inst.type, inst.from, {a, b, c}});
}

Builder::V Builder::binary(Op op, V a, V b) {
  INVARIANT(type_of(a) == type_of(b), name_of(op) << " of " << name_of(type_of(a)) << " and " << name_of(type_of(b)));
  // Offsets are mostly i64 sums and products with constants: fold the trivial ones so that strides stay recognisable.
  if (type_of(a) == DType::I64 && (op == Op::Add || op == Op::Mul)) {
    auto is = [&](V v, int64_t x) { return kernel_.values[v].op == Op::Const && kernel_.values[v].imm == x; };
    int64_t unit = op == Op::Add ? 0 : 1;
    if (is(a, unit)) return b;
    if (is(b, unit)) return a;
  }
  return emit({op, type_of(a), type_of(a), {a, b, kNoValue}});
}

Builder::V Builder::compare(Op op, V a, V b) {
  INVARIANT(type_of(a) == type_of(b), name_of(op) << " of " << name_of(type_of(a)) << " and " << name_of(type_of(b)));
  return emit({op, DType::Bool, type_of(a), {a, b, kNoValue}});
}

Builder::V Builder::convert(V a, DType to) {
  if (type_of(a) == to) return a;
  return emit({Op::Convert, to, type_of(a), {a, kNoValue, kNoValue}});
}

Builder::V Builder::load(int buffer, V offset) {
  return emit({Op::Load, kernel_.buffers[buffer].dtype, DType::I64, {offset, kNoValue, kNoValue}, buffer});
}

void Builder::store(int buffer, V offset, V value) {
  INVARIANT(type_of(value) == kernel_.buffers[buffer].dtype, "store of " << name_of(type_of(value)));
  block().push_back(Stmt{.kind = Stmt::Store, .value = value, .offset = offset, .id = buffer});
}

void Builder::check(V condition, int site, V payload) {
  block().push_back(Stmt{.kind = Stmt::Check, .value = condition, .offset = payload, .id = site});
}

void Builder::call(std::string routine, std::vector<int32_t> buffers, std::vector<V> arguments) {
  block().push_back(Stmt{.kind = Stmt::Call,
                         .routine = std::move(routine),
                         .buffers = std::move(buffers),
                         .arguments = std::move(arguments)});
}

Builder::V Builder::begin_loop(V extent, Mark mark) {
  Scope s;
  s.stmt.kind = Stmt::Loop;
  s.stmt.extent = extent;
  s.stmt.axis = kernel_.num_axes++;
  s.stmt.mark = mark;
  int axis = s.stmt.axis;
  scopes_.push_back(std::move(s));
  return emit({Op::Index, DType::I64, DType::I64, {kNoValue, kNoValue, kNoValue}, axis});
}

void Builder::end() {
  Stmt s = std::move(scopes_.back().stmt);
  scopes_.pop_back();
  block().push_back(std::move(s));
}

Builder::V Builder::begin_reduce(V extent, Combine combine) {
  V index = begin_loop(extent, Mark::Serial);
  scopes_.back().stmt.kind = Stmt::Reduce;
  scopes_.back().stmt.combine = combine;
  return index;
}

Builder::V Builder::end_reduce(V element) {
  Stmt& s = scopes_.back().stmt;
  s.value = element;
  s.id = kernel_.num_reductions++;
  bool arg = s.combine == Combine::ArgMax || s.combine == Combine::ArgMin;
  DType type = arg ? DType::I64 : type_of(element);
  kernel_.reduction_types.push_back(type_of(element));
  int64_t id = s.id;
  end();
  return emit({Op::Result, type, type, {kNoValue, kNoValue, kNoValue}, id});
}

Kernel Builder::finish() {
  INVARIANT(scopes_.size() == 1, "a loop is still open");
  kernel_.body = std::move(scopes_.back().stmt.body);
  return std::move(kernel_);
}

}  // namespace sheaf::loop
