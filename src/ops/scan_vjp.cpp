// The reverse of a scan: the forward loop keeps the inner values that the reverse rules ask for as further outputs, and
// a loop in the other direction goes through them.
#include <algorithm>
#include <functional>
#include <map>
#include <unordered_set>

#include "ops/scan.h"
#include "support/error.h"

namespace sheaf::ops {

using graph::TensorType;
using graph::VjpCtx;

namespace {

// Builds the reverse of one scan node.
class Reverse {
 public:
  explicit Reverse(VjpCtx& c) : c_(c), n_(c.node()), s_(scan_of(n_)) {
    num_carries_ = s_.carries.size();
    num_xs_ = s_.xs.size();
    for (size_t i = 0; i < num_carries_ + num_xs_ + s_.captures.size(); ++i)
      wanted_.push_back(c.needs(static_cast<int>(i)));
    // What is kept for a reverse is used after everything else: its adjoints come first.
    for (size_t i = n_.types.size(); i-- > num_carries_;)
      if (c.has_dy(static_cast<int>(i)) && is_inexact(n_.types[i].dtype)) flowing_.push_back(i);
    parameters_ = s_.body->inputs;
    outputs_ = s_.body->outputs;
    for (Node* n : graph::live_nodes(*s_.body))
      inside_.insert(n);
    pending_rows_.resize(wanted_.size());
    for (Size x : s_.single_rows) {
      size_t i = num_carries_ + static_cast<size_t>(x.value());
      if (wanted_[i] && !is_repeated(n_, i)) pending_rows_[i] = c.pending(static_cast<int>(i));
    }
  }

  void run() {
    // From the third derivative on adjoints would be added up in another order than outside a loop, and compiled code
    // must not differ from interpreted code in a bit.
    if (s_.order >= 2)
      throw UserError(ErrorKind::Autodiff, "a third derivative through a long loop is taken turn by turn", n_.span);
    mark_varying();
    // 1. Turns backward: as many by themselves as it takes until the same carries have an adjoint before and after. The
    // first turn is left out when what it adds to the adjoint of a carry must meet other contributions in their order.
    first_apart_ = is_entangled();
    int64_t left = s_.turns - first_apart_;
    std::vector<bool> flags;
    for (size_t i = 0; i < num_carries_; ++i)
      flags.push_back(is_inexact(n_.types[i].dtype) && c_.has_dy(static_cast<int>(i)));
    std::vector<Turn> turns;
    constexpr size_t kMaxPeeled = 4;
    while (static_cast<int64_t>(turns.size()) < left) {
      bool is_last = turns.size() >= kMaxPeeled;
      if (is_last) flags = all_floats();
      turns.push_back(turn(flags, is_last));
      if (turns.back().flags_out == flags) break;
      flags = turns.back().flags_out;
    }
    // 2. What they need of the forward turn.
    find_sources(turns);
    // 3. The backward turns, last turn first.
    start();
    bool looped = !turns.empty() && turns.back().flags_in == turns.back().flags_out;
    size_t peeled = turns.size() - (looped ? 1 : 0);
    for (size_t t = 0; t < peeled; ++t)
      run_turn(turns[t], index_of(static_cast<int64_t>(t)));
    if (looped) run_rest(turns.back(), static_cast<int64_t>(peeled), left - static_cast<int64_t>(peeled));
    if (first_apart_) run_first();
    finish(static_cast<int64_t>(peeled));
  }

 private:
  // One turn backward. The graph's inputs: adjoints of the carries after the turn (those flagged), of the rows of ys,
  // of single rows of xs so far, of the captures so far; then captures of the piece. Outputs: adjoints of the flagged
  // carries before it, of the wanted rows of xs, of the captures.
  struct Turn {
    std::vector<bool> flags_in, flags_out, xs;
    GraphPtr graph;
    std::vector<Operand> captures;
  };

  std::vector<bool> all_floats() const {
    std::vector<bool> f;
    for (size_t i = 0; i < num_carries_; ++i)
      f.push_back(is_inexact(n_.types[i].dtype));
    return f;
  }

  // The place of the t-th turn from the end.
  int64_t index_of(int64_t t) const { return s_.reverse ? t : s_.turns - 1 - t; }

  Turn turn(const std::vector<bool>& flags, bool fill) {
    Turn t;
    t.flags_in = flags;
    Piece p;
    p.since = graph::next_node_id();
    std::vector<Operand> y, dy, wrt, before;
    auto add = [&](const TensorType& type) {
      p.inputs.push_back(parameter(type));
      return Operand(p.inputs.back(), 0);
    };
    std::vector<Operand> carry_dy;
    for (size_t i = 0; i < num_carries_; ++i)
      if (flags[i]) carry_dy.push_back(add(n_.types[i]));
    for (size_t i : flowing_) {
      y.push_back(outputs_[i]);
      dy.push_back(add(row_type(n_.types[i])));
    }
    // The rows of ys are used after the loop, the carries by the next turn: in this order their adjoints arrive.
    for (size_t i = 0, k = 0; i < num_carries_; ++i)
      if (flags[i]) {
        y.push_back(outputs_[i]);
        dy.push_back(carry_dy[k++]);
      }
    std::vector<bool> floats = all_floats();
    for (size_t i = 0; i < num_carries_; ++i)
      if (floats[i]) {
        wrt.emplace_back(parameters_[1 + i], 0);
        before.emplace_back();
      }
    for (size_t i = num_carries_; i < wanted_.size(); ++i) {
      if (!wanted_[i]) continue;
      wrt.emplace_back(parameters_[1 + i], 0);
      if (i >= num_carries_ + num_xs_)
        before.push_back(add(n_.inputs[i].type()));
      else
        before.push_back(pending_rows_[i] ? add(row_type(n_.inputs[i].type())) : Operand());
    }
    std::vector<Operand> grads = c_.nested(y, dy, wrt, before);
    size_t at = 0;
    for (size_t i = 0; i < num_carries_; ++i) {
      Operand g = floats[i] ? grads[at++] : Operand();
      if (!g && fill && floats[i]) g = zeros(n_.types[i]);
      t.flags_out.push_back(static_cast<bool>(g));
      if (g) p.outputs.push_back(g);
    }
    for (size_t i = num_carries_; i < wanted_.size(); ++i) {
      if (!wanted_[i]) continue;
      const Operand& g = grads[at++];
      if (i < num_carries_ + num_xs_) t.xs.push_back(static_cast<bool>(g));
      if (g) p.outputs.push_back(g);
    }
    // Views are taken again: only what they look at is kept.
    p.again = [this](const Node* n) { return n->op->view && inside_.count(n); };
    t.graph = close(p, t.captures);
    return t;
  }

  // A carry that wants an adjoint starts from something that is used elsewhere too.
  bool is_entangled() const {
    if (s_.turns == 0) return false;
    for (size_t i = 0; i < num_carries_; ++i) {
      if (!wanted_[i]) continue;
      if (c_.pending(static_cast<int>(i))) return true;
      for (size_t k = 0; k < n_.inputs.size(); ++k)
        if (k != i && (k < num_carries_ || k >= num_carries_ + num_xs_) && same(n_.inputs[k], n_.inputs[i]))
          return true;
    }
    return false;
  }
  static bool same(const Operand& a, const Operand& b) {
    return a.is_node() && b.is_node() && a.node() == b.node() && a.index() == b.index();
  }

  void mark_varying() {
    for (size_t i = 0; i < 1 + num_carries_ + num_xs_; ++i)
      varying_.insert(parameters_[i].get());
    for (Node* n : graph::live_nodes(*s_.body))
      for (const Operand& in : n->inputs)
        if (in.is_node() && varying_.count(in.node().get())) varying_.insert(n);
  }

  // Where a value of the forward turn is found: a parameter (the index, a row, a capture), kept by the forward loop (a
  // carry or an inner value), the carry of the next turn (what the backward turn before this one read as its own carry,
  // handed on: it is kept once, and its adjoints meet one by one as they do outside a loop), or the same in every turn
  // and computed once.
  struct Source {
    enum Kind { Index, Row, Kept, Next, Fixed } kind;
    size_t at = 0;  // of xs, of what is kept, or of the carries
    Operand fixed;
  };

  void find_sources(const std::vector<Turn>& turns) {
    std::vector<Operand> kept, fixed;
    std::vector<std::pair<const Node*, int>> fixed_keys;
    auto keep = [&](const Operand& o) {
      std::pair<const Node*, int> key{o.node().get(), o.index()};
      auto [it, is_new] = sources_.try_emplace(key, Source{Source::Kept, kept.size(), {}});
      if (is_new) kept.push_back(o);
      return it->second.at;
    };
    for (const Turn& t : turns)
      for (const Operand& o : t.captures) {
        std::pair<const Node*, int> key{o.node().get(), o.index()};
        if (sources_.count(key)) continue;
        size_t p = 0;
        while (p < parameters_.size() && parameters_[p].get() != o.node().get())
          ++p;
        if (p == 0) {
          sources_[key] = {Source::Index, 0, {}};
        } else if (p < parameters_.size() && p > num_carries_ + num_xs_) {
          sources_[key] = {Source::Fixed, 0, n_.inputs[p - 1]};
        } else if (p < parameters_.size() && p > num_carries_) {
          sources_[key] = {Source::Row, p - 1 - num_carries_, {}};
        } else if (size_t i = carry_output(o); p == parameters_.size() && i < num_carries_) {
          sources_[key] = {Source::Next, i, {}};
          handed_on_[i] = {keep(Operand(parameters_[1 + i], 0)), c_.y(static_cast<int>(i))};
        } else if (varying_.count(o.node().get())) {
          keep(o);
        } else if (inside_.count(o.node().get())) {
          sources_[key] = {Source::Fixed, 0, {}};
          fixed_keys.push_back(key);
          fixed.push_back(o);
        } else {
          sources_[key] = {Source::Fixed, 0, o};
        }
      }
    if (!fixed.empty()) {
      std::vector<Operand> captures, inputs(1 + num_carries_ + num_xs_);
      GraphPtr g =
          close({parameters_, fixed, {}, graph::next_node_id(), [this](const Node* n) { return inside_.count(n) > 0; }},
                captures);
      append(inputs, s_.captures);
      append(inputs, captures);
      std::vector<Operand> values = replay(*g, inputs);
      for (size_t i = 0; i < fixed.size(); ++i)
        sources_[fixed_keys[i]].fixed = values[i];
    }
    if (!kept.empty()) kept_ = keep_rows(kept);
  }

  // Makes inner values outputs of the forward loop, unless they are already.
  std::vector<Operand> keep_rows(const std::vector<Operand>& values) {
    auto body = std::make_shared<Graph>(*s_.body);
    std::vector<TensorType> types;
    std::vector<size_t> at;
    for (const Operand& v : values) {
      size_t k = num_carries_;
      while (k < body->outputs.size() && !same(body->outputs[k], v))
        ++k;
      if (k == body->outputs.size()) {
        body->outputs.push_back(v);
        types.push_back(stacked_type(v.type(), s_.turns));
      }
      at.push_back(k);
    }
    if (!types.empty()) c_.add_outputs(std::move(body), types);
    std::vector<Operand> out;
    for (size_t k : at)
      out.push_back(c_.y(static_cast<int>(k)));
    return out;
  }

  // Which carry of the next turn it is; num_carries_ when none. (A carry that is passed on unchanged is one of this
  // turn.)
  size_t carry_output(const Operand& o) const {
    for (size_t i = 0; i < num_carries_; ++i)
      if (same(outputs_[i], o)) return i;
    return num_carries_;
  }

  void start() {
    for (size_t i = 0; i < num_carries_; ++i)
      carry_.push_back(is_inexact(n_.types[i].dtype) && c_.has_dy(static_cast<int>(i)) ? c_.dy(static_cast<int>(i))
                                                                                       : Operand());
    for (size_t i = num_carries_ + num_xs_; i < wanted_.size(); ++i) {
      if (!wanted_[i]) continue;
      Operand p =
          (first_apart_ ? is_repeated_capture(i) : is_repeated(n_, i)) ? Operand() : c_.pending(static_cast<int>(i));
      // -0 is what leaves every number as it is when added to.
      captures_.push_back(p ? p : full(n_.inputs[i].type(), -0.0));
    }
    for (size_t i = num_carries_; i < num_carries_ + num_xs_; ++i)
      if (wanted_[i]) rows_.emplace_back();
  }

  // The inputs of a turn's graph.
  std::vector<Operand> inputs_of(const Turn& t, const std::vector<Operand>& carries, const std::vector<Operand>& dys,
                                 const std::vector<Operand>& captures, const Operand& index,
                                 const std::function<Operand(const Operand&)>& row_at) {
    std::vector<Operand> in;
    for (size_t i = 0; i < num_carries_; ++i)
      if (t.flags_in[i]) in.push_back(carries[i] ? carries[i] : zeros(n_.types[i]));
    append(in, dys);
    for (const Operand& p : pending_rows_)
      if (p) in.push_back(row_at(p));
    append(in, captures);
    for (const Operand& o : t.captures) {
      const Source& s = sources_.at({o.node().get(), o.index()});
      switch (s.kind) {
        case Source::Index: in.push_back(index); break;
        case Source::Row: in.push_back(row_at(s_.xs[s.at])); break;
        case Source::Kept: in.push_back(row_at(kept_[s.at])); break;
        case Source::Next: in.push_back(handed_on_.at(s.at).value); break;
        case Source::Fixed: in.push_back(s.fixed); break;
      }
    }
    return in;
  }

  // Each row is one value, wherever a turn and the next one use it.
  using Rows = std::map<std::pair<const Node*, int>, Operand>;
  static Operand& find_row(Rows& rows, const Operand& stacked) { return rows[{stacked.node().get(), stacked.index()}]; }

  void run_turn(const Turn& t, int64_t index) {
    Rows rows;
    auto row_at = [&](const Operand& stacked) {
      if (!stacked.is_node()) return row(stacked, index);
      Operand& r = find_row(rows, stacked);
      if (!r) r = row(stacked, index);
      return r;
    };
    std::vector<Operand> dys;
    for (size_t i : flowing_)
      dys.push_back(row_at(c_.dy(static_cast<int>(i))));
    std::vector<Operand> out =
        replay(*t.graph, inputs_of(t, carry_, dys, captures_, constant_int(DType::I64, index), row_at));
    for (auto& [i, h] : handed_on_)
      h.value = row_at(kept_[h.kept]);
    size_t at = 0;
    for (size_t i = 0; i < num_carries_; ++i)
      carry_[i] = t.flags_out[i] ? out[at++] : Operand();
    for (size_t i = 0; i < t.xs.size(); ++i)
      rows_[i].push_back(t.xs[i] ? out[at++] : zeros(row_type(xs_type(i))));
    for (Operand& a : captures_)
      a = out[at++];
  }

  bool is_single(const Operand& stacked) const {
    for (const Operand& k : kept_)
      if (same(k, stacked)) return true;
    for (Size x : s_.single_rows)
      if (same(s_.xs[static_cast<size_t>(x.value())], stacked)) return true;
    return false;
  }

  TensorType xs_type(size_t wanted) const {
    for (size_t i = num_carries_; i < num_carries_ + num_xs_; ++i)
      if (wanted_[i] && wanted-- == 0) return n_.inputs[i].type();
    return {};
  }

  // The turns that are left as one loop in the other direction.
  void run_rest(const Turn& t, int64_t peeled, int64_t left) {
    int64_t offset = s_.reverse ? peeled : first_apart_;
    Scan loop;
    loop.turns = left;
    loop.reverse = !s_.reverse;
    loop.order = s_.order + 1;
    Piece p;
    p.since = graph::next_node_id();
    auto add = [&](const TensorType& type) {
      p.inputs.push_back(parameter(type));
      return Operand(p.inputs.back(), 0);
    };
    Operand index = add({DType::I64, {}});
    if (offset > 0) index = index + constant_int(DType::I64, offset);
    std::vector<Operand> carries(num_carries_), captures, dys;
    for (size_t i = 0; i < num_carries_; ++i)
      if (t.flags_in[i]) {
        loop.carries.push_back(carry_[i] ? carry_[i] : zeros(n_.types[i]));
        carries[i] = add(n_.types[i]);
      }
    for (const Operand& a : captures_) {
      loop.carries.push_back(a);
      captures.push_back(add(a.type()));
    }
    for (auto& [i, h] : handed_on_) {
      loop.carries.push_back(h.value);
      h.value = add(n_.types[i]);
    }
    Rows rows;
    auto row_at = [&](const Operand& stacked) {
      Operand& r = find_row(rows, stacked);
      if (r && stacked.is_node()) return r;
      if (is_single(stacked)) loop.single_rows.push_back(Size(static_cast<int64_t>(loop.xs.size())));
      loop.xs.push_back(left == s_.turns ? stacked : slice_axis(stacked, 0, offset, left));
      r = add(row_type(stacked.type()));
      return r;
    };
    for (size_t i : flowing_)
      dys.push_back(row_at(c_.dy(static_cast<int>(i))));
    std::vector<Operand> out = replay(*t.graph, inputs_of(t, carries, dys, captures, index, row_at));
    // The loop wants the carries first, then the rows.
    size_t num_flagged = 0, num_rows = 0;
    for (bool f : t.flags_out)
      num_flagged += f;
    for (bool x : t.xs)
      num_rows += x;
    p.outputs = part(out, 0, num_flagged);
    append(p.outputs, part(out, num_flagged + num_rows, captures_.size()));
    for (const auto& [i, h] : handed_on_)
      p.outputs.push_back(row_at(kept_[h.kept]));
    append(p.outputs, part(out, num_flagged, num_rows));
    loop.body = close(p, loop.captures);
    std::vector<Operand> results = scan(std::move(loop));
    size_t at = 0;
    for (size_t i = 0; i < num_carries_; ++i)
      carry_[i] = t.flags_out[i] ? results[at++] : Operand();
    for (Operand& a : captures_)
      a = results[at++];
    at += handed_on_.size();
    for (size_t i = 0; i < t.xs.size(); ++i)
      rest_.push_back(t.xs[i] ? results[at++] : zeros(stacked_type(row_type(xs_type(i)), left)));
  }

  // The first turn, computed once more, with one parameter for each operand of the node: adjoints add up as they would
  // outside a loop.
  void run_first() {
    int64_t index = s_.reverse ? s_.turns - 1 : 0;
    std::vector<size_t> inputs;  // of the node, after the parameters
    std::vector<Operand> params;
    std::vector<Operand> in{constant_int(DType::I64, index)}, values;
    auto parameter_of = [&](size_t i) -> Operand {
      bool is_row = i >= num_carries_ && i < num_carries_ + num_xs_;
      for (size_t k = 0; k < inputs.size() && !is_row; ++k)
        if (same(n_.inputs[inputs[k]], n_.inputs[i])) return params[k];
      values.push_back(is_row ? row(n_.inputs[i], index) : n_.inputs[i]);
      inputs.push_back(i);
      params.emplace_back(parameter(values.back().type()), 0);
      return params.back();
    };
    for (size_t i = 0; i < n_.inputs.size(); ++i)
      in.push_back(parameter_of(i));
    std::vector<Operand> out = replay(*s_.body, in), y, dy, wrt, before;
    for (size_t i : flowing_) {
      y.push_back(out[i]);
      dy.push_back(row(c_.dy(static_cast<int>(i)), index));
    }
    for (size_t i = 0; i < num_carries_; ++i)
      if (carry_[i]) {
        y.push_back(out[i]);
        dy.push_back(carry_[i]);
      }
    for (size_t k = 0; k < inputs.size(); ++k) {
      size_t i = inputs[k];
      if (!wanted_[i]) continue;
      Operand so_far = i < num_carries_   ? c_.pending(static_cast<int>(i))
                       : pending_rows_[i] ? row(pending_rows_[i], index)
                                          : Operand();
      size_t at = 0;
      for (size_t j = num_carries_ + num_xs_; j < wanted_.size(); ++j) {
        if (!wanted_[j]) continue;
        if (same(n_.inputs[j], n_.inputs[i]) && !is_repeated_capture(j)) so_far = captures_[at];
        ++at;
      }
      wrt.push_back(params[k]);
      before.push_back(so_far);
    }
    // On parameters first, then on the values: what is known already would be left out of the sweep.
    std::vector<Operand> grads = c_.nested(y, dy, wrt, before), captured;
    std::vector<Ref<Node>> nodes;
    for (const Operand& p : params)
      nodes.push_back(p.node());
    std::vector<Operand> wanted_grads;
    for (const Operand& g : grads)
      if (g) wanted_grads.push_back(g);
    GraphPtr graph = close({nodes, wanted_grads, {}, params.empty() ? 0 : params[0].node()->id, {}}, captured);
    append(values, captured);
    std::vector<Operand> results = replay(*graph, values);
    size_t at = 0, r = 0, x = 0;
    for (Operand& a : carry_)
      a = Operand();
    for (size_t k = 0; k < inputs.size(); ++k) {
      size_t i = inputs[k];
      if (!wanted_[i]) continue;
      Operand g = grads[r++] ? results[at++] : Operand();
      if (i < num_carries_ || i >= num_carries_ + num_xs_) {
        if (g) c_.replace_grad(static_cast<int>(i), g);
      } else {
        first_rows_.push_back(g ? g : zeros(row_type(xs_type(x))));
        ++x;
      }
    }
  }

  bool is_repeated_capture(size_t i) const {
    for (size_t k = num_carries_ + num_xs_; k < i; ++k)
      if (same(n_.inputs[k], n_.inputs[i])) return true;
    return false;
  }

  void finish(int64_t peeled) {
    for (size_t i = 0; i < num_carries_; ++i)
      if (carry_[i] && wanted_[i]) c_.grad(static_cast<int>(i), carry_[i]);
    size_t at = 0;
    for (size_t i = num_carries_; i < num_carries_ + num_xs_; ++i) {
      if (!wanted_[i]) continue;
      std::vector<Operand> parts;
      for (int64_t k = 0; k < peeled; ++k)
        parts.push_back(expand_axis(rows_[at][static_cast<size_t>(k)], 0));
      if (!rest_.empty()) parts.push_back(rest_[at]);
      if (first_apart_) parts.push_back(expand_axis(first_rows_[at], 0));
      if (!s_.reverse) std::reverse(parts.begin(), parts.end());
      ++at;
      if (parts.empty()) continue;
      Operand g = concat(std::move(parts), 0);
      if (pending_rows_[i])
        c_.replace_grad(static_cast<int>(i), g);
      else
        c_.grad(static_cast<int>(i), c_.pending(static_cast<int>(i)) ? g : g + zeros_of_rows(g));
    }
    at = 0;
    for (size_t i = num_carries_ + num_xs_; i < wanted_.size(); ++i) {
      if (!wanted_[i]) continue;
      const Operand& g = captures_[at++];
      if (first_apart_ ? is_repeated_capture(i) : is_repeated(n_, i))
        c_.grad(static_cast<int>(i), g);
      else if (!first_apart_)
        c_.replace_grad(static_cast<int>(i), g);  // else the first turn has
    }
  }

  // Rows cut out one by one have their adjoints added to the array of the last one's, which is padded with zeros: only
  // that row keeps negative zeros.
  Operand zeros_of_rows(const Operand& g) const {
    Dims sizes(static_cast<size_t>(g.rank()), 1);
    sizes[0] = s_.turns;
    Tensor t = zeros_tensor(g.dtype(), sizes);
    store_double(g.dtype(), t.bytes_mut() + index_of(0) * size_bytes(g.dtype()), -0.0);
    return t;
  }

  VjpCtx& c_;
  const Node& n_;
  Scan s_;
  size_t num_carries_, num_xs_;
  std::vector<bool> wanted_;           // by input
  std::vector<Operand> pending_rows_;  // by input: adjoints so far of xs with single rows
  std::vector<size_t> flowing_;        // outputs after the carries that have an adjoint
  // One turn forward: the nodes of the body.
  std::vector<Ref<Node>> parameters_;
  std::vector<Operand> outputs_;
  std::unordered_set<const Node*> inside_;
  std::unordered_set<const Node*> varying_;
  std::map<std::pair<const Node*, int>, Source> sources_;
  std::vector<Operand> kept_;  // stacked
  // By carry: what is kept of it, and the value that the backward turn at hand finds as the next turn's.
  struct HandedOn {
    size_t kept;
    Operand value;
  };
  std::map<size_t, HandedOn> handed_on_;
  int64_t first_apart_ = 0;  // 1: the first turn is reversed by itself
  std::vector<Operand> first_rows_;
  std::vector<Operand> carry_, captures_, rest_;
  std::vector<std::vector<Operand>> rows_;  // of wanted xs, in the order of the peeled turns
};

}  // namespace

void reverse_scan(VjpCtx& c) { Reverse(c).run(); }

}  // namespace sheaf::ops
