// A function as the JIT sees it, without an evaluator: a callback over values.
#pragma once
#include <gtest/gtest.h>

#include "common/make_values.h"
#include "ops/apply.h"
#include "trace/context.h"
#include "trace/jit.h"
#include "trace/traced.h"
#include "value/print.h"

namespace sheaf::trace {

class Jitted : public ::testing::Test {
 protected:
  using Body = std::function<Value(std::vector<Value>)>;

  void SetUp() override {
    install();
    set_jit_mode(JitMode::Auto);
    set_dynamic_mode(DynamicMode::Auto);
    set_jit_listener([this](const JitEvent& e) {
      jit_stats();  // no lock is held meanwhile
      events_.push_back(e);
    });
    g_describe_graphs = true;
  }
  void TearDown() override {
    g_describe_graphs = false;
    set_jit_listener(nullptr);
    set_jit_mode(JitMode::Auto);
    set_dynamic_mode(DynamicMode::Auto);
    forget_compiled();
  }

  // The function that later calls run.
  void define(Body body) {
    body_ = std::move(body);
    key_ = {new_code_number(), {}};
  }
  // Calls it; returns the value, from compiled code or not.
  std::string call(std::vector<Value> args) {
    std::vector<Value> given = args;
    int before = runs_;
    auto counted = [&](std::vector<Value> traced) {
      ++runs_;
      return body_(std::move(traced));
    };
    compiled_ = run_compiled(key_, "f", given, counted, result_);
    traced_ = runs_ > before;
    if (!compiled_) result_ = body_(args);
    return render(result_);
  }
  const Value& result() const { return result_; }  // of the last call
  bool was_compiled() const { return compiled_; }  // the last call ran compiled code
  bool was_traced() const { return traced_; }      // and compiled code, or tried to
  const JitEvent& last_event() const { return events_.back(); }
  size_t num_events() const { return events_.size(); }
  FunctionKey& key() { return key_; }

  static Value tensor(Dims sizes, double first = 1, DType dtype = DType::F32) {
    std::vector<double> values(static_cast<size_t>(checked_num_elems(sizes)));
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = first + static_cast<double>(i);
    return testing_values::T(dtype, std::move(sizes), values);
  }
  static Value tensor_value(const Operand& o) { return to_value(o, Kind::Tensor); }

 private:
  Body body_;
  FunctionKey key_;
  std::vector<JitEvent> events_;
  Value result_;
  int runs_ = 0;
  bool compiled_ = false, traced_ = false;
};

}  // namespace sheaf::trace
