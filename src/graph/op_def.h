// The type of an op entry: everything that is known of one op, as data and plain functions. The entries are in ops/.
// Other code reads their fields and compares no names (test/layers checks this). From an entry come the function of the
// language with its documentation, the shape rule, the gradient, batching, the kernel, what a trace knows of the
// values, and the tests. Entries are constants, which any thread may read.
#pragma once
#include <concepts>
#include <functional>
#include <optional>
#include <span>
#include <string_view>

#include "graph/node.h"

namespace sheaf::loop {
class Builder;
}

namespace sheaf::graph {

// The output of an Update is its first input with some elements changed. Control nodes hold sub-graphs or stand for
// several arrays at once; a Host node calls back into the program's world.
enum class OpKind : uint8_t {
  Elementwise,
  Reduce,
  Movement,
  Gather,
  Scatter,
  Update,
  Contract,
  Ordered,
  Create,
  Structure,
  Control,
  Host
};

// The dtypes of the data an op takes; conditions are Bool and indices i64 besides.
struct DTypes {
  uint16_t bits = 0;
  constexpr bool has(DType d) const { return bits >> static_cast<int>(d) & 1; }
  friend constexpr DTypes operator|(DTypes a, DTypes b) { return {static_cast<uint16_t>(a.bits | b.bits)}; }
};
constexpr DTypes only(DType d) { return {static_cast<uint16_t>(1 << static_cast<int>(d))}; }
inline constexpr DTypes kNoData = {};
inline constexpr DTypes kAnyType = {(1 << kNumDTypes) - 1};
inline constexpr DTypes kAnyReal = {kAnyType.bits & ~only(DType::C64).bits};
inline constexpr DTypes kFloats = only(DType::F32) | only(DType::F64) | only(DType::BF16) | only(DType::F16);
inline constexpr DTypes kIntegers = only(DType::I32) | only(DType::I64) | only(DType::U32);
inline constexpr DTypes kNumbers = kFloats | kIntegers;
inline constexpr DTypes kNumbersAndBool = kNumbers | only(DType::Bool);
inline constexpr DTypes kIntegersAndBool = kIntegers | only(DType::Bool);

// Shape and dtype rule: the types of the outputs from the inputs' types. Throws UserError on a mismatch.
struct InferCtx {
  std::span<const TensorType> inputs;
  const Attrs& attrs;
};
using InferFn = std::vector<TensorType> (*)(const InferCtx&);

// Reverse rule: reads inputs, outputs and the adjoints of the outputs, gives adjoints to the inputs that need one.
class VjpCtx {
 public:
  virtual ~VjpCtx() = default;
  virtual const Attrs& attrs() const = 0;
  virtual int num_inputs() const = 0;
  virtual Operand x(int input) = 0;
  virtual Operand y(int output = 0) = 0;
  virtual Operand dy(int output = 0) = 0;  // zeros when nothing flowed in
  virtual bool has_dy(int output) const = 0;
  virtual bool needs(int input) const = 0;
  // What has flowed to an input so far, taken away from it so that the rule may add to it in its own way; empty if
  // nothing.
  virtual Operand take_adjoint(int input) = 0;
  // Adds to the adjoint of an input; an adjoint of a stretched shape is summed back to the input's.
  virtual void grad(int input, Operand g) = 0;
  // For nodes with sub-graphs. Sums are not associative, so what a sub-graph adds to an adjoint must be added in the
  // order in which the same nodes outside one would add it: the rule takes the adjoint of an input as it is so far
  // (empty when nothing has flowed to it) and puts another in its place.
  virtual const Node& node() const = 0;
  virtual Operand pending(int input) const = 0;
  virtual void replace_grad(int input, Operand g) = 0;
  // Gives the node a first sub-graph with further outputs after those it has. It computes what it did, and keeps more
  // of it: the one change that is ever made to a node, so that a reverse which needs inner values need not compute them
  // again.
  virtual void add_outputs(std::shared_ptr<const Graph> body, const std::vector<TensorType>& types) = 0;
  // Adjoints of `wrt` from those of `y`, starting from `start` (entries may be empty); always recorded.
  virtual std::vector<Operand> nested(const std::vector<Operand>& y, const std::vector<Operand>& dy,
                                      const std::vector<Operand>& wrt, const std::vector<Operand>& start) = 0;
};
struct Vjp {
  void (*rule)(VjpCtx&) = nullptr;
  std::string_view reason;  // without a rule: why there is none
  bool zero = false;        // the derivative is zero by definition
};
constexpr Vjp differentiable(void (*rule)(VjpCtx&)) { return {rule, {}, false}; }
constexpr Vjp not_differentiable(std::string_view why) { return {nullptr, why, false}; }
constexpr Vjp zero_derivative(std::string_view why) { return {nullptr, why, true}; }

// Batching rule: the inputs flagged `batched` have one extra leading axis of size `batch`; so must all outputs.
struct BatchCtx {
  const OpDef& op;
  const Attrs& attrs;
  std::vector<Operand> inputs;
  std::vector<bool> batched;
  Size batch;
  // For nodes with sub-graphs: the node, and a sub-graph on inputs of which some are batched (sets which outputs are).
  const Node* node = nullptr;
  std::vector<Operand> (*nested)(const Graph& g, const std::vector<Operand>& inputs, const std::vector<bool>& batched,
                                 Size batch, std::vector<bool>& out_batched) = nullptr;
};
using BatchFn = std::vector<Operand> (*)(BatchCtx&);
struct Batch {
  BatchFn rule = nullptr;
  std::string_view reason;  // without a rule: why the function is run once per example instead
  constexpr Batch() = default;
  template <class F>
    requires std::convertible_to<F, BatchFn>
  constexpr Batch(F f) : rule(f) {}
};
constexpr Batch once_per_example(std::string_view why) {
  Batch b;
  b.reason = why;
  return b;
}

// Complex numbers (docs/design/complex.md): how the op of inputs of which one is c64 is made of other ops, in the end
// of those of real and imaginary parts. An op without a rule takes c64 only if `dtypes` names it: it moves elements.
struct ComplexCtx {
  const OpDef& op;
  const Attrs& attrs;
  const std::vector<Operand>& inputs;
};
using ComplexFn = std::vector<Operand> (*)(const ComplexCtx&);

// Builds the value of one output element from the input elements (all of compute types).
struct ScalarCtx {
  loop::Builder& b;
  std::span<const uint32_t> x;  // loop::ValueId
  const Attrs& attrs;
  DType type;  // the output's compute type
};
using ScalarFn = uint32_t (*)(ScalarCtx&);

// Builds a whole kernel (ops/lower_ctx.h).
class LowerCtx;
using LowerFn = void (*)(LowerCtx&);

// Movement without copying: the strided view of a concrete tensor, or nothing when a copy is needed.
using ViewFn = std::optional<Tensor> (*)(const Tensor&, const Attrs&);

// A control node whose inputs are known, run by applying the ops of its sub-graphs one after another.
using UnrollFn = std::vector<Operand> (*)(const Node&);

// What a failed check of the op's kernel means to the user.
struct CheckCtx {
  int site;
  int64_t payload;
  std::span<const TensorType> inputs;
  const Attrs& attrs;
};
using CheckTextFn = std::string (*)(const CheckCtx&);

// An expression of the language and what it prints.
struct Example {
  std::string_view code, result;
};

// How the arguments of a function of the language become the op's inputs, and what the result is.
enum class Arguments : uint8_t {
  Floats,         // arrays of ints as f32; numbers give a float
  Same,           // every dtype is kept (bools and storage-only ints become i32); a number gives its own kind
  Tests,          // Floats, of which a number gives a bool
  Promoted,       // two and more, from left to right, each pair in the dtype in which it meets
  Total,          // a reduction with the options of sums; of all elements it gives a float
  TotalOrNumber,  // Total, which gives a float wherever one element is left
  Position,       // a reduction to an index
  Arrays,         // one array, or two in one dtype; an option "[:name]" of the signature is a flag of the attributes
};

// The op of plain numbers, at once and with the bits of its kernel. `f64`: an elementary function, of which a number
// goes through f64, because that gives the nearest f32 and people read all digits of a number.
struct OfNumbers {
  double (*f64)(double) = nullptr;
  float (*f32)(float) = nullptr;
  float (*f32_pair)(float, float) = nullptr;
  int64_t (*i64_pair)(int64_t, int64_t) = nullptr;
};

// What transforms and the compiler know of an op without knowing which op it is.
enum class Role : uint8_t {
  Plain,
  Input,  // a parameter of the graph
  Leaf,   // its input, under a name of its own
  Sizes,  // sizes (attribute `values`) as numbers
};

// Of an op that copies elements: in which order the output holds those of the inputs.
enum class Arrangement : uint8_t {
  Other,
  SameOrder,  // all, in the same row-major order
  Permuted,   // all, in another order
  Joined,     // those of all inputs, one after the other along the attribute `axis`
};

// Of minimum and maximum: the operands bound the result from above or from below.
enum class Bound : uint8_t { None, Upper, Lower };

// The step that a Control or Host node becomes (compiler/plan_control.cpp).
enum class Nested : uint8_t { None, HostCall, Branch, Call, Scan, While, Unstack, Stack };

// The integers from lo to hi, both included.
struct IntRange {
  int64_t lo = INT64_MIN, hi = INT64_MAX;
};
// The range of the output from those of the inputs. A rule asks only for those that it needs: an answer may become a
// condition for using the code again. A rule whose result may leave i64 gives all of i64; the caller replaces a range
// that the output's dtype does not hold by that of the dtype.
struct RangeCtx {
  std::span<const Operand> inputs;
  IntRange (*range)(const Operand&);
  IntRange in(int input) const { return range(inputs[static_cast<size_t>(input)]); }
};
using RangeFn = IntRange (*)(const RangeCtx&);

// Numbers that are sizes, in a scalar or a short vector: expressions, which stay true for other sizes of the arguments.
struct SizeNumbers {
  Sizes values;
  bool scalar = false;
  Size at(size_t i) const { return values[values.size() == 1 ? 0 : i]; }
};
struct SizesCtx {
  std::span<const SizeNumbers> inputs;
  const Attrs& attrs;
  size_t count;  // of the output's elements
};
// The output's elements as sizes, or nothing if they are not sizes. What a rule asks of an expression becomes a
// condition for using the code again.
using SizesFn = std::optional<Sizes> (*)(const SizesCtx&);
using SizeTestFn = bool (*)(Size a, Size b);

// A Bool operand: whether y, the result of the op on the i64 scalars a and b, has wrapped.
using WrappedFn = Operand (*)(const Operand& a, const Operand& b, const Operand& y);

// For tests: the interval that smooth data (near no kink and no pole of the op) are sampled from.
struct Domain {
  double lo = -3, hi = 3;
};
// For tests: an input and how it is filled, with smooth data (for gradients) or any values (to compare executors).
struct TestInput {
  enum Fill : uint8_t {
    Data,      // smooth: from lo to hi, or the entry's domain if these are equal; else any values
    Uniform,   // from lo to hi, always
    Index,     // below hi; the first one counted from the end
    Distinct,  // the same, no two alike
    Counts,    // of rows in groups, which take all hi rows or leave some
    Words,     // random bits
    Matrix,    // smooth: near a diagonal matrix of different numbers; else any values
    Mask,      // Bool; smooth: true in the first column
  };
  Dims sizes;
  Fill fill = Data;
  double lo = 0, hi = 0;
  std::optional<DType> dtype = {};  // the op's
};
struct TestCase {
  Attrs attrs;
  std::vector<TestInput> inputs;
  bool apart = false;  // smooth elements keep a distance from each other and from 0, where the op has a kink
  bool zeros = false;  // the case runs a second time with zeros among the elements
};
// For tests: the arguments of the op. Of elementwise ops and reductions tests choose the shapes themselves.
struct Cases {
  int inputs = 0;                          // Elementwise; 0: as many as the formula has
  bool condition = false;                  // Elementwise: the first input is a Bool
  bool apart = false, zeros = false;       // as in TestCase
  std::span<const Domain[3]> smooth = {};  // alternatives, each with a domain per input; none: `domain` for all
  std::vector<Attrs> (*attrs)(DType) = nullptr;
  std::vector<TestCase> (*list)(DType) = nullptr;  // of other kinds
};

struct OpDef {
  std::string_view name;
  OpKind kind;
  // Not empty: the op is a function of the language by itself, called as the signature says ("(softplus x)").
  std::string_view signature = {};
  std::string_view doc;
  Example examples[3] = {};        // of the function
  std::string_view category = {};  // its heading in the reference; empty: that of its kind
  Arguments arguments = Arguments::Floats;
  OfNumbers of_numbers = {};
  Role role = Role::Plain;
  Arrangement arrangement = Arrangement::Other;
  bool converts = false;  // Elementwise: to the dtype that the attribute `dtype` names
  DTypes dtypes;
  InferFn infer;
  Vjp vjp;
  Batch batch;
  ComplexFn complex = nullptr;
  ScalarFn scalar = nullptr;  // Elementwise; Update with a window
  bool cheap = false;  // Elementwise: takes an instruction or two, so that computing it again costs less than memory
  LowerFn lower = nullptr;    // everything else that computes
  ViewFn view = nullptr;      // Movement
  ViewFn window = nullptr;    // Update: the part of the output that changes, element by element as `scalar` says
  UnrollFn unroll = nullptr;  // Control
  Nested nested = Nested::None;
  CheckTextFn check_text = nullptr;
  // What a trace knows of the output.
  SizesFn sizes = nullptr;         // of numbers that are sizes
  SizeTestFn size_test = nullptr;  // a comparison of two of them
  RangeFn range = nullptr;         // of scalar ints; without it, any that the dtype holds
  WrappedFn wrapped = nullptr;     // of ints, whose overflow is an error
  Bound bound = Bound::None;       // an int operand that the dtype does not hold bounds nothing
  bool divides = false;            // of two ints, a divisor of zero is an error
  // For tests: the plain formula in double (unary or binary), and where to sample.
  double (*reference1)(double) = nullptr;
  double (*reference2)(double, double) = nullptr;
  Domain domain = {};
  double ulps = 0;  // the greatest error in f32, of any float, in units of the last place; 0: not stated
  Cases cases = {};
};

// How many inputs an elementwise op has.
constexpr int num_inputs(const OpDef& op) { return op.cases.inputs ? op.cases.inputs : op.reference2 ? 2 : 1; }

}  // namespace sheaf::graph
