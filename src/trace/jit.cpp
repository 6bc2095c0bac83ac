#include "trace/jit.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <unordered_map>

#include "runtime/cpu_runner.h"
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

// More signatures than this of one function: its structure keeps changing, and compiling it again and again would cost
// more than it saves.
constexpr size_t kMaxSignatures = 32;
constexpr size_t kMaxVariantsPerSignature = 4;
// Variants with open sizes of one structure: each has assumed something else about them.
constexpr size_t kMaxOpenVariants = 8;
// Arguments with this many elements are worth a trace at the very first call: it costs less than running op by op.
constexpr int64_t kLargeWork = 1 << 18;
// Variants of all functions before the user hears of it.
constexpr size_t kManyVariants = 64;

struct Entry {
  std::vector<uint64_t> key;
  int calls = 0;
  bool failed = false;
  bool takes_both_ways = false;  // predicates keep changing: branches on them are compiled as branches
  std::vector<std::shared_ptr<const Variant>> variants;
};

// Signatures that differ in sizes alone.
struct Family {
  std::vector<uint64_t> key;         // with zeros in place of sizes
  std::vector<uint64_t> sizes;       // of the first call, by slot
  std::vector<uint8_t> open;         // by slot: calls differ there
  std::vector<uint8_t> pinned;       // by slot: marked static
  std::vector<uint8_t> open_leaves;  // by leaf: an int whose value was needed, and changes
  int calls = 0;
  bool closed = false;  // leaving sizes open has failed
  std::vector<std::shared_ptr<const Variant>> variants;
};

struct Function {
  std::unordered_map<uint64_t, std::vector<Entry>> entries;
  std::unordered_map<uint64_t, std::vector<Family>> families;
  size_t num_entries = 0;
  bool crowded = false;  // has had as many signatures as it may
  bool given_up = false;
  bool works_on_arrays = false;  // whatever the roots are
};

struct Table {
  std::mutex mu;
  std::map<std::pair<uint64_t, uint64_t>, Function> functions;
  JitStats stats;
  std::map<std::string, size_t> variants;  // by the name of the function
  std::set<uint64_t> scalar_only;          // code of functions that were called without tensors
};

Table& table() {
  static auto* t = new Table;
  return *t;
}

void tell(const std::string& function, JitOutcome outcome, const std::string& reason, Span span,
          const Variant* made = nullptr) {
  if (g_listener)
    g_listener({function, outcome, reason, span, made && made->code && made->code->cached, made ? made->text : "",
                made && made->takes_gradient});
}

// Called with the table locked.
void count_variant(const std::string& function) {
  ++table().variants[function];
  if (++table().stats.compiled != kManyVariants + 1 || !g_warn) return;
  std::vector<std::pair<std::string, size_t>> most(table().variants.begin(), table().variants.end());
  std::stable_sort(most.begin(), most.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string list;
  for (const auto& [name, n] : most)
    list += fmt::format("{}{}={}", list.empty() ? "" : ", ", name, n);
  // The words are those that tools look for.
  g_warn(fmt::format("WARN jit: {} distinct VMFB modules loaded (variants: {}).", table().stats.compiled, list));
}

// A call as a member of its family.
struct Member {
  std::vector<SizeSlot> slots;
  std::vector<uint64_t> family;  // the key with zeros in place of sizes

  explicit Member(const std::vector<Value>& roots) {
    Signature s;
    s.slots = &slots;
    for (const Value& r : roots)
      add_to_signature(r, s, false);
    family = std::move(s.key);
    for (const SizeSlot& slot : slots)
      family[slot.word] = 0;
  }
};

// nullptr when there are too many already: a function whose structure keeps changing is not worth compiling.
Family* family_of(Function& f, const Member& m, const Signature& s) {
  auto& bucket = f.families[Signature::hash_words(m.family)];
  for (Family& x : bucket)
    if (x.key == m.family) return &x;
  if (f.families.size() > kMaxSignatures) return nullptr;
  Family x;
  x.key = m.family;
  for (const SizeSlot& slot : m.slots)
    x.sizes.push_back(s.key[slot.word]);
  x.open.assign(m.slots.size(), 0);
  x.pinned.assign(m.slots.size(), 0);
  x.open_leaves.assign(s.leaves.size(), 0);
  bucket.push_back(std::move(x));
  return &bucket.back();
}

void note_mark(Family& x, size_t slot, SizeMark mark) {
  x.pinned[slot] = mark == SizeMark::Static;
  x.open[slot] |= mark == SizeMark::Dynamic;
}

void note_sizes(Family& x, const Member& m, const Signature& s) {
  ++x.calls;
  for (size_t i = 0; i < m.slots.size(); ++i) {
    const SizeSlot& slot = m.slots[i];
    x.open[i] |= g_dynamic == DynamicMode::All || s.key[slot.word] != x.sizes[i];
    if (auto mark = mark_of(s.leaves[slot.leaf]->as_tensor(), static_cast<int>(slot.axis))) note_mark(x, i, *mark);
  }
}

void note_marks(Family& x, const Member& m, const std::vector<ArgumentMark>& marks) {
  for (const ArgumentMark& mark : marks)
    for (size_t i = 0; i < m.slots.size(); ++i)
      if (m.slots[i].leaf == mark.input && static_cast<int>(m.slots[i].axis) == mark.axis) note_mark(x, i, mark.mark);
}

// What a trace of this call leaves open; equal sizes share a symbol, as do ints.
OpenSizes open_sizes(const Family& x, const Member& m, const Signature& s) {
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
  for (size_t i = 0; i < m.slots.size(); ++i) {
    const SizeSlot& slot = m.slots[i];
    uint64_t n = s.key[slot.word];
    if (!x.open[i] || x.pinned[i] || n < kLeastOpen) continue;
    Size v = symbol(by_size, static_cast<int64_t>(n), kLeastOpen);
    add(v).words.push_back(slot.word);
    Sizes& sizes = out.of_leaf[slot.leaf];
    if (sizes.empty()) sizes = to_sizes(s.leaves[slot.leaf]->as_tensor().sizes);
    sizes[slot.axis] = v;
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
  if (std::lock_guard lock(table().mu); !table().scalar_only.insert(code).second) return;
  tell(name, JitOutcome::ScalarOnly, "scalar-only args", {});
}
void set_gradient_listener(std::function<void()> listener) { g_gradient_computed = std::move(listener); }

void note_gradient() {
  if (Context* c = Context::current_context())
    c->outermost().takes_gradient = true;
  else if (g_gradient_computed && gradient_depth() == 0)
    g_gradient_computed();
}
void set_jit_warning(std::function<void(const std::string&)> warn) { g_warn = std::move(warn); }
JitStats jit_stats() {
  std::lock_guard lock(table().mu);
  JitStats stats = table().stats;
  RunTimes t = run_times();
  stats.flatten_ns = t.flatten_ns;
  stats.call_ns = t.call_ns;
  stats.output_ns = t.output_ns;
  return stats;
}
bool is_tracing() { return Context::current_context() != nullptr; }
void abandon_trace(std::string reason) { throw Untraceable(std::move(reason), current_span()); }

void forget_compiled() {
  std::lock_guard lock(table().mu);
  table().functions.clear();
  runtime::release_scratch();
}

namespace {

// A call must not cost more than looking at a few arguments: a tensor behind this many other values is not found, and
// the function is then simply interpreted.
constexpr int kMaxLook = 256;

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
  // A function is called without a look at its cell, numbers and text are constants of the code.
  bool is_input = old.tag() != Tag::Function && holds_tensor(old) && holds_tensor(now);
  if (!is_input) forget_compiled();
}

Value global_value(const Value& cell_value) {
  Context* c = Context::current_context();
  if (!c || !holds_tensor(cell_value)) return cell_value;
  // A global read inside a sub-trace (vmap) is an input of the whole.
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

// What to do about a call that no variant fits.
struct Decision {
  std::shared_ptr<const Variant> found;
  Bound bound;
  bool trace = false, takes_both_ways = false;
  OpenSizes open;
};

Entry* find_entry(Function& f, uint64_t hash, const Signature& s) {
  auto it = f.entries.find(hash);
  if (it == f.entries.end()) return nullptr;
  for (Entry& e : it->second)
    if (e.key == s.key) return &e;
  return nullptr;
}

Entry& entry_of(Function& f, uint64_t hash, const Signature& s) {
  if (Entry* known = find_entry(f, hash, s)) return *known;
  ++f.num_entries;
  auto& bucket = f.entries[hash];
  bucket.push_back({s.key, 0, false, false, {}});
  return bucket.back();
}

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

// Called with the table locked.
Decision decide(Function& f, const std::string& name, const std::vector<Value>& roots, const Signature& s,
                uint64_t hash) {
  Decision d;
  std::vector<size_t> blamed;
  Entry* entry = find_entry(f, hash, s);
  if (entry && find_variant(entry->variants, s, d, &blamed)) return d;
  Member member(roots);
  Family* found = family_of(f, member, s);
  if (!found) {
    f.given_up = true;
    tell(name, JitOutcome::Interpreted, "the structure of its arguments keeps changing", {});
    return d;
  }
  Family& family = *found;
  note_sizes(family, member, s);
  if (find_variant(family.variants, s, d, &blamed)) return d;
  for (size_t leaf : blamed)
    if (leaf < family.open_leaves.size()) family.open_leaves[leaf] = 1;
  bool at_once = g_mode == JitMode::Always || (s.num_elems >= kLargeWork && f.num_entries == 0);
  if (!family.closed && g_dynamic != DynamicMode::Off && (family.calls >= 2 || at_once)) {
    d.open = open_sizes(family, member, s);
    if (!d.open.empty() && family.variants.size() < kMaxOpenVariants) {
      d.trace = true;
      return d;
    }
    d.open = {};
  }
  if (!entry) {
    if (f.num_entries >= kMaxSignatures) {
      if (!f.crowded) tell(name, JitOutcome::Interpreted, "the sizes of its arguments keep changing", {});
      f.crowded = true;
      return d;
    }
    entry = &entry_of(f, hash, s);
  }
  if (entry->failed || (++entry->calls < 2 && !at_once)) return d;
  if (entry->variants.size() >= kMaxVariantsPerSignature) {
    if (entry->takes_both_ways) {
      entry->failed = true;
      tell(name, JitOutcome::Interpreted, "the numbers its sizes depend on keep changing", {});
      return d;
    }
    entry->takes_both_ways = true;
    entry->variants.clear();
  }
  d.takes_both_ways = entry->takes_both_ways;
  d.trace = true;
  return d;
}

// Asked before the arguments are looked at, of which there may be many.
bool is_given_up(uint64_t code, uint64_t purpose) {
  std::lock_guard lock(table().mu);
  auto found = table().functions.find({code, purpose});
  return found != table().functions.end() && found->second.given_up;
}

}  // namespace

bool call_compiled(uint64_t code, uint64_t purpose, const std::string& name, std::vector<Value>& roots,
                   const std::function<Value(std::vector<Value>)>& body, Value& result) {
  if (is_given_up(code, purpose)) return false;
  Signature s;
  for (const Value& r : roots)
    add_to_signature(r, s, true);
  if (!s.traceable) return false;
  uint64_t hash = s.hash();
  Decision d;
  {
    std::lock_guard lock(table().mu);
    Function& f = table().functions[{code, purpose}];
    if (!(s.has_tensor || f.works_on_arrays)) return false;
    d = decide(f, name, roots, s, hash);
    if (!d.found && !d.trace) return false;
    ++table().stats.dispatches;
  }
  if (!d.found) {
    std::string reason;
    Span span;
    bool fatal = false, is_open = !d.open.empty();
    try {
      try {
        d.found = make_variant(roots, body, d.takes_both_ways, s.key, std::move(d.open), g_dynamic != DynamicMode::Off);
      } catch (const MarksFound& found) {
        {
          std::lock_guard lock(table().mu);
          Member member(roots);
          d.open = {};
          if (Family* family = family_of(table().functions[{code, purpose}], member, s)) {
            note_marks(*family, member, found.marks);
            if (!family->closed) d.open = open_sizes(*family, member, s);
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
      // Not necessarily the user's fault: the interpreted run decides.
      reason = "tracing it failed: " + e.message;
      span = e.span;
    }
    std::lock_guard lock(table().mu);
    Function& f = table().functions[{code, purpose}];
    Member member(roots);
    Family* family = family_of(f, member, s);
    if (family && d.found) note_marks(*family, member, d.found->marks);
    if (is_open) {
      if (family && d.found)
        family->variants.push_back(d.found);
      else if (family)
        family->closed = true;
    } else {
      Entry& e = entry_of(f, hash, s);
      if (d.found)
        e.variants.push_back(d.found);
      else
        e.failed = true;
    }
    f.given_up |= fatal;
    if (!d.found)
      ++table().stats.failed;
    else if (d.found->computes)
      count_variant(name);  // what only picks from its arguments, by other names each time, makes no code
    tell(name, d.found ? JitOutcome::Compiled : JitOutcome::Interpreted, reason, span, d.found.get());
    if (!d.found) return false;
    auto bound = bind(*d.found, s);
    if (!bound) return false;
    d.bound = std::move(*bound);
  }
  uint64_t outputs = outputs_made();
  bool failed = false;
  try {
    result = run_variant(*d.found, d.bound, s.owned);
  } catch (const UserError&) {
    failed = true;  // an index out of range, say: the interpreted run reports it in the right words, with its place
  }
  if (g_gradient_computed && d.found->takes_gradient) g_gradient_computed();
  if (!failed) return true;
  if (outputs_made() == outputs) return false;
  RepeatedOutputs repeated(outputs);
  result = body(roots);
  return true;
}

void note_arrays(uint64_t code, uint64_t purpose) {
  std::lock_guard lock(table().mu);
  table().functions[{code, purpose}].works_on_arrays = true;
}

}  // namespace sheaf::trace
