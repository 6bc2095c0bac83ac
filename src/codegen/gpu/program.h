// A kernel of the loop IR as text for a device: the launches and calls that it becomes, and the functions that they
// share.
#pragma once
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "codegen/gpu/emit.h"
#include "codegen/gpu/library_products.h"

namespace sheaf::codegen::gpu {

// A routine that has no form for the device: it runs on the host.
struct HostCall {
  const loop::Stmt* call = nullptr;  // nullptr: the whole kernel
  std::string routine;
};

using ProgramStep = std::variant<EmittedLaunch, HostCall, LibraryCall>;
struct EmittedProgram {
  std::vector<ProgramStep> steps;
};

// What text may make use of.
struct Facilities {
  bool aligned = true;        // all buffers begin at multiples of 16 bytes
  bool copies = false;        // copies to memory of a block in the background: from sm_80 on
  bool matrix_units = false;  // products of bf16 and f16 by matrix units (matrix_units.h)
  AskLibrary library = {};    // for products of the same; none: there is none
};

// `prefix` begins the name of each launch. Expects elementary functions to be expanded, and strides that are 0 or 1 to
// be constants where good code is wanted. The program points into the kernel.
EmittedProgram make_program(const loop::Kernel& k, std::span<const int64_t> sizes, const std::string& prefix,
                            Helpers& helpers, const Facilities& facilities);
// How the product that the kernel is will be computed, and why: "by library: …"; or that its routine runs on the host.
// Else empty.
std::string algorithm_text(const loop::Kernel& k, std::span<const int64_t> sizes, const Facilities& facilities);

// The values of a call's arguments, which depend on sizes alone.
std::vector<int64_t> call_arguments(const loop::Kernel& k, const loop::Stmt& call, std::span<const int64_t> sizes);

// Lets a launch do nothing once a check of its run has failed.
void guard(EmittedLaunch& l);

// All of it as one text.
std::string program_text(const EmittedProgram& p, const Helpers& helpers);

}  // namespace sheaf::codegen::gpu
