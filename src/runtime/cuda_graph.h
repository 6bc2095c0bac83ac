// Steps recorded as a CUDA graph: a node for each kernel and copy, an edge for each dependency. The work that a library
// submits is a child graph, captured for given addresses.
#pragma once
#include <memory>
#include <vector>

#include "runtime/device_code.h"

namespace sheaf::runtime {

class CudaGraph final : public DeviceGraph {
 public:
  // Implements Device::record in the context of the calling thread. nullptr: the driver has no graphs, or a step cannot
  // be a graph node.
  static std::unique_ptr<CudaGraph> record(std::vector<DeviceStep> steps, const std::vector<std::vector<int>>& after);
  ~CudaGraph() override;
  CudaGraph(const CudaGraph&) = delete;
  CudaGraph& operator=(const CudaGraph&) = delete;

  bool replace(size_t number, const DeviceStep& step) override;
  void launch(void* stream);

 private:
  using Node = void*;
  struct Recorded {
    std::vector<Node> nodes;  // of its kernels and calls, or its copy; empty if there is nothing to do
    std::shared_ptr<const DeviceProgram> program;
  };
  CudaGraph() = default;
  bool add(const DeviceStep& step, std::vector<Node> after, Recorded& out);

  void* graph_ = nullptr;
  void* runnable_ = nullptr;
  std::vector<Recorded> steps_;
};

}  // namespace sheaf::runtime
