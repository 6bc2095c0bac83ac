#include "trace/rounded.h"

#include <utility>

#include "compiler/pipeline.h"
#include "ops/apply.h"

namespace sheaf::trace {
namespace {

constexpr int kMostMisses = 2;  // consecutive

// A rounded copy of an array, stored with the array's buffer.
struct Copy final : Buffer::Derived {
  Copy(const Tensor& of, Tensor rounded)
      : sizes(of.sizes), strides(of.strides), offset(of.offset), tensor(std::move(rounded)) {}
  bool is_of(const Tensor& t, DType dtype) const {
    return tensor.dtype == dtype && offset == t.offset && sizes == t.sizes && strides == t.strides;
  }
  Dims sizes, strides;
  int64_t offset;
  Tensor tensor;
};

// Foreign memory can change without notice.
void keep_copy(const Tensor& of, const Tensor& rounded) {
  if (of.buffer->origin() == Buffer::Origin::Foreign) return;
  of.buffer->keep_derived(Buffer::Made::Rounded, std::make_unique<Copy>(of, rounded));
}

// The copy that the previous run left, if any. `taken`: removes it, because nobody else will need it.
Tensor find_copy(const Tensor& t, DType dtype, bool taken) {
  const auto* copy = static_cast<const Copy*>(t.buffer->derived(Buffer::Made::Rounded));
  if (!copy || !copy->is_of(t, dtype)) return {};
  Tensor found = copy->tensor;
  if (taken) t.buffer->take_derived(Buffer::Made::Rounded);
  return found;
}

}  // namespace

std::unique_ptr<RoundedInputs> RoundedInputs::find(const graph::Graph& g, const compiler::Backend& backend) {
  if (!compiler::is_enabled("keep-rounded")) return nullptr;
  auto kept = passes::keep_rounded(g);
  if (!kept) return nullptr;
  return std::unique_ptr<RoundedInputs>(new RoundedInputs(g, std::move(*kept), backend));
}

RoundedInputs::RoundedInputs(graph::Graph plain, passes::KeptRounded kept, const compiler::Backend& backend)
    : backend_(backend),
      rounded_(std::move(kept.rounded)),
      code_(std::make_shared<const compiler::Compiled>(compiler::compile(kept.graph, backend))),
      plain_(std::move(plain)) {}

const compiler::Compiled& RoundedInputs::plain() const {
  MutexLock lock(mu_);
  if (!plain_code_) plain_code_ = std::make_shared<const compiler::Compiled>(compiler::compile(plain_, backend_));
  return *plain_code_;
}

std::vector<Tensor> RoundedInputs::run(std::vector<Tensor> inputs, std::vector<uint8_t> given_up,
                                       std::span<const uint8_t> wanted_here) const {
  if (misses_.load(std::memory_order_relaxed) >= kMostMisses)
    return compiler::run(plain(), inputs, given_up, wanted_here);
  const size_t num_outputs = wanted_here.size();
  bool missed = false;
  for (const passes::RoundedInput& r : rounded_) {
    const Tensor& whole = inputs[r.input];
    const bool owned = r.input < given_up.size() && given_up[r.input];
    Tensor rounded = find_copy(whole, r.dtype, owned);
    if (!rounded.buffer) {
      missed = true;
      rounded = ops::cast(graph::Operand(whole), r.dtype).value();
      if (!owned) keep_copy(whole, rounded);  // the next call may have the same arguments
    }
    given_up.push_back(owned);
    inputs.push_back(std::move(rounded));
  }
  misses_.store(missed ? misses_.load(std::memory_order_relaxed) + 1 : 0, std::memory_order_relaxed);
  std::vector<uint8_t> wanted(wanted_here.begin(), wanted_here.end());
  wanted.resize(num_outputs + rounded_.size());
  std::vector<Tensor> outputs = compiler::run(*code_, inputs, given_up, wanted);
  for (size_t i = 0; i < rounded_.size(); ++i)
    keep_copy(outputs[rounded_[i].output], outputs[num_outputs + i]);
  outputs.resize(num_outputs);
  return outputs;
}

}  // namespace sheaf::trace
