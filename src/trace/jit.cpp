#include "trace/jit.h"

#include <fmt/format.h>

#include <chrono>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "compiler/compile.h"
#include "ops/table.h"
#include "runtime/profiler.h"
#include "trace/context.h"
#include "trace/host_call.h"
#include "trace/signature.h"
#include "trace/traced.h"
#include "value/tree.h"

namespace sheaf::trace {

bool g_jit_enabled = true;
bool g_describe_graphs = false;

namespace {

using compiler::Compiled;
using graph::Node;

JitMode g_mode = JitMode::Auto;
std::function<void(const JitEvent&)> g_listener;

// More signatures than this of one function: its structure keeps changing, and compiling it again and again would cost
// more than it saves.
constexpr size_t kMaxSignatures = 32;
constexpr size_t kMaxVariantsPerSignature = 4;
// Arguments with this many elements are worth a trace at the very first call: it costs less than running op by op.
constexpr int64_t kLargeWork = 1 << 18;

struct Variant {
  std::vector<std::pair<size_t, Value>> guards;  // leaf -> the value it must have
  struct Global {
    const Value* cell;
    std::vector<uint64_t> key;
  };
  std::vector<Global> globals;
  // Scalars computed from the leaves that must come out as they did when the code was made.
  struct Predicates {
    std::shared_ptr<const Compiled> code;
    std::vector<size_t> inputs;
    std::vector<Tensor> expected;
  } predicates;
  std::vector<size_t> used_inputs;  // leaves that the graph reads, in the order of its inputs
  std::shared_ptr<const Compiled> code;
  std::string graph;  // as text, when asked for
  Value result;  // the tree of results; its traced leaves stand for the outputs, in order
};

struct Entry {
  std::vector<uint64_t> key;
  int calls = 0;
  bool failed = false;
  bool takes_both_ways = false;  // predicates keep changing: branches on them are compiled as branches
  std::vector<std::shared_ptr<const Variant>> variants;
};

struct Function {
  std::unordered_map<uint64_t, std::vector<Entry>> entries;
  size_t num_entries = 0;
  bool given_up = false;
  Value keep;  // keeps the code alive that the identity points to
};

struct Table {
  std::mutex mu;
  std::map<std::pair<const void*, uint64_t>, Function> functions;
  JitStats stats;
};

Table& table() {
  static auto* t = new Table;
  return *t;
}

void tell(const std::string& function, const char* outcome, const std::string& reason, Span span, std::string graph = {}) {
  if (g_listener) g_listener({function, outcome, reason, span, std::move(graph)});
}

Tensor input_tensor(const Value& v) {
  if (v.is_tensor()) return contiguous(v.as_tensor());
  return operand_of(v).value();
}

// The traced leaves of a result, in order; false if some leaf cannot leave a trace.
bool collect_results(const Value& v, std::vector<Operand>& out) {
  switch (v.tag()) {
    case Tag::Traced: out.push_back(static_cast<Traced*>(v.object())->operand); return true;
    case Tag::List: case Tag::Tuple:
      for (const Value& x : v.items())
        if (!collect_results(x, out)) return false;
      return true;
    case Tag::Dict:
      for (const DictEntry& e : v.as_dict().entries())
        if (!collect_results(e.value, out)) return false;
      return true;
    case Tag::Function: {
      const std::vector<Value>* captured = v.as_function()->captured();
      std::vector<Operand> inside;
      if (captured)
        for (const Value& x : *captured)
          if (!collect_results(x, inside)) return false;
      return inside.empty();
    }
    case Tag::Builtin: return dynamic_cast<const void*>(v.object()) != nullptr;
    case Tag::Atom: case Tag::Opaque: return false;
    default: return true;
  }
}

// The result's tree with its traced leaves replaced by the outputs, in order.
Value rebuild(const Value& tree, std::vector<Tensor>& outputs) {
  size_t next = 0;
  return map_leaves(tree, [&](const Value& v) {
    return v.is_traced() ? to_value(Operand(std::move(outputs[next++])), static_cast<Traced*>(v.object())->kind) : v;
  });
}

bool same_scalar(const Value& a, const Value& b) {
  if (a.tag() != b.tag()) return false;
  return a.is_int() ? a.as_int() == b.as_int() : a.as_float() == b.as_float();
}

bool same_elements(const Tensor& a, const Tensor& b) {
  Tensor x = contiguous(a), y = contiguous(b);
  return std::memcmp(x.bytes(), y.bytes(), static_cast<size_t>(x.num_elems() * size_bytes(x.dtype))) == 0;
}

// The leaves of the roots and of the globals a variant reads; empty when a global has changed its structure.
bool matches(const Variant& v, const Signature& s, std::vector<const Value*>& leaves) {
  leaves = s.leaves;
  for (const Variant::Global& g : v.globals) {
    Signature now;
    add_to_signature(*g.cell, now, false);
    if (now.key != g.key) return false;
    leaves.insert(leaves.end(), now.leaves.begin(), now.leaves.end());
  }
  for (const auto& [leaf, value] : v.guards)
    if (!same_scalar(*leaves[leaf], value)) return false;
  if (v.predicates.expected.empty()) return true;
  std::vector<Tensor> inputs;
  for (size_t i : v.predicates.inputs) inputs.push_back(input_tensor(*leaves[i]));
  std::vector<Tensor> now = compiler::run(*v.predicates.code, inputs);
  for (size_t i = 0; i < now.size(); ++i)
    if (!same_elements(now[i], v.predicates.expected[i])) return false;
  return true;
}

// The inputs that g reads, in the order of their places among `all`; g.inputs is set.
std::vector<size_t> used_inputs(graph::Graph& g, const std::vector<Ref<Node>>& all) {
  std::map<Node*, size_t> position;
  for (size_t i = 0; i < all.size(); ++i) position[all[i].get()] = i;
  std::vector<size_t> used;
  for (Node* n : live_nodes(g))
    if (auto it = position.find(n); it != position.end()) {
      g.inputs.push_back(all[it->second]);
      used.push_back(it->second);
    }
  return used;
}

Value run_variant(const Variant& v, const std::vector<const Value*>& leaves, const std::vector<uint8_t>& owned) {
  using Clock = std::chrono::steady_clock;
  auto now = [] { return runtime::g_profiling ? Clock::now() : Clock::time_point(); };
  auto start = now();
  std::vector<Tensor> inputs;
  inputs.reserve(v.used_inputs.size());
  std::vector<uint8_t> given_up;
  given_up.reserve(v.used_inputs.size());
  for (size_t i : v.used_inputs) {
    inputs.push_back(input_tensor(*leaves[i]));
    given_up.push_back(i < owned.size() && owned[i]);
  }
  auto gathered = now();
  std::vector<Tensor> outputs = compiler::run(*v.code, inputs, given_up);
  auto done = now();
  Value result = rebuild(v.result, outputs);
  if (runtime::g_profiling) {
    std::lock_guard lock(table().mu);
    table().stats.flatten_ns += static_cast<uint64_t>((gathered - start).count());
    table().stats.call_ns += static_cast<uint64_t>((done - gathered).count());
    table().stats.output_ns += static_cast<uint64_t>((now() - done).count());
  }
  return result;
}

std::shared_ptr<const Variant> make_variant(const std::vector<Value>& roots, const std::function<Value(std::vector<Value>)>& body, bool takes_both_ways) {
  Context context;
  context.guards_predicates = !takes_both_ways;
  std::vector<Value> traced;
  auto make = [&](const Value& leaf) { return context.add_input(leaf); };
  for (const Value& r : roots) traced.push_back(replace_leaves(r, make));
  auto variant = std::make_shared<Variant>();
  {
    Context::Use use(context);
    variant->result = body(std::move(traced));
  }
  graph::Graph g;
  if (!collect_results(variant->result, g.outputs)) throw Untraceable("the result holds a function or an object that depends on the arguments", {});
  g.effects = std::move(context.effects);
  variant->used_inputs = used_inputs(g, context.inputs);
  if (!context.predicates.empty()) {
    graph::Graph p;
    for (auto& [operand, value] : context.predicates) {
      p.outputs.push_back(operand);
      variant->predicates.expected.push_back(value);
    }
    variant->predicates.inputs = used_inputs(p, context.inputs);
    variant->predicates.code = std::make_shared<const Compiled>(compiler::compile(p));
  }
  variant->guards = std::move(context.guards);
  for (const auto& [cell, value] : context.globals) {
    Signature s;
    add_to_signature(*cell, s, false);
    variant->globals.push_back({cell, std::move(s.key)});
  }
  if (g_describe_graphs) variant->graph = print(g);
  variant->code = std::make_shared<const Compiled>(compiler::compile(g));
  return variant;
}

}  // namespace

void set_jit_mode(JitMode mode) {
  g_mode = mode;
  g_jit_enabled = mode != JitMode::Off;
}

void set_jit_listener(std::function<void(const JitEvent&)> listener) { g_listener = std::move(listener); }
JitStats jit_stats() {
  std::lock_guard lock(table().mu);
  return table().stats;
}
bool is_tracing() { return Context::current_context() != nullptr; }
void abandon_trace(std::string reason) { throw Untraceable(std::move(reason), current_span()); }

void forget_compiled() {
  std::lock_guard lock(table().mu);
  table().functions.clear();
  runtime::release_scratch();
}

namespace {

// A call must not cost more than looking at a few arguments: a tensor behind this many other values is not found, and the
// function is then simply interpreted.
constexpr int kMaxLook = 256;

bool find_tensor(const Value& v, int depth, int& budget) {
  if (depth > kMaxInputDepth || --budget < 0) return false;  // a chain or plain data, not a structure of arguments
  switch (v.tag()) {
    case Tag::Tensor: return true;
    case Tag::List: case Tag::Tuple:
      for (const Value& x : v.items()) {
        if (find_tensor(x, depth + 1, budget)) return true;
        if (budget < 0) return false;
      }
      return false;
    case Tag::Dict:
      if (v.as_dict().size() > kMaxLook) return false;
      for (const DictEntry& e : v.as_dict().entries()) {
        if (find_tensor(e.value, depth + 1, budget)) return true;
        if (budget < 0) return false;
      }
      return false;
    case Tag::Function:
      if (const std::vector<Value>* captured = v.as_function()->captured())
        for (const Value& x : *captured)
          if (find_tensor(x, depth + 1, budget)) return true;
      return false;
    default: return false;
  }
}

}  // namespace

bool holds_tensor(const Value& v) {
  int budget = kMaxLook;
  return find_tensor(v, 0, budget);
}

Value global_value(const Value& cell_value) {
  Context* c = Context::current_context();
  if (!c || !holds_tensor(cell_value)) return cell_value;
  // A global read inside a sub-trace (vmap) is an input of the whole.
  while (c->outer) c = c->outer;
  if (!c->takes_globals) return cell_value;
  for (const auto& [cell, value] : c->globals)
    if (cell == &cell_value) return value;
  Signature s;
  add_to_signature(cell_value, s, false);
  if (!s.traceable) abandon_trace("a global holds a value that cannot be an input of compiled code");
  auto make = [&](const Value& leaf) { return c->add_input(leaf); };
  Value traced = replace_leaves(cell_value, make);
  c->globals.emplace_back(&cell_value, traced);
  return traced;
}

bool call_compiled(const void* identity, uint64_t purpose, const std::string& name, std::vector<Value>& roots,
                   const std::function<Value(std::vector<Value>)>& body, Value& result) {
  Signature s;
  for (const Value& r : roots) add_to_signature(r, s, true);
  if (!s.traceable || !s.has_tensor) return false;
  uint64_t hash = s.hash();
  std::vector<const Value*> leaves;
  std::shared_ptr<const Variant> found;
  bool takes_both_ways = false;
  {
    std::lock_guard lock(table().mu);
    Function& f = table().functions[{identity, purpose}];
    if (f.given_up) return false;
    if (f.keep.is_nil()) f.keep = roots[0];
    auto& bucket = f.entries[hash];
    Entry* entry = nullptr;
    for (Entry& e : bucket)
      if (e.key == s.key) entry = &e;
    if (!entry) {
      if (f.num_entries >= kMaxSignatures) {
        f.given_up = true;
        tell(name, "interpreted", "the structure or the sizes of its arguments keep changing", {});
        return false;
      }
      ++f.num_entries;
      bucket.push_back({s.key, 0, false, false, {}});
      entry = &bucket.back();
    }
    for (const auto& v : entry->variants)
      if (matches(*v, s, leaves)) found = v;
    if (!found) {
      if (entry->failed) return false;
      bool at_once = g_mode == JitMode::Always || (s.num_elems >= kLargeWork && f.num_entries == 1);
      if (++entry->calls < 2 && !at_once) return false;
      if (entry->variants.size() >= kMaxVariantsPerSignature) {
        if (entry->takes_both_ways) {
          entry->failed = true;
          tell(name, "interpreted", "the numbers its sizes depend on keep changing", {});
          return false;
        }
        entry->takes_both_ways = true;
        entry->variants.clear();
      }
      takes_both_ways = entry->takes_both_ways;
    }
    ++table().stats.dispatches;
  }
  if (!found) {
    std::string reason;
    Span span;
    bool fatal = false;
    try {
      found = make_variant(roots, body, takes_both_ways);
    } catch (const Untraceable& u) {
      reason = u.reason;
      span = u.span;
      fatal = u.fatal;
    } catch (const UserError& e) {
      // Not necessarily the user's fault: the interpreted run decides.
      reason = "tracing it failed: " + e.message;
      span = e.span;
    }
    std::lock_guard lock(table().mu);
    Function& f = table().functions[{identity, purpose}];
    for (Entry& e : f.entries[hash]) {
      if (e.key != s.key) continue;
      if (found) e.variants.push_back(found);
      else e.failed = true;
    }
    f.given_up |= fatal;
    ++(found ? table().stats.compiled : table().stats.failed);
    tell(name, found ? "compiled" : "interpreted", reason, span, found ? found->graph : "");
    if (!found || !matches(*found, s, leaves)) return false;
  }
  uint64_t outputs = outputs_made();
  bool failed = false;
  try {
    result = run_variant(*found, leaves, s.owned);
  } catch (const UserError&) {
    failed = true;  // an index out of range, say: the interpreted run reports it in the right words, with its place
  }
  if (!failed) return true;
  if (outputs_made() == outputs) return false;
  RepeatedOutputs repeated(outputs);
  result = body(roots);
  return true;
}

}  // namespace sheaf::trace
