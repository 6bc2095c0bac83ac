// What of a processor no instruction set tells.
#pragma once
#include <cstdint>

namespace sheaf::kernels {

// Whether a core reads memory fastest in one go. Others follow several streams at once, far apart, and faster
// (Neoverse-V1: 55 GB/s with one for each of two cores, 75 with four); a Neoverse-N1 does not (39, and 27).
bool reads_one_stream_best();

// Whether tiles of products do well to ask for the lines they will write, and for rows of B that are eight steps ahead.
// A Neoverse-N1 is 5 % faster for it, a Neoverse-V1 2 to 4 % slower: it writes without waiting, and few steps are
// enough.
bool likes_asking_early();

// Bytes of a core's second-level cache, or a guess where the system does not tell.
int64_t second_level_cache();

}  // namespace sheaf::kernels
