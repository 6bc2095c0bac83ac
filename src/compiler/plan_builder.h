// From a graph with its fusion groups to a plan: describes each group for lowering, finds memory for its values
// and adds the steps that carry it out. What depends on the device is asked of its back end. There is a file for each
// kind of group. One builder for each compilation; not thread-safe.
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
  // What its steps came from is added to `labels`. With `owned_outputs` every output is written to a buffer of its own,
  // in row-major order: a nested plan, whose step says where its results go.
  PlanBuilder(FusedGraph fused, const Backend& backend, bool owned_outputs, std::vector<Label>& labels);
  runtime::Plan run();

 private:
  using FusionGroup = graph::FusionGroup;
  using Layout = memory::Layout;
  using Node = graph::Node;
  using Operand = graph::Operand;
  using StepArray = memory::StepArray;
  using Stored = memory::Stored;

  // A launch and its arrays, which are not in the plan yet.
  struct PlannedLaunch {
    runtime::Launch launch;
    std::vector<StepArray> arrays;  // as the kernel sees them
  };

  // A group described for lowering.
  struct Described {
    lower::GroupSpec spec;
    std::vector<Stored> arrays;   // inputs, then outputs
    std::vector<Layout> layouts;  // of the arrays, over the space
    size_t num_inputs = 0;
    Dims space;
    int label = -1;
  };

  // A reduction, with its axes in the order in which it walks them.
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
    // Whether an element may still be read, as the factor or by the prologue, when the tile of the result that it is a
    // part of is complete.
    bool reads_later(const Stored& s, const Layout& layout) const;
  };

  // plan_builder.cpp: the order of everything, and launches.
  void plan(const FusionGroup& group);
  void label(const Node* n);
  // Fills in what all steps have; `arrays`, one for each buffer.
  void describe_step(runtime::StepBase& step, std::string name, const std::vector<StepArray>& arrays, int label) const;
  PlannedLaunch launch_of(std::string name, LoweredKernel kernel, const std::vector<Stored>& arrays,
                          std::vector<int64_t> sizes, int label) const;
  // The kernel of a group whose arrays have these layouts over common axes.
  PlannedLaunch launch_of(const Described& d, const std::vector<Layout>& layouts) const;
  void add(PlannedLaunch l);
  // Asks the back end what its launch needs besides its arrays.
  void add_workspace(PlannedLaunch& l);

  // plan_values.cpp: where values live.
  const Stored& keep(const Node* n, int index, Stored s);
  Stored fresh(const graph::TensorType& t);
  // Memory for a value, which may be part of a concatenation that comes later.
  Stored place_for(Node* n);
  // Memory for a value, in lines as products want them where nobody else reads it.
  Stored fresh_factor(const Node* n);
  // Memory for the result of a product of two arrays, in lines as the back end wants them where all that read it take
  // strides.
  Stored fresh_product(const Node* n, const Stored& a, const Stored& b);
  // By node, who reads it or views of it. Whole: outputs, and steps that take arrays in row-major order.
  enum Reader : uint8_t { kProduct = 1, kOther = 2, kWhole = 4 };
  graph::NodeMap<uint8_t> readers() const;
  // Where an operand is. Views are resolved when they are first read; where strides cannot express one this adds a
  // copy.
  Stored stored(const Operand& o);
  // The same if it takes no copy, else nothing; the memory of a constant is not known yet.
  std::optional<Stored> stored_without_copy(const Operand& o) const;
  Stored contiguous_copy(const Stored& in);
  std::vector<Stored> contiguous_inputs(const Node* n);
  void copy(const Stored& in, const Stored& out);
  // A copy of an array that is about to be changed; it needs no work where the array itself can be given up.
  Stored base_for_update(const Stored& in);

  // plan_views.cpp: products of what is no matrix in memory.
  // An operand of a product as its batch and the axes of its rows and columns, where that takes no copy.
  std::optional<Stored> stored_as_axes(const Operand& o);
  // Both operands of a product that reads views, if it can and the second would have to be copied otherwise.
  std::optional<std::vector<Stored>> product_of_views(const Node* n);

  // describe_group.cpp: from groups to what lower/group.h takes.
  // The members with everything they read; nothing is stored yet.
  Described describe(const FusionGroup& group);
  int external(Described& d, const Operand& o, const Dims& user, bool row_user);
  void add_output(Described& d, const FusionGroup& group, size_t member);
  bool reads_without_copy(const FusionGroup& group) const;

  // plan_loops.cpp: Map and Rows.
  void plan_loops(const FusionGroup& group);
  Described describe_loops(const FusionGroup& group);
  void add_loops(Described& d);
  // An elementwise kernel of arrays that all have the same sizes.
  PlannedLaunch elementwise_launch(lower::GroupSpec spec, std::vector<Stored> arrays) const;
  // Tells which outputs may be written over which inputs: those of the same layout that are read nowhere else. `may`
  // has the last word.
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

  // plan_control.cpp: Single, of nodes that hold graphs or call back.
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
  // How the product runs with what it has so far and this epilogue, or nullptr.
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
  int label_ = -1;  // of the group at hand
  memory::Storage storage_;
  std::vector<Stored> values_;       // of the nodes planned so far, the outputs of a node next to each other
  graph::NodeMap<int> first_value_;  // its place there, or -1
  graph::NodeMap<uint8_t> readers_;  // where the back end wants to know
};

// The plan of a graph, all passes included (compile.cpp). `has_code`: native code of its kernels was there already.
runtime::Plan plan_of(const graph::Graph& g, const Backend& backend, std::vector<Label>& labels, bool& has_code,
                      bool owned_outputs = false);

// The arguments of a product of matrices, or of pairs of them.
routines::GemmArgs<> gemm_args(const memory::Stored& a, const memory::Stored& b, const memory::Stored& c);

// The ops of a group, for the profiler.
std::string ops_text(const lower::GroupSpec& spec);

template <class F>
void PlanBuilder::offer_overwrites(const Described& d, F may) {
  for (size_t o = d.num_inputs; o < d.arrays.size(); ++o) {
    bool held = false;  // the output holds other values for a while
    for (const auto& m : d.spec.members)
      held |= m.kept_in == static_cast<int>(o - d.num_inputs);
    for (size_t i = 0; i < d.num_inputs && !held; ++i) {
      const Stored& in = d.arrays[i];
      bool same = in.offset == 0 && d.layouts[i].strides == d.layouts[o].strides &&
                  size_bytes(in.dtype) == size_bytes(d.arrays[o].dtype);
      for (size_t k = 0; k < d.num_inputs; ++k)
        same &= k == i || d.arrays[k].memory != in.memory;
      // Other parts of a concatenation may be there already.
      if (same && storage_.is_own(d.arrays[o]) && may(i)) storage_.may_write_over(in, d.arrays[o]);
    }
  }
}

}  // namespace sheaf::compiler
