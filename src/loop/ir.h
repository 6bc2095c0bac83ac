// The kernel IR: loop nests over typed buffers with scalar values in SSA form. A kernel determines its results bit for
// bit: fused multiply-adds are explicit, reductions state their lanes and blocks, integer operations are total. Every
// back end must give exactly the values of the reference executor (reference.h).
//
// A kernel is a list of values (instructions, in definition order) and a tree of statements that says when each runs.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "scalar/op.h"
#include "support/source.h"
#include "tensor/dtype.h"

namespace sheaf::loop {

using scalar::Combine;
using scalar::Op;

using ValueId = uint32_t;
inline constexpr ValueId kNoValue = ~0u;

struct Inst {
  Op op;
  DType type;               // of the result
  DType from = DType::F32;  // operand type of comparisons, Convert, Bitcast
  ValueId args[3] = {kNoValue, kNoValue, kNoValue};
  int64_t imm = 0;
};

// How the iterations of a loop relate. Back ends map these marks to their machine; only Serial is an order.
//   Serial    in order: a later iteration may read or overwrite data that an earlier one wrote
//   Free      in any order
//   Parallel  in any order, distributed over threads: the lowering's choice of where to fork
//   Vector    in any order, many at a time: adjacent iterations access adjacent elements
enum class Mark : uint8_t { Serial, Free, Parallel, Vector };

// How a reduction of n elements is bracketed: blocks of `block` consecutive elements; inside a block element k goes to
// lane k mod `lanes`, each lane in order; lanes are combined by halving (lane i with lane i + half); block results are
// combined pairwise like the carries of a binary counter. A function of n alone, so the bits do not depend on threads
// or vectors.
inline constexpr int kReduceLanes = 32;
inline constexpr int kReduceBlock = 2048;

struct Stmt;
using Block = std::vector<Stmt>;

struct Stmt {
  enum Kind : uint8_t { Let, Loop, Reduce, Store, Check, Call } kind;
  ValueId value = kNoValue;   // Let: runs this value. Reduce: element to combine. Store: what. Check: condition (Bool)
  ValueId extent = kNoValue;  // Loop, Reduce
  ValueId offset = kNoValue;  // Store: element offset. Check: payload (i64)
  int32_t axis = -1;          // Loop, Reduce
  int32_t id = -1;            // Store: buffer. Reduce: reduction number. Check: site
  Mark mark = Mark::Serial;
  Combine combine = Combine::Sum;
  std::string routine;             // Call: a name of routines/routine.cpp
  std::vector<int32_t> buffers;    // Call
  std::vector<ValueId> arguments;  // Call: i64 values
  Block body;                      // Loop, Reduce
};

struct BufferParam {
  DType dtype;
  bool written = false;
};

struct Kernel {
  std::string name;
  std::vector<BufferParam> buffers;
  int num_sizes = 0;
  int num_axes = 0;
  int num_reductions = 0;
  std::vector<Inst> values;
  std::vector<DType> reduction_types;
  Block body;
};

// Records a failed `check`: the first failure by launch and index.
struct CheckRecord {
  int32_t site = -1;
  int64_t payload = 0;
  bool failed() const { return site >= 0; }
};

std::string print(const Kernel& k);
// Throws an internal error when the kernel breaks a rule of the IR.
void verify(const Kernel& k);

}  // namespace sheaf::loop
