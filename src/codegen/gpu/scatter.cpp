#include "codegen/gpu/scatter.h"

#include <algorithm>

#include "codegen/gpu/access.h"
#include "codegen/gpu/ranges.h"

namespace sheaf::codegen::gpu {
namespace {

using loop::Inst;
using loop::kNoValue;
using loop::Op;
using loop::Stmt;
using loop::ValueId;

// The value in an offset that changes with the loop, where the offset is a multiple of it plus what does not change.
ValueId place_in(const loop::Kernel& k, ValueId offset, int axis, std::span<const int64_t> sizes) {
  const Inst& inst = k.values[offset];
  if (inst.op != Op::Add && inst.op != Op::Mul) return offset;
  const bool left = depends_on(k, inst.args[0], axis), right = depends_on(k, inst.args[1], axis);
  if (left == right) return kNoValue;
  const ValueId moving = inst.args[left ? 0 : 1], still = inst.args[left ? 1 : 0];
  if (inst.op == Op::Mul && evaluate(k, still, sizes).value_or(0) == 0) return kNoValue;
  return place_in(k, moving, axis, sizes);
}

}  // namespace

std::optional<Scatter> scatter_of(const loop::Kernel& k, const std::vector<const Stmt*>& nest,
                                  std::span<const int64_t> sizes) {
  if (nest.empty()) return {};
  Scatter out{};
  for (const Stmt& s : nest.back()->body) {
    if (out.loop || (s.kind != Stmt::Let && s.kind != Stmt::Loop)) return {};
    if (s.kind == Stmt::Loop) out.loop = &s;
  }
  if (!out.loop || out.loop->mark != loop::Mark::Serial) return {};
  for (const Stmt& s : out.loop->body) {
    if (out.store || (s.kind != Stmt::Let && s.kind != Stmt::Store)) return {};
    if (s.kind == Stmt::Store) out.store = &s;
  }
  if (!out.store || !depends_on(k, out.store->offset, out.loop->axis)) return {};
  out.place = place_in(k, out.store->offset, out.loop->axis, sizes);
  if (out.place == kNoValue || k.values[out.place].type != DType::I64) return {};
  if (std::any_of(nest.begin(), nest.end(), [&](const Stmt* s) { return depends_on(k, out.place, s->axis); }))
    return {};
  for (const Stmt& s : out.loop->body) {
    if (s.kind != Stmt::Let || k.values[s.value].op != Op::Load) continue;
    const Inst& load = k.values[s.value];
    if (!k.buffers[static_cast<size_t>(load.imm)].written) continue;
    if (load.imm != out.store->id || out.old != kNoValue || !equal(k, load.args[0], out.store->offset)) return {};
    out.old = s.value;
  }
  return out;
}

}  // namespace sheaf::codegen::gpu
