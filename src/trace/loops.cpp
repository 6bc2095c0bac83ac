#include "trace/loops.h"

#include <cstring>

#include "ops/apply.h"
#include "ops/loops.h"
#include "trace/control.h"
#include "trace/int_bounds.h"
#include "trace/subtrace.h"
#include "value/tree.h"

namespace sheaf::trace {
namespace {

using graph::TensorType;

// The carried value: a tree whose arrays and numbers are either carried by the loop or loop-invariant.
class Carry {
 public:
  explicit Carry(const Value& init) : init_(flatten(init)) {
    for (const Value& v : init_.leaves) {
      carried_.push_back(v.is_traced() && operand_of(v).is_node());
      wide_.push_back(static_cast<bool>(wide_operand(v)));
    }
  }

  // Operands of the carried leaves.
  std::vector<Operand> operands() const {
    std::vector<Operand> out;
    for (size_t i = 0; i < carried_.size(); ++i)
      if (carried_[i]) out.push_back(operand(i, init_.leaves[i]));
    return out;
  }

  std::vector<TensorType> types() const {
    std::vector<TensorType> out;
    for (const Operand& o : operands())
      out.push_back(o.type());
    return out;
  }

  // The tree with its carried leaves replaced.
  Value with(const std::vector<Operand>& values) const {
    std::vector<Value> leaves = init_.leaves;
    size_t next = 0;
    for (size_t i = 0; i < leaves.size(); ++i)
      if (carried_[i]) leaves[i] = value(i, values[next++]);
    return init_.structure.build(leaves);
  }

  enum class Fit { Same, Widened, No };
  // Compares the result of an iteration with the carried value, and collects its carried leaves. A constant that
  // changed becomes carried (Widened).
  Fit compare(const Value& result, std::vector<Operand>& out) {
    out.clear();
    FlatTree turn = flatten(result);
    if (!(turn.structure == init_.structure)) return Fit::No;
    bool widened = false;
    for (size_t i = 0; i < turn.leaves.size(); ++i) {
      const Value &a = init_.leaves[i], &b = turn.leaves[i];
      if (!is_numeric(a) || !is_numeric(b) || (!carried_[i] && same_constant(a, b))) {
        if (!same_constant(a, b)) return Fit::No;
        continue;
      }
      if (kind_of(a) != kind_of(b)) return Fit::No;
      Operand x = operand(i, a), y = operand(i, b);
      if (!(x.type() == y.type())) return Fit::No;
      if (!carried_[i]) carried_[i] = widened = true;
      out.push_back(std::move(y));
    }
    return widened ? Fit::Widened : Fit::Same;
  }

  // Makes every number and array carried.
  bool widen_all() {
    bool any = false;
    for (size_t i = 0; i < carried_.size(); ++i)
      if (!carried_[i] && is_numeric(init_.leaves[i])) carried_[i] = any = true;
    return any;
  }

 private:
  // A float whose initial value has more digits than an f32 is carried in f64.
  Operand operand(size_t leaf, const Value& v) const { return wide_[leaf] ? f64_operand(v) : operand_of(v); }
  Value value(size_t leaf, const Operand& o) const {
    Kind kind = kind_of(init_.leaves[leaf]);
    return wide_[leaf] ? to_value(ops::cast(o, DType::F32), kind, o) : to_value(o, kind);
  }

  static bool same_constant(const Value& a, const Value& b) {
    if (a.tag() != b.tag()) return false;
    switch (a.tag()) {
      case Tag::Nil:
      case Tag::Marker: return true;
      case Tag::Bool:
      case Tag::Int: return a.as_int() == b.as_int();
      case Tag::Float: {
        double x = a.as_double(), y = b.as_double();
        return std::memcmp(&x, &y, sizeof x) == 0;
      }
      case Tag::Keyword: return a.as_keyword() == b.as_keyword();
      case Tag::String: return a.as_string() == b.as_string();
      default: return a.object() == b.object();
    }
  }

  FlatTree init_;
  std::vector<bool> carried_, wide_;  // by leaf
};

Operand row_of(const Operand& stacked, int64_t i) { return ops::squeeze_axis(ops::slice_axis(stacked, 0, i, 1), 0); }

std::vector<Operand> part(const std::vector<Operand>& v, size_t first, size_t count) {
  return {v.begin() + static_cast<ptrdiff_t>(first), v.begin() + static_cast<ptrdiff_t>(first + count)};
}

std::optional<LoopResult> loop_node(const LoopSpec& loop) {
  LoopResult result;
  Span span = current_span();
  std::vector<Operand> xs = loop.xs;
  Value init = loop.init;
  int64_t done = 0;
  // The first iteration may change the form of the carried value (0 becomes 0.0): it is peeled off.
  for (int peeled = 0; peeled < 2; ++peeled) {
    Carry carry(init);
    bool wide = false;
    for (;;) {
      std::vector<TensorType> types{{DType::I64, {}}};
      for (const TensorType& t : carry.types())
        types.push_back(t);
      size_t num_carries = types.size() - 1;
      for (const Operand& x : xs) {
        types.push_back(x.type());
        types.back().sizes.erase(types.back().sizes.begin());
      }
      std::vector<Ref<graph::Node>> inputs = ops::parameters(types);
      std::vector<Operand> in = ops::operands(inputs);
      bound_int(in[0], loop.turns);
      Value output;
      Subtrace t = subtrace(inputs, [&] {
        Operand index = done ? ops::add(in[0], ops::constant_int(DType::I64, done)) : in[0];
        auto [next, out] = loop.body(index, carry.with(part(in, 1, num_carries)), part(in, 1 + num_carries, xs.size()));
        output = std::move(out);
        return next;
      });
      current_span() = span;
      Carry::Fit fit = carry.compare(t.result, t.piece.outputs);
      if (fit == Carry::Fit::Widened) continue;
      if (fit == Carry::Fit::No) {
        // A constant may have determined the form (in the first iteration of a counter).
        if (!wide && carry.widen_all()) {
          wide = true;
          continue;
        }
        break;
      }
      for (Operand& o : traced_leaves(output))
        t.piece.outputs.push_back(std::move(o));
      if (t.piece.outputs.empty())
        t.piece.outputs.push_back(ops::constant_int(DType::Bool, 1));  // a node has at least one output
      keep_checks(t);
      ops::Scan s;
      s.turns = loop.turns - done;
      s.carries = carry.operands();
      s.xs = std::move(xs);
      s.body = ops::close(t.piece, s.captures);
      ops::GraphPtr body = s.body;
      std::vector<Operand> all = ops::scan(std::move(s));
      keep_effects(all, {body});
      result.carry = carry.with(part(all, 0, num_carries));
      result.outputs.set_rest(std::move(output), part(all, num_carries, all.size() - num_carries), loop.turns - done);
      return result;
    }
    if (peeled || loop.turns - done < 2) return std::nullopt;
    std::vector<Operand> rows;
    for (Operand& x : xs) {
      rows.push_back(row_of(x, 0));
      x = ops::slice_axis(x, 0, 1, loop.turns - 1);
    }
    auto [next, out] = loop.body(ops::constant_int(DType::I64, 0), std::move(init), rows);
    init = std::move(next);
    result.outputs.add(std::move(out));
    done = 1;
  }
  return std::nullopt;
}

}  // namespace

std::optional<LoopResult> trace_loop(const LoopSpec& loop) {
  auto& effects = TraceContext::current_context()->effects;
  auto& checked = TraceContext::current_context()->checked;
  size_t before = effects.size(), checked_before = checked.size();
  uint64_t first_node = graph::next_node_id();
  std::optional<LoopResult> result;
  try {
    result = loop_node(loop);
  } catch (const Untraceable& u) {
    if (u.fatal) throw;
    // The unrolled loop may know what a general iteration does not (its index), or raises the same error itself.
  } catch (const UserError&) {
  }
  // A second derivative sums the adjoints of an iteration's values in the order of the tape. The VJP of a loop, with
  // values stored or computed once for all iterations, cannot reproduce that order to the bit.
  bool twice = gradient_depth() >= 2;
  if (result && !twice) return result;
  effects.resize(before);
  checked.resize(checked_before);
  // An estimate for one iteration: it has been traced two or three times by now.
  int64_t nodes = static_cast<int64_t>(graph::next_node_id() - first_node) / 3;
  if (nodes * loop.turns > kMaxUnrolledNodes)
    throw Untraceable(std::to_string(loop.turns) +
                          (twice ? " turns of a loop that is differentiated twice"
                                 : " turns of a loop whose values change their form") +
                          " would be too much code",
                      current_span());
  return std::nullopt;
}

std::vector<Value> Outputs::list() const {
  std::vector<Value> out = first_;
  FlatTree turn = flatten(tree_);
  std::vector<std::vector<Operand>> rows;
  for (const Value& v : turn.leaves)
    if (v.is_traced()) rows.push_back(ops::unstack(stacked_[rows.size()]));
  for (int64_t i = 0; i < turns_; ++i) {
    std::vector<Value> leaves = turn.leaves;
    size_t next = 0;
    for (Value& v : leaves)
      if (v.is_traced()) v = to_value(rows[next++][static_cast<size_t>(i)], kind_of(v));
    out.push_back(turn.structure.build(leaves));
  }
  return out;
}

Value Outputs::stack(const std::function<Value(std::span<const Value>)>& join) const {
  bool whole = first_.empty() && all_leaves(tree_, [](const Value& v) { return v.is_traced() || v.is_nil(); });
  if (!whole) return join(list());
  size_t next = 0;
  return map_leaves(tree_, [&](const Value& v) {
    if (!v.is_traced()) return v;
    const Operand& all = stacked_[next++];
    return to_value(kind_of(v) == Kind::Int ? ops::cast(all, DType::F32) : all,
                    Kind::Tensor);  // as in a vector literal
  });
}

Value trace_while(Value init, const std::function<Value(Value)>& test, const std::function<Value(Value)>& body) {
  Span span = current_span();
  Carry carry(init);
  bool wide = false;
  for (int turns = 0; turns < 8; ++turns) {
    std::vector<Ref<graph::Node>> inputs = ops::parameters(carry.types());
    std::vector<Operand> in = ops::operands(inputs);
    Subtrace b = subtrace(inputs, [&] { return body(carry.with(in)); });
    current_span() = span;
    Carry::Fit fit = carry.compare(b.result, b.piece.outputs);
    if (fit == Carry::Fit::Widened) continue;
    if (fit == Carry::Fit::No) {
      if (wide || !carry.widen_all()) break;
      wide = true;
      continue;
    }
    if (b.piece.outputs.empty()) throw Untraceable("a while on a traced value carries nothing that changes", span);
    std::vector<Ref<graph::Node>> test_inputs = ops::parameters(carry.types());
    Subtrace t = subtrace(test_inputs, [&] { return test(carry.with(ops::operands(test_inputs))); });
    current_span() = span;
    if (!is_numeric(t.result)) throw Untraceable("the condition of a while on a traced value is no number", span);
    t.piece.outputs = {t.result.is_traced() ? truth_operand(t.result) : ops::cast(operand_of(t.result), DType::Bool)};
    keep_checks(t);
    keep_checks(b);
    std::vector<Operand> captures;
    ops::GraphPtr test_graph = ops::close(t.piece, captures), body_graph = ops::close(b.piece, captures);
    test_graph = ops::with_captures(test_graph, inputs.size(), captures);
    std::vector<Operand> all = ops::while_loop(test_graph, body_graph, carry.operands(), std::move(captures));
    keep_effects(all, {test_graph, body_graph});
    return carry.with(all);
  }
  throw Untraceable("the accumulator of a while on a traced value changes its kind or shape from turn to turn", span);
}

}  // namespace sheaf::trace
