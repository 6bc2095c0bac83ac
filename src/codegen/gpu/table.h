// Merges launches of one kernel over different arrays into one launch over a table of their arguments. Each thread
// block looks up its entry and computes what it would compute in a separate launch.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "codegen/gpu/emit.h"

namespace sheaf::codegen::gpu {

// Bytes of kernel parameters that every driver accepts.
inline constexpr int64_t kMaxParameterBytes = 4000;

// True if a launch can be an entry: it has no checks (the launch's number orders them) and no workspace.
bool fits_table(const EmittedLaunch& l);

// Returns one launch for all parts, or nothing if their texts differ. Each part has `buffers` buffers and `sizes`
// sizes; the merged launch has those of all parts, concatenated. Its parameters are one struct of 64-bit fields.
std::optional<EmittedLaunch> make_table(std::span<const EmittedLaunch> parts, int buffers, int sizes,
                                        const Dialect& dialect);

}  // namespace sheaf::codegen::gpu
