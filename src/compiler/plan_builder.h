// Builds a plan from a graph with its fusion groups: describes each group for lowering, finds memory for its values,
// and adds the steps that execute it. The back end answers what depends on the device. There is a file for each kind of
// group. One builder per compilation; not thread-safe.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "compiler/compile.h"
#include "compiler/group_layouts.h"
#include "compiler/lowered.h"
#include "compiler/pipeline.h"
#include "graph/fusion_group.h"
#include "graph/node_map.h"
#include "memory/placement.h"
#include "memory/storage.h"
#include "routines/gemm/args.h"

namespace sheaf::compiler {

class PlanBuilder {
 public:
  // Appends the origin of each step to `labels`. With `owned_outputs`, every output is written to its own buffer in
  // row-major order: for a nested plan, whose step decides where its results go.
  PlanBuilder(FusedGraph fused, const Backend& backend, bool owned_outputs, std::vector<Label>& labels);
  runtime::Plan run();

 private:
  using FusionGroup = graph::FusionGroup;
  using Layout = memory::Layout;
  using Node = graph::Node;
  using Operand = graph::Operand;
  using StepArray = memory::StepArray;
  using Stored = memory::Stored;

  // A launch and its arrays, before they are added to the plan.
  struct PlannedLaunch {
    runtime::Launch launch;
    std::vector<StepArray> arrays;  // as the kernel sees them
  };

  // The description of a group for lowering.
  struct Described {
    lower::GroupSpec spec;
    std::vector<Stored> arrays;   // inputs, then outputs
    std::vector<Layout> layouts;  // of the arrays, over the space
    size_t num_inputs = 0;
    Dims space;
    int label = -1;
  };

  // A reduction, with its axes in loop order.
  struct Reduction {
    Described group;
    Stored out;
    std::vector<int> order;
    std::vector<bool> reduced;    // by position in `order`
    std::vector<Layout> layouts;  // inputs and the output, collapsed
    ReducedAxes axes;             // the reduced ones, of the layouts
  };

  // A prologue or epilogue that runs inside its product: all arrays are matrices.
  struct FusedPart {
    Described group;
    std::vector<Layout> layouts;
    int64_t unit = 0;  // of runtime::EpilogueLaunch
  };
  struct ProductPlan {
    PlannedLaunch product;
    std::optional<FusedPart> prologue = {}, epilogue = {};
    const Stored& a() const { return product.arrays[0].array; }
    const Stored& b() const { return product.arrays[1].array; }
    const Stored& c() const { return product.arrays[2].array; }
    // True if an element may still be read, through the left operand or by the prologue, after its tile of the result
    // is complete.
    bool reads_later(const Stored& s, const Layout& layout) const;
  };

  // plan_builder.cpp: the overall order, and launches.
  void plan(const FusionGroup& group);
  void label(const Node* n);
  // Fills in the fields common to all steps; `arrays`, one for each buffer.
  void describe_step(runtime::StepBase& step, std::string name, const std::vector<StepArray>& arrays, int label) const;
  PlannedLaunch launch_of(std::string name, LoweredKernel kernel, const std::vector<Stored>& arrays,
                          std::vector<int64_t> sizes, int label) const;
  // The kernel launch of a group whose arrays have these layouts over common axes.
  PlannedLaunch launch_of(const Described& d, const std::vector<Layout>& layouts) const;
  void add(PlannedLaunch l);
  // Adds the workspace that the back end requests for the launch.
  void add_workspace(PlannedLaunch& l);

  // plan_values.cpp: the memory of values.
  const Stored& keep(const Node* n, int index, Stored s);
  Stored fresh(const graph::TensorType& t);
  // Memory for a value, possibly a part of a concatenation planned for later.
  Stored place_for(Node* n);
  // Memory for a value, with rows aligned as products prefer if nothing else reads it.
  Stored fresh_factor(const Node* n);
  // Memory for the result of a product of two arrays, with the back end's preferred leading dimension if all its
  // readers accept strides.
  Stored fresh_product(const Node* n, const Stored& a, const Stored& b);
  // By node: the readers of it or of views of it. Whole: outputs, and steps that need arrays in row-major order.
  enum Reader : uint8_t { kProduct = 1, kOther = 2, kWhole = 4 };
  graph::NodeMap<uint8_t> readers() const;
  // The place of an operand. Views are resolved when they are first read; where strides cannot express one this adds a
  // copy.
  Stored stored(const Operand& o);
  // The same if it takes no copy, else nothing. Constants give nothing: their memory is not known yet.
  std::optional<Stored> stored_without_copy(const Operand& o) const;
  Stored contiguous_copy(const Stored& in);
  std::vector<Stored> contiguous_inputs(const Node* n);
  void copy(const Stored& in, const Stored& out);
  // A copy of an array that is about to be updated; costs nothing if the array itself can be given up.
  Stored base_for_update(const Stored& in);

  // plan_views.cpp: products of operands that are not matrices in memory.
  // An operand of a product as batch, row axes and column axes, if that takes no copy.
  std::optional<Stored> stored_as_axes(const Operand& o);
  // Both operands of a product that can read views, if the second would otherwise have to be copied.
  std::optional<std::vector<Stored>> product_of_views(const Node* n);

  // describe_group.cpp: from groups to the input of lower/group.h.
  // The members with everything they read; nothing is stored yet.
  Described describe(const FusionGroup& group);
  int external(Described& d, const Operand& o, const Dims& user, bool row_user);
  void add_output(Described& d, const FusionGroup& group, size_t member);
  bool reads_without_copy(const FusionGroup& group) const;

  // plan_loops.cpp: Map and Rows.
  void plan_loops(const FusionGroup& group);
  Described describe_loops(const FusionGroup& group);
  void add_loops(Described& d);
  // An elementwise kernel over arrays of equal sizes.
  PlannedLaunch elementwise_launch(lower::GroupSpec spec, std::vector<Stored> arrays) const;
  // Offers outputs that may overwrite inputs: inputs of the same layout with no other reader. `may` decides last.
  template <class F>
  void offer_overwrites(const Described& d, F may);

  // plan_reduce.cpp: Reduce.
  Reduction describe_reduction(const FusionGroup& group);
  static bool stretches(const Reduction& r);
  void plan_reduction(const FusionGroup& group, Reduction r);
  void plan_reduction_of_copy(const FusionGroup& group, const Reduction& r);

  // plan_single.cpp: Single.
  PlannedLaunch describe_single(Node* n);
  void plan_single(Node* n);
  void plan_window(Node* n);
  void plan_placed_concat(Node* n);

  // plan_control.cpp: Single, for nodes that contain graphs or call back.
  void plan_control(const Node* n);
  std::shared_ptr<const runtime::Plan> nested(const graph::Graph& g);
  template <class S>
  void add_control(const Node* n, S step, int64_t scratch_bytes);
  void plan_host_call(const Node* n);
  void plan_call(const Node* n);
  void plan_cond(const Node* n);
  void plan_scan(const Node* n);
  void plan_while(const Node* n);
  void plan_stack(const Node* n);

  // plan_product.cpp: Product.
  void plan_product(const FusionGroup& group);
  std::optional<FusedPart> plan_prologue(const FusionGroup& prologue, const Node* product);
  std::optional<std::vector<Layout>> prologue_layouts(Described& d, const Node* product);
  std::optional<std::vector<Layout>> epilogue_layouts(Described& d, const Stored& result) const;
  void plan_with_map(ProductPlan& p, const FusionGroup& epilogue);
  void plan_with_sum(ProductPlan& p, const FusionGroup& epilogue);
  // The code that runs the product as planned so far with this epilogue, or nullptr.
  std::shared_ptr<const runtime::Code> form_of(const ProductPlan& p, const lower::GroupSpec* epilogue,
                                               int64_t unit) const;
  void add_product(ProductPlan& p);

  graph::Graph g_;
  std::vector<FusionGroup> groups_;
  const Backend& backend_;
  bool owned_outputs_;
  memory::Placement placement_;
  runtime::Plan plan_;
  std::vector<Label>& labels_;
  int label_ = -1;  // of the current group
  memory::Storage storage_;
  std::vector<Stored> values_;       // of the nodes planned so far, the outputs of a node next to each other
  graph::NodeMap<int> first_value_;  // its index there, or -1
  graph::NodeMap<uint8_t> readers_;  // only if the back end needs them
};

// The plan of a graph, after all passes (compile.cpp). `has_code`: native code of its kernels existed already.
runtime::Plan plan_of(const graph::Graph& g, const Backend& backend, std::vector<Label>& labels, bool& has_code,
                      bool owned_outputs = false);

// The arguments of a product of matrices, or of a batch of them.
routines::GemmArgs<> gemm_args(const memory::Stored& a, const memory::Stored& b, const memory::Stored& c);

// The ops of a group, for the profiler.
std::string ops_text(const lower::GroupSpec& spec);

template <class F>
void PlanBuilder::offer_overwrites(const Described& d, F may) {
  for (size_t o = d.num_inputs; o < d.arrays.size(); ++o) {
    bool held = false;  // the output holds intermediate values for a while
    for (const auto& m : d.spec.members)
      held |= m.kept_in == static_cast<int>(o - d.num_inputs);
    for (size_t i = 0; i < d.num_inputs && !held; ++i) {
      const Stored& in = d.arrays[i];
      bool same = in.offset == 0 && d.layouts[i].strides == d.layouts[o].strides &&
                  size_bytes(in.dtype) == size_bytes(d.arrays[o].dtype);
      for (size_t k = 0; k < d.num_inputs; ++k)
        same &= k == i || d.arrays[k].memory != in.memory;
      // Other parts of a concatenation may already be stored there.
      if (same && storage_.is_own(d.arrays[o]) && may(i)) storage_.may_write_over(in, d.arrays[o]);
    }
  }
}

}  // namespace sheaf::compiler
