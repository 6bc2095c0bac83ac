#include "trace/jit.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <unordered_map>

#include "compiler/made_for.h"
#include "runtime/cpu_runner.h"
#include "runtime/device.h"
#include "support/mutex.h"
#include "trace/context.h"
#include "trace/host_call.h"
#include "trace/marks.h"
#include "trace/traced.h"
#include "trace/variant.h"

namespace sheaf::trace {

bool g_jit_enabled = true, g_jit_listens = false;
bool g_describe_graphs = false;

namespace {

JitMode g_mode = JitMode::Auto;
DynamicMode g_dynamic = DynamicMode::Auto;
std::function<void(const JitEvent&)> g_listener;
std::function<void(const std::string&)> g_warn;
std::function<void()> g_gradient_computed;

// A function with more signatures than this keeps changing its structure, and compiling it again and again would cost
// more than it saves.
constexpr size_t kMaxSignatures = 32;
constexpr size_t kMaxVariantsPerSignature = 4;
// Limit of variants with open sizes for one structure; each assumes other facts about them.
constexpr size_t kMaxOpenVariants = 8;
// Arguments with this many elements are worth a trace at the first call: it costs less than running op by op.
constexpr int64_t kLargeWork = 1 << 18;
// Number of variants of all functions from which on the user is warned.
constexpr size_t kManyVariants = 64;

// The calls of one key.
struct Entry {
  int calls = 0;
  bool failed = false;
  bool takes_both_ways = false;  // predicates keep changing: branches on them are compiled with both sides
  std::vector<std::shared_ptr<const Variant>> variants;
};

// The calls of one form: they differ only in sizes.
struct Family {
  SmallVec<int64_t, 24> sizes;       // of the first call
  std::vector<uint8_t> open;         // by size: differs between calls
  std::vector<uint8_t> pinned;       // by size: marked static
  std::vector<uint8_t> open_leaves;  // by leaf: an int whose value was needed, and changes between calls
  int calls = 0;
  bool closed = false;  // leaving sizes open has failed
  std::vector<std::shared_ptr<const Variant>> variants;
};

struct Function {
  std::unordered_map<CallKey, Entry, KeyHash> entries;
  std::unordered_map<CallForm, Family, KeyHash> families;
  bool crowded = false;  // has reached the limit of signatures
  bool given_up = false;
  bool works_on_arrays = false;  // even if the roots hold no tensor
};

struct Table {
  Mutex mu;
  std::unordered_map<FunctionKey, Function, KeyHash> functions GUARDED_BY(mu);
  JitStats stats GUARDED_BY(mu);
  std::map<std::string, size_t> variants GUARDED_BY(mu);  // by function name
  std::set<uint64_t> scalar_only GUARDED_BY(mu);          // codes of functions called without tensors
};

Table& table() {
  static auto* t = new Table;
  return *t;
}

void tell(const std::string& function, JitOutcome outcome, const std::string& reason, Span span,
          const Variant* made = nullptr) {
  if (g_listener)
    g_listener({function, outcome, reason, span, made && made->code && made->code->cached, made ? made->text : "",
                made && made->takes_gradient,
                (made && made->target != runtime::TargetId::Cpu ? *runtime::g_device : host_space()).name()});
}

// Counts a variant and returns the warning that is now due, or "".
std::string count_variant(const std::string& function) REQUIRES(table().mu) {
  ++table().variants[function];
  if (++table().stats.compiled != kManyVariants + 1) return "";
  std::vector<std::pair<std::string, size_t>> most(table().variants.begin(), table().variants.end());
  std::stable_sort(most.begin(), most.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string list;
  for (const auto& [name, n] : most)
    list += fmt::format("{}{}={}", list.empty() ? "" : ", ", name, n);
  // External tools look for these words.
  return fmt::format("WARN jit: {} distinct VMFB modules loaded (variants: {}).", table().stats.compiled, list);
}

// Returns nullptr if there are too many: a function whose structure keeps changing is not worth compiling.
Family* family_of(Function& f, const Signature& s) {
  if (auto it = f.families.find(s.key.form); it != f.families.end()) return &it->second;
  if (f.families.size() >= kMaxSignatures) return nullptr;
  Family& x = f.families[s.key.form];
  x.sizes = s.key.sizes;
  x.open.assign(x.sizes.size(), 0);
  x.pinned.assign(x.sizes.size(), 0);
  x.open_leaves.assign(s.leaves.size(), 0);
  return &x;
}

void note_mark(Family& x, size_t slot, SizeMark mark) {
  x.pinned[slot] = mark == SizeMark::Static;
  x.open[slot] |= mark == SizeMark::Dynamic;
}

void note_sizes(Family& x, const Signature& s) {
  ++x.calls;
  std::vector<SizeSlot> slots = s.slots();
  for (size_t i = 0; i < slots.size(); ++i) {
    x.open[i] |= g_dynamic == DynamicMode::All || s.key.sizes[i] != x.sizes[i];
    if (auto mark = mark_of(s.leaves[slots[i].leaf]->as_tensor(), static_cast<int>(slots[i].axis)))
      note_mark(x, i, *mark);
  }
}

void note_marks(Family& x, const Signature& s, const std::vector<ArgumentMark>& marks) {
  std::vector<SizeSlot> slots = s.slots();
  for (const ArgumentMark& mark : marks)
    for (size_t i = 0; i < slots.size(); ++i)
      if (slots[i].leaf == mark.input && static_cast<int>(slots[i].axis) == mark.axis) note_mark(x, i, mark.mark);
}

// The sizes and ints that a trace of this call leaves open. Equal sizes share a symbol, and so do equal ints.
OpenSizes open_sizes(const Family& x, const Signature& s) {
  OpenSizes out;
  std::map<int64_t, Size> by_size, by_int;
  auto symbol = [&](std::map<int64_t, Size>& known, int64_t value, int64_t least) {
    auto [it, is_new] = known.emplace(value, Size::symbol(static_cast<uint32_t>(out.symbols.size())));
    if (is_new) out.symbols.push_back({{}, {}, least});
    return it->second;
  };
  auto add = [&](Size symbol) -> OpenSizes::Symbol& {
    return out.symbols[static_cast<size_t>(symbol.node()->a.value())];
  };
  std::vector<SizeSlot> slots = s.slots();
  for (uint32_t i = 0; i < slots.size(); ++i) {
    int64_t n = s.key.sizes[i];
    if (!x.open[i] || x.pinned[i] || n < kLeastOpen) continue;
    Size v = symbol(by_size, n, kLeastOpen);
    add(v).sizes.push_back(i);
    Sizes& sizes = out.of_leaf[slots[i].leaf];
    if (sizes.empty()) sizes = to_sizes(s.leaves[slots[i].leaf]->as_tensor().sizes);
    sizes[slots[i].axis] = v;
  }
  for (uint32_t leaf = 0; leaf < x.open_leaves.size(); ++leaf) {
    if (!x.open_leaves[leaf] || !s.leaves[leaf]->is_int() || s.leaves[leaf]->as_int() < 0) continue;
    Size v = symbol(by_int, s.leaves[leaf]->as_int(), 0);
    add(v).leaves.push_back(leaf);
    out.of_leaf[leaf] = {v};
  }
  return out;
}
}  // namespace

void set_jit_mode(JitMode mode) {
  g_mode = mode;
  g_jit_enabled = mode != JitMode::Off;
}

void set_dynamic_mode(DynamicMode mode) { g_dynamic = mode; }

void set_jit_listener(std::function<void(const JitEvent&)> listener) {
  g_jit_listens = listener != nullptr;
  g_listener = std::move(listener);
}
void note_scalar_call(uint64_t code, const std::string& name) {
  if (MutexLock lock(table().mu); !table().scalar_only.insert(code).second) return;
  tell(name, JitOutcome::ScalarOnly, "scalar-only args", {});
}
void set_gradient_listener(std::function<void()> listener) { g_gradient_computed = std::move(listener); }

void note_gradient() {
  if (TraceContext* c = TraceContext::current_context())
    c->outermost().takes_gradient = true;
  else if (g_gradient_computed && gradient_depth() == 0)
    g_gradient_computed();
}
void set_jit_warning(std::function<void(const std::string&)> warn) { g_warn = std::move(warn); }
JitStats jit_stats() {
  MutexLock lock(table().mu);
  JitStats stats = table().stats;
  RunTimes t = run_times();
  stats.flatten_ns = t.flatten_ns;
  stats.call_ns = t.call_ns;
  stats.output_ns = t.output_ns;
  return stats;
}
bool is_tracing() { return TraceContext::current_context() != nullptr; }
void abandon_trace(std::string reason) { throw Untraceable(std::move(reason), current_span()); }

void forget_compiled() {
  MutexLock lock(table().mu);
  table().functions.clear();
  runtime::release_scratch();
}

namespace {

// Limits the search for a tensor to the cost of a few arguments: after this many other values it gives up, and the
// function is interpreted.
constexpr int kMaxLook = 256;

// Recursive instead of a TreePath walk, because every call does this: a dict of parameters takes 11 ns, not 19.
bool find_tensor(const Value& v, int depth, int& budget) {
  if (depth > kMaxInputDepth || --budget < 0) return false;  // a chain or plain data, not a structure of arguments
  switch (v.tag()) {
    case Tag::Tensor: return true;
    case Tag::List:
    case Tag::Tuple:
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

void before_redefinition(const Value& old, const Value& now) {
  // Functions are called without a check of their cell; numbers and text are constants in the code.
  bool is_input = old.tag() != Tag::Function && holds_tensor(old) && holds_tensor(now);
  if (!is_input) forget_compiled();
}

Value global_value(const Value& cell_value) {
  TraceContext* c = TraceContext::current_context();
  if (!c || !holds_tensor(cell_value)) return cell_value;
  // A global read inside a sub-trace (vmap) becomes an input of the outermost trace.
  while (c->outer)
    c = c->outer;
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

namespace {

// The decision about a call that matches no variant.
struct Decision {
  std::shared_ptr<const Variant> found;
  Bound bound;
  bool trace = false, takes_both_ways = false;
  OpenSizes open;
  const char* gave_up = nullptr;  // why the function is interpreted from now on, if that was just decided
};

bool find_variant(const std::vector<std::shared_ptr<const Variant>>& variants, const Signature& s, Decision& d,
                  std::vector<size_t>* blamed) {
  for (const auto& v : variants) {
    auto bound = bind(*v, s, blamed);
    if (!bound) continue;
    d.found = v;
    d.bound = std::move(*bound);
    return true;
  }
  return false;
}

// The caller holds the table's lock.
Decision decide(Function& f, const Signature& s) {
  Decision d;
  std::vector<size_t> blamed;
  auto known = f.entries.find(s.key);
  Entry* entry = known == f.entries.end() ? nullptr : &known->second;
  if (entry && find_variant(entry->variants, s, d, &blamed)) return d;
  Family* found = family_of(f, s);
  if (!found) {
    f.given_up = true;
    d.gave_up = "the structure of its arguments keeps changing";
    return d;
  }
  Family& family = *found;
  note_sizes(family, s);
  if (find_variant(family.variants, s, d, &blamed)) return d;
  for (size_t leaf : blamed)
    if (leaf < family.open_leaves.size()) family.open_leaves[leaf] = 1;
  // Otherwise a device would need code for every single op.
  bool at_once = g_mode == JitMode::Always || s.key.form.target != runtime::TargetId::Cpu ||
                 (s.num_elems >= kLargeWork && f.entries.empty());
  if (!family.closed && g_dynamic != DynamicMode::Off && (family.calls >= 2 || at_once)) {
    d.open = open_sizes(family, s);
    if (!d.open.empty() && family.variants.size() < kMaxOpenVariants) {
      d.trace = true;
      return d;
    }
    d.open = {};
  }
  if (!entry) {
    if (f.entries.size() >= kMaxSignatures) {
      if (!f.crowded) d.gave_up = "the sizes of its arguments keep changing";
      f.crowded = true;
      return d;
    }
    entry = &f.entries[s.key];
  }
  if (entry->failed || (++entry->calls < 2 && !at_once)) return d;
  if (entry->variants.size() >= kMaxVariantsPerSignature) {
    if (entry->takes_both_ways) {
      entry->failed = true;
      d.gave_up = "the numbers its sizes depend on keep changing";
      return d;
    }
    entry->takes_both_ways = true;
    entry->variants.clear();
  }
  d.takes_both_ways = entry->takes_both_ways;
  d.trace = true;
  return d;
}

// Tested before the arguments are walked, which may be many.
bool is_given_up(const FunctionKey& key) {
  MutexLock lock(table().mu);
  auto found = table().functions.find(key);
  return found != table().functions.end() && found->second.given_up;
}

}  // namespace

bool run_compiled(const FunctionKey& key, const std::string& name, std::vector<Value>& roots,
                  const std::function<Value(std::vector<Value>)>& body, Value& result) {
  if (is_given_up(key)) return false;
  Signature s;
  for (const Value& r : roots)
    add_to_signature(r, s, true);
  if (!s.traceable) return false;
  if (runtime::Device* device = runtime::device_for(s.is_on_device, s.num_elems))
    s.key.form.target = device->target().id;
  Decision d;
  {
    MutexLock lock(table().mu);
    Function& f = table().functions[key];
    if (!(s.has_tensor || f.works_on_arrays)) return false;
    d = decide(f, s);
    if (d.found || d.trace) ++table().stats.dispatches;
  }
  if (d.gave_up) tell(name, JitOutcome::Interpreted, d.gave_up, {});
  if (!d.found && !d.trace) return false;
  if (!d.found) {
    std::string reason, warning;
    Span span;
    bool fatal = false, is_open = !d.open.empty();
    compiler::MadeFor working(name);
    try {
      try {
        d.found = make_variant(roots, body, d.takes_both_ways, s.key, std::move(d.open), g_dynamic != DynamicMode::Off);
      } catch (const MarksFound& found) {
        {
          MutexLock lock(table().mu);
          d.open = {};
          if (Family* family = family_of(table().functions[key], s)) {
            note_marks(*family, s, found.marks);
            if (!family->closed) d.open = open_sizes(*family, s);
          }
        }
        is_open = !d.open.empty();
        d.found = make_variant(roots, body, d.takes_both_ways, s.key, std::move(d.open), false);
      }
    } catch (const Untraceable& u) {
      reason = u.reason;
      span = u.span;
      fatal = u.fatal;
    } catch (const UserError& e) {
      // Not necessarily the user's error: the interpreted run decides.
      reason = "tracing it failed: " + e.message;
      span = e.span;
    }
    std::optional<Bound> bound;
    {
      MutexLock lock(table().mu);
      Function& f = table().functions[key];
      Family* family = family_of(f, s);
      if (family && d.found) note_marks(*family, s, d.found->marks);
      if (is_open) {
        if (family && d.found)
          family->variants.push_back(d.found);
        else if (family)
          family->closed = true;
      } else {
        Entry& e = f.entries[s.key];
        if (d.found)
          e.variants.push_back(d.found);
        else
          e.failed = true;
      }
      f.given_up |= fatal;
      if (!d.found)
        ++table().stats.failed;
      else if (d.found->computes)
        warning = count_variant(name);  // what only picks from its arguments, by other names each time, makes no code
      if (d.found) bound = bind(*d.found, s);
    }
    if (!warning.empty() && g_warn) g_warn(warning);
    tell(name, d.found ? JitOutcome::Compiled : JitOutcome::Interpreted, reason, span, d.found.get());
    if (!bound) return false;
    d.bound = std::move(*bound);
  }
  uint64_t outputs = outputs_made();
  bool failed = false;
  try {
    result = run_variant(*d.found, d.bound, s.owned);
  } catch (const UserError&) {
    failed = true;  // an index out of range, say: the interpreted run reports it in the right words, with its position
  }
  if (g_gradient_computed && d.found->takes_gradient) g_gradient_computed();
  if (!failed) return true;
  if (outputs_made() == outputs) return false;
  RepeatedOutputs repeated(outputs);
  result = body(roots);
  return true;
}

void note_arrays(const FunctionKey& key) {
  MutexLock lock(table().mu);
  table().functions[key].works_on_arrays = true;
}

}  // namespace sheaf::trace
