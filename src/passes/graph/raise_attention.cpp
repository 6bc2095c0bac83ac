// 1. For each contraction: is its left operand, looking through reshapes, a softmax along the last axis?
// 2. Peel the argument of the softmax: masks by `where` and `add`, factors, down to the contraction of q and k.
// 3. Nothing else may read the weights, or they would have to be computed anyway.
// 4. Replace the outer contraction by the op, and rebuild the nodes that depend on it.
#include "passes/graph/raise_attention.h"

#include <cmath>
#include <optional>
#include <unordered_map>

#include "graph/node_map.h"
#include "ops/apply.h"

namespace sheaf::passes {

namespace {

using graph::Node;
using graph::Operand;

constexpr int64_t kLeastScores = 64 * 64;
// A score this low has no weight next to any other; a row of only such scores is uniform either way.
constexpr double kAsGoodAsNothing = -1e8;

bool is(const Operand& o, std::string_view name) { return o.is_node() && o.node()->op->name == name; }
bool same(const Operand& a, const Operand& b) {
  return a.is_node() && b.is_node() && a.node() == b.node() && a.index() == b.index();
}
const Operand& input(const Operand& o, int i) { return o.node()->inputs[i]; }

Operand look_through(Operand o, std::initializer_list<std::string_view> names) {
  for (bool again = true; again;) {
    again = false;
    for (std::string_view n : names)
      if (is(o, n)) {
        o = Operand(input(o, 0));
        again = true;
      }
  }
  return o;
}

bool along_last_axis(const Operand& reduction) {
  const Sizes& axes = reduction.node()->attrs.sizes("axes");
  return axes.size() == 1 && axes[0] == Size(input(reduction, 0).rank() - 1);
}

// The argument of the softmax that computes `weights`, if it is one.
std::optional<Operand> softmax_of(const Operand& weights) {
  if (!is(weights, "div")) return {};
  Operand e = input(weights, 0), total = look_through(input(weights, 1), {"reshape", "broadcast"});
  if (!is(total, "sum") || !same(input(total, 0), e) || !along_last_axis(total)) return {};
  if (!is(e, "exp") || !is(input(e, 0), "sub")) return {};
  Operand x = input(input(e, 0), 0),
          most = look_through(input(input(e, 0), 1), {"reshape", "broadcast", "stop_gradient"});
  if (!is(most, "max") || !same(input(most, 0), x) || !along_last_axis(most)) return {};
  return x;
}

std::optional<double> constant_value(const Operand& o) {
  Operand c = look_through(o, {"broadcast", "reshape"});
  if (c.is_node() || !(num_elems(c.sizes()) == Size(1))) return {};
  return element_as_double(c.value(), 0);
}

bool keeps_matrices(const Operand& reshaped) {
  const Operand& x = input(reshaped, 0);
  int rank = reshaped.rank();
  return x.rank() >= 2 && rank >= 2 && x.size(-1) == reshaped.size(-1) && x.size(-2) == reshaped.size(-2);
}

struct Scores {
  struct Mask {
    Operand value;
    enum Kind {
      Shown,
      Hidden,
      Added,
      Taken,
      Filled
    } kind;  // Hidden: the opposite of Shown; Taken: subtracted; Filled: shown, or `fill`
    Operand fill;
    Sizes sizes;  // after broadcasting
  };
  std::vector<Mask> masks;
  std::vector<std::pair<Operand, bool>> factors;  // true: divides
  Operand product;                                // of q and kᵀ
};

// Returns false if the scores contain anything else.
bool peel(Operand x, Scores& s) {
  for (;;) {
    if (is(x, "dot")) {
      s.product = x;
      return true;
    }
    if (is(x, "reshape") && keeps_matrices(x)) {
      x = Operand(input(x, 0));
      continue;
    }
    bool scaled = !s.factors.empty();  // a factor would scale a mask under it too
    if (is(x, "where") && !scaled) {
      for (int side : {1, 2}) {
        std::optional<double> fill = constant_value(input(x, 3 - side));
        if (!fill || !(*fill <= kAsGoodAsNothing)) continue;
        bool nothing = *fill == -HUGE_VAL;
        if (!nothing && side == 2) return false;
        s.masks.push_back({input(x, 0),
                           !nothing    ? Scores::Mask::Filled
                           : side == 1 ? Scores::Mask::Shown
                                       : Scores::Mask::Hidden,
                           input(x, 3 - side), x.sizes()});
        return peel(input(x, side), s);
      }
      return false;
    }
    if ((is(x, "mul") || is(x, "div"))) {
      const Operand &a = input(x, 0), &b = input(x, 1);
      if (num_elems(b.sizes()) == Size(1)) {
        s.factors.emplace_back(b, is(x, "div"));
        x = Operand(a);
        continue;
      }
      if (is(x, "mul") && num_elems(a.sizes()) == Size(1)) {
        s.factors.emplace_back(a, false);
        x = Operand(b);
        continue;
      }
      return false;
    }
    if ((is(x, "add") || is(x, "sub")) && !scaled) {
      for (int side : {0, 1}) {
        if (side == 1 && is(x, "sub")) break;
        Scores attempt = s;
        attempt.masks.push_back(
            {input(x, 1 - side), is(x, "sub") ? Scores::Mask::Taken : Scores::Mask::Added, {}, x.sizes()});
        if (input(x, side).sizes() == x.sizes() && peel(input(x, side), attempt)) {
          s = std::move(attempt);
          return true;
        }
      }
    }
    return false;
  }
}

struct Match {
  Operand weights;
  Scores scores;
};

class Raising {
 public:
  graph::Graph run(const graph::Graph& g) {
    std::vector<Node*> live = live_nodes(g);
    uses_ = graph::NodeMap<int64_t>(live);
    for (Node* n : live)
      for (const Operand& in : n->inputs)
        if (in.is_node()) ++uses_[in.node().get()];
    for (const Operand& o : g.outputs)
      if (o.is_node()) ++uses_[o.node().get()];
    for (Node* n : live) {
      if (auto m = match(n)) {
        replaced_[n] = {raised(n, *m)};
        continue;
      }
      if (replaced_.empty()) continue;
      bool changed = false;
      for (const Operand& in : n->inputs)
        changed |= in.is_node() && replaced_.count(in.node().get());
      if (changed) replaced_[n] = remade(n);
    }
    if (replaced_.empty()) return g;
    graph::Graph out{g.inputs, {}, {}};
    for (const Operand& o : g.outputs)
      out.outputs.push_back(renamed(o));
    for (const auto& n : g.effects) {
      auto it = copies_.find(n.get());
      out.effects.push_back(it == copies_.end() ? n : it->second);
    }
    return out;
  }

  // True if a node with an effect was copied.
  bool touched_effects() const {
    for (const auto& [n, copy] : copies_) {
      if (n->host) return true;
      for (const auto& g : n->subgraphs)
        if (!g->effects.empty()) return true;
    }
    return false;
  }

 private:
  Operand renamed(const Operand& o) const {
    if (!o.is_node()) return o;
    auto it = replaced_.find(o.node().get());
    return it == replaced_.end() ? o : it->second[o.index()];
  }

  std::vector<Operand> remade(Node* n) {
    std::vector<Operand> inputs;
    for (const Operand& in : n->inputs)
      inputs.push_back(renamed(in));
    // A reshape around the op would copy, because its result is a transposed view.
    if (n->op->name == "reshape") return {viewed(inputs[0], n->types[0].sizes)};
    Ref<Node> node = copies_[n] = with_inputs(*n, std::move(inputs));
    std::vector<Operand> out;
    for (size_t i = 0; i < n->types.size(); ++i)
      out.emplace_back(node, static_cast<int>(i));
    return out;
  }

  static Operand viewed(const Operand& x, const Sizes& sizes) {
    return ops::reshape(look_through(x, {"reshape"}), sizes);
  }

  std::optional<Match> match(Node* n) const {
    if (n->op->name != "dot" || !is_float(n->types[0].dtype)) return {};
    Operand left = n->inputs[0];
    int64_t used = 1;
    while (is(left, "reshape") && keeps_matrices(left)) {
      used = std::max(used, uses_[left.node().get()]);
      left = Operand(input(left, 0));
    }
    if (!left.is_node() || left.rank() < 2 || used > 1 || uses_[left.node().get()] > 1) return {};
    std::optional<Operand> x = softmax_of(left);
    Match m{left, {}};
    if (!x || (left.size(-2) * left.size(-1)).value() < kLeastScores || !peel(*x, m.scores)) return {};
    const Operand& product = m.scores.product;
    bool fits = product.size(0) == n->types[0].sizes[0] && product.size(1) == left.size(-2) &&
                product.size(2) == left.size(-1) && product.dtype() == n->types[0].dtype &&
                left.dtype() == product.dtype() && num_elems(left.sizes()) == num_elems(product.sizes());
    for (const auto& mask : m.scores.masks)
      fits &= mask.value.dtype() == DType::Bool || mask.value.dtype() == product.dtype();
    return fits ? std::optional<Match>(std::move(m)) : std::nullopt;
  }

  Operand raised(Node* n, const Match& m) const {
    Sizes lead = m.weights.sizes();
    lead.resize(lead.size() - 2);
    Size heads = lead.size() >= 2 ? lead.back() : Size(1),
         batch = heads == Size(0) ? Size(0) : floor_div(num_elems(lead), heads);
    const Operand& product = m.scores.product;
    Size rows = product.size(1), columns = product.size(2), depth = input(product, 0).size(2),
         width = n->types[0].sizes[2];
    auto taken = [&](const Operand& x, Size a, Size b) { return viewed(renamed(x), {batch, heads, a, b}); };
    DType type = compute_type(product.dtype());
    Operand scale = ops::constant(type, 1), shown, added;
    for (const auto& [factor, divides] : m.scores.factors) {
      Operand f = ops::cast(ops::reshape(renamed(factor), {}), type);
      scale = divides ? ops::div(scale, f) : ops::mul(scale, f);
    }
    Sizes scores{batch, heads, rows, columns};
    auto join = [&](Operand& all, const Operand& more, std::string_view op) {
      all = all ? ops::apply2(op, all, more) : more;
    };
    for (const Scores::Mask& mask : m.scores.masks) {
      Operand v = renamed(mask.value);
      switch (mask.kind) {
        case Scores::Mask::Shown: break;
        case Scores::Mask::Hidden: v = ops::apply1("bit_not", v); break;
        case Scores::Mask::Added: break;
        case Scores::Mask::Taken: v = ops::neg(v); break;
        case Scores::Mask::Filled:
          v = ops::where(v, ops::constant(product.dtype(), 0),
                         ops::reshape(look_through(mask.fill, {"broadcast", "reshape"}), {}));
          break;
      }
      v = ops::reshape(ops::broadcast_to(v, mask.sizes), scores);
      if (v.dtype() == DType::Bool)
        join(shown, v, "bit_and");
      else
        join(added, v, "add");
    }
    if (shown && added) {
      added = ops::where(shown, added, ops::constant(product.dtype(), -HUGE_VAL));
      shown = Operand();
    }
    std::vector<Operand> in = {
        taken(input(product, 0), rows, depth), ops::swap_last_two(taken(input(product, 1), depth, columns)),
        taken(n->inputs[1], columns, width),   scale,
        ops::constant_int(DType::I64, 0),      ops::constant_int(DType::I64, int64_t{1} << 40)};
    if (shown || added) in.push_back(shown ? shown : added);
    Operand y = graph::apply_all(ops::op("attention"), std::move(in), {{"causal", false}})[0];
    if (y.is_node()) y.node()->span = n->span;
    return ops::reshape(ops::transpose(y, {0, 2, 1, 3}), n->types[0].sizes);
  }

  graph::NodeMap<int64_t> uses_;
  std::unordered_map<Node*, std::vector<Operand>> replaced_;  // by node: its new outputs
  std::unordered_map<Node*, Ref<Node>> copies_;               // nodes that were only copied
};

}  // namespace

graph::Graph raise_attention(const graph::Graph& g) { return Raising().run(g); }

std::vector<Operand> raise_attention(const std::vector<Operand>& outputs) {
  Raising raising;
  graph::Graph out = raising.run({{}, outputs, {}});
  return raising.touched_effects() ? outputs : out.outputs;
}

}  // namespace sheaf::passes
