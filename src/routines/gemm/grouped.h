// Products of groups of rows as a routine, `contract_groups` (mixture of experts). The rows of x [B, M, K] form G
// consecutive groups of counts [B, G] rows (i64):
// - with w [B, G, K, N] it gives y [B, M, N], the rows of each group times its matrix; zeros in the rows after the last
//   group;
// - `outer`, with z [B, M, N], it gives [B, G, K, N], for each group the transposed rows of x times the rows of z;
//   zeros for an empty group.
// Each product has the bits of a `contract` by itself. A count below 0 is taken as 0, and a count that runs past the
// rows of x is clamped: the op reports both errors.
#pragma once
#include <array>
#include <vector>

#include "routines/gemm/args.h"
#include "routines/routine.h"
#include "tensor/dtype.h"

namespace sheaf::routines {

// Buffers: x, w or z, counts, y.
template <class Int = int64_t>
struct GroupedArgs {
  static constexpr std::string_view kRoutine = "contract_groups";
  DType dtype;
  bool outer;
  Int batch, rows, groups, k, n;
  std::array<Int, 2> counts;  // strides: batch, group
  MatrixStrides<Int> x;
  struct {
    Int batch, group, row, column;
  } other;       // strides of w, or of z, which has no group axis
  DType result;  // dtype, or F32, the accumulator type
  static void fields(auto& self, auto&& f) {
    f(self.dtype), f(self.outer), f(self.batch), f(self.rows), f(self.groups), f(self.k), f(self.n);
    f(self.counts), f(self.x.batch), f(self.x.row), f(self.x.column);
    f(self.other.batch);
    if (!self.outer) f(self.other.group);
    f(self.other.row), f(self.other.column), f(self.result);
  }
};

struct GroupProduct {
  std::array<std::byte*, 3> buffers;
  GemmArgs<> args;
  int64_t flops() const { return 2 * args.m * args.n * args.k; }
};

// The products of a call. They write disjoint parts of the result, which together cover it.
std::vector<GroupProduct> group_products(const RoutineCall& call, const GroupedArgs<>& args);

void contract_groups(const RoutineCall& call, const GroupedArgs<>& args);

}  // namespace sheaf::routines
