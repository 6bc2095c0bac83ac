// The cache of kernels, each lowered once for each distinct op or group and target. Keys with equal kernel text share
// one kernel, so twelve equal layers, and the same layers at another size, cost one. Thread-safe.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "compiler/backend.h"
#include "lower/group.h"
#include "lower/single_op.h"

namespace sheaf::compiler {

struct LoweredKernel {
  std::shared_ptr<const runtime::Code> code;
  size_t num_inputs = 0;  // leading buffers that are inputs; the kernel writes the others
  bool checks = false;    // contains checks, so it may fail
};

// The op or group, types and target that a kernel is lowered from; equal keys share a kernel.
struct KernelKey {
  const graph::OpDef* op = nullptr;  // a single op; nullptr: a group
  graph::Attrs attrs;
  SmallVec<uint16_t, 8> arrays;  // dtype and rank of the inputs, then the outputs
  bool in_place = false;
  KernelUse use = KernelUse::InGraph;
  runtime::TargetId target = runtime::TargetId::Cpu;  // set by lowered_op, lowered_group, …
  // Of a group: its description in bytes, and the attributes of its members.
  std::string group;
  std::vector<graph::Attrs> members;

  void add_input(DType dtype, int rank) { arrays.push_back(word(dtype, rank)); }
  void add_output(DType dtype, int rank) { arrays.push_back(static_cast<uint16_t>(kOutput | word(dtype, rank))); }
  static constexpr uint16_t kOutput = 0x8000;
  static uint16_t word(DType dtype, int rank) { return static_cast<uint16_t>(static_cast<int>(dtype) << 8 | rank); }
  friend bool operator==(const KernelKey&, const KernelKey&) = default;
};

// `key` must name an op.
LoweredKernel lowered_op(const Backend& backend, KernelKey key);
LoweredKernel lowered_single(const Backend& backend, const graph::OpDef& op, const graph::Attrs& attrs,
                             const std::vector<lower::ArrayKey>& inputs, const std::vector<lower::ArrayKey>& outputs,
                             bool in_place);
LoweredKernel lowered_group(const Backend& backend, const lower::GroupSpec& spec);
LoweredKernel lowered_sum_of_totals(const Backend& backend, DType dtype);

}  // namespace sheaf::compiler
