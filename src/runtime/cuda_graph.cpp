#include "runtime/cuda_graph.h"

#include <algorithm>

#include "runtime/cuda_driver.h"
#include "support/mutex.h"

namespace sheaf::runtime {
namespace {

const CudaDriver& driver() { return CudaDriver::find(); }

CudaDriver::KernelNode node_of(const DeviceKernel& kernel, KernelArguments& arguments) {
  CudaDriver::KernelNode out;
  out.function = kernel.function;
  out.blocks[0] = static_cast<unsigned>(kernel.blocks);
  out.threads[0] = static_cast<unsigned>(kernel.threads);
  out.parameters = arguments.pointers();
  return out;
}

CudaDriver::CopyNode node_of(const DeviceCopy& copy) {
  CudaDriver::CopyNode out;
  out.from.memory = out.to.memory = CudaDriver::kDeviceMemory;
  out.from.device = reinterpret_cast<uint64_t>(copy.from);
  out.to.device = reinterpret_cast<uint64_t>(copy.to);
  out.bytes = copy.size_bytes;
  return out;
}

// Captures the work that a library submits for a launch.
class Captured {
 public:
  Captured(const LibraryCall& call, const DeviceLaunch& l) {
    // A stream for captures only; nothing runs on it.
    static auto* mu = new Mutex;
    MutexLock lock(*mu);
    static void* const stream = [] {
      void* made = nullptr;
      driver().check(driver().create_stream(&made, CudaDriver::kNonBlocking), "cuStreamCreate");
      return made;
    }();
    // Relaxed: other threads may submit work meanwhile, and the library may load a kernel.
    driver().check(driver().begin_capture(stream, CudaDriver::kRelaxed), "cuStreamBeginCapture");
    std::exception_ptr failure;
    try {
      call.submit(addresses_of(call, l, reinterpret_cast<uint64_t>(l.workspace)), stream);
    } catch (...) {
      failure = std::current_exception();  // rethrown after the capture ends
    }
    const int status = driver().end_capture(stream, &graph_);
    if (failure) {
      if (graph_) driver().destroy_graph(graph_);
      std::rethrow_exception(failure);
    }
    driver().check(status, "cuStreamEndCapture");
  }
  ~Captured() { driver().destroy_graph(graph_); }
  Captured(const Captured&) = delete;
  Captured& operator=(const Captured&) = delete;
  void* graph() const { return graph_; }

 private:
  void* graph_ = nullptr;
};

bool does_nothing(const DeviceCopy& copy) { return copy.size_bytes == 0 || copy.from == copy.to; }

}  // namespace

std::unique_ptr<CudaGraph> CudaGraph::record(std::vector<DeviceStep> steps,
                                             const std::vector<std::vector<int>>& after) {
  if (!driver().has_graphs()) return nullptr;
  std::unique_ptr<CudaGraph> out(new CudaGraph);
  driver().check(driver().create_graph(&out->graph_, 0), "cuGraphCreate");
  // The last nodes of each step: those that its successors depend on.
  std::vector<std::vector<Node>> ends(steps.size());
  for (size_t i = 0; i < steps.size(); ++i) {
    std::vector<Node> waits_for;
    for (int before : after[i]) {
      const auto& theirs = ends[static_cast<size_t>(before)];
      waits_for.insert(waits_for.end(), theirs.begin(), theirs.end());
    }
    std::sort(waits_for.begin(), waits_for.end());
    waits_for.erase(std::unique(waits_for.begin(), waits_for.end()), waits_for.end());
    Recorded& r = out->steps_.emplace_back();
    if (!out->add(steps[i], waits_for, r)) return nullptr;
    ends[i] = r.nodes.empty() ? std::move(waits_for) : std::vector<Node>{r.nodes.back()};
  }
  driver().check(driver().instantiate_graph(&out->runnable_, out->graph_, 0), "cuGraphInstantiateWithFlags");
  return out;
}

CudaGraph::~CudaGraph() {
  if (runnable_) driver().destroy_runnable(runnable_);
  if (graph_) driver().destroy_graph(graph_);
}

bool CudaGraph::add(const DeviceStep& step, std::vector<Node> after, Recorded& out) {
  if (auto* copy = std::get_if<DeviceCopy>(&step)) {
    if (does_nothing(*copy)) return true;
    const auto node = node_of(*copy);
    driver().check(
        driver().add_copy(&out.nodes.emplace_back(), graph_, after.data(), after.size(), &node, driver().context()),
        "cuGraphAddMemcpyNode");
    return true;
  }
  const auto* const launch = std::get_if<DeviceLaunch>(&step);
  if (!launch) return false;
  out.program = program_of(*launch);
  if (static_cast<size_t>(out.program->workspace_bytes) > launch->workspace_bytes) return false;
  for (size_t k = 0; k < out.program->steps.size(); ++k) {
    Node made = nullptr;
    if (const auto* call = std::get_if<LibraryCall>(&out.program->steps[k])) {
      const Captured captured(*call, *launch);
      driver().check(driver().add_child(&made, graph_, after.data(), after.size(), captured.graph()),
                     "cuGraphAddChildGraphNode");
    } else if (const auto* kernel = std::get_if<DeviceKernel>(&out.program->steps[k])) {
      KernelArguments arguments(*kernel, *launch, reinterpret_cast<uint64_t>(launch->workspace), static_cast<int>(k));
      const auto node = node_of(*kernel, arguments);
      driver().check(driver().add_kernel(&made, graph_, after.data(), after.size(), &node), "cuGraphAddKernelNode");
    } else {
      return false;
    }
    out.nodes.push_back(made);
    after = {made};
  }
  return true;
}

bool CudaGraph::replace(size_t number, const DeviceStep& step) {
  const Recorded& r = steps_[number];
  if (auto* copy = std::get_if<DeviceCopy>(&step)) {
    if (r.program || does_nothing(*copy) != r.nodes.empty()) return false;
    if (r.nodes.empty()) return true;
    const auto node = node_of(*copy);
    return driver().set_copy(runnable_, r.nodes[0], &node, driver().context()) == CudaDriver::kSuccess;
  }
  const auto& launch = std::get<DeviceLaunch>(step);
  if (program_of(launch) != r.program) return false;
  for (size_t k = 0; k < r.nodes.size(); ++k) {
    if (const auto* call = std::get_if<LibraryCall>(&r.program->steps[k])) {
      const Captured captured(*call, launch);
      if (driver().set_child(runnable_, r.nodes[k], captured.graph()) != CudaDriver::kSuccess) return false;
      continue;
    }
    const auto& kernel = std::get<DeviceKernel>(r.program->steps[k]);
    KernelArguments arguments(kernel, launch, reinterpret_cast<uint64_t>(launch.workspace), static_cast<int>(k));
    const auto node = node_of(kernel, arguments);
    if (driver().set_kernel(runnable_, r.nodes[k], &node) != CudaDriver::kSuccess) return false;
  }
  return true;
}

void CudaGraph::launch(void* stream) { driver().check(driver().launch_graph(runnable_, stream), "cuGraphLaunch"); }

}  // namespace sheaf::runtime
