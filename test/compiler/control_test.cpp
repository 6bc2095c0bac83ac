// Control nodes: a compiled graph gives the bits of applying the ops of the sub-graphs one after another, also for
// adjoints and batches.
#include <gtest/gtest.h>

#include "compiler/compile.h"
#include "ops/apply.h"
#include "ops/loops.h"
#include "ops/op_cases.h"
#include "passes/graph/hoist_products.h"
#include "trace/traced.h"
#include "transforms/batch.h"
#include "transforms/vjp.h"

namespace sheaf::compiler {
namespace {

using namespace ops;
using Operands = std::vector<Operand>;
using Function = std::function<Operands(const Operands&)>;

// As in a program: ops on known values run at once.
std::vector<Tensor> run_now(const Function& f, const std::vector<Tensor>& in) {
  std::vector<Tensor> out;
  for (const Operand& o : f({in.begin(), in.end()}))
    out.push_back(contiguous(o.value()));
  return out;
}

std::vector<Tensor> run_compiled(const Function& f, const std::vector<Tensor>& in) {
  Graph g;
  for (const Tensor& t : in)
    g.inputs.push_back(parameter({t.dtype, to_sizes(t.sizes)}));
  g.outputs = f(operands(g.inputs));
  return run(compile(g), in);
}

void expect_same(const Function& f, const std::vector<Tensor>& in) {
  std::vector<Tensor> expected = run_now(f, in), actual = run_compiled(f, in);
  ASSERT_EQ(expected.size(), actual.size());
  for (size_t i = 0; i < expected.size(); ++i)
    EXPECT_TRUE(same_bits(expected[i], contiguous(actual[i]))) << "output " << i;
}

// Equal up to the signs of zeros: a loop that is differentiated twice as a node guarantees no more
// (docs/design/control.md); programs unroll such loops.
void expect_same_but_zeros(const Function& f, const std::vector<Tensor>& in) {
  auto plain = [](std::vector<Tensor> all) {
    for (Tensor& t : all) {
      t = contiguous(t);
      for (int64_t i = 0; i < t.num_elems(); ++i)
        if (t.data<float>()[i] == 0) t.data_mut<float>()[i] = 0;
    }
    return all;
  };
  std::vector<Tensor> expected = plain(run_now(f, in)), actual = plain(run_compiled(f, in));
  ASSERT_EQ(expected.size(), actual.size());
  for (size_t i = 0; i < expected.size(); ++i)
    EXPECT_TRUE(same_bits(expected[i], actual[i])) << "output " << i;
}

// f's outputs and the adjoints of its inputs.
Function with_gradient(const Function& f) {
  return [f](const Operands& xs) {
    Operands leaves, ones;
    for (const Operand& x : xs)
      leaves.push_back(trace::make_leaf(x));
    Operands out = f(leaves);
    for (const Operand& y : out)
      ones.push_back(full(y.type(), 1));
    Operands grads = transforms::vjp(out, ones, leaves, true);
    for (size_t i = 0; i < grads.size(); ++i)
      out.push_back(grads[i] ? grads[i] : zeros(xs[i].type()));
    return out;
  };
}

GraphPtr graph_of(const std::vector<TensorType>& types, const Function& f) {
  auto g = std::make_shared<Graph>();
  g->inputs = parameters(types);
  g->outputs = f(operands(g->inputs));
  return g;
}

const TensorType kVector{DType::F32, {3}}, kIndex{DType::I64, {}};

// carry' = tanh(w * carry + x), y = carry' * index
Operands recurrence(const Operands& in, bool reverse) {
  GraphPtr body = graph_of({kIndex, kVector, kVector, kVector}, [](const Operands& p) {
    Operand next = apply1("tanh", p[3] * p[1] + p[2]);
    return Operands{next, next * cast(p[0], DType::F32)};
  });
  Scan s{body, 20, reverse, {in[0]}, {in[1]}, {in[2]}, {}, 0};
  return scan(std::move(s));
}

// Both carries are used more than once per iteration, by inner values too, and one is also a row of ys: a' = tanh(w a
// b + x), b' = sin(a' b) + w, ys = (a', a' b' (index + 1))
Operands entwined(const Operands& in, bool reverse) {
  GraphPtr body = graph_of({kIndex, kVector, kVector, kVector, kVector}, [](const Operands& p) {
    const Operand &a = p[1], &b = p[2], &x = p[3], &w = p[4];
    Operand next_a = apply1("tanh", w * a * b + x), next_b = apply1("sin", next_a * b) + w;
    return Operands{next_a, next_b, next_a, next_a * next_b * cast(p[0] + constant_int(DType::I64, 1), DType::F32)};
  });
  Scan s{body, 20, reverse, {in[0], apply1("sin", in[2])}, {in[1]}, {in[2]}, {}, 0};
  return scan(std::move(s));
}

// a' = tanh(x W + a W^T), y = a': the first product runs for all iterations at once, the second by a copy of W^T.
Operands recurrence_of_rows(const Operands& in, bool reverse, int64_t rows) {
  const TensorType state{DType::F32, {Size(rows), 4}}, square{DType::F32, {4, 4}};
  GraphPtr body = graph_of({kIndex, state, state, square}, [&](const Operands& p) {
    auto batch_of_one = [](const Operand& x) { return reshape(x, {Size(1), x.size(0), x.size(1)}); };
    const Operand w = batch_of_one(p[3]);
    const Operand sum = dot(batch_of_one(p[2]), w) + dot(batch_of_one(p[1]), swap_last_two(w));
    const Operand next = apply1("tanh", reshape(sum, state.sizes));
    return Operands{next, next};
  });
  return scan(Scan{body, 20, reverse, {in[0]}, {in[1]}, {in[2]}, {}, 0});
}

class Control : public ::testing::Test {
 protected:
  void SetUp() override {
    trace::install();
    Rng rng(test_seed());
    in_ = {uniform_tensor(rng, DType::F32, {3}), uniform_tensor(rng, DType::F32, {20, 3}),
           uniform_tensor(rng, DType::F32, {3})};
  }
  std::vector<Tensor> in_;
};

TEST_F(Control, ProductsThatDependOnNoTurnBefore) {
  Rng rng(test_seed());
  for (int64_t rows : {1, 3, 70})
    for (bool reverse : {false, true}) {
      const Dims state{rows, 4};
      const std::vector<Tensor> in = {uniform_tensor(rng, DType::F32, state),
                                      uniform_tensor(rng, DType::F32, {20, rows, 4}),
                                      uniform_tensor(rng, DType::F32, {4, 4})};
      Function f = [&](const Operands& xs) { return recurrence_of_rows(xs, reverse, rows); };
      expect_same(f, in);
      expect_same(with_gradient(f), in);
      Graph g;
      for (const Tensor& t : in)
        g.inputs.push_back(parameter({t.dtype, to_sizes(t.sizes)}));
      g.outputs = f(operands(g.inputs));
      const Graph out = passes::hoist_products(g);
      auto count = [&](graph::OpKind kind) {
        const std::vector<Node*> nodes = live_nodes(out);
        return std::count_if(nodes.begin(), nodes.end(), [&](const Node* n) { return n->op->kind == kind; });
      };
      // One row sums in another order; for many rows no matrix is repacked.
      EXPECT_EQ(count(graph::OpKind::Contract), rows == 3) << rows << " rows";
      EXPECT_EQ(count(graph::OpKind::Elementwise), rows == 3) << rows << " rows";
    }
}

TEST_F(Control, Scan) {
  for (bool reverse : {false, true}) {
    Function f = [reverse](const Operands& in) { return recurrence(in, reverse); };
    expect_same(f, in_);
    expect_same(with_gradient(f), in_);
    expect_same_but_zeros(with_gradient(with_gradient(f)), in_);
  }
}

// A carry that is used by several inner values that the backward pass keeps, for every choice of results with adjoints.
TEST_F(Control, ScanOfEntwinedCarries) {
  for (bool reverse : {false, true})
    for (unsigned chosen : {1, 8, 15}) {
      SCOPED_TRACE(chosen);
      Function f = [=](const Operands& in) {
        Operands all = entwined(in, reverse), out;
        for (size_t i = 0; i < all.size(); ++i)
          if (chosen >> i & 1) out.push_back(all[i]);
        return out;
      };
      expect_same(with_gradient(f), in_);
      expect_same_but_zeros(with_gradient(with_gradient(f)), in_);
    }
}

// The start of a carry is a capture too, and is used before and after the loop. (Programs unroll such loops for second
// derivatives: test/eval/control_test.cpp.)
TEST_F(Control, ScanThatStartsFromACapture) {
  for (bool reverse : {false, true}) {
    Function f = [=](const Operands& in) {
      Operand before = apply1("sin", in[2]);
      Operands out = recurrence({in[2], in[1], in[2]}, reverse);
      return Operands{out[0] * in[2], out[1], before + in[2]};
    };
    expect_same(f, in_);
    expect_same(with_gradient(f), in_);
  }
}

TEST_F(Control, CondRunsOneWay) {
  auto way = [](double k) {
    return graph_of({kVector, kVector},
                    [k](const Operands& p) { return Operands{apply1("sin", p[0] * p[1]) * like(p[0], k), p[0]}; });
  };
  Function f = [&](const Operands& in) {
    return cond(less(sum_all(in[0]), sum_all(in[2])), way(2), way(3), {in[0], in[2]});
  };
  expect_same(f, in_);
  expect_same(with_gradient(f), in_);
  std::swap(in_[0], in_[2]);
  expect_same(with_gradient(f), in_);
}

TEST_F(Control, While) {
  GraphPtr test = graph_of({kVector, kVector}, [](const Operands& p) {
    return Operands{less(sum_all(p[0] * p[0]), constant(DType::F32, 1e4))};
  });
  GraphPtr body =
      graph_of({kVector, kVector}, [](const Operands& p) { return Operands{p[0] * like(p[0], 1.5) + p[1]}; });
  Function f = [&](const Operands& in) { return while_loop(test, body, {in[0]}, {in[2]}); };
  expect_same(f, in_);
  expect_same(with_gradient(f), in_);
}

TEST_F(Control, RowsComeApartAndTogether) {
  Function f = [](const Operands& in) {
    Operands rows = unstack(in[1]);
    for (size_t i = 0; i < rows.size(); i += 2)
      rows[i] = rows[i] * rows[i];
    return Operands{stack_rows(std::move(rows))};
  };
  expect_same(f, in_);
  expect_same(with_gradient(f), in_);
}

TEST_F(Control, Batches) {
  Graph g;
  g.inputs = parameters({kVector, {DType::F32, {20, 3}}, kVector});
  g.outputs = recurrence(operands(g.inputs), false);
  Rng rng(test_seed());
  std::vector<Tensor> in = {uniform_tensor(rng, DType::F32, {4, 3}), uniform_tensor(rng, DType::F32, {4, 20, 3}),
                            in_[2]};
  Function f = [&](const Operands& xs) {
    Operands out;
    for (auto& b : transforms::batch_graph(g, {{xs[0], true}, {xs[1], true}, {xs[2], false}}, 4))
      out.push_back(b.value);
    return out;
  };
  expect_same(f, in);
  std::vector<Tensor> all = run_compiled(f, in);
  for (int64_t i = 0; i < 4; ++i) {
    std::vector<Tensor> one = run_now([](const Operands& xs) { return recurrence(xs, false); },
                                      {contiguous(select_axis0(in[0], i)), contiguous(select_axis0(in[1], i)), in[2]});
    for (size_t k = 0; k < one.size(); ++k)
      EXPECT_TRUE(same_bits(one[k], contiguous(select_axis0(all[k], i))));
  }
}

// Host calls run in order, with the values of that moment, and the graph between them is complete.
TEST_F(Control, HostCalls) {
  std::vector<float> seen;
  Graph g;
  g.inputs = parameters({kVector});
  Operand x(g.inputs[0], 0);
  auto watch = [&](const Operand& o) {
    g.effects.push_back(host_call(
        {o}, [&seen](std::span<const Tensor> v) { seen.push_back(static_cast<float>(element_as_double(v[0], 0))); }));
  };
  watch(sum_all(x));
  Operand y = x * like(x, 2);
  watch(sum_all(y));
  watch(sum_all(x));
  g.outputs = {y};
  float total = static_cast<float>(
      element_as_double(run_now([](const Operands& xs) { return Operands{sum_all(xs[0])}; }, {in_[0]})[0], 0));
  run(compile(g), {{in_[0]}});
  EXPECT_EQ(seen, (std::vector<float>{total, 2 * total, total}));
}

}  // namespace
}  // namespace sheaf::compiler
