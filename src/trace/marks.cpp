#include "trace/marks.h"

#include <atomic>
#include <map>
#include <unordered_map>

#include "support/mutex.h"
#include "trace/context.h"
#include "trace/traced.h"

namespace sheaf::trace {
namespace {

struct Marks {
  Dims sizes, strides;  // of the marked tensor: views of its memory are not marked
  std::map<int, SizeMark> by_axis;
};

// Keyed by buffer: a marked tensor gets its own buffer over the same memory.
struct Table {
  Mutex mu;
  std::unordered_map<const Buffer*, Marks> marks GUARDED_BY(mu);
  std::atomic<size_t> count{0};
};

Table& table() {
  static auto* t = new Table;
  return *t;
}

Tensor marked_tensor(const Tensor& t, int axis, SizeMark mark) {
  Marks marks{t.sizes, t.strides, {}};
  {
    MutexLock lock(table().mu);
    if (auto it = table().marks.find(t.buffer.get());
        it != table().marks.end() && it->second.sizes == t.sizes && it->second.strides == t.strides)
      marks = it->second;
  }
  marks.by_axis[axis] = mark;
  auto key = std::make_shared<const Buffer*>();
  Tensor out = t;
  out.buffer = Buffer::alias(t.buffer, [key] {
    MutexLock lock(table().mu);
    table().marks.erase(*key);
    table().count = table().marks.size();
  });
  *key = out.buffer.get();
  MutexLock lock(table().mu);
  table().marks[*key] = std::move(marks);
  table().count = table().marks.size();
  return out;
}

}  // namespace

Value mark_size(const Value& tensor, int axis, SizeMark mark) {
  if (tensor.is_tensor()) return Value::tensor(marked_tensor(tensor.as_tensor(), axis, mark));
  TraceContext* c = TraceContext::current_context();
  if (!c) return tensor;
  c = &c->outermost();
  const graph::Node* n = operand_of(tensor).node().get();
  while (n->op->role == graph::Role::Leaf && n->inputs[0].is_node())
    n = n->inputs[0].node().get();  // an argument of a gradient
  for (size_t i = 0; i < c->inputs.size(); ++i)
    if (c->inputs[i].get() == n) c->marks.push_back({i, axis, mark});
  return tensor;
}

std::optional<SizeMark> mark_of(const Tensor& t, int axis) {
  if (table().count.load(std::memory_order_relaxed) == 0) return std::nullopt;
  MutexLock lock(table().mu);
  auto it = table().marks.find(t.buffer.get());
  if (it == table().marks.end() || !(it->second.sizes == t.sizes) || !(it->second.strides == t.strides))
    return std::nullopt;
  auto mark = it->second.by_axis.find(axis);
  return mark == it->second.by_axis.end() ? std::nullopt : std::optional(mark->second);
}

}  // namespace sheaf::trace
