// The result of one trace of a function: compiled code, and the conditions under which a call may use it. A variant is
// immutable, except for the instances of open sizes, which have a lock. Any thread may bind and run it.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <optional>

#include "compiler/compile.h"
#include "support/mutex.h"
#include "tensor/size_facts.h"
#include "trace/marks.h"
#include "trace/rounded.h"
#include "trace/signature.h"
#include "value/tree.h"

namespace sheaf::trace {

// The sizes and ints of the arguments that a trace leaves open. Those that are equal in the traced call share a symbol.
struct OpenSizes {
  struct Symbol {
    std::vector<uint32_t> sizes;   // in CallKey::sizes
    std::vector<uint32_t> leaves;  // ints
    int64_t least;
  };
  std::vector<Symbol> symbols;
  std::map<uint32_t, Sizes> of_leaf;  // by leaf: the sizes of a tensor, the value of an int
  bool empty() const { return symbols.empty(); }
};

// An input of a graph: the leaf that it reads, and the dtype in which it reads it.
struct UsedInput {
  size_t leaf;
  DType dtype;
};

struct Variant {
  std::vector<std::pair<size_t, Value>> guards;  // leaf -> the value it must have
  std::vector<size_t> small_ints;                // leaves that must be ints below 2^kArgumentBits
  std::vector<ArgumentMark> marks;               // that the function put on its arguments while it was traced
  struct Global {
    const Value* cell;
    CallKey key;
  };
  std::vector<Global> globals;
  // Scalars computed from the leaves that must have the same values as when the variant was traced.
  struct Predicates {
    std::shared_ptr<const compiler::Compiled> code;
    std::vector<UsedInput> inputs;
    std::vector<Tensor> expected;
  } predicates;
  std::vector<UsedInput> used_inputs;  // in the order of the graph's inputs
  std::string text;                    // of the graph, if requested
  bool takes_gradient = false;         // anywhere inside
  runtime::TargetId target = runtime::TargetId::Cpu;
  bool computes = false;           // else it only returns parts of its arguments
  FlatTree result;                 // the tree of results; its traced leaves stand for the outputs, in order
  std::vector<uint8_t> is_number;  // by output: read on the host as soon as the call returns

  // If all sizes are known: the code, or the code with rounded inputs. Else the graph from which a call with new sizes
  // gets its code.
  std::shared_ptr<const compiler::Compiled> code;
  std::unique_ptr<const RoundedInputs> rounded;
  struct Open {
    CallKey key;  // of the call it was traced for
    OpenSizes sizes;
    std::vector<SizeFact> facts;
    graph::Graph graph;
    std::vector<const graph::Node*> numbers;       // inputs after the others
    std::vector<uint8_t> shaping;                  // by symbol
    std::shared_ptr<runtime::RunWatcher> watcher;  // of all instances
    Mutex mu;
    // By the values of the shaping symbols.
    std::map<std::vector<int64_t>, std::shared_ptr<const compiler::Compiled>> instances GUARDED_BY(mu);
    size_t num_launches GUARDED_BY(mu) = 0, num_dropped GUARDED_BY(mu) = 0;
  };
  std::unique_ptr<Open> open;
};

// Sizes 0 and 1 behave differently from others (1 broadcasts), so they are never left open.
inline constexpr int64_t kLeastOpen = 2;

// Traces `body` on `roots`. Throws Untraceable, any error that the program raises, or, with `heeds_marks`, MarksFound.
std::shared_ptr<const Variant> make_variant(const std::vector<Value>& roots,
                                            const std::function<Value(std::vector<Value>)>& body, bool takes_both_ways,
                                            const CallKey& key, OpenSizes open, bool heeds_marks);

// A call that matches a variant: the leaves to read, and the values of its symbols.
struct Bound {
  SmallVec<const Value*, 16> leaves;
  std::vector<int64_t> symbols;
};
// Returns nothing if the call does not match. Adds to `blamed` the int leaves whose values caused the mismatch.
std::optional<Bound> bind(const Variant& v, const Signature& s, std::vector<size_t>* blamed = nullptr);

Value run_variant(const Variant& v, const Bound& b, std::span<const uint8_t> owned);

// Measured while runtime::g_profiling is on: gathering the inputs, running, building the result.
struct RunTimes {
  uint64_t flatten_ns = 0, call_ns = 0, output_ns = 0;
};
RunTimes run_times();

}  // namespace sheaf::trace
