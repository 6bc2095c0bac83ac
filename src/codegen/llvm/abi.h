// The ABI between generated code and its host. Generated code refers to no outside symbol: it calls the host through a
// table of services in its context. Both sides identify a service by its index in the table.
#pragma once
#include <cstdint>
#include <exception>

#include "loop/ir.h"
#include "routines/routine.h"

namespace sheaf::codegen::native {

struct CallContext;
// The outlined body of a parallel loop for the iterations [begin, end); `captures`: values from the enclosing code.
using RangeBody = void (*)(CallContext*, const void* captures, int64_t begin, int64_t end);

enum Service : int {
  kParallel,
  kFail,
  kFailLanes,
  kEndRegion,
  kCall,
  kFmodF32,
  kFmodF64,
  kFmaF32,
  kFmaF64,
  kNumServices
};

struct Services {
  // Runs a loop of n iterations of `ns` nanoseconds each, on several threads if that pays, in ranges of at least
  // `minimum` iterations.
  void (*parallel)(CallContext*, RangeBody, const void* captures, int64_t n, int64_t minimum, double ns);
  void (*fail)(CallContext*, int64_t site, int64_t payload);
  // Reports that a check failed for some of the `count` iterations of a region from `first` on. Failures are ordered by
  // iteration, not by statement, so they are held back until the region ends.
  void (*fail_lanes)(CallContext*, int64_t first, int64_t count, const uint8_t* ok, const int64_t* payloads,
                     int64_t site);
  void (*end_region)(CallContext*);
  void (*call)(CallContext*, int64_t number, const int64_t* arguments);
  float (*fmod_f32)(float, float);
  double (*fmod_f64)(double, double);
  float (*fma_f32)(float, float, float);
  double (*fma_f64)(double, double, double);
};
extern const Services kServices;

inline constexpr size_t kMaxCallBuffers = 16;

struct CallSite {
  routines::Routine routine;
  std::vector<int32_t> buffers;
  size_t num_arguments;
  routines::Arithmetic arithmetic;
};

// The first three fields are read by generated code.
struct CallContext {
  const Services* services;
  std::byte* const* buffers;
  const int64_t* sizes;

  const CallSite* calls;
  loop::CheckRecord check;
  int64_t pending_at = INT64_MAX;  // the lowest iteration of the region that failed a check
  loop::CheckRecord pending;
  std::exception_ptr error;  // nothing is thrown through generated code
};

// Entry of a kernel.
using Entry = void (*)(CallContext*);

}  // namespace sheaf::codegen::native
