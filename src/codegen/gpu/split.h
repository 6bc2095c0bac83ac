// A kernel as steps that run one after the other on a device: each top-level nest is a launch, each call of a routine a
// step of its own. Statements between nests join the launch that computes what they need.
#pragma once
#include <string>
#include <vector>

#include "loop/ir.h"

namespace sheaf::codegen::gpu {

struct Part {
  // Of a launch: top-level statements of the kernel, in order. Values outside of loops that are arithmetic, or loads of
  // what the kernel does not write, are left out: every launch computes those that it needs.
  std::vector<const loop::Stmt*> stmts;
  // Or the routine that the only statement calls.
  const loop::Stmt* call() const { return stmts[0]->kind == loop::Stmt::Call ? stmts[0] : nullptr; }
};

// Expects: no `call` inside a loop (see calls_inside_loops).
std::vector<Part> split(const loop::Kernel& k);

// Such a kernel has no form for a device.
bool calls_inside_loops(const loop::Kernel& k);

// Calls f with every statement of the block and of the blocks inside it.
template <class F>
void each_stmt(const loop::Block& b, F&& f) {
  for (const loop::Stmt& s : b) {
    f(s);
    each_stmt(s.body, f);
  }
}

}  // namespace sheaf::codegen::gpu
