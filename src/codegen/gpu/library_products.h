// Products of bf16 and f16 by a library of the device (runtime/library_product.h), within the bounds of matrix_units.h.
// Operands and results whose lines begin anywhere pass through workspace, in lines that begin at multiples of 16 bytes.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "codegen/gpu/emit.h"
#include "routines/gemm/args.h"
#include "runtime/library_product.h"

namespace sheaf::codegen::gpu {

// Bytes of workspace that the library needs for a product; nothing where it has no way to compute it.
using AskLibrary = std::function<std::optional<int64_t>(const runtime::LibraryProduct&)>;

// Whether the library is expected to be faster than the templates, copies included. Buffers begin at multiples of 16
// bytes.
bool suits_library(const routines::GemmArgs<>& g);
// Elements from one row of a result to the next, so that the library can write it where it belongs; nothing where it is
// not expected to compute the product.
std::optional<int64_t> library_line_of(const routines::GemmArgs<>& g);
// The product as the library gets it.
runtime::LibraryProduct library_product(const routines::GemmArgs<>& g);

struct LibraryCall {
  runtime::LibraryProduct product;
  Parameter a, b, c, workspace;
  int64_t workspace_bytes = 0;  // of all the steps
};

// The call, between the launches that copy what it reads and what it writes. `workspace_bytes`: what the library said.
struct LibrarySteps {
  std::vector<EmittedLaunch> before;
  LibraryCall call;
  std::vector<EmittedLaunch> after;
};
LibrarySteps emit_library_product(const routines::GemmArgs<>& g, int64_t workspace_bytes,
                                  const std::vector<int32_t>& buffers, const std::string& prefix, Helpers& helpers);

}  // namespace sheaf::codegen::gpu
