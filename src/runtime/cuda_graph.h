// Steps recorded as a graph of NVIDIA's driver: a node for each kernel and copy, edges where one waits for another.
// What a library submits is a graph inside of it, captured for the addresses at hand.
#pragma once
#include <memory>
#include <vector>

#include "runtime/device_code.h"

namespace sheaf::runtime {

class CudaGraph final : public DeviceGraph {
 public:
  // Of Device::record. nullptr: the driver has no graphs, or a step has no form there. The context is that of the
  // calling thread.
  static std::unique_ptr<CudaGraph> record(std::vector<DeviceStep> steps, const std::vector<std::vector<int>>& after);
  ~CudaGraph() override;
  CudaGraph(const CudaGraph&) = delete;
  CudaGraph& operator=(const CudaGraph&) = delete;

  bool replace(size_t number, const DeviceStep& step) override;
  void launch(void* stream);

 private:
  using Node = void*;
  struct Recorded {
    std::vector<Node> nodes;  // of its kernels and calls, or its copy; none where there is nothing to do
    std::shared_ptr<const DeviceProgram> program;
  };
  CudaGraph() = default;
  bool add(const DeviceStep& step, std::vector<Node> after, Recorded& out);

  void* graph_ = nullptr;
  void* runnable_ = nullptr;
  std::vector<Recorded> steps_;
};

}  // namespace sheaf::runtime
