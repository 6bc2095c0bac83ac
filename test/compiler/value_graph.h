// Graphs of C++ functions, and checks that compiled code gives the values of running op by op.
#pragma once
#include <gtest/gtest.h>

#include <random>
#include <utility>
#include <vector>

#include "compiler/compile.h"
#include "graph/graph.h"
#include "ops/apply.h"
#include "ops/random_tensors.h"
#include "runtime/cpu_runner.h"
#include "runtime/dependencies.h"
#include "trace/traced.h"
#include "transforms/vjp.h"

namespace sheaf::compiler {

// The graph of f for arrays of these types.
template <class F>
graph::Graph graph_of(const std::vector<Tensor>& in, F&& f) {
  graph::Graph g;
  std::vector<graph::Operand> operands;
  for (const Tensor& t : in) {
    g.inputs.push_back(make_ref<graph::Node>(&ops::op("input"), graph::Attrs{}, std::vector<graph::Operand>{},
                                             std::vector<graph::TensorType>{{t.dtype, to_sizes(t.sizes)}}));
    operands.emplace_back(g.inputs.back(), 0);
  }
  g.outputs = f(operands);
  return g;
}

inline std::vector<Tensor> values_of(const std::vector<graph::Operand>& os) {
  std::vector<Tensor> out;
  for (const graph::Operand& o : os)
    out.push_back(o.value());
  return out;
}

// The result of f for arrays, followed by the gradients of its sum with respect to each, zero where it does not depend
// on one.
template <class F>
std::vector<graph::Operand> with_gradients(const F& f, const std::vector<graph::Operand>& xs) {
  std::vector<graph::Operand> leaves, ones, out;
  for (const graph::Operand& x : xs)
    leaves.push_back(trace::make_leaf(x));
  out = f(leaves);
  for (const graph::Operand& y : out)
    ones.push_back(ops::full(y.type(), 1));
  std::vector<graph::Operand> gradients = transforms::vjp(out, ones, leaves, true);
  for (size_t i = 0; i < xs.size(); ++i)
    out.push_back(gradients[i] ? gradients[i] : ops::zeros(xs[i].type()));
  return out;
}

// The same plan, with its steps in another order that their dependencies allow.
inline runtime::Plan reordered(const runtime::Plan& plan, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<int> waits_for(plan.steps.size(), 0), ready;
  const std::vector<runtime::Dependency> dependencies = runtime::dependencies(plan);
  for (const auto& d : dependencies)
    ++waits_for[static_cast<size_t>(d.after)];
  for (size_t i = 0; i < waits_for.size(); ++i)
    if (waits_for[i] == 0) ready.push_back(static_cast<int>(i));
  runtime::Plan out = plan;
  out.steps.clear();
  while (!ready.empty()) {
    std::swap(ready[random() % ready.size()], ready.back());
    const int now = ready.back();
    ready.pop_back();
    out.steps.push_back(plan.steps[static_cast<size_t>(now)]);
    for (const auto& d : dependencies)
      if (d.before == now && --waits_for[static_cast<size_t>(d.after)] == 0) ready.push_back(d.after);
  }
  EXPECT_EQ(out.steps.size(), plan.steps.size());
  return out;
}

inline void expect_same(const std::vector<Tensor>& expected, const graph::Graph& g, const std::vector<Tensor>& in) {
  Compiled code = compile(g);
  for (int turn = 0; turn < 2; ++turn) {  // scratch memory is dirty in the second
    std::vector<Tensor> actual = run(code, in);
    ASSERT_EQ(expected.size(), actual.size());
    for (size_t i = 0; i < expected.size(); ++i)
      EXPECT_TRUE(ops::same_bits(expected[i], actual[i])) << "output " << i << "\n" << graph::print(g);
  }
  for (uint32_t seed = 0; seed < 3; ++seed) {
    std::vector<Tensor> actual = runtime::CpuRunner(reordered(code.plan(), seed)).run(in);
    for (size_t i = 0; i < expected.size(); ++i)
      EXPECT_TRUE(ops::same_bits(expected[i], actual[i])) << "output " << i << " of order " << seed << "\n"
                                                          << graph::print(g);
  }
}

}  // namespace sheaf::compiler
