// The compiler's interface to a device while it plans a graph. It hides everything specific to one kind of device: how
// code is generated, which products run as one step, what runs its plans. Planning itself knows none of it.
//
// Calls in order: passes read the target; each lowered kernel is prepared and becomes code; each product asks what may
// run inside it; each launch asks for its workspace before memory is planned; a complete plan is finished. A back end
// is immutable; all methods are thread-safe.
#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "loop/ir.h"
#include "lower/group.h"
#include "routines/gemm/args.h"
#include "runtime/runner.h"
#include "runtime/target.h"

namespace sheaf::compiler {

// Alone: one op that runs now; the kernel itself decides when better code pays. InGraph: its plan decides.
enum class KernelUse : uint8_t { Alone, InGraph };

// A product of two matrices with the groups that could run inside it, as data: one that computes the left operand row
// by row, and one that reads the result, both over matrices of rows and columns.
struct ProductSpec {
  routines::GemmArgs<> args;
  const lower::GroupSpec* prologue = nullptr;
  const lower::GroupSpec* epilogue = nullptr;
  int64_t epilogue_unit = 0;  // of runtime::EpilogueLaunch
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual const runtime::Target& target() const = 0;

  // The kernel in the form from which this device's code is generated. Equal kernels then share their code.
  virtual loop::Kernel prepared(loop::Kernel kernel) const = 0;
  // Code for launches of any sizes. `text`: of the kernel, or empty if nothing has needed it yet.
  virtual std::shared_ptr<const runtime::Code> code(loop::Kernel kernel, KernelUse use, std::string text) const = 0;

  // Code that runs a product as one step with its prologue and epilogue; nullptr: not possible, they become separate
  // steps.
  virtual std::shared_ptr<const runtime::Code> product(const ProductSpec& spec) const = 0;
  // True if a product reads operands whose rows and columns span several axes in memory (routines/gemm/views.h).
  virtual bool multiplies_views() const { return false; }
  // For devices whose products copy 16-bit operands with unaligned rows: the alignment in bytes for rows of values that
  // only products read. 0: no alignment needed.
  virtual int64_t factor_line_bytes() const { return 0; }
  // A leading dimension for a product's result that saves this device a copy; 0: contiguous rows.
  virtual int64_t result_line(const routines::GemmArgs<>& args) const { return 0; }
  // True if all of an operand that a prologue computes is written to memory.
  virtual bool materializes_factors() const = 0;
  // For a product by itself: adds to its launch whatever this device can use.
  virtual void refine_product(const routines::GemmArgs<>& args, runtime::Launch& launch) const = 0;

  // Bytes of scratch that a launch needs in addition to its arrays; they become its last buffer.
  virtual int64_t workspace_bytes(const runtime::Launch& launch) const = 0;

  // Rewrites a correct plan into one that runs faster on this device.
  virtual void arrange(runtime::Plan&) const {}
  // Who is told of a plan's runs, to find out when better code would pay; or none. Several plans may share one.
  virtual std::shared_ptr<runtime::RunWatcher> new_watcher() const = 0;
  // Loads stored code for a plan, nested or not. Returns true if there was any.
  virtual bool find_code(const runtime::Plan& plan) const = 0;
  // The runner of a plan; it holds nested ones.
  virtual std::shared_ptr<const runtime::Runner> finish(runtime::Plan plan) const = 0;

  // How a launch will run, and why, for people: a line, or nothing.
  virtual std::string algorithm_text(const runtime::Launch& launch) const = 0;
};

// The back end of the processor that this program runs on (cpu_backend.cpp).
const Backend& cpu_backend();
// The back end of one of this program's targets (device_backend.cpp).
const Backend& backend_of(runtime::TargetId target);

}  // namespace sheaf::compiler
