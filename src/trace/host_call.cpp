#include "trace/host_call.h"

#include "ops/control.h"
#include "trace/context.h"
#include "value/tree.h"

namespace sheaf::trace {
namespace {

thread_local uint64_t made = 0;          // outputs of this thread
thread_local uint64_t repeat_until = 0;  // outputs before this one were already shown

}  // namespace

void record_host_call(const std::vector<Value>& args, std::function<void(std::vector<Value>)> run) {
  std::vector<Operand> inputs;
  auto collect = [&](const Value& v) {
    if (v.is_traced() && operand_of(v).is_node()) inputs.push_back(operand_of(v));
  };
  for (const Value& a : args)
    each_leaf(a, collect);
  auto call = [args, run = std::move(run)](std::span<const Tensor> values) {
    size_t next = 0;
    std::vector<Value> now;
    for (const Value& a : args)
      now.push_back(map_leaves(
          a, [&](const Value& v) { return v.is_traced() ? to_value(Operand(values[next++]), kind_of(v)) : v; }));
    run(std::move(now));
  };
  auto node = ops::host_call(std::move(inputs), std::move(call));
  node->span = current_span();
  TraceContext::current_context()->effects.push_back(std::move(node));
}

bool is_repeated_output() { return made++ < repeat_until; }
uint64_t outputs_made() { return made; }

RepeatedOutputs::RepeatedOutputs(uint64_t since) : before_(repeat_until) {
  repeat_until = std::max(repeat_until, made);
  made = since;
}

RepeatedOutputs::~RepeatedOutputs() { repeat_until = before_; }

}  // namespace sheaf::trace
