// Launches of one kernel over different arrays as one launch over a table of them: a block of threads finds its entry,
// and computes what it would in a launch of its own.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "codegen/gpu/emit.h"

namespace sheaf::codegen::gpu {

// Bytes of parameters that every driver takes.
inline constexpr int64_t kMaxParameterBytes = 4000;

// Whether a launch can be an entry: it has no checks, whose order its number decides, and no workspace.
bool fits_table(const EmittedLaunch& l);

// One launch for all: they have the same text, and `buffers` and `sizes` each, which follow one another in the whole
// launch. Its parameters are one struct of 64-bit fields. Nothing where they do not suit each other.
std::optional<EmittedLaunch> make_table(std::span<const EmittedLaunch> parts, int buffers, int sizes,
                                        const Dialect& dialect);

}  // namespace sheaf::codegen::gpu
