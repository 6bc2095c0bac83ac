// Helpers shared by the tests of prologues and epilogues of products.
#pragma once
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "compiler/compile.h"
#include "compiler/inspect.h"
#include "compiler/pipeline.h"
#include "ops/random_tensors.h"
#include "runtime/thread_pool.h"
#include "value_graph.h"

namespace sheaf::compiler {

using Function = std::function<std::vector<graph::Operand>(const std::vector<graph::Operand>&)>;

struct Shape {
  int64_t m, n, k;
};

class FusedProducts : public ::testing::Test {
 protected:
  void SetUp() override {
    trace::install();
    g_verify = true;
  }
  void TearDown() override { runtime::set_num_threads(1); }

  static bool plans(const char* what, const std::vector<Tensor>& in, const Function& f) {
    return plan_text(compile(graph_of(in, f)).plan()).find(what) != std::string::npos;
  }
  static bool has_epilogue(const std::vector<Tensor>& in, const Function& f) { return plans("epilogue: ", in, f); }
  static bool has_prologue(const std::vector<Tensor>& in, const Function& f) { return plans("prologue: ", in, f); }
  static void expect_bits_of_tape(const std::vector<Tensor>& in, const Function& f) {
    expect_same(values_of(f({in.begin(), in.end()})), graph_of(in, f), in);
  }
};

}  // namespace sheaf::compiler
