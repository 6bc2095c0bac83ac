// Products of groups of rows as a routine of the library, `contract_groups`. Rows of x [B, M, K] stand in G groups one
// behind the other, of counts [B, G] rows (i64):
// - with w [B, G, K, N] it gives y [B, M, N], the rows of each group by its matrix; zeros in the rows behind the last
// group;
// - `outer`, with z [B, M, N], it gives [B, G, K, N], for each group the transposed rows of x by those of z; zeros
// where a group is empty. Each is a `contract` of its own, to the bit. A count below 0 is taken as 0, and rows that x
// does not have are left out: the op reports both.
#pragma once
#include <array>
#include <vector>

#include "routines/routine.h"
#include "tensor/dtype.h"

namespace sheaf::routines {

// The arguments of a call, in the order in which ops/grouped.cpp passes them.
struct GroupedArgs {
  explicit GroupedArgs(std::span<const int64_t> a)
      : dtype(static_cast<DType>(a[0])),
        outer(a[1] != 0),
        batch(a[2]),
        rows(a[3]),
        groups(a[4]),
        k(a[5]),
        n(a[6]),
        counts(&a[7]),
        x(&a[9]),
        other(&a[12]),
        result(static_cast<DType>(a[outer ? 15 : 16])) {}
  DType dtype;
  bool outer;
  int64_t batch, rows, groups, k, n;
  const int64_t *counts, *x, *other;  // strides; the last of w or z
  DType result;                       // dtype itself, or F32 as it is accumulated
};

// A call of `contract`.
struct GroupProduct {
  std::array<std::byte*, 3> buffers;
  std::array<int64_t, 12> args;
  CallArgs call() const { return {buffers, args}; }
  int64_t flops() const { return 2 * args[2] * args[3] * args[4]; }
};

// Those that a call of `contract_groups` consists of; they write different parts of its result, and all of it.
std::vector<GroupProduct> group_products(const CallArgs& call);

void contract_groups(const CallArgs& c);

}  // namespace sheaf::routines
