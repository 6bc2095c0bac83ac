// IVDEP before a `for`: no iteration reads what an earlier one wrote, so GCC vectorizes without a test for overlap at
// run time. An output may be exactly one of the inputs, but must not overlap one shifted. Other compilers test.
#pragma once

#if defined(__clang__)
#define IVDEP
#else
#define IVDEP _Pragma("GCC ivdep")
#endif
