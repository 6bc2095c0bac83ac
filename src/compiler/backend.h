// What the compiler asks of a device while it plans a graph for it. All that only one kind of device knows is behind
// this: how its code is made, which products it runs as one step, what runs its plans. Planning itself knows none.
//
// In the order of the questions: passes ask for the target; each kernel that is lowered is prepared and becomes code;
// each product tells what could run inside it; each launch says how much workspace it needs, before memory is planned;
// a plan that is complete is finished. A back end is immutable, and any thread may ask it.
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

// Alone: one op that runs now; the kernel decides by itself when it is worth better code. InGraph: its plan does.
enum class KernelUse : uint8_t { Alone, InGraph };

// A product of two matrices with what could run inside it, as data: a group that makes the first factor row by row, and
// one that reads the result, both over matrices of rows and columns.
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

  // A kernel as this device's code is made from it. Kernels that are equal then share their code.
  virtual loop::Kernel prepared(loop::Kernel kernel) const = 0;
  // Code for launches of any sizes. `text`: of the kernel, or empty where nobody has needed it yet.
  virtual std::shared_ptr<const runtime::Code> code(loop::Kernel kernel, KernelUse use, std::string text) const = 0;

  // How a product runs as one step with its prologue and epilogue; nullptr: it does not, and they become steps of their
  // own.
  virtual std::shared_ptr<const runtime::Code> product(const ProductSpec& spec) const = 0;
  // Whether a product reads operands whose rows and columns are several axes in memory (routines/gemm/views.h).
  virtual bool multiplies_views() const { return false; }
  // Where products copy 16-bit factors whose lines begin anywhere: bytes at multiples of which lines of values should
  // begin that only products read. 0: they do not.
  virtual int64_t factor_line_bytes() const { return 0; }
  // Elements from one row of a product's result to the next that spare this device a copy; 0: rows follow one another.
  virtual int64_t result_line(const routines::GemmArgs<>& args) const { return 0; }
  // Whether all of a factor that a prologue makes is written to memory.
  virtual bool materializes_factors() const = 0;
  // A product by itself: adds to its launch what this device can make use of.
  virtual void refine_product(const routines::GemmArgs<>& args, runtime::Launch& launch) const = 0;

  // Bytes of scratch that a launch needs besides its arrays; they become its last buffer.
  virtual int64_t workspace_bytes(const runtime::Launch& launch) const = 0;

  // Who is told of a plan's runs, to find out when better code would pay; or none. Several plans may share one.
  virtual std::shared_ptr<runtime::RunWatcher> new_watcher() const = 0;
  // Loads code for a plan, nested or not, that was kept from before. Whether there was any.
  virtual bool find_code(const runtime::Plan& plan) const = 0;
  // What runs a plan; it holds nested ones.
  virtual std::shared_ptr<const runtime::Runner> finish(runtime::Plan plan) const = 0;

  // How a launch will run, and why, for people: a line, or nothing.
  virtual std::string algorithm_text(const runtime::Launch& launch) const = 0;
};

// The processor that this program runs on (cpu_backend.cpp).
const Backend& cpu_backend();
// The one of a target that this program has (device_backend.cpp).
const Backend& backend_of(runtime::TargetId target);

}  // namespace sheaf::compiler
