#include "trace/variant.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>

#include "compiler/instantiate.h"
#include "graph/node_map.h"
#include "runtime/profiler.h"
#include "support/mutex.h"
#include "support/phases.h"
#include "trace/checks.h"
#include "trace/context.h"
#include "trace/int_bounds.h"
#include "trace/jit.h"
#include "trace/traced.h"
#include "value/tree.h"

namespace sheaf::trace {
namespace {

using compiler::Compiled;
using graph::Node;

bool has_state(const Value& v) { return v.tag() == Tag::Atom || v.tag() == Tag::Opaque; }

// True if a leaf of a result is meaningful outside the trace. A function is if it captured nothing traced.
bool can_leave(const Value& v) {
  if (v.tag() != Tag::Function) return !has_state(v);
  return all_leaves(v, [](const Value& x) { return !x.is_traced() && !has_state(x); }, Nodes::Closures);
}

// Rebuilds the result's tree with its traced leaves replaced by the outputs, in order.
Value rebuild(const FlatTree& tree, std::vector<Tensor>& outputs) {
  size_t next = 0;
  auto made = [&](const Value& v) {
    return v.is_traced() ? to_value(Operand(std::move(outputs[next++])), kind_of(v)) : v;
  };
  if (tree.structure.is_leaf()) return made(tree.leaves[0]);
  std::vector<Value> leaves;
  leaves.reserve(tree.leaves.size());
  for (const Value& v : tree.leaves)
    leaves.push_back(made(v));
  return tree.structure.build(leaves);
}

bool same_scalar(const Value& a, const Value& b) {
  if (a.tag() != b.tag()) return false;
  return a.is_int() ? a.as_int() == b.as_int() : a.as_double() == b.as_double();
}

bool same_elements(const Tensor& a, const Tensor& b) {
  Tensor x = contiguous(a), y = contiguous(b);
  return std::memcmp(x.bytes(), y.bytes(), static_cast<size_t>(x.num_elems() * size_bytes(x.dtype))) == 0;
}

// True if the trace assumed a known value for a size that is marked dynamic, or left a static one open.
bool is_missed(const ArgumentMark& m, const Node& input) {
  Size d = input.types[0].sizes[static_cast<size_t>(m.axis)];
  if (m.mark == SizeMark::Static) return !d.is_const();
  return d.is_const() && d.value() >= kLeastOpen;
}

// The inputs that g reads, in the order of the context's inputs. Sets g.inputs and g.nodes.
std::vector<UsedInput> used_inputs(graph::Graph& g, const TraceContext& c) {
  std::vector<Node*> live = live_nodes(g);
  constexpr size_t kNone = ~size_t{0};
  graph::NodeMap<size_t> position(live, kNone);
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    position[c.inputs[i].get()] = i;
    if (c.wide_inputs[i]) position[c.wide_inputs[i].get()] = i;
  }
  std::vector<UsedInput> used;
  for (Node* n : live)
    if (size_t at = position[n]; at != kNone) {
      g.inputs.push_back(n == c.inputs[at].get() ? c.inputs[at] : c.wide_inputs[at]);
      used.push_back({at, n->types[0].dtype});
    }
  g.nodes = std::move(live);
  return used;
}

// Collects the values of the symbols. Returns false if sizes that shared a symbol differ, or a known size changed.
bool bind_symbols(const Variant::Open& open, const Signature& s, std::vector<int64_t>& values) {
  if (!(s.key.form == open.key.form)) return false;
  const auto &now = s.key.sizes, &then = open.key.sizes;
  size_t num_open = 0, num_equal = 0;
  for (const OpenSizes::Symbol& symbol : open.sizes.symbols) {
    int64_t v = symbol.sizes.empty() ? s.leaves[symbol.leaves[0]]->as_int() : now[symbol.sizes[0]];
    if (v < symbol.least) return false;
    for (uint32_t i : symbol.sizes) {
      if (now[i] != v) return false;
      ++num_open;
      num_equal += now[i] == then[i];
    }
    for (uint32_t leaf : symbol.leaves)
      if (!s.leaves[leaf]->is_int() || s.leaves[leaf]->as_int() != v) return false;
    values.push_back(v);
  }
  size_t same = 0;
  for (size_t i = 0; i < now.size(); ++i)
    same += now[i] == then[i];
  if (same - num_equal != now.size() - num_open) return false;
  return std::all_of(open.facts.begin(), open.facts.end(), [&](const SizeFact& f) { return f.agrees(values); });
}

const compiler::Backend& backend_of(const CallKey& key) { return compiler::backend_of(key.form.target); }

// The code for one set of sizes. When there are many, an arbitrary one is evicted: cyclic access to lengths would make
// LRU miss every time.
std::shared_ptr<const Compiled> instance(Variant::Open& open, const std::vector<int64_t>& symbols) {
  // About 100 MB. An instance takes 6 KB, even with one launch, and sizes that keep growing never recur.
  constexpr size_t kMaxLaunches = 1 << 16, kMaxInstances = 1 << 10;
  std::vector<int64_t> key;
  for (size_t i = 0; i < symbols.size(); ++i)
    if (open.shaping[i]) key.push_back(symbols[i]);
  {
    MutexLock lock(open.mu);
    if (auto it = open.instances.find(key); it != open.instances.end()) return it->second;
  }
  auto made = std::make_shared<Compiled>(compiler::compile(
      compiler::instantiate(open.graph, symbols, compiler::SizeNodes::Inputs), backend_of(open.key), open.watcher));
  MutexLock lock(open.mu);
  auto launches = [](const Compiled& c) { return num_launches(c.plan()); };
  while (!open.instances.empty() &&
         (open.num_launches + launches(*made) > kMaxLaunches || open.instances.size() >= kMaxInstances)) {
    auto some =
        std::next(open.instances.begin(), static_cast<int64_t>(++open.num_dropped * 7919 % open.instances.size()));
    open.num_launches -= launches(*some->second);
    open.instances.erase(some);
  }
  // Another thread may have inserted the same.
  if (open.instances.emplace(std::move(key), made).second) open.num_launches += launches(*made);
  return made;
}

struct {
  std::atomic<uint64_t> flatten_ns{0}, call_ns{0}, output_ns{0};
} g_times;

}  // namespace

std::optional<Bound> bind(const Variant& v, const Signature& s, std::vector<size_t>* blamed) {
  Bound b;
  if (v.open && !bind_symbols(*v.open, s, b.symbols)) return std::nullopt;
  b.leaves = s.leaves;
  for (const Variant::Global& g : v.globals) {
    Signature now;
    add_to_signature(*g.cell, now, false);
    if (!(now.key == g.key)) return std::nullopt;
    for (const Value* leaf : now.leaves)
      b.leaves.push_back(leaf);
  }
  bool fits = true;
  for (const auto& [leaf, value] : v.guards) {
    if (same_scalar(*b.leaves[leaf], value)) continue;
    fits = false;
    if (!blamed) break;
    if (value.is_int()) blamed->push_back(leaf);
  }
  for (size_t leaf : v.small_ints) {
    const Value& n = *b.leaves[leaf];
    fits &= n.is_int() && std::abs(n.as_int() / 2) < int64_t{1} << (kArgumentBits - 1);
  }
  if (!fits) return std::nullopt;
  if (v.predicates.expected.empty()) return b;
  std::vector<Tensor> inputs;
  for (const UsedInput& in : v.predicates.inputs)
    inputs.push_back(input_tensor(*b.leaves[in.leaf], in.dtype));
  std::vector<Tensor> now;
  try {
    now = compiler::run(*v.predicates.code, inputs);
  } catch (const UserError&) {
    return std::nullopt;  // a check failed: the interpreted run reports it
  }
  for (size_t i = 0; i < now.size(); ++i) {
    if (same_elements(now[i], v.predicates.expected[i])) continue;
    fits = false;
    // A branch that goes the other way is another variant; a number whose value was needed may be left open instead.
    if (blamed && now[i].dtype != DType::Bool)
      for (const UsedInput& in : v.predicates.inputs)
        if (b.leaves[in.leaf]->is_int()) blamed->push_back(in.leaf);
  }
  return fits ? std::optional(std::move(b)) : std::nullopt;
}

std::shared_ptr<const Variant> make_variant(const std::vector<Value>& roots,
                                            const std::function<Value(std::vector<Value>)>& body, bool takes_both_ways,
                                            const CallKey& key, OpenSizes open, bool heeds_marks) {
  TraceContext context;
  context.guards_predicates = !takes_both_ways;
  SizeFacts facts;
  Signature s;
  for (const Value& r : roots)
    add_to_signature(r, s, false);
  std::vector<int64_t> now;
  for (const OpenSizes::Symbol& symbol : open.symbols) {
    now.push_back(symbol.sizes.empty() ? s.leaves[symbol.leaves[0]]->as_int() : key.sizes[symbol.sizes[0]]);
    facts.add_symbol(now.back(), symbol.least);
  }
  std::vector<Value> traced;
  auto variant = std::make_shared<Variant>();
  variant->target = key.form.target;
  graph::Graph g;
  {
    std::optional<SizeFacts::Use> sizes;
    if (!open.empty()) sizes.emplace(facts);
    uint32_t leaf = 0;
    auto make = [&](const Value& v) {
      auto it = open.of_leaf.find(leaf++);
      return context.add_input(v, it == open.of_leaf.end() ? nullptr : &it->second);
    };
    for (const Value& r : roots)
      traced.push_back(replace_leaves(r, make));
    Phase phase("trace");
    TraceContext::Use use(context);
    variant->result = flatten(body(std::move(traced)));
  }
  if (heeds_marks && std::any_of(context.marks.begin(), context.marks.end(),
                                 [&](const ArgumentMark& m) { return is_missed(m, *context.inputs[m.input]); }))
    throw MarksFound{std::move(context.marks)};
  if (!std::all_of(variant->result.leaves.begin(), variant->result.leaves.end(), can_leave))
    throw Untraceable("the result holds a function or an object that depends on the arguments", {});
  for (const Value& v : variant->result.leaves)
    if (v.is_traced()) {
      g.outputs.push_back(wide_operand(v) ? wide_operand(v) : operand_of(v));
      variant->is_number.push_back(kind_of(v) != Kind::Tensor);
    }
  g.effects = std::move(context.effects);
  {
    std::optional<SizeFacts::Use> sizes;
    if (!open.empty()) sizes.emplace(facts);
    auto unused = unused_checks(context.checked, {context.all_inputs(), g.outputs, g.effects});
    g.effects.insert(g.effects.end(), unused.begin(), unused.end());
  }
  variant->used_inputs = used_inputs(g, context);
  variant->computes = g.nodes.size() > g.inputs.size();
  if (!context.predicates.empty()) {
    graph::Graph p;
    for (auto& [operand, value] : context.predicates) {
      p.outputs.push_back(operand);
      variant->predicates.expected.push_back(value);
    }
    variant->predicates.inputs = used_inputs(p, context);
    // Evaluated at every call, on few numbers: always on the host. The sizes that a predicate was computed from are
    // facts.
    if (!open.empty()) p = compiler::instantiate(p, now, compiler::SizeNodes::Constants);
    variant->predicates.code = std::make_shared<const Compiled>(compiler::compile(p, compiler::cpu_backend()));
  }
  variant->guards = std::move(context.guards);
  variant->small_ints = std::move(context.small_ints);
  variant->marks = std::move(context.marks);
  for (const auto& [cell, value] : context.globals) {
    Signature global;
    add_to_signature(*cell, global, false);
    variant->globals.push_back({cell, std::move(global.key)});
  }
  if (g_describe_graphs) variant->text = print(g);
  variant->takes_gradient = context.takes_gradient;
  if (open.empty()) {
    variant->rounded = RoundedInputs::find(g, backend_of(key));
    if (!variant->rounded) variant->code = std::make_shared<const Compiled>(compiler::compile(g, backend_of(key)));
    return variant;
  }
  variant->open = std::make_unique<Variant::Open>();
  Variant::Open& o = *variant->open;
  o.key = key;
  o.watcher = backend_of(key).new_watcher();
  o.facts = facts.facts();
  o.numbers = compiler::size_nodes(g);
  o.shaping = compiler::shaping_symbols(g, now.size());
  o.sizes = std::move(open);
  o.graph = std::move(g);
  return variant;
}

Value run_variant(const Variant& v, const Bound& b, std::span<const uint8_t> owned) {
  using Clock = std::chrono::steady_clock;
  auto now = [] { return runtime::g_profiling ? Clock::now() : Clock::time_point(); };
  auto start = now();
  std::vector<Tensor> inputs;
  inputs.reserve(v.used_inputs.size());
  std::vector<uint8_t> given_up;
  given_up.reserve(v.used_inputs.size());
  for (const UsedInput& in : v.used_inputs) {
    inputs.push_back(input_tensor(*b.leaves[in.leaf], in.dtype));
    given_up.push_back(in.leaf < owned.size() && owned[in.leaf]);
  }
  std::shared_ptr<const Compiled> code = v.code;
  if (v.open) {
    code = instance(*v.open, b.symbols);
    for (const Node* n : v.open->numbers) {
      inputs.push_back(compiler::size_numbers(*n, b.symbols));
      given_up.push_back(false);
    }
  }
  auto gathered = now();
  std::vector<Tensor> outputs = v.rounded ? v.rounded->run(std::move(inputs), std::move(given_up), v.is_number)
                                          : compiler::run(*code, inputs, given_up, v.is_number);
  auto done = now();
  Value result = rebuild(v.result, outputs);
  if (runtime::g_profiling) {
    g_times.flatten_ns += static_cast<uint64_t>((gathered - start).count());
    g_times.call_ns += static_cast<uint64_t>((done - gathered).count());
    g_times.output_ns += static_cast<uint64_t>((now() - done).count());
  }
  return result;
}

RunTimes run_times() { return {g_times.flatten_ns, g_times.call_ns, g_times.output_ns}; }

}  // namespace sheaf::trace
