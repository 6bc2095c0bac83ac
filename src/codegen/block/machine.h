// What of a processor no instruction set tells.
#pragma once

namespace sheaf::codegen::block {

// Whether a core reads memory fastest in one go. Others follow several streams at once, far apart, and faster (Neoverse-V1: 55 GB/s with one for each of
// two cores, 75 with four); a Neoverse-N1 does not (39, and 27).
bool reads_one_stream_best();

}  // namespace sheaf::codegen::block
