// Iterations write rows of stacked results in place. Carries are double-buffered, so that nothing is copied between
// iterations.
#include "runtime/control_runner.h"

#include <algorithm>
#include <vector>

namespace sheaf::runtime {
namespace {

using Addresses = std::vector<std::byte*>;

Addresses slice(const Pointers& p, size_t first, size_t count) {
  return {p.begin() + static_cast<ptrdiff_t>(first), p.begin() + static_cast<ptrdiff_t>(first + count)};
}

Addresses addresses(const Room& room, std::byte* base) {
  Addresses out;
  for (int64_t o : room.offsets)
    out.push_back(base + o);
  return out;
}

void copy(const Room& room, const Addresses& from, const Addresses& to, ControlDevice& on) {
  for (size_t i = 0; i < room.sizes.size(); ++i)
    if (room.sizes[i] && from[i] != to[i]) on.copy(to[i], from[i], static_cast<size_t>(room.sizes[i]));
}

bool is_true(const std::byte* at, ControlDevice& on) {
  std::byte answer;
  const Fetch piece{at, &answer, 1};
  on.fetch({&piece, 1});
  return answer != std::byte{0};
}

std::byte* begin_of(const Buffer& b) { return reinterpret_cast<std::byte*>(b.address()); }

std::span<std::byte* const> part(const Pointers& p, size_t first, size_t count) {
  return std::span<std::byte* const>(p.begin(), p.size()).subspan(first, count);
}

// Saves the carries of one iteration of a loop for its gradient.
Ref<Buffer> kept(const Room& room, const Addresses& carries, ControlDevice& on) {
  Ref<Buffer> out = on.allocate(static_cast<size_t>(std::max<int64_t>(room.total, 1)));
  copy(room, carries, addresses(room, begin_of(*out)), on);
  return out;
}

}  // namespace

// The memory of the step's buffers is reused later, so the callback gets copies that it may keep.
void run_control(const HostStep& step, const Pointers& buffers, ControlDevice& on) {
  std::vector<Tensor> values;
  std::vector<Fetch> pieces;
  for (size_t i = 0; i < step.arguments.size(); ++i) {
    const auto& [dtype, sizes] = step.arguments[i];
    values.push_back(empty_tensor(dtype, sizes));
    if (int64_t n = checked_num_elems(sizes) * size_bytes(dtype))
      pieces.push_back({buffers[i], values.back().bytes_mut(), static_cast<size_t>(n)});
  }
  on.fetch(pieces);
  (*step.call)(values);
}

void run_control(const CallStep& step, const Pointers& buffers, ControlDevice& on) {
  on.run_nested(*step.body,
                {part(buffers, 0, step.num_inputs), part(buffers, step.num_inputs, step.num_outputs), buffers.back()});
}

void run_control(const CondStep& step, const Pointers& buffers, ControlDevice& on) {
  const Plan& taken = is_true(buffers[0], on) ? *step.yes : *step.no;
  on.run_nested(
      taken, {part(buffers, 1, step.num_inputs - 1), part(buffers, step.num_inputs, step.num_outputs), buffers.back()});
}

void run_control(const ScanStep& step, const Pointers& buffers, ControlDevice& on) {
  const size_t num_carries = step.carries.sizes.size(), num_xs = step.x_bytes.size(), num_ys = step.y_bytes.size();
  std::byte* const scratch = buffers.back();
  std::byte* const inner = scratch + kLoopHeader + step.carries.total;
  Addresses from = slice(buffers, 0, num_carries);
  const Addresses results = slice(buffers, step.num_inputs, num_carries);
  const Addresses other = addresses(step.carries, scratch + kLoopHeader);
  if (step.turns == 0) copy(step.carries, from, results, on);
  Addresses in(1 + step.num_inputs), out(num_carries + num_ys);
  in[0] = scratch;
  for (size_t i = num_carries + num_xs; i < step.num_inputs; ++i)
    in[1 + i] = buffers[i];
  for (int64_t t = 0; t < step.turns; ++t) {
    const int64_t row = step.reverse ? step.turns - 1 - t : t;
    on.store(scratch, row);
    // Alternate so that the last iteration writes to the outputs.
    const Addresses& to = (step.turns - 1 - t) % 2 == 0 ? results : other;
    std::copy(from.begin(), from.end(), in.begin() + 1);
    std::copy(to.begin(), to.end(), out.begin());
    for (size_t i = 0; i < num_xs; ++i)
      in[1 + num_carries + i] = buffers[num_carries + i] + row * step.x_bytes[i];
    for (size_t i = 0; i < num_ys; ++i)
      out[num_carries + i] = buffers[step.num_inputs + num_carries + i] + row * step.y_bytes[i];
    on.run_nested(*step.body, {in, out, inner});
    from = to;
  }
}

void run_control(const WhileStep& step, const Pointers& buffers, ControlDevice& on) {
  const size_t num_inputs = step.num_inputs, num_carries = step.carries.sizes.size(),
               num_adjoints = step.adjoints.sizes.size();
  std::byte* const scratch = buffers.back();
  std::byte* const inner = scratch + kLoopHeader + 2 * step.carries.total + step.adjoints.total;
  Addresses in = slice(buffers, 0, num_inputs);
  const Addresses rooms[] = {addresses(step.carries, scratch + kLoopHeader),
                             addresses(step.carries, scratch + kLoopHeader + step.carries.total)};
  std::vector<Ref<Buffer>> tape;
  std::byte* answer = scratch;
  for (size_t t = 0;; ++t) {
    on.run_nested(*step.test, {in, {&answer, 1}, inner});
    if (!is_true(answer, on)) break;
    const Addresses& to = rooms[t % 2];
    if (step.reverse) tape.push_back(kept(step.carries, in, on));
    on.run_nested(*step.body, {in, to, inner});
    std::copy(to.begin(), to.end(), in.begin());
  }
  if (!step.reverse) return copy(step.carries, in, slice(buffers, num_inputs, num_carries), on);
  Addresses from = slice(buffers, num_inputs, num_adjoints);
  const Addresses results = slice(buffers, num_inputs + num_adjoints, num_adjoints);
  const Addresses other = addresses(step.adjoints, scratch + kLoopHeader + 2 * step.carries.total);
  if (tape.empty()) copy(step.adjoints, from, results, on);
  Addresses all(num_inputs + num_adjoints);
  for (size_t i = num_carries; i < num_inputs; ++i)
    all[i] = buffers[i];
  for (size_t t = tape.size(); t-- > 0;) {
    const Addresses carries = addresses(step.carries, begin_of(*tape[t]));
    std::copy(carries.begin(), carries.end(), all.begin());
    std::copy(from.begin(), from.end(), all.begin() + static_cast<ptrdiff_t>(num_inputs));
    const Addresses& to = t % 2 == 0 ? results : other;
    on.run_nested(*step.reverse, {all, to, inner});
    from = to;
    tape.pop_back();
  }
}

}  // namespace sheaf::runtime
