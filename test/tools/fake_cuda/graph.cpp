// Graphs of the fake GPU. A launch runs the nodes in any order that the edges allow.
#include <memory>
#include <utility>
#include <vector>

#include "runtime/cuda_driver.h"
#include "tools/fake_cuda/stream.h"

namespace {

using Lock = std::scoped_lock<std::recursive_mutex>;
using KernelNode = sheaf::runtime::CudaDriver::KernelNode;
using CopyNode = sheaf::runtime::CudaDriver::CopyNode;
using fake_cuda::Side;

constexpr int kInvalid = 1;

struct Node {
  size_t number;
  std::vector<size_t> after;
  fake_cuda::Work work;
};

struct Graph {
  std::vector<std::unique_ptr<Node>> nodes;
};

struct Runnable {
  std::vector<std::vector<size_t>> after;
  std::vector<fake_cuda::Work> work;
};

fake_cuda::Work work_of(const KernelNode& n) {
  return call_of(*static_cast<const fake_cuda::Function*>(n.function), n.blocks[0], n.threads[0], n.parameters);
}

fake_cuda::Work work_of(const CopyNode& n) {
  constexpr int kGpu = 2;
  if (n.from.memory != kGpu || n.to.memory != kGpu || n.rows != 1 || n.planes != 1) return nullptr;
  return [to = n.to.device, from = n.from.device, bytes = n.bytes] {
    fake_cuda::copy(reinterpret_cast<void*>(to), Side::Gpu, reinterpret_cast<void*>(from), Side::Gpu, bytes);
  };
}

// A graph inside a graph, as it is now.
struct ChildNode {
  const Graph& graph;
};
fake_cuda::Work work_of(const ChildNode& n);

template <class What>
int add(void** node, void* graph, void* const* after, size_t num_after, const What& what) {
  const Lock lock(fake_cuda::lock());
  auto& nodes = static_cast<Graph*>(graph)->nodes;
  Node made{nodes.size(), {}, work_of(what)};
  if (!made.work) return kInvalid;
  for (size_t i = 0; i < num_after; ++i)
    made.after.push_back(static_cast<Node*>(after[i])->number);
  nodes.push_back(std::make_unique<Node>(std::move(made)));
  *node = nodes.back().get();
  return 0;
}

template <class What>
int set(void* runnable, void* node, const What& what) {
  const Lock lock(fake_cuda::lock());
  static_cast<Runnable*>(runnable)->work[static_cast<Node*>(node)->number] = work_of(what);
  return 0;
}

Runnable runnable_of(const Graph& graph) {
  Runnable out;
  for (const auto& n : graph.nodes) {
    out.after.push_back(n->after);
    out.work.push_back(n->work);
  }
  return out;
}

void run(const Runnable& r) {
  std::vector<size_t> missing, ready;
  std::vector<std::vector<size_t>> next(r.work.size());
  for (size_t i = 0; i < r.work.size(); ++i) {
    missing.push_back(r.after[i].size());
    for (size_t before : r.after[i])
      next[before].push_back(i);
    if (missing[i] == 0) ready.push_back(i);
  }
  while (!ready.empty()) {
    std::swap(ready[fake_cuda::random() % ready.size()], ready.back());
    const size_t i = ready.back();
    ready.pop_back();
    r.work[i]();
    for (size_t n : next[i])
      if (--missing[n] == 0) ready.push_back(n);
  }
}

fake_cuda::Work work_of(const ChildNode& n) {
  return [inside = runnable_of(n.graph)] { run(inside); };
}

}  // namespace

extern "C" {

int cuGraphCreate(void** graph, unsigned) {
  *graph = new Graph;
  return 0;
}
int cuGraphDestroy(void* graph) {
  delete static_cast<Graph*>(graph);
  return 0;
}
int cuGraphAddKernelNode_v2(void** node, void* graph, void* const* after, size_t num_after, const KernelNode* what) {
  return add(node, graph, after, num_after, *what);
}
int cuGraphAddMemcpyNode(void** node, void* graph, void* const* after, size_t num_after, const CopyNode* what, void*) {
  return add(node, graph, after, num_after, *what);
}
int cuGraphAddChildGraphNode(void** node, void* graph, void* const* after, size_t num_after, void* child) {
  return add(node, graph, after, num_after, ChildNode{*static_cast<const Graph*>(child)});
}
int cuGraphInstantiateWithFlags(void** runnable, void* graph, unsigned long long) {
  const Lock lock(fake_cuda::lock());
  *runnable = new Runnable(runnable_of(*static_cast<const Graph*>(graph)));
  return 0;
}
int cuStreamBeginCapture_v2(void* stream, int) {
  const Lock lock(fake_cuda::lock());
  auto& captured = static_cast<fake_cuda::Stream*>(stream)->captured;
  if (captured) return kInvalid;
  captured = std::make_unique<std::vector<fake_cuda::Work>>();
  return 0;
}
// One after the other.
int cuStreamEndCapture(void* stream, void** graph) {
  const Lock lock(fake_cuda::lock());
  const auto captured = std::move(static_cast<fake_cuda::Stream*>(stream)->captured);
  if (!captured) return kInvalid;
  auto* out = new Graph;
  for (fake_cuda::Work& work : *captured) {
    const size_t n = out->nodes.size();
    out->nodes.push_back(std::make_unique<Node>(Node{n, n > 0 ? std::vector{n - 1} : std::vector<size_t>{}, work}));
  }
  *graph = out;
  return 0;
}
int cuGraphExecDestroy(void* runnable) {
  delete static_cast<Runnable*>(runnable);
  return 0;
}
int cuGraphExecKernelNodeSetParams_v2(void* runnable, void* node, const KernelNode* what) {
  return set(runnable, node, *what);
}
int cuGraphExecMemcpyNodeSetParams(void* runnable, void* node, const CopyNode* what, void*) {
  return set(runnable, node, *what);
}
int cuGraphExecChildGraphNodeSetParams(void* runnable, void* node, void* child) {
  return set(runnable, node, ChildNode{*static_cast<const Graph*>(child)});
}
// Later changes apply to later launches.
int cuGraphLaunch(void* runnable, void*) {
  const Lock lock(fake_cuda::lock());
  fake_cuda::submit([now = *static_cast<const Runnable*>(runnable)] { run(now); });
  return 0;
}

}  // extern "C"
